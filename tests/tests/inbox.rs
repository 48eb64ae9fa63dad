//! The inbox and the answer page: in a real browser at the widths of a phone and of a desk, and request by request.

#[path = "inbox/bench.rs"]
mod bench;
#[path = "inbox/sure.rs"]
mod sure;

use std::time::Duration;

use anyhow::Context as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tests::chrome::{Browser, Look, Wish};
use tests::{SOON, Setup, TELEGRAM_PERSON, World};

use bench::*;

async fn visit(wish: Wish, width: u32) -> anyhow::Result<()> {
    let bench = Bench::start("").await?;
    let Some(browser) = bench.browser(wish).await? else { return Ok(()) };
    browser.wait(&shows(".none", "Nothing waits")).await?;
    // It arrives without loading anew, and a screen reader hears it.
    browser.run("window.sameDocument = true").await?;
    let asked = bench.ask("choice", plan("Which plan? \u{5e9}\u{5dc}\u{5d5}\u{5dd}"))?;
    browser.wait(&shows("[data-live=waiting] li", "Which plan?")).await?;
    browser.wait(&shows("#news", "Plan")).await?;
    let second = bench.ask("confirm", deletion())?;
    browser.wait(&shows("[data-live=waiting] li", "Delete 14 todos?")).await?;
    assert_accessible(&browser, "the inbox").await?;
    keep(&browser, &format!("visit-{width}.png")).await?;
    // By keyboard alone.
    browser.type_in("button[value='option:starter']", "\u{e007}").await?;
    assert_eq!(bench.answer(&asked).await?.pointer("/content/selected"), Some(&json!(["starter"])));
    browser.wait(&shows("[data-live=settled] li", "Answered: Starter")).await?;
    browser.wait(&shows("[data-live=settled] li", "on these pages")).await?;
    // What cannot be undone is asked once more where the person has not switched that off.
    browser.click("button.danger").await?;
    if browser.run("return Boolean(document.querySelector('[name=sure]'))").await? == json!(true) {
        browser.click("button.danger").await?;
    }
    let settled = shows("[data-live=settled] li", "Answered: Delete");
    browser.wait(&format!("{settled} || document.querySelector('[name=sure]')")).await?;
    if browser.run("return Boolean(document.querySelector('[name=sure]'))").await? == json!(true) {
        browser.click("button.danger").await?;
    }
    browser.wait(&settled).await?;
    assert_eq!(bench.answer(&second).await?.pointer("/content/confirmed"), Some(&json!(true)));
    assert_eq!(browser.run("return window.sameDocument").await?, json!(true), "nothing was loaded anew");
    // Answered in the chat, the page follows.
    let third = bench.ask("choice", plan("Another plan?"))?;
    browser.wait(&shows("[data-live=waiting] li", "Another plan?")).await?;
    let card = bench
        .world
        .telegram
        .wait_for_message(TELEGRAM_PERSON, SOON, |message| message.text.contains("Another plan?"))
        .await?;
    bench.world.telegram.tap(TELEGRAM_PERSON, TELEGRAM_PERSON, card.id, "Team")?;
    browser.wait(&shows("[data-live=settled] li", "on Telegram")).await?;
    bench.answer(&third).await?;
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_answers_on_a_phone_and_sees_what_happens() -> anyhow::Result<()> {
    visit(phone(), 390).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_answers_at_a_desk_and_sees_what_happens() -> anyhow::Result<()> {
    visit(desk(), 1280).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_script_a_choice_a_confirmation_and_a_form_are_answered() -> anyhow::Result<()> {
    let bench = Bench::start("/ask").await?;
    let choice = bench.ask("choice", plan("Which plan?"))?;
    let Some(browser) = bench.browser(Wish { script: false, ..phone() }).await? else { return Ok(()) };
    let loaded = "return performance.getEntriesByType('resource').filter((one) => one.name.endsWith('.js') && one.transferSize > 0).length";
    assert_eq!(browser.run(loaded).await?, json!(0), "no script came");
    let reload = async |css: &str, text: &str| -> anyhow::Result<()> {
        for _ in 0..100 {
            browser.open(&bench.home()).await?;
            if browser.text("main").await?.contains(text) && browser.has(css).await? {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("{text} never came")
    };
    reload("button[value='option:team']", "Which plan?").await?;
    browser.click("button[value='option:team']").await?;
    assert_eq!(bench.answer(&choice).await?["content"]["selected"], json!(["team"]));
    reload("h2", "Answered: Team").await?;

    let confirm = bench.ask("confirm", deletion())?;
    reload("button.danger", "Delete 14 todos?").await?;
    browser.click("button[value=deny]").await?;
    assert_eq!(bench.answer(&confirm).await?["content"]["confirmed"], json!(false));

    let form = bench.ask("form", booking())?;
    reload("a[href*='/i/ask/']", "Book the room").await?;
    browser.click("a[href*='/i/ask/']").await?;
    browser.type_in("[name='v.name']", "Kim").await?;
    browser.type_in("[name='v.people']", "3").await?;
    browser.click("button.primary").await?;
    assert_eq!(bench.answer(&form).await?["content"]["values"], json!({"name": "Kim", "people": 3, "catering": false}));
    browser.close().await
}

/// Opens the whole question of the newest ask.
async fn open_question(browser: &Browser, bench: &Bench, text: &str) -> anyhow::Result<()> {
    browser.open(&bench.home()).await?;
    browser.wait(&shows("[data-live=waiting] li", text)).await?;
    browser
        .run(&format!(
            "[...document.querySelectorAll('[data-live=waiting] li')].find((one) => one.textContent.includes({})) \
             .querySelector('a[href*=\"/i/ask/\"]').click();",
            json!(text)
        ))
        .await?;
    browser.wait("document.querySelector('form[data-draft]')").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_page_answers_every_kind_and_loses_nothing() -> anyhow::Result<()> {
    let bench = Bench::start("").await?;
    let Some(browser) = bench.browser(desk()).await? else { return Ok(()) };

    let choice = bench.ask("choice", toppings())?;
    open_question(&browser, &bench, "Which toppings?").await?;
    assert_accessible(&browser, "a choice").await?;
    browser.click("[name=selected][value=basil]").await?;
    browser.click("[name=selected][value=olives]").await?;
    browser.run(&typed("[name=other]", "Capers")).await?;
    browser.click("button.primary").await?;
    let answer = bench.answer(&choice).await?;
    assert_eq!(answer["content"], json!({"selected": ["olives", "basil"], "other": "Capers"}), "{answer}");
    browser.wait(&shows(".notice", "Answered: Olives, Basil, Capers")).await?;

    let confirm = bench.ask("confirm", deletion())?;
    open_question(&browser, &bench, "Delete 14 todos?").await?;
    assert_accessible(&browser, "a confirmation").await?;
    browser.click("[name=confirmed][value=true]").await?;
    assert_eq!(bench.answer(&confirm).await?["content"]["confirmed"], json!(true));

    let markdown = bench.ask("markdown", draft())?;
    open_question(&browser, &bench, "Edit the note").await?;
    assert_accessible(&browser, "a text").await?;
    browser.run(&typed("#markdown", "Dear all, I am late.")).await?;
    browser.run("location.reload()").await?;
    browser.wait("document.querySelector('#markdown')?.value === 'Dear all, I am late.'").await?;
    browser.run(&typed("#markdown", &"x".repeat(20_001))).await?;
    browser.click("button.primary").await?;
    browser.wait("document.querySelector('#markdown-error [data-code=TOO_LONG]')").await?;
    assert_eq!(browser.run("return document.querySelector('#markdown').value.length").await?, json!(20_001));
    assert_accessible(&browser, "a refused text").await?;
    assert!(bench.is_open(&markdown), "nothing was sent");
    browser.run(&typed("#markdown", "Dear all, I am late.")).await?;
    browser.click("button.primary").await?;
    let answer = bench.answer(&markdown).await?;
    assert_eq!(answer["content"], json!({"markdown": "Dear all, I am late.", "changed": true}));

    let form = bench.ask("form", booking())?;
    open_question(&browser, &bench, "Book the room").await?;
    assert_accessible(&browser, "a form").await?;
    browser.run(&typed("[name='v.name']", "Kim")).await?;
    browser.run(&typed("[name='v.people']", "3")).await?;
    // A browser's own field cannot hold that day; other programs can send it.
    browser.run("document.querySelector(\"[name='v.day']\").type = 'text'").await?;
    browser.run(&typed("[name='v.day']", "2026-02-30")).await?;
    browser.click("button.primary").await?;
    browser.wait("document.getElementById('v.day-error')?.querySelector('[data-code=INVALID_DATE]')").await?;
    assert_eq!(browser.run("return document.querySelector(\"[name='v.name']\").value").await?, json!("Kim"));
    assert!(bench.is_open(&form), "nothing was sent");
    browser.run(&typed("[name='v.day']", "2026-02-28")).await?;
    browser.click("[name='v.catering']").await?;
    browser.click("button.primary").await?;
    let answer = bench.answer(&form).await?;
    assert_eq!(answer["content"]["values"], json!({"name": "Kim", "people": 3, "day": "2026-02-28", "catering": true}));

    let files = bench.ask("files", receipts())?;
    open_question(&browser, &bench, "Send the receipt").await?;
    assert_accessible(&browser, "files").await?;
    browser.run(&chosen("receipt.png", "image/png", "this is no picture")).await?;
    browser.click("button.primary").await?;
    browser.wait("document.querySelector('#files-error [data-code]')").await?;
    let code = browser.run("return document.querySelector('#files-error [data-code]').dataset.code").await?;
    assert_eq!(code, json!("MIME_MISMATCH"));
    assert!(bench.is_open(&files), "nothing was sent");
    browser.run(&chosen("receipt.png", "image/png", "\u{89}PNG\r\n\u{1a}\n____________________")).await?;
    browser.click("button.primary").await?;
    let answer = bench.answer(&files).await?;
    assert_eq!(answer["content"]["files"][0]["filename"], json!("receipt.png"), "{answer}");
    browser.close().await
}

/// Chooses a file whose bytes are the text's code points.
fn chosen(name: &str, kind: &str, bytes: &str) -> String {
    format!(
        "const data = new DataTransfer(); \
         data.items.add(new File([Uint8Array.from([...{}].map((c) => c.codePointAt(0)))], {}, {{type: {}}})); \
         document.querySelector('#files').files = data.files;",
        json!(bytes),
        json!(name),
        json!(kind)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_opens_offline_with_a_note_and_offers_nothing_then() -> anyhow::Result<()> {
    let bench = Bench::start("/ask").await?;
    bench.ask("choice", plan("Which plan?"))?;
    let Some(browser) = bench.browser(phone()).await? else { return Ok(()) };
    browser.wait(&shows("[data-live=waiting] li", "Which plan?")).await?;
    browser.run("navigator.serviceWorker.ready.then(() => { window.ready = true; })").await?;
    browser.wait("window.ready && navigator.serviceWorker.controller").await?;
    browser.open(&bench.home()).await?;
    browser.wait(&shows("[data-live=waiting] li", "Which plan?")).await?;
    // The page is kept by the worker once it has come through it.
    browser
        .run("window.kept = false; caches.match(location.href).then((page) => { window.kept = Boolean(page); })")
        .await?;
    browser.wait("window.kept").await?;
    let home = bench.home();
    bench.gateway.kill().await?;
    browser.open(&home).await?;
    browser.wait(&shows(".notice.bad", "You are offline")).await?;
    browser.wait(&shows("[data-live=waiting] li", "Which plan?")).await?;
    let offered = browser.run("return document.querySelector('.answers').checkVisibility()").await?;
    assert_eq!(offered, json!(false), "nothing can be answered offline");
    browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_every_page() -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a switch for whoever renews the pictures")]
    if std::env::var("ASKGATE_RENEW_PICTURES").is_err() {
        return Ok(());
    }
    let bench = Bench::start("").await?;
    let asks = [
        ("choice", toppings(), "Which toppings?"),
        ("confirm", deletion(), "Delete 14 todos?"),
        ("markdown", draft(), "Edit the note"),
        ("form", booking(), "Book the room"),
        ("files", receipts(), "Send the receipt"),
    ];
    for (kind, input, _) in &asks {
        bench.ask(kind, input.clone())?;
    }
    for (look, width) in [(Look::Phone, 390), (Look::Desk, 1280)] {
        for (dark, shade) in [(false, "light"), (true, "dark")] {
            let Some(browser) = bench.browser(Wish { look, script: true, dark }).await? else { return Ok(()) };
            for (kind, _, text) in &asks {
                open_question(&browser, &bench, text).await?;
                keep(&browser, &format!("answer-{kind}-{width}-{shade}.png")).await?;
            }
            browser.open(&bench.home()).await?;
            browser.wait(&shows("[data-live=waiting] li", "Send the receipt")).await?;
            keep(&browser, &format!("inbox-{width}-{shade}.png")).await?;
            browser.close().await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_once_and_looking_spends_nothing() -> anyhow::Result<()> {
    let bench = Bench::start("/ask").await?;
    let stranger = bench.stranger();
    let out = stranger.get("/ask/").await?;
    assert!(out.status == StatusCode::OK && out.text.contains("/inbox to the bot"), "{}", out.text);
    assert_eq!(stranger.get("/ask").await?.status, StatusCode::OK);
    assert_eq!(stranger.get("/events").await?.status, StatusCode::UNAUTHORIZED);
    assert_eq!(stranger.get("/ask/inbox/none").await?.status, StatusCode::NOT_FOUND);
    assert_eq!(stranger.send(Method::POST, "/inbox/none", &[]).await?.status, StatusCode::NOT_FOUND);

    let link = bench.link(TELEGRAM_PERSON).await?;
    assert!(link.contains("/ask/inbox/"), "{link}");
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let looked = stranger.send(method, path_of(&link), &[]).await?;
        assert!(looked.status == StatusCode::OK && looked.headers.get("set-cookie").is_none());
    }
    let foreign = Visitor { extra: vec![("sec-fetch-site", "cross-site".into())], ..bench.stranger() };
    assert_eq!(foreign.send(Method::POST, path_of(&link), &[]).await?.status, StatusCode::FORBIDDEN);
    let entered = stranger.send(Method::POST, path_of(&link), &[]).await?;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    let cookie = entered.headers["set-cookie"].to_str()?;
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/ask"), "{cookie}");
    assert!(!cookie.contains("Secure"), "the address is http");
    for method in [Method::GET, Method::POST] {
        assert_eq!(stranger.send(method, path_of(&link), &[]).await?.status, StatusCode::GONE);
    }
    let log = bench.gateway.log();
    let secret = cookie.split(['=', ';']).nth(1).unwrap_or_default();
    assert!(
        !log.contains(secret) && !log.contains(link.rsplit('/').next().unwrap_or_default()),
        "no secret in the log"
    );

    let manifest = stranger.get("/ask/manifest.webmanifest").await?;
    let manifest: Value = serde_json::from_str(&manifest.text)?;
    assert_eq!((&manifest["start_url"], &manifest["display"]), (&json!("/ask/"), &json!("standalone")));
    let icon = stranger.get(manifest["icons"][0]["src"].as_str().unwrap_or_default()).await?;
    assert_eq!(icon.status, StatusCode::OK);
    let worker = stranger.get("/ask/sw.js").await?;
    assert!(worker.text.contains("importScripts(\"/ask/assets/push."), "{}", worker.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_link_is_gone() -> anyhow::Result<()> {
    let world = World::start().await?;
    let clock = tempfile::NamedTempFile::new()?;
    let setup = Setup {
        server: format!("public_url = \"http://127.0.0.1:{}\"", world.port),
        env: vec![("ASKGATE_CLOCK_FILE".into(), clock.path().display().to_string())],
        ..Setup::telegram()
    };
    let gateway = world.gateway(&setup).await?;
    let bench = Bench { world, gateway, prefix: "" };
    let link = bench.link(TELEGRAM_PERSON).await?;
    assert_eq!(bench.stranger().get(path_of(&link)).await?.status, StatusCode::OK);
    std::fs::write(clock.path(), (11 * 60 * 1_000).to_string())?;
    bench.gateway.wait_status(path_of(&link), 410, SOON).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_sees_and_answers_only_what_is_theirs() -> anyhow::Result<()> {
    let bench = Bench::start("").await?;
    let mine = bench.ask("choice", plan("Which plan?"))?;
    let theirs = bench.ask_of(OTHER_EMAIL, "choice", plan("Whose plan?"))?;
    let me = bench.visitor(TELEGRAM_PERSON).await?;
    let other = bench.visitor(OTHER_PERSON).await?;
    let page = me.inbox_with("Which plan?").await?;
    let others = other.inbox_with("Whose plan?").await?;
    assert!(!page.text.contains("Whose plan?") && !others.text.contains("Which plan?"));
    let csp = page.headers["content-security-policy"].to_str()?;
    assert!(csp.contains("default-src 'none'") && csp.contains("frame-ancestors 'none'"), "{csp}");

    // With another's session, without a proof, with another's proof, from another site: nothing happens.
    let (ask, proof) = (page.ask(), page.proof());
    let answer =
        |proof: &str| [("ask", ask.clone()), ("button", "option:team".to_owned()), ("proof", proof.to_owned())];
    let send = async |visitor: &Visitor, proof: &str| {
        let fields = answer(proof);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        visitor.send(Method::POST, "/i/answer", &fields).await
    };
    assert_eq!(send(&other, &others.proof()).await?.status, StatusCode::NOT_FOUND);
    assert_eq!(other.get(&format!("/i/ask/{ask}")).await?.status, StatusCode::NOT_FOUND);
    assert_eq!(send(&bench.stranger(), &proof).await?.status, StatusCode::UNAUTHORIZED);
    assert_eq!(send(&me, "").await?.status, StatusCode::FORBIDDEN);
    assert_eq!(send(&me, &others.proof()).await?.status, StatusCode::FORBIDDEN);
    let mut elsewhere = bench.visitor(TELEGRAM_PERSON).await?;
    let own = elsewhere.get("/").await?.proof();
    elsewhere.extra = vec![("origin", "https://evil.example".into())];
    assert_eq!(send(&elsewhere, &own).await?.status, StatusCode::FORBIDDEN);
    let full = me.send(Method::POST, &format!("/i/ask/{ask}"), &[("selected", "team"), ("do", "answer")]).await?;
    assert_eq!(full.status, StatusCode::FORBIDDEN, "no proof");
    for path in ["/", "/i/answer", &format!("/i/ask/{ask}"), "/i/out"] {
        me.send(Method::GET, path, &[]).await?;
        me.send(Method::HEAD, path, &[]).await?;
    }
    assert!(bench.is_open(&mine) && bench.is_open(&theirs), "nothing was answered");

    assert_eq!(send(&me, &proof).await?.status, StatusCode::SEE_OTHER);
    assert_eq!(bench.answer(&mine).await?["content"]["selected"], json!(["team"]));
    me.inbox_with("Answered: Team").await?;
    let late = send(&me, &proof).await?;
    assert!(late.status == StatusCode::CONFLICT && late.text.contains("Team"), "{}", late.status);

    // Signing out everywhere ends this person's sessions and nobody else's.
    let left = me.send(Method::POST, "/i/out", &[("proof", &proof), ("session", "all")]).await?;
    assert!(left.status == StatusCode::OK && left.text.contains("signed out"), "{}", left.text);
    elsewhere.extra.clear();
    for visitor in [&me, &elsewhere] {
        assert!(visitor.get("/").await?.text.contains("not signed in"));
    }
    assert!(other.get("/").await?.text.contains("Whose plan?"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_behind_a_card_needs_no_session_and_answers_once() -> anyhow::Result<()> {
    let bench = Bench::start("").await?;
    let asked = bench.ask("form", booking())?;
    let shown = |message: &sim::telegram::Message| message.text.contains("Book the room");
    let card = bench.world.telegram.wait_for_message(TELEGRAM_PERSON, SOON, shown).await?;
    let address = card.buttons().find_map(|button| Some(button.url()?.to_owned())).context("no way to the page")?;
    let path = path_of(&address);
    let stranger = bench.stranger();
    assert_eq!(stranger.get("/a/none").await?.status, StatusCode::NOT_FOUND);
    let page = stranger.get(path).await?;
    assert!(page.status == StatusCode::OK && page.text.contains("Book the room"), "{}", page.text);
    let wrong = stranger.send(Method::POST, path, &[("v.name", "Kim"), ("v.people", "30"), ("do", "answer")]).await?;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.text.contains("OUT_OF_RANGE") && wrong.text.contains("value=\"30\""), "{}", wrong.text);
    let right = [("v.name", "Kim"), ("v.people", "3"), ("do", "answer")];
    let evil = Visitor { extra: vec![("origin", "https://evil.example".into())], ..bench.stranger() };
    assert_eq!(evil.send(Method::POST, path, &right).await?.status, StatusCode::FORBIDDEN);
    assert!(bench.is_open(&asked), "nothing was sent");
    assert_eq!(stranger.send(Method::POST, path, &right).await?.status, StatusCode::SEE_OTHER);
    assert_eq!(bench.answer(&asked).await?["content"]["values"]["people"], json!(3));
    assert_eq!(stranger.send(Method::POST, path, &right).await?.status, StatusCode::CONFLICT);
    assert_eq!(bench.world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id)), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_signed_in_with_ten_browsers_at_most() -> anyhow::Result<()> {
    let bench = Bench::start("").await?;
    let other = bench.visitor(OTHER_PERSON).await?;
    let first = bench.visitor(TELEGRAM_PERSON).await?;
    for _ in 0..10 {
        bench.visitor(TELEGRAM_PERSON).await?;
    }
    assert!(first.get("/").await?.text.contains("not signed in"), "the oldest makes room");
    let last = bench.visitor(TELEGRAM_PERSON).await?.get("/").await?.text;
    assert_eq!(last.matches("name=\"session\"").count(), 11, "ten of one's own, and all");
    assert!(!other.get("/").await?.text.contains("not signed in"), "nobody else's ends");

    // Links are bounded too: of six the oldest opens nothing.
    let mut links = Vec::new();
    for _ in 0..6 {
        links.push(bench.link(TELEGRAM_PERSON).await?);
    }
    let status = async |link: &String| anyhow::Ok(first.get(path_of(link)).await?.status);
    assert_eq!(status(&links[0]).await?, StatusCode::NOT_FOUND);
    assert_eq!(status(&links[5]).await?, StatusCode::OK);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_https_the_cookie_is_sent_nowhere_else() -> anyhow::Result<()> {
    let world = World::start().await?;
    let server = "public_url = \"https://ask.example.com/x\"".to_owned();
    let gateway = world.gateway(&Setup { server, hooks: false, ..Setup::telegram() }).await?;
    world.telegram.say(TELEGRAM_PERSON, TELEGRAM_PERSON, "/inbox").context("nothing was said")?;
    let is_link = |message: &sim::telegram::Message| message.text.contains("https://ask.example.com/x/inbox/");
    let text = world.telegram.wait_for_message(TELEGRAM_PERSON, SOON, is_link).await?.text;
    let link = text.split_whitespace().find_map(|word| word.strip_prefix("https://ask.example.com/x"));
    let visitor = Visitor { base: gateway.url(""), cookie: String::new(), extra: Vec::new() };
    // The proxy strips the prefix, or does not.
    for begin in ["/x", ""] {
        let page = visitor.get(&format!("{begin}{}", link.context("no link")?)).await?;
        assert!(page.status == StatusCode::OK && page.text.contains("action=\"/x/inbox/"), "{}", page.text);
    }
    let entered = visitor.send(Method::POST, link.context("no link")?, &[]).await?;
    let cookie = entered.headers["set-cookie"].to_str()?;
    assert!(cookie.contains("; Secure") && cookie.contains("Path=/x;"), "{cookie}");
    assert_eq!(entered.headers["location"], "/x/");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_public_address_there_is_no_inbox() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup { hooks: false, ..Setup::telegram() }).await?;
    let page = adapters::http::client()?.get(gateway.url("/")).send().await?;
    assert_eq!(page.status(), StatusCode::NOT_FOUND);
    assert!(page.text().await?.contains("There is no inbox here"));
    Ok(())
}

/// Whoever merely shares an account is somebody else: their browsers are neither seen nor ended.
#[tokio::test(flavor = "multi_thread")]
async fn people_who_share_an_account_keep_their_own_sessions() -> anyhow::Result<()> {
    let bench = Bench::with("", "", &[OTHER_PERSON, TELEGRAM_PERSON]).await?;
    let me = bench.visitor(TELEGRAM_PERSON).await?;
    for _ in 0..9 {
        bench.visitor(OTHER_PERSON).await?;
    }
    let other = bench.visitor(OTHER_PERSON).await?;
    let page = other.get("/").await?;
    assert_eq!(page.text.matches("name=\"session\"").count(), 11, "ten of one's own, and all");
    bench.visitor(OTHER_PERSON).await?;
    assert!(!me.get("/").await?.text.contains("not signed in"), "another's eleventh browser ends nothing here");
    other.send(Method::POST, "/i/out", &[("proof", &page.proof()), ("session", "all")]).await?;
    assert!(other.get("/").await?.text.contains("not signed in"));
    assert!(!me.get("/").await?.text.contains("not signed in"));
    Ok(())
}
