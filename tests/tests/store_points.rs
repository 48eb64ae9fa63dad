//! A kill at every named point of the store, also of those on the way out of trouble.

#[cfg(test)]
#[path = "store/points.rs"]
mod points;
