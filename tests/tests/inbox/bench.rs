//! The scene of the inbox tests: a gateway, two people, what is asked, and how a page is looked at.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sim::terreno::{AskSpec, Asked, Script};
use tests::chrome::{Browser, Look, Wish};
use tests::gateway::binary;
use tests::{EMAIL, Gateway, PASSWORD, SOON, Setup, TELEGRAM_PERSON, World};

pub(crate) const OTHER_EMAIL: &str = "other@example.com";
pub(crate) const OTHER_PERSON: i64 = 1002;

/// A gateway with an inbox, and two people with a chat and an account each.
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) gateway: Gateway,
    pub(crate) prefix: &'static str,
}

impl Bench {
    pub(crate) async fn start(prefix: &'static str) -> anyhow::Result<Self> {
        Self::with(prefix, "", &[OTHER_PERSON]).await
    }

    /// With lines for the first person's account, and the chats of the other's account.
    pub(crate) async fn with(prefix: &'static str, account: &str, others: &[i64]) -> anyhow::Result<Self> {
        let others: Vec<String> = others.iter().map(|id| format!("telegram:{id}")).collect();
        let world = World::start().await?;
        world.telegram.private_chat(OTHER_PERSON);
        world.terreno.add_user(OTHER_EMAIL, PASSWORD);
        let setup = Setup {
            handoff_url: None,
            server: format!("public_url = \"http://127.0.0.1:{}{prefix}\"", world.port),
            more: format!(
                "[[accounts]]\nname = \"other\"\nsource = \"app\"\nemail = \"{OTHER_EMAIL}\"\npassword = \"{PASSWORD}\"\n\
                 deliver = {others:?}"
            ),
            account: account.to_owned(),
            ..Setup::telegram()
        };
        let gateway = world.gateway(&setup).await?;
        Ok(Self { world, gateway, prefix })
    }

    /// Asks the bot for a link, and gives its address.
    pub(crate) async fn link(&self, person: i64) -> anyhow::Result<String> {
        let said = self.world.telegram.say(person, person, "/inbox").context("nothing was said")?;
        let is_link = |message: &sim::telegram::Message| message.id > said && message.text.contains("/inbox/");
        let answer = self.world.telegram.wait_for_message(person, SOON, is_link).await?;
        let link = answer.text.split_whitespace().find(|word| word.starts_with("http://127.0.0.1"));
        Ok(link.context("no link")?.to_owned())
    }

    pub(crate) fn ask(&self, kind: &str, input: Value) -> anyhow::Result<Asked> {
        self.ask_of(EMAIL, kind, input)
    }

    pub(crate) fn ask_of(&self, email: &str, kind: &str, input: Value) -> anyhow::Result<Asked> {
        Ok(self.world.terreno.ask_then(email, AskSpec::new(kind, input), Script::new().say("Thanks."))?)
    }

    /// What the source took as the answer.
    pub(crate) async fn answer(&self, asked: &Asked) -> anyhow::Result<Value> {
        self.world.terreno.wait_for_answer(asked, SOON).await?;
        let row = self.world.terreno.read(|state| state.answer_row(&asked.history_id, &asked.tool_call_id).cloned());
        row.context("no answer row")
    }

    pub(crate) fn is_open(&self, asked: &Asked) -> bool {
        self.world.terreno.read(|state| state.answers(&asked.history_id, &asked.tool_call_id).is_empty())
    }

    pub(crate) fn home(&self) -> String {
        self.gateway.url(&format!("{}/", self.prefix))
    }

    pub(crate) async fn visitor(&self, person: i64) -> anyhow::Result<Visitor> {
        let mut visitor = self.stranger();
        let link = self.link(person).await?;
        let entered = visitor.send(Method::POST, path_of(&link), &[]).await?;
        anyhow::ensure!(entered.status == StatusCode::SEE_OTHER, "{} {}", entered.status, entered.text);
        let cookie = entered.headers.get("set-cookie").context("no cookie")?.to_str()?;
        cookie.split(';').next().unwrap_or_default().clone_into(&mut visitor.cookie);
        Ok(visitor)
    }

    pub(crate) fn stranger(&self) -> Visitor {
        Visitor { base: self.gateway.url(""), cookie: String::new(), extra: Vec::new() }
    }

    /// A browser that has signed in by the link from the chat.
    pub(crate) async fn browser(&self, wish: Wish) -> anyhow::Result<Option<Browser>> {
        let Some(browser) = Browser::with(wish).await? else { return Ok(None) };
        browser.open(&self.link(TELEGRAM_PERSON).await?).await?;
        browser.click("button.primary").await?;
        browser.wait("document.querySelector('[data-live=waiting]')").await?;
        Ok(Some(browser))
    }
}

