//! Reads an `INTERACTION_CREATE`, tolerantly.
//!
//! serenity decodes an interaction with everything in it, so one unknown component in the message makes the press
//! undecodable. Here only what is needed is looked up, wherever it may stand; all else may be of any shape. Ids are
//! strings, compared as numbers; bare numbers are taken as well.

use serde_json::Value;

use super::route::InteractionToken;

/// One interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interaction {
    /// How to answer it.
    pub(super) ticket: Ticket,
    /// Who did it: the member of a server, or the user in direct messages.
    pub(super) user: u64,
    /// What that person is called; untrusted.
    pub(super) user_name: Option<String>,
    /// The language of that person's app.
    pub(super) locale: Option<String>,
    /// The channel or thread it was done in.
    pub(super) channel: Option<u64>,
    /// What was done.
    pub(super) what: What,
}

/// What is needed to answer an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    /// The interaction's id.
    pub(super) id: u64,
    /// Its token.
    pub(super) token: InteractionToken,
    /// The application it was sent to.
    pub(super) application: Option<u64>,
    /// The channel of direct messages with the bot it was done in, if it was.
    pub(super) dm: Option<u64>,
}

/// What a person did.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Pressed a button.
    Press {
        /// The button's `custom_id`, a secret while it is live.
        custom_id: String,
        /// The message it is on.
        message: Option<u64>,
    },
    /// Used a command; its text as one line.
    Command(String),
}

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Press { message, .. } => f.debug_struct("Press").field("message", message).finish_non_exhaustive(),
            Self::Command(_) => f.write_str("Command(..)"),
        }
    }
}

/// Reads an interaction from an event's data.
///
/// # Errors
/// What is missing or not understood, without any content.
pub(super) fn read(data: &Value) -> Result<Interaction, &'static str> {
    let user =
        ["/member/user", "/user"].iter().filter_map(|at| data.pointer(at)).find(|user| id(user.get("id")).is_some());
    let user = user.ok_or("it names no user")?;
    let channel = id(data.get("channel_id")).or_else(|| id(data.pointer("/channel/id")));
    let with_bot = number(data.get("context")) == Some(1)
        || (data.get("context").is_none_or(Value::is_null) && number(data.pointer("/channel/type")) == Some(1));
    let ticket = Ticket {
        id: id(data.get("id")).ok_or("it has no id")?,
        token: InteractionToken(text(data.get("token")).ok_or("it has no token")?),
        application: id(data.get("application_id")),
        dm: channel.filter(|_| with_bot),
    };
    Ok(Interaction {
        ticket,
        user: id(user.get("id")).ok_or("it names no user")?,
        user_name: text(user.get("global_name")).or_else(|| text(user.get("username"))),
        locale: text(data.get("locale")),
        channel,
        what: what(data)?,
    })
}

fn what(data: &Value) -> Result<What, &'static str> {
    match number(data.get("type")) {
        Some(2) => Ok(What::Command(command(data.get("data").unwrap_or(&Value::Null)))),
        Some(3) => Ok(What::Press {
            custom_id: text(data.pointer("/data/custom_id")).ok_or("it is a press without a custom id")?,
            message: id(data.pointer("/message/id")),
        }),
        Some(_) => Err("it is of a kind this version does not use"),
        None => Err("it says no kind"),
    }
}

/// `/name value value`, as a person would have typed it.
fn command(data: &Value) -> String {
    fn values(options: Option<&Value>, depth: usize, out: &mut String) {
        for option in options.and_then(Value::as_array).into_iter().flatten().take(25) {
            match option.get("value") {
                Some(Value::String(value)) => out.extend([" ", value]),
                Some(value) => out.extend([" ", &value.to_string()]),
                None if depth < 3 => {
                    out.extend([" ", option.get("name").and_then(Value::as_str).unwrap_or_default()]);
                    values(option.get("options"), depth + 1, out);
                }
                None => {}
            }
        }
    }
    let mut line = format!("/{}", text(data.get("name")).unwrap_or_default());
    values(data.get("options"), 0, &mut line);
    line
}

fn id(value: Option<&Value>) -> Option<u64> {
    number(value).filter(|id| *id != 0)
}

fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(digits) => digits.parse().ok(),
        value => value.as_u64(),
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
