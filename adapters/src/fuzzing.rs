//! Fuzz targets for what the platforms and sources send: plain functions over bytes that assert what must always hold.
//!
//! Compiled with the feature `fuzzing` only, which `tests` asks for. What a target needs of a private parser is written beside
//! that parser.

pub use crate::channels::discord::fuzzing::{discord_answer, discord_frame, discord_interaction};
pub use crate::channels::telegram::fuzzing::{telegram_answer, telegram_update};
pub use crate::sources::terreno::fuzzing::{terreno_headers, terreno_reply, terreno_token};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Splits an input: the first line is a status and headers as `429 name: value|name: value`, the rest is a body.
///
/// The status is the number as it stands, or 200 where there is none.
pub(crate) fn reply(bytes: &[u8]) -> (u16, HeaderMap, &[u8]) {
    let mut halves = bytes.splitn(2, |byte| *byte == b'\n');
    let head = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
    let body = halves.next().unwrap_or_default();
    let (status, rest) = head.split_once(' ').unwrap_or((&head, ""));
    let mut headers = HeaderMap::new();
    for line in rest.split('|') {
        let Some((name, value)) = line.split_once(':') else { continue };
        let name = HeaderName::from_bytes(name.trim().as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.trim().as_bytes())) {
            headers.append(name, value);
        }
    }
    (status.parse().unwrap_or(200), headers, body)
}
