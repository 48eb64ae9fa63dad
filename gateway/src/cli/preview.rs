//! `askgate preview`.

use std::io::Read as _;

use adapters::channels::telegram::TelegramChannel;
use anyhow::Context as _;
use asks::card::{Card, Kind};
use asks::derive;
use asks::ids::{AccountKey, AskKey};
use asks::life::Life;
use clap::Args;
use serde_json::{Value, json};
use store::record::{AskRecord, DeliveryId, Seq};
use store::token::TokenKey;

use super::{Exit, out};
use crate::show::content;
use crate::show::view::{Setting, view};
use crate::words::Language;

/// The command's arguments.
#[derive(Debug, Args)]
pub(super) struct Preview {
    /// A file with one ask `{"kind", "input", "toolCallId"?}`, or one in each line; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    file: String,
    /// One JSON object in, one out, line by line.
    #[arg(long)]
    json: bool,
    /// The language of the words around the ask.
    #[arg(long, value_name = "CODE", default_value = "en")]
    language: String,
}

impl Preview {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Some(language) = Language::from_code(&self.language) else {
            out::error(&format!("askgate: --language {}: not spoken here; use en or de", self.language));
            return Ok(Exit::WrongUse);
        };
        let mut failed = false;
        for line in Lines::read(&self.file, self.json)? {
            let result =
                line.map_err(|error| json!({"error": {"message": error, "fix": "Send one JSON object in a line."}}));
            let result = result.and_then(|ask| card(&ask).map(|card| (ask, card)));
            match result {
                Ok((ask, card)) if self.json => out::line(&shown(&ask, card, language).to_string()),
                Ok((ask, card)) => print(&shown(&ask, card, language)),
                Err(error) => {
                    failed = true;
                    if self.json { out::line(&error.to_string()) } else { out::error(&format!("{error:#}")) }
                }
            }
        }
        Ok(if failed && !self.json { Exit::Failed } else { Exit::Fine })
    }
}

pub(super) fn card(ask: &Value) -> Result<Card, Value> {
    let Some(kind) = ask.get("kind").and_then(Value::as_str) else {
        return Err(
            json!({"error": {"path": "kind", "message": "kind is missing", "fix": "Send {\"kind\": ..., \"input\": {...}}."}}),
        );
    };
    let id = ask.get("toolCallId").and_then(Value::as_str).unwrap_or("call_preview");
    let input = ask.get("input").unwrap_or(&Value::Null);
    derive::derive(&Kind::from(kind), input, &id.into()).map_err(|invalid| json!({"errors": invalid.errors}))
}

/// The card, and what each channel sends for it.
pub(super) fn shown(ask: &Value, card: Card, language: Language) -> Value {
    let words = language.words();
    let content = content::spell_out(&card, ask.get("input").unwrap_or(&Value::Null), words);
    let key = AskKey { source: "preview".into(), conversation: "conversation".into(), ask: card.tool_call_id.clone() };
    let record = AskRecord {
        key,
        account: AccountKey { source: "preview".into(), name: "me".into() },
        content,
        conversation_title: None,
        first_seen: 0,
        created: String::new(),
        life: Life::Live { note: None },
        dead_buttons: Vec::new(),
        unused: 0,
        votes: Vec::new(),
        seq: Seq::default(),
        moved_at: 0,
        finished: false,
        card,
    };
    let setting = |label_limit| Setting {
        delivery: DeliveryId(0),
        shared: false,
        summary: false,
        hidden: false,
        short: false,
        quiet: false,
        origin: None,
        handoff: Some("https://app.example.com/".to_owned()),
        answer_page: None,
        label_limit,
        asked: None,
        tallies: Vec::new(),
        voters: Vec::new(),
    };
    // Tokens of a preview are of no use anywhere.
    let keys = TokenKey::new([0; 32]);
    let seen = |limit| view(&record, &setting(limit), &keys, words);
    let telegram = TelegramChannel::preview(&seen(adapters::channels::telegram::LABEL_LIMIT));
    let discord = adapters::channels::discord::preview(&seen(adapters::channels::discord::LABEL_LIMIT));
    json!({"card": record.card, "telegram": telegram, "discord": discord})
}

fn print(shown: &Value) {
    let text = serde_json::to_string_pretty(shown).unwrap_or_default();
    out::line(&text);
}

/// The objects of a file or of standard input.
pub(super) struct Lines;

impl Lines {
    /// Reads all objects: the lines of a `.jsonl`, or one object over many lines. A line that is no JSON is an error of its own.
    pub(super) fn read(file: &str, lines: bool) -> anyhow::Result<Vec<Result<Value, String>>> {
        let bytes = if file == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
            bytes
        } else {
            std::fs::read(file).with_context(|| format!("{file} cannot be read"))?
        };
        Ok(Self::of(&bytes, lines))
    }

    /// The objects in bytes.
    pub(super) fn of(bytes: &[u8], lines: bool) -> Vec<Result<Value, String>> {
        let text = asks::wire::mend(bytes).into_owned();
        if !lines && let Ok(value) = serde_json::from_str(&text) {
            return vec![Ok(value)];
        }
        let parse = |line: &str| serde_json::from_str(line).map_err(|error| format!("this line is no JSON: {error}"));
        text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
    }
}
