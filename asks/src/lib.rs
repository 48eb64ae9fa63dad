//! The vocabulary and the rules of askgate: cards, answers, limits, derivation, ids and an ask's life.
//!
//! Pure: no I/O, no async, no clock, no randomness. Everything here is a value or a function of values, so that every
//! rule can be tested by a table and fuzzed without a network.

pub mod answer;
pub mod ask;
pub mod card;
pub mod derive;
pub mod errors;
pub mod ids;
pub mod input;
pub mod life;
pub mod limits;
pub mod place;
pub mod text;
pub mod validate;
pub mod wire;
