//! The harness of the whole-system tests: simulated platforms on loopback, and the real binary beside them.
//!
//! A [`World`] holds Telegram, Discord and a Terreno host with one person who uses all three. [`World::gateway`] writes a
//! configuration, as anybody would, and starts `askgate serve` as a process of its own, so that a test can end it as rudely as
//! it likes. Everything a test claims is seen from outside: by what the platforms got, what the host recorded, what the process
//! printed.

pub mod cards;
pub mod chrome;
pub mod command;
pub mod crash;
pub mod fuzz;
pub mod gateway;
pub mod proxy;
pub mod screen;
pub mod specs;
pub mod world;

pub use gateway::Gateway;
pub use screen::{AT_ONCE, Card, Channel, SOON, Screen, Tap};
pub use world::{DISCORD_PERSON, EMAIL, PASSWORD, Setup, TELEGRAM_PERSON, World};
