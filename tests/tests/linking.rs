//! Linking an account: the page in a real browser, and everything that must not link.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use sim::terreno::{AskSpec, Route, Script};
use tests::chrome::{Browser, Look};
use tests::gateway::binary;
use tests::{AT_ONCE, Channel, Gateway, SOON, Setup, World};

/// Somebody whom no file knows.
const NEW: &str = "new@example.com";
const NEW_PASSWORD: &str = "a-password-of-theirs";
/// That person's id on both platforms.
const NEW_ID: u64 = 1_502;
/// A second person of the chat.
const OTHER_ID: i64 = 1_503;
const MINUTE: i64 = 60_000;

struct Bench {
    world: World,
    gateway: Gateway,
    clock: PathBuf,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn start(key: bool) -> anyhow::Result<Self> {
        let world = World::start().await?;
        world.terreno.add_user(NEW, NEW_PASSWORD);
        world.telegram.private_chat(i64::try_from(NEW_ID)?);
        world.telegram.private_chat(OTHER_ID);
        world.discord.add_user(NEW_ID, "newcomer");
        let folder = tempfile::tempdir()?;
        let clock = folder.path().join("clock");
        std::fs::write(&clock, "0")?;
        let secrets = "[secrets]\nkey = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"";
        let setup = Setup {
            server: format!("admin_token = \"operator\"\npublic_url = \"http://127.0.0.1:{}\"", world.port),
            source: "label = \"My App\"".to_owned(),
            more: if key { secrets.to_owned() } else { String::new() },
            env: vec![("ASKGATE_CLOCK_FILE".to_owned(), clock.display().to_string())],
            ..Setup::default()
        };
        let gateway = world.gateway(&setup).await?;
        Ok(Self { world, gateway, clock, _folder: folder })
    }

    /// What the bot answers in somebody's Telegram chat.
    async fn say(&self, id: i64, text: &str) -> anyhow::Result<String> {
        let screen = self.world.screen_of(Channel::Telegram, id.unsigned_abs());
        let before: Vec<u64> = screen.messages().iter().map(|card| card.id).collect();
        self.world.telegram.say(id, id, text).context("nothing was said")?;
        Ok(screen.see(text, |card| !before.contains(&card.id)).await?.text)
    }

    /// A fresh link for somebody on Telegram.
    async fn link(&self, id: i64) -> anyhow::Result<String> {
        link_in(&self.say(id, "/link").await?)
    }

    /// A fresh link for the new person on Discord, whose answer only that person sees.
    async fn discord_link(&self) -> anyhow::Result<String> {
        let channel = self.world.discord.add_channel(4_900_u64, "anywhere");
        let used = self.world.discord.use_command(NEW_ID, channel, "link", &json!([]));
        let callback = self.world.discord.wait_for_response(used, AT_ONCE * 2).await?;
        anyhow::ensure!(callback.ephemeral, "everybody sees {callback:?}");
        let look = |state: &sim::discord::State| state.shown_privately(used).first().map(ToString::to_string);
        let text: String = self.world.discord.wait_for("the link", SOON, look).await?;
        // As it was sent: an address that is escaped is no link in Discord.
        link_in(&text)
    }

    fn linked(&self) -> usize {
        self.world.terreno.read(|state| usize::try_from(state.count(Route::Login)).unwrap_or_default())
    }

    async fn accounts(&self) -> anyhow::Result<usize> {
        let request = adapters::http::client()?.get(self.gateway.url("/v1/accounts")).bearer_auth("operator");
        let body: Value = request.send().await?.json().await?;
        Ok(body.get("accounts").and_then(Value::as_array).map(Vec::len).unwrap_or_default())
    }
}

fn link_in(text: &str) -> anyhow::Result<String> {
    let link = text.split_whitespace().find(|word| word.starts_with("http://127.0.0.1") && word.contains("/link/"));
    Ok(link.with_context(|| format!("no link in {text:?}"))?.to_owned())
}

/// A browser without a window: it keeps the cookie and the form's proof.
struct Visitor {
    link: String,
    cookie: String,
    proof: String,
}

struct Page {
    status: StatusCode,
    text: String,
}

