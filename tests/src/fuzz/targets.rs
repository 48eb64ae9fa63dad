//! The targets. Those that need private parsers stand beside them, behind the feature `fuzzing`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use adapters::fuzzing as outside;
use asks::ask::Surface;
use asks::card::{Button, Card, Kind, Style};
use asks::ids::ToolCallId;
use asks::place::{Actor, Place};
use asks::text::{self, utf16_len};
use asks::{derive, limits as rules, validate, wire};
use gateway::cli::fuzzing as commands;
use gateway::pages::form::{self, Drawing, Posted};
use gateway::show;
use gateway::words::Language;
use serde_json::Value;
use store::sled::offline;
use tempfile::TempDir;

use super::{limits, seeds};

/// What reads bytes from outside, and examples of such bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, for `cargo fuzz run` too.
    pub name: &'static str,
    /// Reads an input; panics if something does not hold that must.
    pub run: fn(&[u8]),
    /// Inputs to begin with.
    pub(super) seeds: fn() -> anyhow::Result<Vec<Vec<u8>>>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "ask_lines", run: ask_lines, seeds: seeds::lines },
    Target { name: "ask_forms", run: ask_forms, seeds: seeds::forms },
    Target { name: "cards", run: cards, seeds: seeds::cards },
    Target { name: "configuration", run: configuration, seeds: seeds::configurations },
    Target { name: "discord_answer", run: outside::discord_answer, seeds: seeds::discord_answers },
    Target { name: "discord_frame", run: outside::discord_frame, seeds: seeds::frames },
    Target { name: "discord_interaction", run: outside::discord_interaction, seeds: seeds::interactions },
    Target { name: "places", run: places, seeds: seeds::places },
    Target { name: "previews", run: previews, seeds: seeds::lines },
    Target { name: "shown_text", run: shown_text, seeds: seeds::shown },
    Target { name: "store_import", run: store_import, seeds: seeds::exports },
    Target { name: "store_value", run: store::sled::fuzzing::store_value, seeds: seeds::records },
    Target { name: "telegram_answer", run: outside::telegram_answer, seeds: seeds::telegram_answers },
    Target { name: "telegram_update", run: outside::telegram_update, seeds: seeds::updates },
    Target { name: "terreno_headers", run: outside::terreno_headers, seeds: seeds::headers },
    Target { name: "terreno_reply", run: outside::terreno_reply, seeds: seeds::terreno },
    Target { name: "terreno_token", run: outside::terreno_token, seeds: seeds::tokens },
    Target { name: "wire", run: wire_bodies, seeds: seeds::terreno },
];

/// Lines for `askgate validate`, and the rules on what they hold: an ask without errors has a card, every button of a card is
/// found by its id, and what it sends answers the ask.
fn ask_lines(bytes: &[u8]) {
    for answer in commands::validated(bytes) {
        let is_told = ["errors", "error", "response"].iter().any(|key| answer.get(key).is_some());
        assert!(is_told, "nothing is answered: {answer}");
    }
    let Ok(line) = serde_json::from_slice::<Value>(bytes) else { return };
    let (Some(kind), Some(input)) = (line.get("kind").and_then(Value::as_str), line.get("input")) else { return };
    let (kind, id) = (Kind::from(kind), ToolCallId::from("call_1"));
    if !validate::ask(&kind, Surface::Full, input).is_empty() {
        return;
    }
    let card = match derive::derive(&kind, input, &id) {
        Ok(card) => card,
        Err(invalid) => panic!("a valid ask has no card: {:?}", invalid.errors),
    };
    assert!(card.buttons.len() <= rules::CARD_BUTTONS, "{} buttons", card.buttons.len());
    assert!(rules::CARD_TEXT.holds(&card.text), "a text of {} units", utf16_len(&card.text));
    assert!(card.title.as_deref().is_none_or(|title| rules::CARD_TITLE.holds(title)), "a title that is too long");
    for button in &card.buttons {
        assert!(rules::CARD_LABEL.holds(&button.label), "a label of {} units", utf16_len(&button.label));
        let found = derive::find_button(&card, &button.id).expect("a button of the card");
        let errors = validate::answer(&kind, input, &found.response, rules::DEFAULT_MAX_FILE_SIZE);
        assert!(errors.is_empty(), "{} sends what is refused: {errors:?}", button.id.as_str());
    }
}

