//! A file's bytes against what was declared about it.

use serde::de::IgnoredAny;

use super::files::too_large;
use super::report::Report;
use crate::errors::{Code, Path};
use crate::text;

/// Reports a file that is over the cap, or else not what it is declared to be. `path` is the file's.
pub(super) fn check(bytes: &[u8], mime_type: &str, max: u64, path: &Path, report: &mut Report) {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > max {
        too_large(size, max, path, report);
    } else if !is(bytes, mime_type) {
        let message = format!("The bytes are not {}.", text::quote(mime_type));
        report.add(&path.key("mimeType"), Code::MimeMismatch, message, "Declare the type that is sent.");
    }
}

fn is(bytes: &[u8], mime_type: &str) -> bool {
    match (signature(bytes), mime_type) {
        (Some(found), declared) => found == declared,
        (None, "text/plain" | "text/csv") => text_of(bytes).is_some(),
        (None, "application/json") => text_of(bytes).is_some_and(is_json),
        (None, _) => false,
    }
}

/// The type that the first bytes give away.
fn signature(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = || bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if is_webp() {
        Some("image/webp")
    } else if bytes.starts_with(b"%PDF-") {
        Some("application/pdf")
    } else {
        None
    }
}

/// The bytes as text, without a byte order mark.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn is_json(text: &str) -> bool {
    // Only the syntax counts: numbers that do not fit and half surrogate pairs are JSON, too.
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
