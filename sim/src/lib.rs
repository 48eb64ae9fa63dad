//! askgate: sim.

pub mod clock;
pub mod discord;
pub mod page;
pub mod telegram;
pub mod terreno;
