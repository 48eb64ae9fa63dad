//! The outside world, one folder per system: sources (where asks come from) and channels (where people are).
//!
//! [`source`] and [`channel`] are the ports; no platform type crosses them. serenity and teloxide are named only here.

pub mod channel;
pub mod channels;
pub mod clock;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod http;
pub mod source;
pub mod sources;
