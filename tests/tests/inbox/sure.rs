//! What cannot be undone is asked once more on the page of an ask, where its person wants that.

use reqwest::{Method, StatusCode};
use serde_json::json;
use tests::TELEGRAM_PERSON;
use tests::chrome::{Look, Wish};

use super::bench::*;

const ACCOUNT: &str = "confirm_destructive = true";

#[tokio::test(flavor = "multi_thread")]
async fn a_posted_deletion_counts_when_it_is_confirmed() -> anyhow::Result<()> {
    let bench = Bench::with("", ACCOUNT, &[OTHER_PERSON]).await?;
    let deleted = bench.ask("confirm", deletion())?;
    let me = bench.visitor(TELEGRAM_PERSON).await?;
    let path = format!("/i/ask/{}", me.inbox_with("Delete 14 todos?").await?.ask());
    let proof = me.get(&path).await?.proof();
    let really = me.send(Method::POST, &path, &[("proof", &proof), ("confirmed", "true")]).await?;
    assert_eq!(really.status, StatusCode::OK);
    assert!(really.text.contains("This cannot be undone") && really.text.contains("Yes, Delete"), "{}", really.text);
    let unproven = [("sure", "yes"), ("confirmed", "true")];
    assert_eq!(me.send(Method::POST, &path, &unproven).await?.status, StatusCode::FORBIDDEN);
    assert!(bench.is_open(&deleted), "nothing was sent");

    // With what the page itself carries.
    let (proof, sure) = (really.proof(), between(&really.text, "name=\"sure\" value=\""));
    let yes = [("proof", proof.as_str()), ("sure", sure.as_str()), ("confirmed", "true")];
    assert_eq!(me.send(Method::POST, &path, &yes).await?.status, StatusCode::SEE_OTHER);
    assert_eq!(bench.answer(&deleted).await?["content"], json!({"confirmed": true}));

    // What can be undone is not asked about.
    let kept = bench.ask("confirm", json!({"prompt": "Delete 15 todos?", "destructive": true}))?;
    let path = format!("/i/ask/{}", me.inbox_with("Delete 15 todos?").await?.ask());
    let proof = me.get(&path).await?.proof();
    let no = me.send(Method::POST, &path, &[("proof", &proof), ("confirmed", "false")]).await?;
    assert_eq!(no.status, StatusCode::SEE_OTHER);
    assert_eq!(bench.answer(&kept).await?["content"], json!({"confirmed": false}));
    Ok(())
}

/// Goes back once, then confirms.
async fn a_person_confirms(wish: Wish, picture: &str) -> anyhow::Result<()> {
    let bench = Bench::with("", ACCOUNT, &[OTHER_PERSON]).await?;
    let deleted = bench.ask("confirm", deletion())?;
    let ask = bench.visitor(TELEGRAM_PERSON).await?.inbox_with("Delete 14 todos?").await?.ask();
    let Some(browser) = bench.browser(wish).await? else { return Ok(()) };
    browser.open(&format!("{}i/ask/{ask}", bench.home())).await?;
    browser.click("button.danger").await?;
    browser.wait(&shows(".notice", "This cannot be undone")).await?;
    keep(&browser, picture).await?;
    assert_accessible(&browser, picture).await?;
    browser.click("a.button").await?;
    browser.wait(&shows("button.danger", "Delete")).await?;
    assert!(bench.is_open(&deleted), "nothing was sent");
    browser.click("button.danger").await?;
    browser.wait(&shows("button.danger", "Yes, Delete")).await?;
    browser.click("button.danger").await?;
    assert_eq!(bench.answer(&deleted).await?.get("content"), Some(&json!({"confirmed": true})));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_confirms_a_deletion_on_a_phone() -> anyhow::Result<()> {
    a_person_confirms(phone(), "visit-really-390.png").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_confirms_a_deletion_at_a_desk() -> anyhow::Result<()> {
    a_person_confirms(Wish { look: Look::Desk, script: true, dark: true }, "visit-really-1280.png").await
}
