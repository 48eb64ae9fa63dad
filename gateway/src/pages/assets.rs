//! The files that pages are made of, inside the binary.
//!
//! A file's address holds a digest of its content, so a browser keeps it for good and never shows an old one beside a new page.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Name, media type and content of every file.
const FILES: &[(&str, &str, &str)] = &[
    ("style.css", CSS, include_str!("assets/style.css")),
    ("icon.svg", SVG, include_str!("assets/icon.svg")),
    ("answer.js", JS, include_str!("assets/answer.js")),
    ("inbox.js", JS, include_str!("assets/inbox.js")),
    ("push.js", JS, include_str!("assets/push.js")),
];

/// The service worker, which has an address of its own: [`crate::http::inbox`] fills in where things are.
pub const SERVICE_WORKER: &str = include_str!("assets/sw.js");

struct Asset {
    name: &'static str,
    address: String,
    kind: &'static str,
    content: &'static str,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |&(name, kind, content): &(&'static str, &'static str, &'static str)| {
        let digest = Sha256::digest(content.as_bytes());
        let short = digest.iter().take(6).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        Asset { name, address: format!("/assets/{stem}.{short}.{end}"), kind, content }
    };
    FILES.iter().map(asset).collect()
});

/// Where a file is, below the prefix; its plain name where there is no such file.
#[must_use]
pub fn address(name: &str) -> String {
    ASSETS
        .iter()
        .find(|asset| asset.name == name)
        .map_or_else(|| format!("/assets/{name}"), |asset| asset.address.clone())
}

/// `GET /assets/{file}`.
pub async fn file(Path(file): Path<String>) -> Response {
    let wanted = format!("/assets/{file}");
    let Some(asset) = ASSETS.iter().find(|asset| asset.address == wanted) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = ([(header::CONTENT_TYPE, asset.kind)], asset.content).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All files together, before compression. A page has to open at once on a phone.
    const WEIGHT_MAX: usize = 120 * 1024;

    #[test]
    fn the_files_are_light_and_need_nothing_from_elsewhere() {
        let weight: usize = FILES.iter().map(|(_, _, content)| content.len()).sum();
        assert!(weight < WEIGHT_MAX, "{weight} bytes");
        for (name, _, content) in FILES {
            let content = content.replace("http://www.w3.org/2000/svg", "");
            assert!(!content.contains("http://") && !content.contains("https://"), "{name} names another host");
            assert!(!content.contains("innerHTML") && !content.contains("insertAdjacentHTML"), "{name} parses text");
        }
    }

    #[test]
    fn an_address_changes_with_the_content() {
        let style = address("style.css");
        assert!(style.starts_with("/assets/style.") && style.len() > "/assets/style.css".len());
        assert_eq!(address("none.js"), "/assets/none.js");
    }
}
