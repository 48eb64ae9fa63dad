//! Kinds of places people are. Adding one is adding a folder here; [`crate::channel`] says how.

pub mod discord;
pub mod ntfy;
pub mod telegram;