impl Visitor {
    async fn open(link: &str) -> anyhow::Result<(Self, Page)> {
        let mut visitor = Self { link: link.to_owned(), cookie: String::new(), proof: String::new() };
        let response = adapters::http::client()?.get(link).timeout(SOON).send().await?;
        let page = visitor.read(response).await?;
        Ok((visitor, page))
    }

    async fn read(&mut self, response: Response) -> anyhow::Result<Page> {
        let status = response.status();
        let headers = response.headers().clone();
        if let Some(cookie) = headers.get("set-cookie").and_then(|value| value.to_str().ok()) {
            anyhow::ensure!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
            cookie.split(';').next().unwrap_or_default().clone_into(&mut self.cookie);
        }
        anyhow::ensure!(headers.contains_key("content-security-policy"), "a page without a policy");
        let text = response.text().await?;
        if let Some((_, rest)) = text.split_once("name=\"proof\" value=\"") {
            rest.split('"').next().unwrap_or_default().clone_into(&mut self.proof);
        }
        Ok(Page { status, text })
    }

    fn form(&self, fields: &[(&str, &str)]) -> anyhow::Result<RequestBuilder> {
        let mut url: reqwest::Url = "http://x/".parse()?;
        url.query_pairs_mut().extend_pairs(fields);
        let origin = self.link.split("/link/").next().unwrap_or_default();
        let request = adapters::http::client()?.post(&self.link).timeout(SOON).header("cookie", &self.cookie);
        let request = request.header("content-type", "application/x-www-form-urlencoded").header("origin", origin);
        Ok(request.body(url.query().unwrap_or_default().to_owned()))
    }

    async fn sign_in(&mut self, password: &str) -> anyhow::Result<Page> {
        let proof = self.proof.clone();
        let fields =
            [("step", "sign-in"), ("proof", &proof), ("source", "app"), ("email", NEW), ("password", password)];
        let response = self.form(&fields)?.send().await?;
        self.read(response).await
    }

    async fn confirm(&mut self) -> anyhow::Result<Page> {
        let proof = self.proof.clone();
        let response = self.form(&[("step", "confirm"), ("proof", &proof)])?.send().await?;
        self.read(response).await
    }
}

fn keep(name: &str, picture: &[u8]) -> anyhow::Result<()> {
    let folder = binary("pictures");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), picture)?;
    #[expect(clippy::disallowed_methods, reason = "a switch for whoever renews the README's pictures")]
    if std::env::var("ASKGATE_RENEW_PICTURES").is_ok() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/").to_owned() + name, picture)?;
    }
    Ok(())
}

