//! The outside world, simulated with its real limits: platforms, a host, and the page that the demo shows.

pub mod clock;
pub mod discord;
pub mod ntfy;
pub mod page;
pub mod telegram;
pub mod terreno;