/// Somebody who sends requests by hand.
pub(crate) struct Visitor {
    pub(crate) base: String,
    pub(crate) cookie: String,
    pub(crate) extra: Vec<(&'static str, String)>,
}

pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Visitor {
    pub(crate) async fn send(&self, method: Method, path: &str, form: &[(&str, &str)]) -> anyhow::Result<Page> {
        let mut request = adapters::http::client()?.request(method.clone(), format!("{}{path}", self.base));
        request = request.timeout(Duration::from_secs(10));
        if !self.cookie.is_empty() {
            request = request.header("cookie", &self.cookie);
        }
        for (name, value) in &self.extra {
            request = request.header(*name, value);
        }
        if method == Method::POST {
            request = request.form(form);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Page { status, headers, text: response.text().await? })
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Page> {
        self.send(Method::GET, path, &[]).await
    }

    /// The inbox, once it shows a text.
    pub(crate) async fn inbox_with(&self, text: &str) -> anyhow::Result<Page> {
        let looking = async {
            loop {
                let page = self.get("/").await?;
                if page.text.contains(text) {
                    return Ok(page);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(SOON, looking).await.with_context(|| format!("the inbox never shows {text}"))?
    }
}

impl Page {
    pub(crate) fn proof(&self) -> String {
        between(&self.text, "name=\"proof\" value=\"")
    }

    pub(crate) fn ask(&self) -> String {
        between(&self.text, "name=\"ask\" value=\"")
    }
}

pub(crate) fn between(text: &str, begin: &str) -> String {
    text.split(begin).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned()
}

pub(crate) fn path_of(link: &str) -> &str {
    let rest = link.trim_start_matches("http://");
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
}

pub(crate) const fn phone() -> Wish {
    Wish { look: Look::Phone, script: true, dark: false }
}

pub(crate) const fn desk() -> Wish {
    Wish { look: Look::Desk, ..phone() }
}

pub(crate) fn plan(prompt: &str) -> Value {
    json!({"prompt": prompt, "title": "Plan", "select": "one",
        "options": [{"id": "team", "label": "Team"}, {"id": "starter", "label": "Starter"}]})
}

pub(crate) fn deletion() -> Value {
    json!({"prompt": "Delete 14 todos?", "confirmLabel": "Delete", "denyLabel": "Keep", "destructive": true})
}

pub(crate) fn toppings() -> Value {
    json!({"prompt": "Which toppings?", "select": "many", "allowOther": true, "options": [
        {"id": "olives", "label": "Olives"}, {"id": "basil", "label": "Basil", "description": "fresh"}, {"id": "ham", "label": "Ham"}]})
}

pub(crate) fn draft() -> Value {
    json!({"prompt": "Edit the note", "title": "Note", "initial": "Dear all,"})
}

pub(crate) fn booking() -> Value {
    json!({"prompt": "Book the room", "title": "Booking", "fields": [
        {"id": "name", "type": "text", "label": "Name", "required": true},
        {"id": "people", "type": "number", "label": "People", "required": true, "min": 1, "max": 12, "integer": true},
        {"id": "day", "type": "date", "label": "Day"},
        {"id": "catering", "type": "boolean", "label": "Catering"}]})
}

pub(crate) fn receipts() -> Value {
    json!({"prompt": "Send the receipt", "accept": ["image"], "maxFiles": 2})
}

/// Sets a field as somebody who types does.
pub(crate) fn typed(css: &str, text: &str) -> String {
    format!(
        "const field = document.querySelector({}); field.value = {}; \
         field.dispatchEvent(new Event('input', {{bubbles: true}}));",
        json!(css),
        json!(text)
    )
}

pub(crate) fn shows(css: &str, text: &str) -> String {
    format!("[...document.querySelectorAll({})].some((one) => one.textContent.includes({}))", json!(css), json!(text))
}

/// Keeps a picture beside the build, and in `docs` when asked to.
pub(crate) async fn keep(browser: &Browser, name: &str) -> anyhow::Result<()> {
    let picture = browser.picture().await?;
    let folder = binary("pictures");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), &picture)?;
    #[expect(clippy::disallowed_methods, reason = "a switch for whoever renews the pictures")]
    if std::env::var("ASKGATE_RENEW_PICTURES").is_ok() && !name.starts_with("visit-") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/pages/").to_owned() + name, &picture)?;
    }
    Ok(())
}

/// The accessibility checker, fetched into a temporary folder; `None`, said loudly, where that cannot be.
pub(crate) fn axe() -> Option<&'static str> {
    static AXE: OnceLock<Option<String>> = OnceLock::new();
    let fetch = || -> anyhow::Result<String> {
        let folder = tempfile::tempdir()?;
        let run = |program: &str, arguments: &[&str]| -> anyhow::Result<()> {
            let mut command = std::process::Command::new("timeout");
            let status = command.arg("60").arg(program).args(arguments).current_dir(folder.path()).output()?.status;
            anyhow::ensure!(status.success(), "{program} ended with {status}");
            Ok(())
        };
        run("npm", &["pack", "--silent", "axe-core@4"])?;
        run("sh", &["-c", "tar -xzf axe-core-*.tgz package/axe.min.js"])?;
        Ok(std::fs::read_to_string(folder.path().join("package/axe.min.js"))?)
    };
    AXE.get_or_init(|| match fetch() {
        Ok(script) => Some(script),
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "what was not checked is said loudly")]
            {
                eprintln!("NOT CHECKED: accessibility by axe-core, which cannot be fetched: {error:#}");
            }
            None
        }
    })
    .as_deref()
}

/// Asserts that axe-core finds nothing on the page.
pub(crate) async fn assert_accessible(browser: &Browser, what: &str) -> anyhow::Result<()> {
    let Some(axe) = axe() else { return Ok(()) };
    let run = "window.askgateAxe = null; window.axe.run(document, {resultTypes: ['violations']}).then((found) => { \
               window.askgateAxe = found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' | ')); });";
    browser.run(&format!("{axe};\n{run}")).await?;
    browser.wait("window.askgateAxe").await?;
    let found = browser.run("return window.askgateAxe").await?;
    assert_eq!(found, json!([]), "axe-core on {what}");
    let overflow = browser.run("return document.documentElement.scrollWidth - window.innerWidth").await?;
    assert!(overflow.as_i64().is_some_and(|over| over <= 0), "{what} hangs over the edge by {overflow}");
    Ok(())
}