async fn links_and_answers(look: Look, channel: Channel, picture: &str) -> anyhow::Result<()> {
    let Some(browser) = Browser::start(look).await? else { return Ok(()) };
    let bench = Bench::start(true).await?;
    let link = match channel {
        Channel::Telegram => bench.link(i64::try_from(NEW_ID)?).await?,
        Channel::Discord => bench.discord_link().await?,
    };
    let fill = |password: &str| {
        format!(
            "document.querySelector('#email').value = '{NEW}'; document.querySelector('#password').value = '{password}'"
        )
    };
    browser.open(&link).await?;
    browser.wait("document.querySelector('#password')").await?;
    keep(picture, &browser.picture().await?)?;
    let overflow = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await?;
    assert!(overflow.as_i64().is_some_and(|overflow| overflow <= 0), "something hangs over the edge: {overflow}");

    browser.run(&fill("a-wrong-one")).await?;
    browser.click("button.primary").await?;
    browser.wait("document.querySelector('.notice.bad')?.textContent.includes('does not accept')").await?;
    browser.run(&fill(NEW_PASSWORD)).await?;
    browser.click("button.primary").await?;
    browser.wait(&format!("document.body.textContent.includes('You are {NEW} at My App')")).await?;
    assert_eq!(bench.accounts().await?, 1, "nothing is linked before the last question is answered");
    browser.click("button.primary").await?;
    browser.wait("document.querySelector('.notice.good')?.textContent.includes('Connected')").await?;

    let screen = bench.world.screen_of(channel, NEW_ID);
    screen.see("Connected", |card| card.text.contains(&format!("Connected: {NEW} at My App"))).await?;
    let input = json!({"prompt": "Which plan?", "select": "one",
        "options": [{"id": "team", "label": "Team"}, {"id": "starter", "label": "Starter"}]});
    let asked = bench.world.terreno.ask_then(NEW, AskSpec::new("choice", input), Script::new())?;
    let card = screen.card("Which plan?").await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!(bench.world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id)), 1);
    let log = bench.gateway.kill().await?;
    let code = link.rsplit('/').next().unwrap_or_default();
    assert!(!log.contains(NEW_PASSWORD) && !log.contains(code), "the log has a secret");
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_links_telegram_on_a_phone_and_answers() -> anyhow::Result<()> {
    links_and_answers(Look::Phone, Channel::Telegram, "link-phone.png").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_links_discord_at_a_desk_and_answers() -> anyhow::Result<()> {
    links_and_answers(Look::Desk, Channel::Discord, "link-desktop.png").await
}

#[tokio::test(flavor = "multi_thread")]
async fn c41_c42_looking_changes_nothing_and_a_code_links_once() -> anyhow::Result<()> {
    let bench = Bench::start(true).await?;
    let id = i64::try_from(NEW_ID)?;
    let before = bench.linked();
    let older = bench.link(id).await?;
    let link = bench.link(id).await?;
    for agent in ["TelegramBot (like TwitterBot)", "Mozilla/5.0 (compatible; Discordbot/2.0)", "Mozilla/5.0"] {
        for method in [Method::GET, Method::HEAD] {
            let seen = adapters::http::client()?.request(method, &link).header("user-agent", agent).send().await?;
            assert_eq!(seen.status(), StatusCode::OK, "{agent}");
        }
    }
    assert_eq!(Visitor::open(&older).await?.1.status, StatusCode::NOT_FOUND, "a new link makes the older one void");
    let (mut visitor, page) = Visitor::open(&link).await?;
    assert!(page.text.contains(&NEW_ID.to_string()) && page.text.contains("My App"), "{}", page.text);
    assert_eq!((bench.linked(), bench.accounts().await?), (before, 1), "looking asks the app nothing");

    assert_eq!(visitor.sign_in(NEW_PASSWORD).await?.status, StatusCode::OK);
    // Somebody else has the link, and not the browser that signed in.
    let (mut stranger, _) = Visitor::open(&link).await?;
    assert_eq!(stranger.confirm().await?.status, StatusCode::CONFLICT);
    assert_eq!(bench.accounts().await?, 1);
    assert_eq!(visitor.confirm().await?.status, StatusCode::OK);
    assert_eq!(bench.accounts().await?, 2);
    assert_eq!(visitor.confirm().await?.status, StatusCode::GONE);
    assert_eq!(Visitor::open(&link).await?.1.status, StatusCode::GONE);
    assert!(bench.say(id, "/accounts").await?.contains(NEW));
    assert!(bench.say(id, "/unlink").await?.contains("not connected"));
    assert_eq!(bench.accounts().await?, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_has_its_status_and_links_nobody() -> anyhow::Result<()> {
    let bench = Bench::start(true).await?;
    let id = i64::try_from(NEW_ID)?;
    let link = bench.link(id).await?;
    let (mut visitor, _) = Visitor::open(&link).await?;

    // Forged requests: no proof, another page, another site, no cookie.
    let proof = visitor.proof.clone();
    let good =
        [("step", "sign-in"), ("proof", proof.as_str()), ("source", "app"), ("email", NEW), ("password", NEW_PASSWORD)];
    let without = visitor.form(&good[2..])?;
    let elsewhere = visitor.form(&good)?.header("sec-fetch-site", "cross-site");
    let (mut bare, _) = Visitor::open(&link).await?;
    bare.cookie = "askgate_link=00000000000000000000000000000000".to_owned();
    let mut foreign = visitor.form(&good)?.build()?;
    foreign.headers_mut().insert("origin", "https://evil.example".parse()?);
    assert_eq!(adapters::http::client()?.execute(foreign).await?.status(), StatusCode::FORBIDDEN);
    for request in [without, elsewhere, bare.form(&good)?] {
        assert_eq!(request.send().await?.status(), StatusCode::FORBIDDEN);
    }

    // The app is down: that costs no try.
    bench.world.terreno.set_down(true);
    assert_eq!(visitor.sign_in(NEW_PASSWORD).await?.status, StatusCode::BAD_GATEWAY);
    bench.world.terreno.set_down(false);
    for left in (0..5).rev() {
        let page = visitor.sign_in("wrong").await?;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(page.text.contains(&format!("Tries left with this link: {left}.")), "{}", page.text);
    }
    assert_eq!(visitor.sign_in(NEW_PASSWORD).await?.status, StatusCode::TOO_MANY_REQUESTS);

    let late = bench.link(id).await?;
    std::fs::write(&bench.clock, (16 * MINUTE).to_string())?;
    assert_eq!(Visitor::open(&late).await?.1.status, StatusCode::GONE);
    assert_eq!(bench.accounts().await?, 1);

    // In a group there is a hint, and never a link.
    bench.world.telegram.group(-700, "Group", &[id]);
    bench.world.telegram.say(id, -700, "/link").context("nothing was said")?;
    let group = bench.world.screen_of(Channel::Telegram, NEW_ID).in_chat(-700);
    let hint = group.see("a hint", |card| card.text.contains("direct chat")).await?;
    assert!(!hint.text.contains("/link/"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_codes_open_nothing() -> anyhow::Result<()> {
    let bench = Bench::start(true).await?;
    let client = adapters::http::client()?;
    let (mut missing, mut slowed) = (0, 0);
    for number in 0..10_000_u32 {
        let url = bench.gateway.url(&format!("/link/{number:032x}"));
        match client.get(url).send().await?.status() {
            StatusCode::NOT_FOUND => missing += 1,
            StatusCode::TOO_MANY_REQUESTS => slowed += 1,
            other => anyhow::bail!("a forged code was answered with {other}"),
        }
    }
    assert!(missing >= 60 && slowed > 5_000, "{missing} {slowed}");
    assert_eq!(bench.accounts().await?, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_chat_says_who_can_change_that() -> anyhow::Result<()> {
    let bench = Bench::start(false).await?;
    let said = bench.say(i64::try_from(NEW_ID)?, "/link").await?;
    assert!(said.contains("secrets.key") && !said.contains("/link/"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_app_invites_and_only_the_digits_link() -> anyhow::Result<()> {
    let bench = Bench::start(true).await?;
    let client = adapters::http::client()?;
    let invite = async || -> anyhow::Result<(StatusCode, Value)> {
        let tokens = bench.world.terreno.tokens(NEW).context("no tokens")?;
        let body = json!({"source": "app", "token": tokens.0, "refresh_token": tokens.1, "channel": "telegram"});
        let request = client.post(bench.gateway.url("/v1/links")).bearer_auth("operator").json(&body);
        let response = request.timeout(Duration::from_secs(10)).send().await?;
        Ok((response.status(), response.json().await?))
    };
    let unknown = client.post(bench.gateway.url("/v1/links")).json(&json!({})).send().await?;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);

    let id = i64::try_from(NEW_ID)?;
    for right in [false, true] {
        let (status, body) = invite().await?;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        let url = body["url"].as_str().context("a link")?;
        let (bot, payload) = url.split_once("?start=").context("a deep link")?;
        assert!(bot.starts_with("https://t.me/"), "{url}");
        let digits = body["code"].as_str().context("digits")?;
        assert!(bench.say(id, &format!("/start {payload}")).await?.contains("four digits"));
        assert!(bench.say(OTHER_ID, &format!("/start {payload}")).await?.contains("over or was used"));
        if right {
            assert!(bench.say(id, digits).await?.contains("Connected"));
            assert_eq!(bench.accounts().await?, 2);
        } else {
            let wrong = if digits == "0000" { "0001" } else { "0000" };
            for left in ["2", "1", "over"] {
                assert!(bench.say(id, wrong).await?.contains(left));
            }
            assert!(!bench.say(id, digits).await?.contains("Connected"), "three wrong tries end it");
            assert_eq!(bench.accounts().await?, 1);
        }
    }
    Ok(())
}
