//! The inbox: what waits for a person, what was settled lately, and where they are signed in. Drawn from plain data.
//!
//! Each entry carries a digest of what it shows, so that a script can bring a page up to date by exchanging only what changed.

use asks::card::Style;
use asks::ids::ButtonId;
use maud::{Markup, html};

use crate::words::Words;

/// One ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What the page knows it by; it tells nothing about the ask.
    pub id: String,
    /// Its title, in one line.
    pub title: Option<String>,
    /// Its question, in honest characters.
    pub text: String,
    /// Whose ask it is, and from which source, where the person has several accounts.
    pub origin: Option<String>,
    /// What its buttons would send, where the question does not show it.
    pub content: Option<String>,
    /// What can be pressed.
    pub buttons: Vec<EntryButton>,
    /// How it stands, if there is more to say than that it waits.
    pub status: Option<String>,
    /// Where it was answered, if it was.
    pub on: Option<String>,
    /// Whether it is open; else an answer is on its way or it is over.
    pub open: bool,
    /// The button that the person is asked about once more.
    pub sure: Option<ButtonId>,
}

/// One button of an ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryButton {
    /// Its id.
    pub id: ButtonId,
    /// What it says, in one line.
    pub label: String,
    /// How it is meant to look.
    pub style: Style,
}

/// An entry and how many minutes ago it came or was settled.
pub type Aged = (Entry, u64);

/// One browser that is signed in.
#[derive(Debug, Clone)]
pub struct BrowserLine {
    /// The session's id.
    pub id: String,
    /// The browser's name; may be empty.
    pub name: String,
    /// How many minutes ago it signed in.
    pub minutes: u64,
    /// Whether it is the one that looks.
    pub this: bool,
}

/// A whole inbox.
#[derive(Debug, Clone)]
pub struct Inbox<'a> {
    /// The path before every route.
    pub prefix: &'a str,
    /// What shows that a form is ours.
    pub proof: &'a str,
    /// What waits, oldest first, and what is on its way.
    pub waiting: &'a [Aged],
    /// What was settled lately, newest first.
    pub settled: &'a [Aged],
    /// Where the person is signed in.
    pub browsers: &'a [BrowserLine],
}

/// A short text that changes with what an entry shows. Only for comparing within one run of the service.
#[must_use]
pub fn digest(entry: &Entry) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    entry.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

impl Inbox<'_> {
    /// The page's subject.
    #[must_use]
    pub fn draw(&self, words: &dyn Words) -> Markup {
        let on_its_way = self.waiting.iter().any(|(entry, _)| !entry.open);
        html! {
            // Read aloud: what a script has changed.
            p id="news" class="out" role="status" data-new=(words.new_question()) data-offline=(words.offline()) {}
            // Without script the page follows an answer that is on its way by loading again.
            @if on_its_way { noscript { meta http-equiv="refresh" content="3"; } }
            section data-live="waiting" aria-labelledby="waiting" {
                h2 id="waiting" { (words.waiting()) }
                p class="soft none" hidden[!self.waiting.is_empty()] { (words.nothing_waits()) }
                ol class="asks" {
                    @for (entry, minutes) in self.waiting { (self.entry(entry, *minutes, words)) }
                }
            }
            section data-live="settled" aria-labelledby="settled" hidden[self.settled.is_empty()] {
                h2 id="settled" { (words.settled_lately()) }
                ol class="asks" {
                    @for (entry, minutes) in self.settled { (self.entry(entry, *minutes, words)) }
                }
            }
            (self.browsers(words))
        }
    }

    fn entry(&self, entry: &Entry, minutes: u64, words: &dyn Words) -> Markup {
        let named = format!("q-{}", entry.id);
        html! {
            li class="card" id={ "ask-" (entry.id) } tabindex="-1" aria-labelledby=(named) data-digest=(digest(entry)) {
                p class="soft" {
                    @if let Some(origin) = &entry.origin { bdi { (origin) } " · " }
                    (words.ago(minutes))
                    @if let Some(on) = &entry.on { " · " (on) }
                }
                @if let Some(title) = &entry.title {
                    h3 dir="auto" id=(named) { (title) }
                    p class="said" dir="auto" { (entry.text) }
                } @else {
                    h3 class="said" dir="auto" id=(named) { (entry.text) }
                }
                @if let Some(content) = &entry.content { blockquote class="said" dir="auto" { (content) } }
                @if let Some(status) = &entry.status { p class="notice" dir="auto" { (status) } }
                @if entry.open { (self.answers(entry, &named, words)) }
            }
        }
    }

    fn answers(&self, entry: &Entry, named: &str, words: &dyn Words) -> Markup {
        let home = format!("{}/", self.prefix);
        let sure = entry.sure.as_ref().and_then(|id| entry.buttons.iter().find(|button| button.id == *id));
        html! {
            form class="answers" method="post" action={ (self.prefix) "/i/answer" } aria-describedby=(named) {
                input type="hidden" name="proof" value=(self.proof);
                input type="hidden" name="ask" value=(entry.id);
                @if let Some(button) = sure {
                    p class="notice bad" role="alert" { (words.really(&button.label)) }
                    input type="hidden" name="sure" value="yes";
                    div class="actions" {
                        button class="danger" name="button" value=(button.id) { (words.yes(&button.label)) }
                        a class="button" href=(home) { (words.back()) }
                    }
                } @else {
                    div class="actions" {
                        @for button in &entry.buttons {
                            button class=[class(button.style)] name="button" value=(button.id) dir="auto" { (button.label) }
                        }
                        a class="full" href={ (self.prefix) "/i/ask/" (entry.id) } aria-describedby=(named) { (words.answer_in_full()) }
                    }
                }
            }
        }
    }

    fn browsers(&self, words: &dyn Words) -> Markup {
        let action = format!("{}/i/out", self.prefix);
        html! {
            details class="card" {
                summary { (words.browsers()) }
                ul class="asks" {
                    @for line in self.browsers {
                        li class="line" {
                            span id={ "b-" (line.id) } {
                                @if line.name.is_empty() { "?" } @else { (line.name) }
                                " · " (words.ago(line.minutes))
                                @if line.this { " · " (words.this_browser()) }
                            }
                            form method="post" action=(action) {
                                input type="hidden" name="proof" value=(self.proof);
                                button class="quiet" name="session" value=(line.id) aria-describedby={ "b-" (line.id) } { (words.sign_out()) }
                            }
                        }
                    }
                }
                form method="post" action=(action) {
                    input type="hidden" name="proof" value=(self.proof);
                    div class="actions" { button name="session" value="all" { (words.sign_out_everywhere()) } }
                }
            }
        }
    }
}

