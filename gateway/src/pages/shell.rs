//! What every page has around its subject.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use crate::words::Language;

/// Sent with every page. Only files of the service itself run or are shown, and no other page may frame one of ours.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
         manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// How a sentence above the page's subject is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something worked.
    Good,
    /// Something to know.
    Plain,
    /// Something did not work; read aloud at once by a screen reader.
    Bad,
}

/// A sentence above the page's subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How it is meant.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
}

/// One page: the frame around its subject.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The language of our own sentences.
    pub language: Language,
    /// The path that stands before every route, such as `/ask`; empty at the root.
    pub prefix: String,
    /// The page's name: the window's title and its only `h1`.
    pub title: String,
    /// What to say first.
    pub notice: Option<Notice>,
    /// Names of the scripts in [`assets`] that add to the page.
    pub scripts: Vec<&'static str>,
    /// Whether the page belongs to the installable inbox.
    pub installable: bool,
}

impl Shell {
    /// A page of that name.
    #[must_use]
    pub fn new(language: Language, prefix: &str, title: impl Into<String>) -> Self {
        Self {
            language,
            prefix: prefix.to_owned(),
            title: title.into(),
            notice: None,
            scripts: Vec::new(),
            installable: false,
        }
    }

    /// With a sentence above its subject.
    #[must_use]
    pub fn saying(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.notice = Some(Notice { tone, text: text.into() });
        self
    }

    /// With a script of [`assets`].
    #[must_use]
    pub fn with_script(mut self, name: &'static str) -> Self {
        self.scripts.push(name);
        self
    }

    /// As a page of the installable inbox.
    #[must_use]
    pub const fn installable(mut self) -> Self {
        self.installable = true;
        self
    }

    /// The whole page as an answer.
    #[must_use]
    pub fn respond(&self, status: StatusCode, subject: &Markup) -> Response {
        let mut response = (status, Html(self.page(subject).into_string())).into_response();
        dress(&mut response);
        response
    }

    fn page(&self, subject: &Markup) -> Markup {
        let asset = |name: &str| format!("{}{}", self.prefix, assets::address(name));
        html! {
            (DOCTYPE)
            html lang=(self.language.code()) dir="ltr" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
                    meta name="color-scheme" content="light dark";
                    // Crawlers and link previews have no business here.
                    meta name="robots" content="noindex, nofollow";
                    title { (self.title) " · askgate" }
                    link rel="icon" type="image/svg+xml" href=(asset("icon.svg"));
                    link rel="stylesheet" href=(asset("style.css"));
                    @if self.installable {
                        link rel="manifest" href={ (self.prefix) "/manifest.webmanifest" };
                        meta name="theme-color" media="(prefers-color-scheme: light)" content="#f6f5f2";
                        meta name="theme-color" media="(prefers-color-scheme: dark)" content="#17181b";
                    }
                    @for script in &self.scripts {
                        script type="module" src=(asset(script)) {}
                    }
                }
                body data-prefix=(self.prefix) {
                    main {
                        h1 { (self.title) }
                        @if let Some(notice) = &self.notice {
                            (notice.markup())
                        }
                        (subject)
                    }
                }
            }
        }
    }
}

impl Notice {
    /// The sentence as a line of a page.
    #[must_use]
    pub fn markup(&self) -> Markup {
        let (class, role) = match self.tone {
            Tone::Good => ("notice good", "status"),
            Tone::Plain => ("notice", "status"),
            Tone::Bad => ("notice bad", "alert"),
        };
        html! { p class=(class) role=(role) { (self.text) } }
    }
}

/// Puts on what every page is sent with.
pub fn dress(response: &mut Response) {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_text() {
        let shell = Shell::new(Language::En, "/ask", "<script>alert(1)</script>").saying(Tone::Bad, "a < b & \"c\"");
        let page = shell.page(&html! { p { ("<img src=x>") } }).into_string();
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(page.contains("a &lt; b &amp; &quot;c&quot;") && page.contains("&lt;img src=x&gt;"), "{page}");
        assert!(page.contains("href=\"/ask/assets/style.") && page.contains("role=\"alert\""), "{page}");
    }
}
