//! The simulated platforms of one measurement, and askgate beside them.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adapters::clock::{Clock as _, SystemClock};
use sim::clock::Clock;
use sim::discord::{self, Discord};
use sim::telegram::{Settings, Telegram};
use sim::terreno::{self, Route, Terreno};
use tempfile::TempDir;
use tests::gateway::binary;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::process::Process;

const PASSWORD: &str = "correct-horse-battery";
/// Chats and people are numbered from here.
const FIRST: i64 = 100_000;

/// What is written into the configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// People with one account and one private chat each.
    pub(crate) accounts: i64,
    /// Whether their chats are linked and the bots are there.
    pub(crate) channels: bool,
    /// `poll_active` and `poll_idle`.
    pub(crate) polls: (&'static str, &'static str),
}

/// The platforms, and a folder on the disk whose syncs count.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The simulated Telegram.
    pub(crate) telegram: Telegram,
    /// Its address.
    pub(crate) telegram_url: String,
    /// The simulated host.
    pub(crate) terreno: Terreno,
    plan: Plan,
    discord: Discord,
    folder: TempDir,
}

impl Scene {
    /// Platforms with everybody of the plan on them.
    pub(crate) async fn start(plan: Plan) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(sim::clock::SystemClock);
        let any = (Ipv4Addr::LOCALHOST, 0);
        let settings = Settings { token: "1234:telegram-token-of-the-measures".into(), ..Settings::default() };
        let telegram = Telegram::new(settings, Arc::clone(&clock));
        let listener = TcpListener::bind(any).await?;
        let telegram_url = format!("http://{}", listener.local_addr()?);
        let serving = telegram.clone();
        tokio::spawn(async move { serving.serve(listener, CancellationToken::new()).await });

        let options = discord::Options::new("discord.token-of-the-measures", 3001_u64);
        let discord = Discord::start(TcpListener::bind(any).await?, options, Arc::clone(&clock))?;
        let host = terreno::Options { keep_requests: 100, ..terreno::Options::default() };
        let terreno = Terreno::start(TcpListener::bind(any).await?, host, clock)?;
        for person in 0..plan.accounts {
            telegram.private_chat(chat(person));
            terreno.add_user(&email(person), PASSWORD);
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self { telegram, telegram_url, terreno, plan, discord, folder })
    }

    /// Where a program may write what it prints.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Starts askgate and waits until it is ready.
    pub(crate) async fn askgate(&self) -> anyhow::Result<Process> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port();
        let file = self.folder.path().join("askgate.toml");
        std::fs::write(&file, self.configuration(port)?)?;
        let process = Process::start(&binary("askgate"), &["serve", "-c", &file.to_string_lossy()], &self.log())?;
        let client = adapters::http::client()?;
        for _ in 0..600 {
            let answer = client.get(format!("http://127.0.0.1:{port}/readyz")).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(process);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("askgate did not become ready:\n{}", std::fs::read_to_string(self.log()).unwrap_or_default())
    }

    /// How many polls the host has answered.
    pub(crate) fn polls(&self) -> u64 {
        self.terreno.read(|state| state.count(Route::PendingAsks))
    }

    fn configuration(&self, port: u16) -> anyhow::Result<String> {
        let mut toml = format!("[server]\nlisten = \"127.0.0.1:{port}\"\n\n[store]\npath = \"ledger\"\n\n");
        let (active, idle) = self.plan.polls;
        let url = self.terreno.url();
        writeln!(
            toml,
            "[[sources]]\nname = \"app\"\nkind = \"terreno\"\nurl = \"{url}\"\n\
             handoff_url = \"https://app.example.com/ai?history={{historyId}}&ask={{toolCallId}}\"\n\
             poll_active = \"{active}\"\npoll_idle = \"{idle}\"\n"
        )?;
        if self.plan.channels {
            writeln!(
                toml,
                "[telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\n\
                 [discord]\ntoken = \"discord.token-of-the-measures\"\napi_url = \"{}\"\n",
                self.telegram.token(),
                self.telegram_url,
                self.discord.url()
            )?;
        }
        for person in 0..self.plan.accounts {
            let deliver = if self.plan.channels { format!("\"telegram:{}\"", chat(person)) } else { String::new() };
            writeln!(
                toml,
                "[[accounts]]\nname = \"person-{person}\"\nsource = \"app\"\nemail = \"{}\"\n\
                 password = \"{PASSWORD}\"\ndeliver = [{deliver}]\n",
                email(person)
            )?;
        }
        Ok(toml)
    }
}

/// The private chat of a person, which has the person's number.
pub(crate) fn chat(person: i64) -> i64 {
    FIRST + person
}

/// A person's address at the host.
pub(crate) fn email(person: i64) -> String {
    format!("person-{person}@example.com")
}

/// Looks again and again until something is found.
pub(crate) async fn until<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let end = SystemClock.instant() + within;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        anyhow::ensure!(SystemClock.instant() < end, "{what} did not happen within {within:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
