//! The real binary as a process.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// A running `askgate serve`. Dropping it kills the process as `kill -9` does.
#[derive(Debug)]
pub struct Gateway {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    readers: JoinSet<()>,
    url: String,
}

/// Where the binaries of this build are.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap_or_default();
    // target/debug/deps/some_test-hash -> target/debug/askgate
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    path.join(name)
}

impl Gateway {
    /// Starts the process.
    ///
    /// # Errors
    /// If the binary is not there.
    pub fn start(config: &Path, port: u16, env: &[(String, String)]) -> anyhow::Result<Self> {
        let program = binary("askgate");
        let mut child = Command::new(&program)
            .args(["serve", "-c"])
            .arg(config)
            .env("RUST_LOG", "debug")
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started; build it with: cargo build --bins", program.display()))?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut readers = JoinSet::new();
        if let Some(out) = child.stdout.take() {
            readers.spawn(collect(out, Arc::clone(&log)));
        }
        if let Some(out) = child.stderr.take() {
            readers.spawn(collect(out, Arc::clone(&log)));
        }
        Ok(Self { child, log, readers, url: format!("http://127.0.0.1:{port}") })
    }

    /// The address of the gateway's own HTTP.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// The process's id, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Everything it has printed.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Waits until `/readyz` says 200.
    ///
    /// # Errors
    /// With the log, when it does not in time.
    pub async fn wait_ready(&self, within: Duration) -> anyhow::Result<()> {
        self.wait_status("/readyz", 200, within).await
    }

    /// Waits until a path answers with that status.
    ///
    /// # Errors
    /// With the last answer and the log, when it does not in time.
    pub async fn wait_status(&self, path: &str, status: u16, within: Duration) -> anyhow::Result<()> {
        self.wait_answer(path, within, |got, _| got == status).await.map(drop)
    }

    /// Waits until a path answers with a status and a body that fit, and gives the body.
    ///
    /// # Errors
    /// With the last answer and the log, when it does not in time.
    pub async fn wait_answer(
        &self,
        path: &str,
        within: Duration,
        fits: impl Fn(u16, &str) -> bool,
    ) -> anyhow::Result<String> {
        let client = adapters::http::client()?;
        let mut last = String::from("no answer");
        let looking = async {
            loop {
                if let Ok(answer) = client.get(self.url(path)).timeout(Duration::from_secs(2)).send().await {
                    let status = answer.status().as_u16();
                    let body = answer.text().await.unwrap_or_default();
                    if fits(status, &body) {
                        return body;
                    }
                    last = format!("{status} {body}");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        match tokio::time::timeout(within, looking).await {
            Ok(body) => Ok(body),
            Err(_) => anyhow::bail!("{path} did not answer so within {within:?}; last: {last}\n{}", self.log()),
        }
    }

    /// Waits until every card is shown, and that is written down: the ledger knows each message's id.
    ///
    /// # Errors
    /// As [`Gateway::wait_answer`].
    pub async fn wait_at_rest(&self, within: Duration) -> anyhow::Result<()> {
        let at_rest = |_: u16, body: &str| body.lines().any(|line| line == "askgate_queue_length 0");
        self.wait_answer("/metrics", within, at_rest).await.map(drop)
    }

    /// Posts as the operator, with the admin token `operator`.
    ///
    /// # Errors
    /// If there is no answer, or another than 202.
    pub async fn nudge(&self, source: &str, account: &str) -> anyhow::Result<()> {
        let body = format!("{{\"source\":\"{source}\",\"account\":\"{account}\"}}");
        let request = adapters::http::client()?.post(self.url("/v1/nudge")).bearer_auth("operator");
        let status = request.header("content-type", "application/json").body(body).send().await?.status();
        anyhow::ensure!(status.as_u16() == 202, "the nudge was answered with {status}");
        Ok(())
    }

    /// Ends it as a crash would.
    ///
    /// # Errors
    /// If it cannot be ended.
    pub async fn kill(mut self) -> anyhow::Result<String> {
        self.child.kill().await?;
        self.read_all().await;
        Ok(self.log())
    }

    /// What an ended process printed last may still be on its way.
    async fn read_all(&mut self) {
        let reading = async { while self.readers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(Duration::from_secs(2), reading).await;
    }

    /// Asks it to end, as Docker does.
    ///
    /// # Errors
    /// If the signal cannot be sent.
    pub async fn terminate(&self) -> anyhow::Result<()> {
        let id = self.child.id().context("the process has ended already")?;
        let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
        anyhow::ensure!(sent.success(), "the signal was not sent");
        Ok(())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// With the log, when it does not end in time.
    pub async fn wait_end(&mut self, within: Duration) -> anyhow::Result<ExitStatus> {
        match tokio::time::timeout(within, self.child.wait()).await {
            Ok(status) => {
                self.read_all().await;
                Ok(status?)
            }
            Err(_) => anyhow::bail!("it did not end within {within:?}\n{}", self.log()),
        }
    }
}

async fn collect(out: impl AsyncRead + Unpin, log: Arc<Mutex<Vec<String>>>) {
    let mut lines = BufReader::new(out).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}