/// A form as a page posts it: read as an answer, checked and drawn again, whatever was typed. Nothing typed becomes markup.
fn ask_forms(bytes: &[u8]) {
    let Ok(line) = serde_json::from_slice::<Value>(bytes) else { return };
    let kind = Kind::from(line.get("kind").and_then(Value::as_str).unwrap_or_default());
    let Ok(input) = validate::read_tolerantly(&kind, line.get("input").unwrap_or(&Value::Null)) else { return };
    let mut posted = Posted::default();
    for pair in line.get("posted").and_then(Value::as_array).into_iter().flatten() {
        let text = |at: usize| pair.get(at).and_then(Value::as_str).unwrap_or_default();
        posted.push(text(0), text(1));
    }
    posted.push("other", "<script>alert(1)</script>");
    let answer = form::read(&input, &posted);
    let errors = form::check(&input, &posted, &answer, rules::DEFAULT_MAX_FILE_SIZE);
    let words = Language::En.words();
    let problems = form::problems(&input, &errors, words);
    let drawing = Drawing {
        ask: &input,
        posted: Some(&posted),
        problems: &problems,
        max_file_size: rules::DEFAULT_MAX_FILE_SIZE,
        words,
    };
    let page = form::draw(&drawing).into_string().to_lowercase();
    assert!(!page.contains("<script"), "what was typed became markup");
}

/// A card that a source sent, whatever is in it: what is shown is within every limit of every platform.
fn cards(bytes: &[u8]) {
    if let Ok(card) = serde_json::from_slice::<Card>(bytes) {
        limits::hold(&commands::shown(card));
    }
}

/// Lines for `askgate preview`, in every language.
fn previews(bytes: &[u8]) {
    for shown in commands::previewed(bytes).into_iter().flatten() {
        limits::hold(&shown);
    }
}

/// A file and an environment: it is loaded, or every problem has a key and one line.
fn configuration(bytes: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| TempDir::new().expect("a folder"));
    let at = bytes.windows(4).position(|four| four == b"\n%%\n");
    let (file, rest) = bytes.split_at(at.unwrap_or(bytes.len()));
    let path = folder.path().join("askgate.toml");
    std::fs::write(&path, file).expect("a file");
    let rest = String::from_utf8_lossy(rest);
    let env = rest.lines().filter_map(|line| line.split_once('='));
    let env: Vec<(String, String)> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let problems = match config::load(&path, env) {
        Ok(loaded) => loaded.warnings,
        Err(refused) => {
            assert!(!refused.problems.is_empty(), "refused without a reason");
            refused.problems
        }
    };
    for problem in problems {
        assert!(!problem.key.is_empty() && !problem.what.is_empty(), "a problem of nothing: {problem}");
    }
}

/// Places, people and callback data: what can be read is written the same way, and no topic of ntfy is shown.
fn places(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(place) = text.parse::<Place>() {
        assert_eq!(place.address().parse(), Ok(place.clone()), "a place that cannot be read again");
        if let Place::Ntfy(topic) = &place {
            assert!(topic.len() < 9 || !place.to_string().contains(topic.as_str()), "a topic is shown");
        }
    }
    if let Ok(actor) = text.parse::<Actor>() {
        assert_eq!(actor.to_string().parse(), Ok(actor), "a person who cannot be read again");
    }
    let token = store::token::TapToken::from_outside(&text);
    assert_eq!(token.hash(), store::token::TapToken::from_outside(&text).hash());
    assert!(text.len() < 12 || !format!("{token:?}").contains(text.as_ref()), "a token is shown");
}

