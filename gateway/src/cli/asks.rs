//! `askgate asks`: asks the running service, or reads the store while none runs.

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use config::Config;
use serde_json::{Value, json};
use store::ledger::{Ledger as _, LedgerError};
use store::sled::{Options, SledLedger};

use super::{ConfigFile, Exit, block_on, load, out};
use crate::announce;

/// The most records one call lists.
const MAX_LISTED: usize = 1000;

/// The arguments of `askgate asks`.
#[derive(Debug, Args)]
pub(super) struct Asks {
    #[command(flatten)]
    file: ConfigFile,
    /// List finished ones too.
    #[arg(long)]
    all: bool,
    /// Print the audit trail: one line for each thing that somebody tried.
    #[arg(long)]
    audit: bool,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
}

impl Asks {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let loaded = match load(&self.file.config) {
            Ok(loaded) => loaded,
            Err(exit) => return Ok(exit),
        };
        let rows = block_on(self.rows(loaded.config))?;
        for row in rows {
            out::line(&if self.json { row.to_string() } else { text(&row) });
        }
        Ok(Exit::Fine)
    }

    async fn rows(&self, config: Config) -> anyhow::Result<Vec<Value>> {
        let path = config.store.path.clone();
        if !path.exists() {
            return Ok(Vec::new());
        }
        // Only a new store takes the random bytes, and this one exists.
        let options = Options { lock_wait: Duration::ZERO, ..Options::new([0; 32], 0) };
        let opened = match tokio::task::spawn_blocking(move || SledLedger::open(&path, options)).await? {
            Err(LedgerError::InUse { .. }) if !self.audit => return self.ask_service(&config).await,
            Err(LedgerError::InUse { .. }) => {
                anyhow::bail!("the service holds the store; stop it, then read the audit trail")
            }
            opened => opened?,
        };
        let ledger = opened.ledger;
        let rows = if self.audit {
            ledger.audit_trail(MAX_LISTED).await?.iter().map(serde_json::to_value).collect::<Result<_, _>>()?
        } else {
            let records = if self.all { ledger.recent_asks(MAX_LISTED).await? } else { ledger.open_asks(None).await? };
            let mut rows = Vec::with_capacity(records.len());
            for record in records {
                let places = announce::whereabouts(&ledger.deliveries(&record.key).await?);
                rows.push(
                    json!({"source": record.key.source, "conversation": record.key.conversation, "ask": record.key.ask,
                        "account": record.account.name, "kind": record.card.kind, "state": record.life.name(),
                        "life": record.life, "first_seen": record.first_seen, "moved_at": record.moved_at,
                        "places": places}),
                );
            }
            rows
        };
        ledger.close().await;
        Ok(rows)
    }

    async fn ask_service(&self, config: &Config) -> anyhow::Result<Vec<Value>> {
        let admin = config.server.admin_token.as_ref().context(
            "the service is running; set server.admin_token so that this command can ask it, or stop it first",
        )?;
        let url = format!("http://{}/v1/asks?all={}", config.server.listen, self.all);
        let request = adapters::http::client()?.get(url).bearer_auth(admin.expose()).timeout(Duration::from_secs(10));
        let response =
            request.send().await.map_err(reqwest::Error::without_url).context("the running service does not answer")?;
        let status = response.status();
        anyhow::ensure!(status.is_success(), "the running service answers {status}");
        let mut body: Value = response.json().await.map_err(reqwest::Error::without_url)?;
        Ok(body.get_mut("asks").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default())
    }
}

fn text(row: &Value) -> String {
    let field = |key: &str| match row.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(key)) => key.values().filter_map(Value::as_str).collect::<Vec<_>>().join("/"),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let keys: &[&str] = if row.get("event").is_some() {
        &["at", "event", "ask", "account", "actor", "place", "button", "detail"]
    } else {
        &["state", "source", "conversation", "ask", "account", "kind"]
    };
    let mut line: Vec<String> = keys.iter().map(|key| field(key)).collect();
    for place in row.get("places").and_then(Value::as_array).into_iter().flatten() {
        let part = |key: &str| place.get(key).and_then(Value::as_str);
        let why = part("why").map(|why| format!(" ({why})")).unwrap_or_default();
        line.push(format!("{} at {}{why}", part("state").unwrap_or_default(), part("place").unwrap_or_default()));
    }
    line.join("  ")
}
