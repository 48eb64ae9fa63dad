//! Setting, removing and describing the webhook.

use serde_json::{Value, json};
use url::Url;

use super::Done;
use crate::telegram::model::Webhook;
use crate::telegram::params::Call;
use crate::telegram::refusal::Refusal;
use crate::telegram::urls;
use crate::telegram::world::World;

const PORTS: &[u16] = &[80, 88, 443, 8443];
const SECRET_MAX: usize = 256;
const CONNECTIONS: std::ops::RangeInclusive<i64> = 1..=100;
const CONNECTIONS_DEFAULT: i64 = 40;

impl World {
    pub(super) fn set_webhook(&mut self, call: &Call) -> Result<Done, Refusal> {
        let url = call.text("url");
        if url.trim().is_empty() {
            return Ok(self.delete_webhook(call));
        }
        let bad = |words: &str| Refusal::bad(format!("bad webhook: {words}"));
        let parsed = Url::parse(url.trim()).map_err(|_| bad("invalid webhook URL specified"))?;
        // Plain HTTP on this machine stands for the public address that tests do not have.
        if !urls::is_loopback_http(&parsed) {
            if parsed.scheme() != "https" {
                return Err(bad("An HTTPS URL must be provided for webhook"));
            }
            if !parsed.port_or_known_default().is_some_and(|port| PORTS.contains(&port)) {
                return Err(bad("Webhook can be set up only on ports 80, 88, 443 or 8443"));
            }
            if urls::check(parsed.as_str()).is_err() {
                return Err(bad("IP address is reserved or host can't be resolved"));
            }
        }
        let secret = call.text("secret_token");
        if secret.len() > SECRET_MAX {
            return Err(Refusal::bad("secret token is too long"));
        }
        if !secret.chars().all(|symbol| symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '-')) {
            return Err(Refusal::bad("secret token contains unallowed characters"));
        }
        let max_connections = call.integer("max_connections").unwrap_or(CONNECTIONS_DEFAULT);
        let max_connections = max_connections.clamp(*CONNECTIONS.start(), *CONNECTIONS.end());
        if let Some(kinds) = allowed_updates(call)? {
            self.queue.allow(kinds);
        }
        if call.boolean("drop_pending_updates") {
            self.queue.clear();
        }
        let secret = (!secret.is_empty()).then_some(secret);
        let same = self.webhook.as_ref().is_some_and(|old| old.url == url && old.secret == secret);
        self.webhook = Some(Webhook { url, secret, max_connections, last_error: None });
        self.webhooks_set += 1;
        let description = if same { "Webhook is already set" } else { "Webhook was set" };
        Ok(Done { description: Some(description), ..Done::yes() })
    }

    pub(super) fn delete_webhook(&mut self, call: &Call) -> Done {
        if call.boolean("drop_pending_updates") {
            self.queue.clear();
        }
        let description =
            if self.webhook.take().is_some() { "Webhook was deleted" } else { "Webhook is already deleted" };
        Done { description: Some(description), ..Done::yes() }
    }

    pub(super) fn webhook_info(&self) -> Value {
        let url = self.webhook.as_ref().map_or("", |webhook| webhook.url.as_str());
        let mut info = json!({
            "url": url,
            "has_custom_certificate": false,
            "pending_update_count": self.queue.waiting().len(),
        });
        let Some(fields) = info.as_object_mut() else { return info };
        if let Some(webhook) = &self.webhook {
            fields.insert("max_connections".to_owned(), json!(webhook.max_connections));
            if let Some((at, message)) = &webhook.last_error {
                fields.insert("last_error_date".to_owned(), json!(at.as_secs()));
                fields.insert("last_error_message".to_owned(), json!(message));
            }
        }
        if let Some(kinds) = self.queue.allowed() {
            fields.insert("allowed_updates".to_owned(), json!(kinds));
        }
        info
    }
}

/// The kinds of updates a call asks for; none where it says nothing about them.
///
/// # Errors
///
/// 400 for anything but a list of texts.
pub(in crate::telegram) fn allowed_updates(call: &Call) -> Result<Option<Vec<String>>, Refusal> {
    let wrong = "can't parse allowed updates JSON object";
    let Some(given) = call.json("allowed_updates", wrong)? else { return Ok(None) };
    let kinds: Option<Vec<String>> =
        given.as_array().and_then(|list| list.iter().map(|kind| kind.as_str().map(str::to_owned)).collect());
    kinds.map(Some).ok_or_else(|| Refusal::bad(wrong))
}
