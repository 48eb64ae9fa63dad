//! Linking: how a person lets askgate carry their answers, and how what that needs is kept.

pub mod seal;
