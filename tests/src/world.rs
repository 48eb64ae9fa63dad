//! The simulated world of one test.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sim::clock::{Clock, SystemClock};
use sim::discord::{self, Discord, Limits};
use sim::ntfy::{self, Ntfy};
use sim::telegram::{Settings, Telegram};
use sim::terreno::{self, Terreno};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;
use crate::proxy::Proxy;

/// The person's Telegram user id, which is also the id of the private chat with the bot.
pub const TELEGRAM_PERSON: i64 = 1001;
/// The person's Discord user id.
pub const DISCORD_PERSON: u64 = 2001;
/// The person's e-mail address at the host.
pub const EMAIL: &str = "person@example.com";
/// The person's password at the host.
pub const PASSWORD: &str = "correct-horse-battery";

/// What a test wants to be different in the configuration.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Whether there is a Telegram bot.
    pub telegram: bool,
    /// Whether there is a Discord bot.
    pub discord: bool,
    /// Whether the platforms post what people do, instead of being asked for it. `ASKGATE_TESTS_HOOKS=1` makes it so everywhere.
    pub hooks: bool,
    /// The person's places; by default the private chats on the channels that are there.
    pub deliver: Option<Vec<String>>,
    /// The hand-off address.
    pub handoff_url: Option<String>,
    /// Lines for the `[server]` section.
    pub server: String,
    /// Lines for the `[[sources]]` section.
    pub source: String,
    /// Lines for the `[[accounts]]` section.
    pub account: String,
    /// Sections at the end, such as `[[groups]]`.
    pub more: String,
    /// Variables for the process.
    pub env: Vec<(String, String)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            telegram: true,
            discord: true,
            hooks: std::env::var_os("ASKGATE_TESTS_HOOKS").is_some(),
            deliver: None,
            handoff_url: Some("https://app.example.com/ai?history={historyId}&ask={toolCallId}".to_owned()),
            server: String::new(),
            source: String::new(),
            account: String::new(),
            more: String::new(),
            env: Vec::new(),
        }
    }
}

impl Setup {
    /// Only Telegram.
    #[must_use]
    pub fn telegram() -> Self {
        Self { discord: false, ..Self::default() }
    }

    /// Only Discord.
    #[must_use]
    pub fn discord() -> Self {
        Self { telegram: false, ..Self::default() }
    }
}

/// One proxy in front of each simulated system.
#[derive(Debug)]
pub struct Proxies {
    /// The Bot API.
    pub telegram: Proxy,
    /// Discord's REST.
    pub discord: Proxy,
    /// Discord's socket.
    pub discord_socket: Proxy,
    /// The host.
    pub terreno: Proxy,
}

/// Telegram, Discord and a Terreno host, with one person on all three, and a folder for the gateway.
#[derive(Debug)]
pub struct World {
    /// The simulated Telegram.
    pub telegram: Telegram,
    /// Its address.
    pub telegram_url: String,
    /// The simulated Discord.
    pub discord: Discord,
    /// The simulated host.
    pub terreno: Terreno,
    /// The simulated ntfy server, and the phones that subscribe to it.
    pub ntfy: Ntfy,
    /// The gateway's port; free when the world was made.
    pub port: u16,
    /// What stands between the gateway and everything else, in a world that was started with it.
    pub proxies: Option<Proxies>,
    folder: TempDir,
    telegram_address: SocketAddr,
    telegram_up: std::sync::Mutex<CancellationToken>,
}

impl World {
    /// A world in which nothing has happened yet.
    ///
    /// # Errors
    /// If the machine has no loopback sockets or temporary folders.
    pub async fn start() -> anyhow::Result<Self> {
        Self::with(terreno::Options::default()).await
    }

