//! What a card shows: pure functions from a record to a [`CardView`](adapters::channel::CardView).
//!
//! [`visible`](visible::visible) makes hidden characters visible, [`labels`] tells alike buttons apart, [`content`] spells
//! out what a button sends, and [`view`] puts them together for one place.

pub mod content;
pub mod labels;
pub mod view;
mod visible;

pub use visible::{one_line, visible};
