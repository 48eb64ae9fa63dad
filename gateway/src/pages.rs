//! The service's own pages: linking, the answer page, the inbox.
//!
//! Every page is whole without script: a form that posts. Script only adds what HTML cannot (live updates, notifications, a
//! preview). Everything is in the binary, nothing comes from another host, and text from outside is escaped by [`maud`]:
//! nobody here writes HTML by hand.

pub mod assets;
pub mod form;
pub mod inbox;
pub mod shell;

pub use shell::{Notice, Shell, Tone};
