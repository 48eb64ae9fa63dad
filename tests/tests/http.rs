//! The service's own HTTP, from outside.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sim::terreno::Route;
use tests::{Channel, EMAIL, Gateway, SOON, Setup, World};

const ADMIN: &str = "an-admin-token-of-the-tests";

struct Answer {
    status: StatusCode,
    headers: reqwest::header::HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.text)?)
    }
}

async fn send(
    gateway: &Gateway,
    method: Method,
    path: &str,
    bearer: Option<&str>,
    body: Option<String>,
) -> anyhow::Result<Answer> {
    let mut request = adapters::http::client()?.request(method, gateway.url(path)).timeout(Duration::from_secs(5));
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body);
    }
    let response = request.send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    Ok(Answer { status, headers, text: response.text().await? })
}

async fn get(gateway: &Gateway, path: &str, bearer: Option<&str>) -> anyhow::Result<Answer> {
    send(gateway, Method::GET, path, bearer, None).await
}

fn admin() -> Setup {
    Setup { server: format!("admin_token = \"{ADMIN}\""), ..Setup::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_names_each_part_and_metrics_are_text() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    assert_eq!(get(&gateway, "/healthz", None).await?.status, StatusCode::OK);

    let ready = get(&gateway, "/readyz", None).await?;
    assert_eq!(ready.status, StatusCode::OK);
    let body = ready.json()?;
    assert_eq!(body["ready"], true);
    for part in ["store", "telegram", "discord", "source:app"] {
        assert_eq!(body["parts"][part]["is"], "fine", "{part} in {body}");
    }

    let metrics = get(&gateway, "/metrics", None).await?;
    assert_eq!(metrics.status, StatusCode::OK);
    assert!(metrics.headers["content-type"].to_str()?.starts_with("text/plain"));
    for line in metrics.text.lines() {
        let is_sample = line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok());
        assert!(line.starts_with("# ") || is_sample, "no line of the text format: {line:?}");
    }
    assert!(metrics.text.contains("askgate_up{part=\"store\"} 1"), "{}", metrics.text);

    for (method, path, status) in [
        (Method::GET, "/nothing/here", StatusCode::NOT_FOUND),
        (Method::POST, "/telegram/webhook", StatusCode::NOT_FOUND),
        (Method::GET, "/v1/asks", StatusCode::NOT_FOUND),
        (Method::GET, "/v1/accounts", StatusCode::NOT_FOUND),
        (Method::POST, "/v1/nudge", StatusCode::NOT_FOUND),
        (Method::GET, "/v1/", StatusCode::NOT_FOUND),
        (Method::DELETE, "/healthz", StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let answer = send(&gateway, method.clone(), path, Some(ADMIN), None).await?;
        assert_eq!(answer.status, status, "{method} {path} without an admin_token");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_needs_the_bearer() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&admin()).await?;
    let nudge = || Some(json!({"source": "app", "account": "me"}).to_string());
    for bearer in [None, Some("wrong"), Some(""), Some("an-admin-token-of-the-test")] {
        for (method, path, body) in
            [(Method::GET, "/v1/asks", None), (Method::GET, "/v1/accounts", None), (Method::POST, "/v1/nudge", nudge())]
        {
            let answer = send(&gateway, method, path, bearer, body).await?;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path} with {bearer:?}");
            assert!(!answer.text.contains(ADMIN) && !answer.text.contains("person@"), "{}", answer.text);
        }
    }

    let asked = world.terreno.ask(EMAIL, "confirm", json!({"prompt": "Go on?"}))?;
    world.screen(Channel::Telegram).card("Go on?").await?;
    let asks = get(&gateway, "/v1/asks", Some(ADMIN)).await?;
    assert_eq!(asks.status, StatusCode::OK);
    let listed = asks.json()?;
    assert_eq!(listed["asks"][0]["ask"], json!(asked.tool_call_id), "{listed}");
    assert_eq!(listed["asks"][0]["conversation"], json!(asked.history_id));
    let accounts = get(&gateway, "/v1/accounts", Some(ADMIN)).await?.json()?;
    assert_eq!(accounts["accounts"][0]["name"], "me", "{accounts}");
    assert!(!accounts.to_string().contains("password"), "{accounts}");

    let wrong = [
        json!({"source": "app", "account": "nobody"}).to_string(),
        json!({"source": "app"}).to_string(),
        "{".to_owned(),
    ];
    for (body, status) in wrong.into_iter().zip([404_u16, 400, 400]) {
        let answer = send(&gateway, Method::POST, "/v1/nudge", Some(ADMIN), Some(body.clone())).await?;
        assert_eq!(answer.status.as_u16(), status, "{body}");
    }
    for path in ["/v1/nudge", "/v1/asks"] {
        let huge = Some(format!("{{\"source\": \"{}\"}}", "x".repeat(2 * 1024 * 1024)));
        let answer = send(&gateway, Method::POST, path, Some(ADMIN), huge).await?;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_polls_at_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let source = "poll_active = \"1h\"\npoll_idle = \"1h\"".to_owned();
    let gateway = world.gateway(&Setup { source, ..admin() }).await?;
    let polls = || world.terreno.read(|state| state.count(Route::PendingAsks));
    // The first poll may still be under way while the service is ready.
    let polled = async {
        while polls() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, polled).await?;
    world.terreno.ask(EMAIL, "confirm", json!({"prompt": "Nudged?"}))?;
    let before = polls();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(polls(), before, "nothing polls by itself for an hour");

    let body = Some(json!({"source": "app", "account": "me"}).to_string());
    let answer = send(&gateway, Method::POST, "/v1/nudge", Some(ADMIN), body).await?;
    assert!(answer.status.is_success(), "{}", answer.status);
    world
        .screen(Channel::Telegram)
        .see_within("the nudged ask", Duration::from_secs(4), |card| card.text.contains("Nudged?"))
        .await?;
    assert_eq!(polls(), before + 1, "one nudge is one poll");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_of_the_public_url_prefixes_every_route() -> anyhow::Result<()> {
    let world = World::start().await?;
    let server = format!("admin_token = \"{ADMIN}\"\npublic_url = \"https://ask.example.com/gate/way/\"");
    let gateway = world.gateway(&Setup { server, ..Setup::default() }).await?;
    for path in ["/gate/way/healthz", "/gate/way/readyz", "/gate/way/metrics", "/healthz"] {
        assert_eq!(get(&gateway, path, None).await?.status, StatusCode::OK, "{path}");
    }
    assert_eq!(get(&gateway, "/gate/way/v1/asks", Some(ADMIN)).await?.status, StatusCode::OK);
    assert_eq!(get(&gateway, "/gate/way/v1/asks", None).await?.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&gateway, "/gate/healthz", None).await?.status, StatusCode::NOT_FOUND);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_has_a_socket_of_their_own_where_one_is_set() -> anyhow::Result<()> {
    let world = World::start().await?;
    // Its port is free when the world was made; the other world's gateway is never started.
    let other = World::start().await?.port;
    let server = format!("admin_token = \"{ADMIN}\"\nadmin_listen = \"127.0.0.1:{other}\"");
    let gateway = world.gateway(&Setup { server, ..Setup::default() }).await?;
    let client = adapters::http::client()?;
    for (path, here, there) in [
        ("/healthz", 200, 200),
        ("/readyz", 200, 200),
        ("/metrics", 404, 200),
        ("/v1/asks", 404, 200),
        ("/sw.js", 200, 404),
    ] {
        assert_eq!(get(&gateway, path, Some(ADMIN)).await?.status.as_u16(), here, "{path} at listen");
        let url = format!("http://127.0.0.1:{other}{path}");
        let answer = client.get(url).bearer_auth(ADMIN).timeout(SOON).send().await?;
        assert_eq!(answer.status().as_u16(), there, "{path} at admin_listen");
    }
    Ok(())
}

/// The document names every route of `/v1`, and what the routes answer has the shape that it says.
#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_is_true() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup { server: "admin_token = \"operator\"".to_owned(), ..Setup::telegram() };
    let gateway = world.gateway(&setup).await?;
    let client = adapters::http::client()?;
    let get = async |path: &str| {
        let response = client.get(gateway.url(path)).bearer_auth("operator").send().await?;
        Ok::<_, anyhow::Error>((response.status().as_u16(), response.json::<serde_json::Value>().await?))
    };
    let (status, document) = get("/v1/openapi.json").await?;
    assert_eq!(status, 200);
    let refused = client.get(gateway.url("/v1/openapi.json")).send().await?;
    assert_eq!(refused.status().as_u16(), 401);
    for (path, schema) in [("/v1/asks?all=true", "Asks"), ("/v1/accounts", "Accounts")] {
        let (status, body) = get(path).await?;
        let mut schema = serde_json::json!({"$ref": format!("#/components/schemas/{schema}")});
        schema["components"] = document["components"].clone();
        assert!(status == 200 && jsonschema::validator_for(&schema)?.is_valid(&body), "{path}: {body}");
    }
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    assert_eq!(paths.len(), 6, "{paths:?}");
    for (path, operations) in &paths {
        for method in operations.as_object().into_iter().flatten().map(|(method, _)| method.to_uppercase()) {
            let path = path.replace("{id}", "nobody");
            let request = client.request(method.parse()?, gateway.url(&path)).bearer_auth("operator");
            let status = request.header("content-type", "application/json").body("{}").send().await?.status().as_u16();
            assert!(status < 500 && status != 405, "{method} {path}: {status}");
        }
    }
    Ok(())
}
