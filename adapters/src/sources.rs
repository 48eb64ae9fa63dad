//! Backends that ask. Adding one is adding a folder here; [`crate::source`] says how.

pub mod terreno;
