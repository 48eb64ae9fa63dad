//! The gateway's WebSocket, with a deadline on everything but waiting for the next frame.
//!
//! Its errors say in our own words what happened: a library's text could hold an address or a payload.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use url::Url;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one frame may take to leave.
const SEND: Duration = Duration::from_secs(4);
/// How long a farewell may take.
const CLOSE: Duration = Duration::from_millis(300);
/// The most of one message that is read, in bytes. The largest is READY, at some hundred bytes for each of 2,500 servers.
const MOST_MESSAGE: usize = 8 << 20;

/// An open connection.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// What came.
pub(super) enum Came {
    /// A frame.
    Text(Utf8Bytes),
    /// Something without meaning for the gateway's protocol.
    Nothing,
    /// The end, with Discord's code if it sent one.
    Closed(Option<u16>),
    /// The connection broke.
    Broken(&'static str),
}

impl Socket {
    /// Connects.
    ///
    /// # Errors
    /// Why not, in a few words.
    pub(super) async fn connect(url: &Url) -> Result<Self, &'static str> {
        let config = WebSocketConfig::default().max_message_size(Some(MOST_MESSAGE)).max_frame_size(Some(MOST_MESSAGE));
        let connecting = tokio_tungstenite::connect_async_with_config(url.as_str(), Some(config), true);
        match tokio::time::timeout(CONNECT, connecting).await {
            Ok(Ok((stream, _))) => Ok(Self(stream)),
            Ok(Err(error)) => Err(told(&error)),
            Err(_) => Err("no answer"),
        }
    }

    /// Waits for what comes next. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Came {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => Came::Text(text),
            Some(Ok(Message::Close(frame))) => Came::Closed(frame.map(|frame| frame.code.into())),
            Some(Ok(_)) => Came::Nothing,
            Some(Err(error)) => Came::Broken(told(&error)),
            None => Came::Closed(None),
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Why not, in a few words.
    pub(super) async fn send(&mut self, text: String) -> Result<(), &'static str> {
        match tokio::time::timeout(SEND, self.0.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(told(&error)),
            Err(_) => Err("it takes no data"),
        }
    }

    /// Says farewell with a code, if there is somebody to hear it.
    pub(super) async fn close(&mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        let _ = tokio::time::timeout(CLOSE, self.0.close(Some(frame))).await;
    }
}

fn told(error: &Error) -> &'static str {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => "it is closed",
        Error::Io(_) => "a network error",
        Error::Tls(_) => "TLS failed",
        Error::Http(_) | Error::HttpFormat(_) => "the server speaks no WebSocket there",
        Error::Url(_) => "the address is not usable",
        Error::Capacity(_) => "a message is too large",
        _ => "a protocol error",
    }
}
