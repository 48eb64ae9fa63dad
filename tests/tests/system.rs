//! Whole-system tests: the real binary, over real sockets, against the simulated platforms.

#[path = "system/main_job.rs"]
mod main_job;
