//! Writing to the terminal. A reader that went away (`| head`) is no error.

use std::io::Write as _;

/// A line to standard output.
pub(super) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// A line to standard error.
pub(super) fn error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
