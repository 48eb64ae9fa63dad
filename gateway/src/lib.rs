//! The gateway: decisions, tasks, HTTP, and the binary `askgate`.
//!
//! | module | subject |
//! | --- | --- |
//! | [`poll`] | finding out what waits, and what a poll means |
//! | [`announce`] | showing it, and bringing every message to what it should say |
//! | [`answer`] | from a press to the outcome |
//! | [`show`], [`words`] | what a card shows, and every sentence a person sees |
//! | [`accounts`] | people who linked themselves, and their credentials at rest |
//! | [`links`] | who is where, and who may answer there |
//! | [`desk`], [`listening`] | what listeners talk to, and what keeps them running |
//! | [`hub`], [`wiring`], [`lifecycle`] | what tasks share, how it is built, how it starts and ends |
//! | [`board`], [`http`] | how every part is doing, and who may ask |
//! | [`cli`] | the command line |

pub mod accounts;
pub mod announce;
pub mod answer;
pub mod board;
pub mod cli;
pub mod desk;
pub mod http;
pub mod hub;
pub mod lifecycle;
pub mod link;
pub mod links;
pub mod listening;
pub mod moves;
pub mod pages;
pub mod poll;
pub mod quiet;
pub mod show;
pub mod wiring;
pub mod words;
