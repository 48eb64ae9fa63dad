//! `askgate accounts`: through the running service, or in the store while none runs.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adapters::source::Secret;
use anyhow::Context as _;
use asks::ids::{AccountName, SourceName};
use asks::place::Place;
use clap::{Args, Subcommand};
use config::Config;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use store::ledger::{Ledger as _, LedgerError};
use store::sled::{Options, SledLedger};
use tokio_util::sync::CancellationToken;

use super::{ConfigFile, Exit, block_on, load, out};
use crate::accounts::{self, LinkedAccount, record};
use crate::hub::{Hub, Stop};
use crate::links::Links;
use crate::wiring::{self, Tools};
use crate::words::Language;

/// The longest credential that is read, in bytes.
const LONGEST_CREDENTIAL: u64 = 64 * 1024;

/// The arguments of `askgate accounts`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Accounts {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the known accounts and where their asks are shown.
    List(List),
    /// Link a person who has a session at a source.
    Add(Add),
    /// Forget a linked account, with its credential and its places.
    Remove(Remove),
}

/// The arguments of `askgate accounts list`.
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    file: ConfigFile,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
}

/// The arguments of `askgate accounts add`. The credential is none of them: other users of the machine can read arguments.
#[derive(Debug, Args)]
struct Add {
    #[command(flatten)]
    file: ConfigFile,
    /// The source, by its name in the configuration.
    #[arg(long, value_name = "NAME")]
    source: SourceName,
    /// A direct place, such as telegram:ID; may be given more than once.
    #[arg(long = "place", value_name = "PLACE", required = true)]
    places: Vec<Place>,
    /// Read the token from this file instead of standard input: one line, and on the next the refresh token, if there is one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The language of askgate's own sentences there: en or de.
    #[arg(long, value_name = "CODE", default_value = "en", value_parser = ["en", "de"])]
    language: String,
}

/// The arguments of `askgate accounts remove`.
#[derive(Debug, Args)]
struct Remove {
    #[command(flatten)]
    file: ConfigFile,
    /// The account's id, as `askgate accounts list` shows it.
    #[arg(value_name = "ID")]
    id: AccountName,
}

impl Accounts {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let action = self.action.unwrap_or(Action::List(self.list));
        let file = match &action {
            Action::List(List { file, .. }) | Action::Add(Add { file, .. }) | Action::Remove(Remove { file, .. }) => {
                file
            }
        };
        let config = match load(&file.config) {
            Ok(loaded) => loaded.config,
            Err(exit) => return Ok(exit),
        };
        match action {
            Action::List(list) => {
                for row in block_on(rows(&config))? {
                    out::line(&if list.json { row.to_string() } else { text(&row) });
                }
            }
            Action::Add(add) => {
                let row = block_on(add.add(&config))?;
                out::line(&text(&row));
            }
            Action::Remove(remove) => block_on(remove.remove(&config))?,
        }
        Ok(Exit::Fine)
    }
}

impl Add {
    async fn add(&self, config: &Config) -> anyhow::Result<Value> {
        let (token, refresh) = self.credential()?;
        let Some(offline) = Offline::open(config).await? else {
            let places: Vec<String> = self.places.iter().map(Place::address).collect();
            let body = json!({"source": self.source, "token": token.expose(), "places": places, "language": self.language,
                "refresh_token": refresh.as_ref().map(Secret::expose)});
            return ask_service(config, Method::POST, "/v1/accounts", Some(body)).await;
        };
        let added = offline.add(self, &token, refresh.as_ref()).await;
        offline.close().await;
        added
    }

    /// The token, and the refresh token if there is one.
    fn credential(&self) -> anyhow::Result<(Secret, Option<Secret>)> {
        let mut text = zeroize::Zeroizing::new(String::new());
        match &self.token_file {
            Some(file) => {
                let opened = std::fs::File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
                opened.take(LONGEST_CREDENTIAL).read_to_string(&mut text)
            }
            None => std::io::stdin().take(LONGEST_CREDENTIAL).read_to_string(&mut text),
        }
        .context("the token cannot be read")?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let token = lines.next().context(
            "give the token on standard input or with --token-file: one line, and on the next the refresh token",
        )?;
        Ok((Secret::new(token), lines.next().map(Secret::new)))
    }
}

impl Remove {
    async fn remove(&self, config: &Config) -> anyhow::Result<()> {
        let Some(offline) = Offline::open(config).await? else {
            let mut path = String::from("/v1/accounts/");
            path.extend(url::form_urlencoded::byte_serialize(self.id.as_str().as_bytes()));
            return ask_service(config, Method::DELETE, &path.replace('+', "%20"), None).await.map(drop);
        };
        let removed = match accounts::find(&offline.hub, &self.id) {
            Some(account) => accounts::remove(&offline.hub, &account).await.map_err(Into::into),
            None => Err(anyhow::anyhow!("there is no account {}", self.id)),
        };
        offline.close().await;
        removed
    }
}

/// The service's parts without its tasks: nothing is polled or shown before it runs.
struct Offline {
    hub: Arc<Hub>,
}

