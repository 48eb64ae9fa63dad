//! An ask of any kind as a form: drawn from its input, read back as an answer, with each mistake beside its field.
//!
//! All of it is pure. The rules are those of [`asks::validate`], the same that the source applies; here they only get a place
//! on the page and a sentence in the person's language. What was typed is drawn again, so a refused answer loses nothing.

mod again;
mod draw;
mod posted;
mod problems;
mod read;

pub use again::{from_source, typed};
pub use draw::{Drawing, draw};
pub use posted::{Posted, PostedFile};
pub use problems::{Bounds, Problem, problems};
pub use read::{check, read};