    /// A world with a host of that kind.
    ///
    /// # Errors
    /// As [`World::start`].
    pub async fn with(host: terreno::Options) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let any = (Ipv4Addr::LOCALHOST, 0);
        let settings = Settings { token: "1234:telegram-token-of-the-tests".into(), ..Settings::default() };
        let telegram = Telegram::new(settings, Arc::clone(&clock));
        telegram.private_chat(TELEGRAM_PERSON);
        let listener = TcpListener::bind(any).await?;
        let telegram_address = listener.local_addr()?;
        let up = CancellationToken::new();
        serve(&telegram, listener, &up);

        let options = discord::Options::new("discord.token-of-the-tests", 3001_u64);
        let discord = Discord::start(TcpListener::bind(any).await?, options, Arc::clone(&clock))?;
        discord.set_limits(Limits::off());
        discord.add_user(DISCORD_PERSON, "person");

        let terreno = Terreno::start(TcpListener::bind(any).await?, host, clock)?;
        terreno.add_user(EMAIL, PASSWORD);
        let port = free_port().await?;
        Ok(Self {
            telegram,
            telegram_url: format!("http://{telegram_address}"),
            discord,
            terreno,
            ntfy: Ntfy::start(TcpListener::bind(any).await?, ntfy::Options::default())?,
            port,
            proxies: None,
            folder: tempfile::tempdir()?,
            telegram_address,
            telegram_up: std::sync::Mutex::new(up),
        })
    }

    /// A world whose gateway reaches everything through proxies that can be told to break.
    ///
    /// # Errors
    /// As [`World::start`].
    pub async fn behind_proxies() -> anyhow::Result<Self> {
        let mut world = Self::start().await?;
        let proxies = Proxies {
            telegram: Proxy::start(world.telegram_address).await?,
            discord: Proxy::start(world.discord.address()).await?,
            discord_socket: Proxy::start(world.discord.address()).await?,
            terreno: Proxy::start(world.terreno.address()).await?,
        };
        world.discord.set_gateway_url(format!("{}/gateway", proxies.discord_socket.url().replace("http://", "ws://")));
        world.proxies = Some(proxies);
        Ok(world)
    }

    /// Where the gateway reaches Telegram, Discord and the host.
    fn addresses(&self) -> (String, String, String) {
        match &self.proxies {
            Some(proxies) => (proxies.telegram.url(), proxies.discord.url(), proxies.terreno.url()),
            None => (self.telegram_url.clone(), self.discord.url(), self.terreno.url()),
        }
    }

    /// Takes Telegram off the network: every connection is cut, new ones are refused. Its state stays.
    pub fn telegram_down(&self) {
        self.telegram_up.lock().unwrap_or_else(std::sync::PoisonError::into_inner).cancel();
    }

    /// Brings it back at the same address.
    ///
    /// # Errors
    /// If the address was taken meanwhile.
    pub async fn telegram_back(&self) -> anyhow::Result<()> {
        let mut tries = 0;
        let listener = loop {
            match TcpListener::bind(self.telegram_address).await {
                Ok(listener) => break listener,
                Err(error) if tries > 50 => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
            tries += 1;
        };
        let up = CancellationToken::new();
        serve(&self.telegram, listener, &up);
        *self.telegram_up.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = up;
        Ok(())
    }

    /// The configuration of a gateway in this world.
    #[must_use]
    pub fn configuration(&self, setup: &Setup) -> String {
        let mut toml = String::new();
        let (telegram_url, discord_url, terreno_url) = self.addresses();
        let deliver = setup.deliver.clone().unwrap_or_else(|| {
            let telegram = setup.telegram.then(|| format!("telegram:{TELEGRAM_PERSON}"));
            let discord = setup.discord.then(|| format!("discord:user:{DISCORD_PERSON}"));
            telegram.into_iter().chain(discord).collect()
        });
        let _ = writeln!(toml, "[server]\nlisten = \"127.0.0.1:{}\"\n{}\n", self.port, setup.server);
        let mut modes = ("", String::new());
        if setup.hooks {
            let key = self.discord.public_key();
            modes.0 = "mode = \"webhook\"\nwebhook_secret = \"hook_secret-of-the-tests\"\n";
            modes.1 = format!("mode = \"interactions\"\npublic_key = \"{key}\"\n");
            if !setup.server.contains("public_url") {
                let _ = writeln!(toml, "public_url = \"http://127.0.0.1:{}\"\n", self.port);
            }
        }
        let _ = writeln!(toml, "[store]\npath = \"ledger\"\n");
        let _ = writeln!(toml, "[[sources]]\nname = \"app\"\nkind = \"terreno\"\nurl = \"{terreno_url}\"");
        if let Some(url) = &setup.handoff_url {
            let _ = writeln!(toml, "handoff_url = \"{url}\"");
        }
        if !setup.source.contains("poll_active") {
            let _ = writeln!(toml, "poll_active = \"400ms\"\npoll_idle = \"400ms\"");
        }
        let _ = writeln!(toml, "{}\n", setup.source);
        if setup.telegram {
            let _ = writeln!(
                toml,
                "[telegram]\ntoken = \"{}\"\napi_url = \"{telegram_url}\"\n{}",
                self.telegram.token(),
                modes.0
            );
        }
        if setup.discord {
            let _ = writeln!(
                toml,
                "[discord]\ntoken = \"discord.token-of-the-tests\"\napi_url = \"{discord_url}\"\n{}",
                modes.1
            );
        }
        let _ = writeln!(toml, "[[accounts]]\nname = \"me\"\nsource = \"app\"");
        if !setup.account.contains("token") {
            let _ = writeln!(toml, "email = \"{EMAIL}\"\npassword = \"{PASSWORD}\"");
        }
        let _ = writeln!(toml, "deliver = {deliver:?}\n{}\n\n{}", setup.account, setup.more);
        toml
    }

    /// Where the gateway's configuration is.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("askgate.toml")
    }

    /// Where the gateway's store is.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }

    /// Starts the gateway and waits until it is ready.
    ///
    /// # Errors
    /// If it does not become ready; the error carries its log.
    pub async fn gateway(&self, setup: &Setup) -> anyhow::Result<Gateway> {
        let gateway = self.gateway_unready(setup)?;
        gateway.wait_ready(Duration::from_secs(15)).await?;
        if setup.hooks && setup.discord {
            // What the operator does on the application's page.
            self.discord.set_endpoint(&gateway.url("/discord/interactions")).await?;
        }
        Ok(gateway)
    }

    /// Starts the gateway and does not wait.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn gateway_unready(&self, setup: &Setup) -> anyhow::Result<Gateway> {
        std::fs::write(self.file(), self.configuration(setup))?;
        Gateway::start(&self.file(), self.port, &setup.env)
    }

    /// Asserts that no request broke a platform's rules in a way the platform would have let pass.
    ///
    /// # Errors
    /// Names the first requests that did.
    pub fn assert_well_behaved(&self) -> anyhow::Result<()> {
        let (telegram, discord) = (self.telegram.violations(), self.discord.violations());
        anyhow::ensure!(telegram.is_empty(), "Telegram requests broke rules: {telegram:#?}");
        anyhow::ensure!(discord.is_empty(), "Discord requests broke rules: {discord:#?}");
        Ok(())
    }
}

/// A port that stays free until the gateway takes it, also across a restart.
///
/// One that the system hands out may be handed out again at once, to another world of a test beside this one. So it is taken
/// from below the range the system hands out from, and never twice in a process.
async fn free_port() -> anyhow::Result<u16> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    const LOWEST: u16 = 15_000;
    const COUNT: u32 = 17_000;
    // Processes that run side by side begin far from each other.
    let begin = std::process::id().wrapping_mul(997) % COUNT;
    for _ in 0..COUNT {
        let offset = (begin + TAKEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = LOWEST + u16::try_from(offset)?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.is_ok() {
            return Ok(port);
        }
    }
    anyhow::bail!("no port is free")
}

fn serve(telegram: &Telegram, listener: TcpListener, up: &CancellationToken) {
    let (telegram, up) = (telegram.clone(), up.clone());
    tokio::spawn(async move { telegram.serve(listener, up).await });
}
