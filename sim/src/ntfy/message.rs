//! Messages as the server takes them, and its rules for them.

use std::collections::BTreeMap;

use serde::Deserialize;
use url::Url;

use super::refusal::Refusal;

/// The most actions of one notification.
const MAX_ACTIONS: usize = 3;
/// The longest message, in bytes; a longer one would become an attachment, which nobody can read on a lock screen.
const MAX_MESSAGE_BYTES: usize = 4096;
/// The longest body of a request, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 8192;
/// What Apple's and Google's relays carry of one notification, everything included, in bytes.
const MAX_RELAYED_BYTES: usize = 4096;

/// One notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The server's number for it.
    pub id: String,
    /// What it replaces; its own id where the publisher named none.
    pub sequence: String,
    /// The heading.
    pub title: String,
    /// The text.
    pub message: String,
    /// 1 (least) to 5 (most); 3 is ordinary.
    pub priority: u8,
    /// Short words or emoji codes.
    pub tags: Vec<String>,
    /// What a tap on the notification opens.
    pub click: Option<String>,
    /// Its buttons.
    pub actions: Vec<Action>,
}

/// One button of a notification.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Action {
    /// `view` or `http`.
    pub action: String,
    /// What it says.
    pub label: String,
    /// Where it leads.
    pub url: String,
    /// How the phone sends it; POST unless named.
    #[serde(default = "post")]
    pub method: String,
    /// Headers that the phone sends.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body that the phone sends.
    #[serde(default)]
    pub body: String,
    /// Whether the notification goes once the request succeeded.
    #[serde(default)]
    pub clear: bool,
}

fn post() -> String {
    "POST".to_owned()
}

#[derive(Deserialize)]
struct Wire {
    topic: Option<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    message: String,
    priority: Option<u8>,
    #[serde(default)]
    tags: Vec<String>,
    click: Option<String>,
    #[serde(default)]
    actions: Vec<Action>,
    sequence_id: Option<String>,
}

/// Reads a body as topic and message, as strictly as the server.
pub(super) fn read(body: &[u8], number: u64) -> Result<(String, Message), Refusal> {
    if body.len() > MAX_BODY_BYTES {
        return Err(Refusal::TooLarge);
    }
    let wire: Wire = serde_json::from_slice(body).map_err(|_| Refusal::NotJson)?;
    let topic = wire.topic.filter(|topic| is_topic(topic)).ok_or(Refusal::Topic)?;
    if wire.message.len() > MAX_MESSAGE_BYTES || body.len() > MAX_RELAYED_BYTES {
        return Err(Refusal::TooLarge);
    }
    if wire.priority.is_some_and(|priority| !(1..=5).contains(&priority)) {
        return Err(Refusal::Priority);
    }
    if wire.actions.len() > MAX_ACTIONS {
        return Err(Refusal::Actions("only 3 actions allowed"));
    }
    wire.actions.iter().try_for_each(check)?;
    if wire.sequence_id.as_deref().is_some_and(|id| !is_topic(id)) {
        return Err(Refusal::Sequence);
    }
    let id = format!("m{number:011}");
    let message = Message {
        sequence: wire.sequence_id.unwrap_or_else(|| id.clone()),
        id,
        title: wire.title,
        // An empty message is shown as this word.
        message: if wire.message.is_empty() { "triggered".to_owned() } else { wire.message },
        priority: wire.priority.unwrap_or(3),
        tags: wire.tags,
        click: wire.click,
        actions: wire.actions,
    };
    Ok((topic, message))
}

fn check(action: &Action) -> Result<(), Refusal> {
    if !matches!(action.action.as_str(), "view" | "http" | "broadcast" | "copy") {
        return Err(Refusal::Actions("parameter 'action' cannot be that"));
    }
    if action.label.is_empty() {
        return Err(Refusal::Actions("parameter 'label' is required"));
    }
    if matches!(action.action.as_str(), "view" | "http") && Url::parse(&action.url).is_err() {
        return Err(Refusal::Actions("parameter 'url' is required for action"));
    }
    if action.action == "http" && matches!(action.method.as_str(), "GET" | "HEAD") && !action.body.is_empty() {
        return Err(Refusal::Actions("parameter 'body' cannot be set if method is GET or HEAD"));
    }
    Ok(())
}

fn is_topic(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}
