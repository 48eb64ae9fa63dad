//! The files the page is made of, inside the binary.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Address, media type and content of every file.
const FILES: [(&str, &str, &str); 16] = [
    ("/", HTML, include_str!("index.html")),
    ("/icon.svg", SVG, include_str!("icon.svg")),
    ("/style.css", CSS, include_str!("style.css")),
    ("/css/app.css", CSS, include_str!("css/app.css")),
    ("/css/telegram.css", CSS, include_str!("css/telegram.css")),
    ("/css/discord.css", CSS, include_str!("css/discord.css")),
    ("/app.js", JS, include_str!("app.js")),
    ("/js/dom.js", JS, include_str!("js/dom.js")),
    ("/js/talk.js", JS, include_str!("js/talk.js")),
    ("/js/answers.js", JS, include_str!("js/answers.js")),
    ("/js/ask.js", JS, include_str!("js/ask.js")),
    ("/js/fields.js", JS, include_str!("js/fields.js")),
    ("/js/markdown.js", JS, include_str!("js/markdown.js")),
    ("/js/steps.js", JS, include_str!("js/steps.js")),
    ("/js/telegram.js", JS, include_str!("js/telegram.js")),
    ("/js/discord.js", JS, include_str!("js/discord.js")),
];

/// `GET` of a file.
pub(super) async fn file(uri: Uri) -> Response {
    match FILES.iter().find(|(path, _, _)| *path == uri.path()) {
        Some((_, kind, content)) => ([(header::CONTENT_TYPE, *kind)], *content).into_response(),
        None => (StatusCode::NOT_FOUND, "There is nothing here; the page is at /.\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page has to open at once on a phone.
    const WEIGHT_MAX: usize = 100 * 1024;

    #[test]
    fn the_page_is_light_and_needs_nothing_from_elsewhere() {
        let weight: usize = FILES.iter().map(|(_, _, content)| content.len()).sum();
        assert!(weight < WEIGHT_MAX, "{weight} bytes");
        for (path, _, content) in FILES {
            let content = content.replace("http://www.w3.org/2000/svg", "");
            assert!(!content.contains("http://") && !content.contains("https://"), "{path} names another host");
            assert!(!content.contains("innerHTML") && !content.contains("insertAdjacentHTML"), "{path} parses text");
            assert!(!content.contains("style=\""), "{path} has an inline style, which the policy refuses");
        }
    }

    #[test]
    fn every_file_that_is_named_is_there() {
        let there = |path: &str| FILES.iter().any(|(known, _, _)| *known == path);
        for (path, _, content) in FILES {
            for quote in ['"', '\''] {
                for named in content.split(quote).filter(|text| text.starts_with('/') || text.starts_with("./")) {
                    let plain = named.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "js" | "css" | "svg"));
                    let folder = if path.starts_with("/js/") { "/js" } else { "" };
                    let full = named.strip_prefix('.').map_or(named.to_owned(), |rest| format!("{folder}{rest}"));
                    assert!(!plain || there(&full), "{path} names {named}, which is not there");
                }
            }
        }
    }
}
