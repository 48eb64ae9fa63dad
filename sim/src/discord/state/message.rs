//! Messages and their buttons.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::discord::id::Id;

/// One message.
#[derive(Clone, Debug, Serialize)]
pub struct Message {
    /// The message's id.
    pub id: Id,
    /// Where it is.
    pub channel: Id,
    /// Who wrote it.
    pub author: Id,
    /// The text, trimmed as Discord trims it.
    pub content: String,
    /// The embeds as they were sent.
    pub embeds: Vec<Value>,
    /// The component rows as they were sent.
    pub components: Vec<Value>,
    /// The flag bits.
    pub flags: u64,
    /// The nonce it was created with.
    pub nonce: Option<String>,
    /// The message it answers.
    pub reference: Option<Id>,
    /// The interaction it is a response to.
    pub interaction: Option<Id>,
    /// Set for a private (ephemeral) message: the only person who sees it.
    pub only_for: Option<Id>,
    /// A deferred response that shows "thinking" until it is edited.
    pub thinking: bool,
    /// Whether its text pinged everyone, because nothing suppressed it.
    pub pinged_everyone: bool,
    /// When it was created, since the Unix epoch.
    pub created: Duration,
    /// When it was last edited.
    pub edited: Option<Duration>,
    /// How often it was edited.
    pub edits: u32,
    /// Whether it was deleted.
    pub deleted: bool,
}

/// One button of a message, in the order shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// 1 primary, 2 secondary, 3 success, 4 danger, 5 link, 6 premium.
    pub style: u64,
    /// What comes back when it is pressed; link buttons have none.
    pub custom_id: Option<String>,
    /// Where a link button leads.
    pub url: Option<String>,
    /// Whether it is greyed out.
    pub disabled: bool,
}

impl Message {
    /// All a person reads above the buttons: the content, then each embed's title, description and fields, line by line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![self.content.as_str()];
        for embed in &self.embeds {
            lines.extend(["title", "description"].iter().filter_map(|key| embed.get(key)?.as_str()));
            for field in embed.get("fields").and_then(Value::as_array).into_iter().flatten() {
                lines.extend(["name", "value"].iter().filter_map(|key| field.get(key)?.as_str()));
            }
            lines.extend(embed.get("footer").and_then(|footer| footer.get("text")?.as_str()));
        }
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    /// All buttons, in the order shown.
    #[must_use]
    pub fn buttons(&self) -> Vec<Button> {
        let text = |button: &Value, key: &str| button.get(key).and_then(Value::as_str).map(str::to_owned);
        self.parts()
            .filter(|part| part.get("type").and_then(Value::as_u64) == Some(2))
            .map(|button| Button {
                label: text(button, "label").unwrap_or_default(),
                style: button.get("style").and_then(Value::as_u64).unwrap_or_default(),
                custom_id: text(button, "custom_id"),
                url: text(button, "url"),
                disabled: button.get("disabled").and_then(Value::as_bool).unwrap_or_default(),
            })
            .collect()
    }

    /// The buttons that can be pressed: neither links nor greyed out.
    #[must_use]
    pub fn live_buttons(&self) -> Vec<Button> {
        self.buttons().into_iter().filter(|button| button.custom_id.is_some() && !button.disabled).collect()
    }

    /// The components inside the rows.
    pub(in crate::discord) fn parts(&self) -> impl Iterator<Item = &Value> {
        self.components.iter().filter_map(|row| row.get("components")?.as_array()).flatten()
    }
}
