//! `askgate demo`: the service with its real adapters, on simulated platforms on loopback.
//!
//! Nothing here is a shortcut: the demo writes a configuration file as anybody would, and the service reads it, signs in, polls,
//! listens and posts over real sockets. Only what it talks to is simulated.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use config::LogFormat;
use rand::RngCore as _;
use sim::clock::{Clock, SystemClock};
use sim::discord::{self, Discord};
use sim::page::{self, PageOptions};
use sim::telegram::{Settings, Telegram};
use sim::terreno::{self, Terreno};
use store::sled::{Options, SledLedger};
use tokio::net::TcpListener;

use super::{Exit, block_on, load, logging, out};
use crate::hub::Stop;
use crate::lifecycle;
use crate::wiring::Tools;

/// The visitor's ids and credentials in the simulated world; they open nothing else.
const TELEGRAM_USER: i64 = 700_100;
const DISCORD_USER: u64 = 700_200;
const DISCORD_APPLICATION: u64 = 700_300;
const EMAIL: &str = "visitor@example.com";
const PASSWORD: &str = "only-for-the-demo";
/// How long the simulated agent thinks.
const THINKING: Duration = Duration::from_millis(900);

/// The command's arguments.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// The port of the page; 0 takes any free one.
    #[arg(long, default_value_t = 8788)]
    port: u16,
    /// Do not open a browser.
    #[arg(long)]
    no_open: bool,
}

impl Demo {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        logging::start(LogFormat::Text);
        let folder =
            tempfile::Builder::new().prefix("askgate-demo-").tempdir().context("no temporary folder can be made")?;
        let exit = block_on(self.serve(folder.path()));
        folder.close().context("the demo's temporary folder cannot be removed")?;
        exit
    }

    async fn serve(&self, folder: &Path) -> anyhow::Result<Exit> {
        let stop = Stop::default();
        lifecycle::on_signals(stop.clone())?;
        let mut tools = Tools::system()?;
        let page_listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await.with_context(|| {
            format!("port {} is taken; choose another one with --port N, or any free one with --port 0", self.port)
        })?;
        let page_address = page_listener.local_addr()?;

        let world = World::start(&mut tools, &stop).await?;
        let file = folder.join("askgate.toml");
        tokio::fs::write(&file, world.configuration(page_address.port())?).await?;
        let loaded = match load(&file) {
            Ok(loaded) => loaded,
            Err(exit) => return Ok(exit),
        };
        let mut random = [0; 32];
        tools.random.fill_bytes(&mut random);
        let options = Options::new(random, tools.clock.unix_millis());
        let path = loaded.config.store.path.clone();
        let opened = tokio::task::spawn_blocking(move || SledLedger::open(&path, options)).await??;
        let listener = TcpListener::bind(loaded.config.server.listen).await?;

        let page = tokio::spawn(page::serve(page_listener, world.page(), stop.soft.clone()));
        let url = format!("http://{page_address}/");
        out::line(&format!("demo: {url}"));
        out::line("Everything runs on this machine. Press Ctrl-C to end it.");
        if !self.no_open {
            open_browser(&url);
        }
        lifecycle::run(loaded.config, Arc::new(opened.ledger), listener, tools, stop).await?;
        page.abort();
        Ok(Exit::Fine)
    }
}

/// The simulated platforms.
struct World {
    telegram: Telegram,
    telegram_url: String,
    telegram_token: String,
    discord: Discord,
    discord_token: String,
    terreno: Terreno,
}

impl World {
    async fn start(tools: &mut Tools, stop: &Stop) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let any = (Ipv4Addr::LOCALHOST, 0);

        let telegram_token = format!("700100:{:016x}", tools.random.next_u64());
        let telegram =
            Telegram::new(Settings { token: telegram_token.clone(), ..Settings::default() }, Arc::clone(&clock));
        telegram.private_chat(TELEGRAM_USER);
        let listener = TcpListener::bind(any).await?;
        let telegram_url = format!("http://{}", listener.local_addr()?);
        let (serving, until) = (telegram.clone(), stop.hard.clone());
        tokio::spawn(async move { serving.serve(listener, until).await });

        let discord_token = format!("demo.{:016x}", tools.random.next_u64());
        let options = discord::Options::new(&discord_token, DISCORD_APPLICATION);
        let discord = Discord::start(TcpListener::bind(any).await?, options, Arc::clone(&clock))?;
        discord.add_user(DISCORD_USER, "visitor");

        let options = terreno::Options { pace: THINKING, ..terreno::Options::default() };
        let terreno = Terreno::start(TcpListener::bind(any).await?, options, clock)?;
        terreno.add_user(EMAIL, PASSWORD);
        Ok(Self { telegram, telegram_url, telegram_token, discord, discord_token, terreno })
    }

    /// The configuration a person would write for these platforms.
    fn configuration(&self, page_port: u16) -> anyhow::Result<String> {
        let mut toml = String::new();
        writeln!(toml, "[server]\nlisten = \"127.0.0.1:{}\"\n", free_port()?)?;
        writeln!(toml, "[store]\npath = \"ledger\"\n")?;
        writeln!(toml, "[[sources]]\nname = \"app\"\nkind = \"terreno\"\nurl = \"{}\"", self.terreno.url())?;
        writeln!(toml, "handoff_url = \"http://127.0.0.1:{page_port}/#ask={{toolCallId}}\"")?;
        writeln!(toml, "surface = \"full\"\npoll_active = \"400ms\"\npoll_idle = \"1s\"\n")?;
        writeln!(toml, "[telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n", self.telegram_token, self.telegram_url)?;
        writeln!(toml, "[discord]\ntoken = \"{}\"\napi_url = \"{}\"\n", self.discord_token, self.discord.url())?;
        writeln!(
            toml,
            "[[accounts]]\nname = \"visitor\"\nsource = \"app\"\nemail = \"{EMAIL}\"\npassword = \"{PASSWORD}\""
        )?;
        writeln!(toml, "deliver = [\"telegram:{TELEGRAM_USER}\", \"discord:user:{DISCORD_USER}\"]")?;
        Ok(toml)
    }

    fn page(&self) -> PageOptions {
        PageOptions {
            telegram: self.telegram.clone(),
            telegram_user: TELEGRAM_USER,
            telegram_chat: TELEGRAM_USER,
            discord: self.discord.clone(),
            discord_user: DISCORD_USER.into(),
            terreno: self.terreno.clone(),
            user: EMAIL.to_owned(),
        }
    }
}

/// A port that is free now; the configuration wants a number.
fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Opens the page in the visitor's browser, where there is one; the printed address works all the same.
fn open_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    if let Err(error) =
        std::process::Command::new(opener).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()
    {
        tracing::debug!("no browser was opened ({error}); open the address by hand");
    }
}
