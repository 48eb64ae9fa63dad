//! A real browser: Chromium, driven over WebDriver.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How the page is looked at.
#[derive(Debug, Clone, Copy)]
pub enum Look {
    /// A window of 1280 by 900 pixels.
    Desk,
    /// A phone of 390 by 844 pixels.
    Phone,
}

/// How a browser is set up.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// Its window.
    pub look: Look,
    /// Whether pages can load script.
    pub script: bool,
    /// Whether the person prefers dark pages.
    pub dark: bool,
}

/// One browser with an empty profile. Dropping it ends driver and browser.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    _driver: Child,
    profile: TempDir,
}

impl Browser {
    /// Starts a browser; `None`, said loudly, where the machine has none.
    ///
    /// # Errors
    /// If there is one and it does not start.
    pub async fn start(look: Look) -> anyhow::Result<Option<Self>> {
        Self::with(Wish { look, script: true, dark: false }).await
    }

    /// Starts a browser that is set up so.
    ///
    /// # Errors
    /// As [`Browser::start`].
    pub async fn with(wish: Wish) -> anyhow::Result<Option<Self>> {
        let look = wish.look;
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let Ok(mut driver) = command.spawn() else {
            #[expect(clippy::print_stderr, reason = "what was not checked is said loudly")]
            {
                eprintln!("NOT CHECKED: chromedriver is missing, so no page was looked at in a real browser");
            }
            return Ok(None);
        };
        let mut lines = BufReader::new(driver.stdout.take().context("the driver has no output")?).lines();
        let port = loop {
            let line = lines.next_line().await?.context("the driver ended before it named its port")?;
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });

        let profile = tempfile::tempdir()?;
        let mut args = arguments(&profile);
        // The numbers are Blink's own: 0 is dark, 1 is light.
        args.push(format!("--blink-settings=preferredColorScheme={}", u8::from(!wish.dark)));
        let options = json!({"args": args, "mobileEmulation": emulation(look)});
        let options = without_nulls(options);
        let capabilities = [("browserName".to_owned(), json!("chrome")), ("goog:chromeOptions".to_owned(), options)];
        let client = ClientBuilder::native()
            .capabilities(capabilities.into_iter().collect())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await?;
        if let Look::Desk = look {
            client.set_window_size(1280, 900).await?;
        }
        let browser = Self { client, _driver: driver, profile };
        if !wish.script {
            // A browser whose script is switched off cannot be driven; one that loads none behaves the same, because our pages
            // have no script within.
            browser.devtools(&port, "Network.enable", &json!({})).await?;
            browser.devtools(&port, "Network.setBlockedURLs", &json!({"urls": ["*.js"]})).await?;
        }
        Ok(Some(browser))
    }

    /// Tells the browser something that WebDriver has no words for.
    async fn devtools(&self, port: &str, command: &str, parameters: &Value) -> anyhow::Result<()> {
        let session = self.client.session_id().await?.context("the browser has no session")?;
        let url = format!("http://127.0.0.1:{port}/session/{session}/goog/cdp/execute");
        let body = json!({"cmd": command, "params": parameters});
        let status = adapters::http::client()?.post(url).json(&body).send().await?.status();
        anyhow::ensure!(status.is_success(), "the browser answered {command} with {status}");
        Ok(())
    }

    /// Opens an address.
    ///
    /// # Errors
    /// If the browser cannot.
    pub async fn open(&self, url: &str) -> anyhow::Result<()> {
        Ok(self.client.goto(url).await?)
    }

    /// Clicks the first element that matches, once it is there and can be clicked.
    ///
    /// # Errors
    /// If it does not come in time; the error names it.
    pub async fn click(&self, css: &str) -> anyhow::Result<()> {
        let mut last = None;
        let clicking = async {
            loop {
                let clicked = match self.client.find(Locator::Css(css)).await {
                    Ok(element) => element.click().await,
                    Err(error) => Err(error),
                };
                match clicked {
                    Ok(()) => return,
                    Err(error) => last = Some(error),
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let clicked = tokio::time::timeout(Duration::from_secs(20), clicking).await.is_ok();
        anyhow::ensure!(clicked, "nothing to click at {css}: {last:?}");
        Ok(())
    }

    /// Types into the first element that matches, as keys do.
    ///
    /// # Errors
    /// If there is none.
    pub async fn type_in(&self, css: &str, text: &str) -> anyhow::Result<()> {
        Ok(self.client.find(Locator::Css(css)).await?.send_keys(text).await?)
    }

    /// The text that the first element that matches shows.
    ///
    /// # Errors
    /// If there is none.
    pub async fn text(&self, css: &str) -> anyhow::Result<String> {
        Ok(self.client.find(Locator::Css(css)).await?.text().await?)
    }

    /// Whether there is an element that matches.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub async fn has(&self, css: &str) -> anyhow::Result<bool> {
        Ok(!self.client.find_all(Locator::Css(css)).await?.is_empty())
    }

    /// Waits until a script gives `true`.
    ///
    /// # Errors
    /// If it does not in time; the error names it.
    pub async fn wait(&self, script: &str) -> anyhow::Result<()> {
        let looking = async {
            loop {
                if let Ok(Value::Bool(true)) =
                    self.client.execute(&format!("return Boolean({script});"), Vec::new()).await
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), looking).await.with_context(|| format!("never true: {script}"))
    }

    /// What a script gives.
    ///
    /// # Errors
    /// If it throws.
    pub async fn run(&self, script: &str) -> anyhow::Result<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// A picture of the window as PNG.
    ///
    /// # Errors
    /// If the browser cannot.
    pub async fn picture(&self) -> anyhow::Result<Vec<u8>> {
        Ok(self.client.screenshot().await?)
    }

    /// Ends the browser in good order.
    ///
    /// # Errors
    /// If it does not answer any more.
    pub async fn close(self) -> anyhow::Result<()> {
        Ok(self.client.clone().close().await?)
    }
}

impl Drop for Browser {
    /// A test that fails leaves the browser running, and killing its driver does not end it: it is found by its profile.
    fn drop(&mut self) {
        let profile = self.profile.path().display().to_string();
        let _ = std::process::Command::new("pkill").args(["-KILL", "-f", "--", &profile]).status();
    }
}

fn arguments(profile: &TempDir) -> Vec<String> {
    // Tests run as root in containers, where Chromium's sandbox cannot start; the pages are our own.
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--lang=en-US",
    ];
    fixed.into_iter().map(str::to_owned).chain([format!("--user-data-dir={}", profile.path().display())]).collect()
}

fn emulation(look: Look) -> Value {
    match look {
        Look::Desk => Value::Null,
        Look::Phone => json!({"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 2.0, "touch": true}}),
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    value
}