const fn class(style: Style) -> Option<&'static str> {
    match style {
        Style::Primary => Some("primary"),
        Style::Destructive => Some("danger"),
        Style::Default | Style::Cancel => None,
    }
}

/// The page behind a link from the chat: one button, because looking must not spend the link.
#[must_use]
pub fn sign_in(prefix: &str, code: &str, accounts: &[String], words: &dyn Words) -> Markup {
    html! {
        section class="card" {
            p { (words.sign_in_for(accounts)) }
            form method="post" action={ (prefix) "/inbox/" (code) } {
                div class="actions" { button class="primary" { (words.sign_in()) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    fn entry() -> Entry {
        Entry {
            id: "abc".into(),
            title: None,
            text: "<b>שלום</b>".into(),
            origin: None,
            content: None,
            buttons: vec![EntryButton { id: "option:a".into(), label: "A & B".into(), style: Style::Destructive }],
            status: None,
            on: None,
            open: true,
            sure: None,
        }
    }

    fn drawn(entry: Entry) -> String {
        let waiting = [(entry, 3)];
        let inbox = Inbox { prefix: "/ask", proof: "p", waiting: &waiting, settled: &[], browsers: &[] };
        inbox.draw(Language::En.words()).into_string()
    }

    #[test]
    fn text_from_outside_is_text_and_has_its_own_direction() {
        let page = drawn(entry());
        assert!(page.contains("dir=\"auto\" id=\"q-abc\">&lt;b&gt;שלום&lt;/b&gt;"), "{page}");
        assert!(page.contains("A &amp; B") && page.contains("/ask/i/answer") && !page.contains("http-equiv"), "{page}");
    }

    #[test]
    fn a_second_thought_offers_only_yes_and_back_and_an_answer_on_its_way_offers_nothing() {
        let page = drawn(Entry { sure: Some("option:a".into()), ..entry() });
        assert!(page.contains("name=\"sure\"") && page.matches("name=\"button\"").count() == 1, "{page}");
        let page = drawn(Entry { open: false, ..entry() });
        assert!(!page.contains("name=\"button\"") && page.contains("http-equiv"), "{page}");
    }

    #[test]
    fn the_digest_changes_with_what_is_shown() {
        let other = Entry { status: Some("sent".into()), ..entry() };
        assert_eq!(digest(&entry()), digest(&entry()));
        assert_ne!(digest(&entry()), digest(&other));
    }
}