/// Text as it is shown: honest, the same when shown again, and labels that fit and can be told apart.
fn shown_text(bytes: &[u8]) {
    let said = String::from_utf8_lossy(bytes);
    let seen = show::visible(&said);
    assert_eq!(show::visible(&seen), seen, "shown twice it is another text");
    for moves in ['\u{202e}', '\u{202d}', '\u{2066}', '\u{2067}', '\u{200b}', '\u{feff}', '\u{200e}', '\0'] {
        assert!(!seen.contains(moves), "{moves:?} is hidden in it");
    }
    // The tags of Unicode spell hidden words; they are only ever part of a flag.
    let tag = |c: char| matches!(u32::from(c), 0xE0000..=0xE007F);
    let mut before = None;
    for c in seen.chars() {
        assert!(!tag(c) || before.is_some_and(|before| before == '🏴' || tag(before)), "a hidden tag");
        before = Some(c);
    }
    let line = show::one_line(&said);
    assert!(!line.contains(['\n', '\r', '\t']), "more than one line");
    let labels: Vec<&str> = said.split(' ').take(30).collect();
    let buttons: Vec<Button> = labels
        .iter()
        .enumerate()
        .map(|(at, label)| Button {
            id: format!("b{at}").as_str().into(),
            label: (*label).to_owned(),
            style: Style::Default,
            response: Value::Null,
        })
        .collect();
    let buttons: Vec<&Button> = buttons.iter().collect();
    for limit in [20, 40, 80] {
        let fitted = show::labels::fit(&buttons, limit, Language::De.words());
        assert_eq!(fitted.labels.len(), buttons.len(), "a label for each");
        for (at, label) in fitted.labels.iter().enumerate() {
            assert!(!label.trim().is_empty() && utf16_len(label) <= limit, "{label:?} in {limit}");
            assert!(!fitted.labels.iter().skip(at + 1).any(|other| other == label), "two labels are {label:?}");
        }
        let cut = text::cut(&said, limit);
        assert!(utf16_len(&cut) <= limit, "cut to {}", utf16_len(&cut));
    }
}

/// An export: it is taken in whole and can be exported again, or refused.
fn store_import(bytes: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = FOLDER.get_or_init(|| TempDir::new().expect("a folder"));
    let path = folder.path().join(NUMBER.fetch_add(1, Ordering::Relaxed).to_string());
    if offline::import(&path, bytes).is_ok() {
        let mut again = Vec::new();
        offline::export(&path, &mut again).expect("what was imported is exported");
        assert!(again.starts_with(b"{\"kind\":\"askgate\""), "no export");
    }
    let _ = std::fs::remove_dir_all(&path);
}

/// Bodies of a source: mending leaves good JSON alone and is done once, and every entry that is lost is told.
fn wire_bodies(bytes: &[u8]) {
    let at = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let body = bytes.get(at..).unwrap_or_default();
    let mended = wire::mend(body).into_owned();
    assert_eq!(wire::mend(mended.as_bytes()), mended, "mending twice is another text");
    if let Ok(good) = serde_json::from_slice::<Value>(body) {
        assert_eq!(serde_json::from_str::<Value>(&mended).ok(), Some(good.clone()), "mending changed good JSON");
        if let (Some(list), Ok(read)) = (good.get("data").and_then(Value::as_array), wire::read_pending(body)) {
            assert_eq!(list.len(), read.asks.len() + read.unreadable.len(), "an entry is lost without a word");
        }
    }
    let _ = (wire::read_pending(body).is_ok(), wire::read_turn(body).is_ok(), wire::read_history(body).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_reach_what_they_are_examples_of() -> anyhow::Result<()> {
        let folder = TempDir::new()?;
        for (number, export) in seeds::exports()?.iter().enumerate() {
            let lines = offline::import(&folder.path().join(number.to_string()), export.as_slice())?;
            assert_eq!(lines, String::from_utf8_lossy(export).lines().count());
        }
        for card in seeds::cards()? {
            serde_json::from_slice::<Card>(&card)?;
        }
        for record in seeds::records()?.iter().take(1) {
            serde_json::from_slice::<store::record::AskRecord>(record)?;
        }
        Ok(())
    }
}
