//! `askgate demo` in a real browser: a visit that answers one ask on each pane, at desk and phone width.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tests::chrome::{Browser, Look};
use tests::gateway::binary;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A running demo; dropping it kills it.
struct Demo {
    url: String,
    _process: Child,
}

impl Demo {
    async fn start() -> anyhow::Result<Self> {
        let mut process = Command::new(binary("askgate"))
            .args(["demo", "--port", "0", "--no-open"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("the demo has no output")?).lines();
        let first = tokio::time::timeout(Duration::from_secs(20), lines.next_line()).await??;
        let url = first
            .as_deref()
            .and_then(|line| line.strip_prefix("demo: "))
            .context("the first line names the address")?
            .to_owned();
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { url, _process: process })
    }
}

/// Where a live button with this label is.
fn button(pane: &str, label: &str) -> String {
    format!("[data-pane='{pane}'] button[data-button-label='{label}']")
}

/// True when no button can be tapped in a pane.
fn quiet(pane: &str) -> String {
    format!("document.querySelectorAll(\"[data-pane='{pane}'] [data-live='true']\").length === 0")
}

/// True when a pane shows a text.
fn shows(pane: &str, text: &str) -> String {
    format!("document.querySelector(\"[data-pane='{pane}']\").textContent.includes('{text}')")
}

/// Keeps a picture beside the build, and in `docs` when asked to renew the README's.
fn keep(name: &str, picture: &[u8]) -> anyhow::Result<()> {
    let folder = binary("pictures");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), picture)?;
    #[expect(clippy::disallowed_methods, reason = "a switch for whoever renews the README's pictures")]
    if std::env::var("ASKGATE_RENEW_PICTURES").is_ok() && !name.ends_with("-settled.png") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/").to_owned() + name, picture)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_answers_on_each_pane_at_a_desk() -> anyhow::Result<()> {
    let Some(browser) = Browser::start(Look::Desk).await? else { return Ok(()) };
    let demo = Demo::start().await?;
    browser.open(&demo.url).await?;

    // The agent asks; Telegram answers, and the other two follow.
    browser.click(&button("app", "Plan a weekend trip")).await?;
    browser.click(&button("telegram", "Oslo")).await?;
    browser.wait(&shows("discord", "Answered: Oslo")).await?;

    // The agent asks next; Discord answers with the first button there.
    browser
        .wait("document.querySelector(\"[data-pane='discord'] [data-live='true'] button[data-button-label]\")")
        .await?;
    browser.click("[data-pane='discord'] [data-live='true'] button[data-button-label]").await?;
    browser.wait(&quiet("telegram")).await?;

    // The app answers, and both chats say that it was answered elsewhere, and how.
    browser.wait(&shows("telegram", "Book it?")).await?;
    browser.wait(&shows("discord", "Book it?")).await?;
    browser.click(&button("app", "Book for 240 €")).await?;
    browser.wait(&shows("telegram", "Answered elsewhere: Book for 240 €")).await?;
    browser.wait(&shows("discord", "Answered elsewhere: Book for 240 €")).await?;
    browser.wait(&shows("app", "Booked: Oslo")).await?;

    // One more question, so that the picture shows one that waits and some that are settled.
    browser
        .run(
            "const area = document.querySelector(\"[data-pane='app'] .compose textarea\"); \
             area.value = 'Delete my finished todos'; area.dispatchEvent(new Event('input', {bubbles: true})); \
             area.form.requestSubmit();",
        )
        .await?;
    browser.wait(&shows("telegram", "Delete 14 completed todos?")).await?;
    browser.wait(&shows("discord", "Delete 14 completed todos?")).await?;
    keep("demo-desktop.png", &settled_picture(&browser).await?)?;
    browser.close().await
}

/// A picture after everything has come to rest.
async fn settled_picture(browser: &Browser) -> anyhow::Result<Vec<u8>> {
    browser.wait("document.getAnimations().every((one) => one.effect.getTiming().iterations === Infinity)").await?;
    browser.picture().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_answers_on_a_phone() -> anyhow::Result<()> {
    let Some(browser) = Browser::start(Look::Phone).await? else { return Ok(()) };
    let demo = Demo::start().await?;
    browser.open(&demo.url).await?;
    browser.wait("document.querySelector('.link-state[data-link=live]') && window.innerWidth === 390").await?;
    browser.click(&button("app", "Delete my finished todos")).await?;
    browser.click("nav button[data-tab='telegram']").await?;
    browser.wait(&shows("telegram", "Delete 14 completed todos?")).await?;
    let overflow = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await?;
    assert_eq!(overflow, 0, "nothing hangs over the edge of a phone");
    keep("demo-phone.png", &settled_picture(&browser).await?)?;
    browser.click(&button("telegram", "Keep them")).await?;
    browser.wait(&shows("telegram", "Answered: Keep them")).await?;
    browser.click("nav button[data-tab='discord']").await?;
    browser.wait(&shows("discord", "Answered: Keep them")).await?;
    keep("demo-phone-settled.png", &settled_picture(&browser).await?)?;
    browser.close().await
}
