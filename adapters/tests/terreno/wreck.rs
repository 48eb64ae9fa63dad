//! Connections that fail, before and after the request was sent.

use std::time::Duration;

use adapters::source::{Failure, Source as _, Verdict};
use asks::ids::ConversationId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::double::{Hand, Host, Says, me, press, says, source, token};

/// A host that reads one request, writes raw bytes and closes, for every connection.
async fn raw(reply: impl Into<Vec<u8>>) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let reply = reply.into();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            whole_request(&mut socket).await;
            socket.write_all(&reply).await.unwrap();
        }
    });
    url
}

async fn whole_request(socket: &mut TcpStream) {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return;
            }
        }
        let mut buffer = [0; 4096];
        let n = socket.read(&mut buffer).await.unwrap();
        assert!(n > 0, "the request ended early");
        read.extend_from_slice(&buffer[..n]);
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_took_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let source = source(&url, &Hand::new(), token("t0"));
    let verdict = press(&source).await;
    let Verdict::Unavailable { why } = verdict else { panic!("{verdict:?}") };
    assert_eq!(why, "no connection (connection refused)");
    assert!(matches!(source.pending(&me()).await, Err(Failure::Unavailable { .. })));
}

#[tokio::test]
async fn a_reply_that_does_not_come_whole_leaves_it_unclear() {
    let whole = r#"{"data":{"historyId":"h1","text":"Done."}}"#;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", whole.len());
    let (half, _) = whole.split_at(20);
    let cases = [
        ("nothing", String::new()),
        ("half a head", "HTTP/1.1 200 OK\r\ncontent".to_owned()),
        ("half a body", format!("{head}{half}")),
        ("half a chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{\"data\"".to_owned()),
        ("no HTTP", "220 mail.example.com ready\r\n".to_owned()),
        ("cut JSON", format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{half}")),
    ];
    for (name, reply) in cases {
        let url = raw(reply).await;
        let source = source(&url, &Hand::new(), token("t0"));
        let verdict = press(&source).await;
        assert!(matches!(verdict, Verdict::Unclear { .. }), "{name}: {verdict:?}");
        let failure = source.pending(&me()).await.unwrap_err();
        assert!(matches!(failure, Failure::Unavailable { .. }), "{name}: {failure:?}");
        let failure = source.read(&me(), &ConversationId::from("h1")).await.unwrap_err();
        assert!(matches!(failure, Failure::Unavailable { .. }), "{name}: {failure:?}");
        assert!(!format!("{verdict:?} {failure:?}").contains("127.0.0.1"), "{verdict:?} {failure:?}");
    }
    let source = source(&raw(format!("{head}{whole}")).await, &Hand::new(), token("t0"));
    assert!(matches!(press(&source).await, Verdict::Accepted { .. }), "the whole of it is taken");
}

#[tokio::test]
async fn a_refusal_counts_even_if_its_body_is_cut() {
    let url = raw("HTTP/1.1 409 Conflict\r\ncontent-length: 500\r\n\r\n{\"status\":409").await;
    assert_eq!(press(&source(&url, &Hand::new(), token("t0"))).await, Verdict::NotPending);
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_unclear() {
    let host = Host::start(|_, _| Says { delay: Duration::from_mins(1), ..says(200, "{}") }).await;
    let verdict = press(&source(&host.url, &Hand::new(), token("t0"))).await;
    let Verdict::Unclear { why } = verdict else { panic!("{verdict:?}") };
    assert_eq!(why, "no whole reply within 2s");
    assert_eq!(host.seen().len(), 1, "and is not posted again here");
}

#[tokio::test]
async fn a_list_without_end_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        whole_request(&mut socket).await;
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"data\":[").await.unwrap();
        let spaces = vec![b' '; 1 << 16];
        while socket.write_all(&spaces).await.is_ok() {}
    });
    let failure = source(&url, &Hand::new(), token("t0")).pending(&me()).await.unwrap_err();
    assert_eq!(failure, Failure::Unavailable { why: "the reply is larger than 16 MiB".to_owned() });
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_credential() {
    let elsewhere = Host::start(|_, _| says(200, r#"{"data":[]}"#)).await;
    let to = elsewhere.url.to_string();
    let host = Host::start(move |_, _| Says { headers: vec![("location", to.clone())], ..says(307, "") }).await;
    let source = source(&host.url, &Hand::new(), token("t0"));
    assert!(matches!(source.pending(&me()).await, Err(Failure::Unavailable { .. })));
    assert!(matches!(press(&source).await, Verdict::Unclear { .. }));
    assert_eq!(elsewhere.seen().len(), 0);
}