impl Offline {
    /// Opens the store; `None` while the service holds it.
    async fn open(config: &Config) -> anyhow::Result<Option<Self>> {
        let mut tools = Tools::system()?;
        let mut random = [0; 32];
        rand::RngCore::fill_bytes(&mut tools.random, &mut random);
        let options = Options { lock_wait: Duration::ZERO, ..Options::new(random, tools.clock.unix_millis()) };
        let path = config.store.path.clone();
        let opened = match tokio::task::spawn_blocking(move || SledLedger::open(&path, options)).await? {
            Err(LedgerError::InUse { .. }) => return Ok(None),
            opened => opened?,
        };
        let stopped = CancellationToken::new();
        stopped.cancel();
        let stop = Stop { soft: stopped.clone(), hard: stopped };
        let hub = wiring::hub(config, Arc::new(opened.ledger), &mut tools, stop).await?;
        Ok(Some(Self { hub }))
    }

    async fn add(&self, add: &Add, token: &Secret, refresh: Option<&Secret>) -> anyhow::Result<Value> {
        let hub = &self.hub;
        accounts::may_link(hub, &add.source, &add.places)?;
        let source = hub.sources.get(&add.source).context("there is no such source")?;
        let signed = source.port.adopt(token, refresh).await?;
        let language = Language::from_code(&add.language).unwrap_or_default();
        let account = accounts::link(hub, &add.source, &signed, &add.places, language).await?;
        let places = hub.links.places(&account);
        Ok(hub.accounts.get(&account).map_or_else(|| record::row(&account, &places), |record| record.row(&places)))
    }

    async fn close(self) {
        self.hub.ledger.close().await;
    }
}

/// The accounts of the file, and those that the store holds.
async fn rows(config: &Config) -> anyhow::Result<Vec<Value>> {
    let links = Links::from_config(config);
    let of_file = |links: &Links| {
        links.accounts().iter().map(|account| record::row(account, &links.places(account))).collect::<Vec<_>>()
    };
    let path = config.store.path.clone();
    if !path.exists() {
        return Ok(of_file(&links));
    }
    // Only a new store takes the random bytes, and this one exists.
    let options = Options { lock_wait: Duration::ZERO, ..Options::new([0; 32], 0) };
    let ledger = match tokio::task::spawn_blocking(move || SledLedger::open(&path, options)).await? {
        Err(LedgerError::InUse { .. }) if config.server.admin_token.is_none() => {
            out::error(
                "the service is running, so only the accounts of the file are listed; set server.admin_token for the others",
            );
            return Ok(of_file(&links));
        }
        Err(LedgerError::InUse { .. }) => {
            let mut body = ask_service(config, Method::GET, "/v1/accounts", None).await?;
            return Ok(body.get_mut("accounts").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default());
        }
        opened => opened?.ledger,
    };
    let kept = ledger.recall_all(record::PREFIX).await?;
    ledger.close().await;
    let kept: Vec<LinkedAccount> = kept.iter().filter_map(|(_, text)| LinkedAccount::read(text)).collect();
    for record in &kept {
        if record.sealed.is_some() {
            links.add(&record.key, record.display.as_deref(), record.language());
        }
        for place in &record.places {
            links.add_place(&record.key, place);
        }
    }
    let row = |account: &asks::ids::AccountKey| {
        let places = links.places(account);
        let record = kept.iter().find(|record| record.key == *account);
        record.map_or_else(|| record::row(account, &places), |record| record.row(&places))
    };
    Ok(links.accounts().iter().map(row).collect())
}

async fn ask_service(config: &Config, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
    let admin =
        config.server.admin_token.as_ref().context(
            "the service is running; set server.admin_token so that this command can ask it, or stop it first",
        )?;
    let url = format!("http://{}{path}", config.server.listen);
    let request = adapters::http::client()?.request(method, url).bearer_auth(admin.expose());
    let request = request.timeout(Duration::from_secs(15));
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    };
    let response =
        request.send().await.map_err(reqwest::Error::without_url).context("the running service does not answer")?;
    let status = response.status();
    if status == StatusCode::NO_CONTENT {
        return Ok(Value::Null);
    }
    let body: Value = response.json().await.map_err(reqwest::Error::without_url)?;
    let why = body.get("error").and_then(Value::as_str);
    anyhow::ensure!(
        status.is_success(),
        "{}",
        why.map_or_else(|| format!("the service answers {status}"), str::to_owned)
    );
    Ok(body)
}

fn text(row: &Value) -> String {
    let part = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
    let places = row.get("places").and_then(Value::as_array).into_iter().flatten();
    let places: Vec<&str> = places.filter_map(Value::as_str).collect();
    let places = if places.is_empty() { "nowhere".to_owned() } else { places.join(", ") };
    let mut line = format!("{}@{}  {places}", part("name"), part("source"));
    if row.get("linked").and_then(Value::as_bool).unwrap_or_default() {
        line.push_str("  linked");
    }
    for (before, key) in [("  ", "display"), ("  has to sign in again: ", "parked")] {
        if !part(key).is_empty() {
            line.push_str(before);
            line.push_str(&crate::show::one_line(part(key)));
        }
    }
    line
}
