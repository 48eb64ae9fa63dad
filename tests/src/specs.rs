//! The platforms' published specifications.
