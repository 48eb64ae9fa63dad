//! Which endpoint a request is for: one pure function from method and path.

use axum::http::Method;
use serde::Serialize;

use super::id::Id;

/// An endpoint this simulation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Route {
    /// The gateway's web socket itself, not a REST endpoint.
    Socket,
    /// The gateway's address.
    Gateway,
    /// The gateway's address with the session limits; needs the bot token.
    GatewayBot,
    /// The bot's own user.
    Me,
    /// The bot's own application, under either of its two addresses.
    Application,
    /// Opens a direct-message channel.
    OpenDm,
    /// Reads a channel.
    GetChannel,
    /// Changes a channel: here only whether a thread is archived.
    EditChannel,
    /// Posts a message.
    CreateMessage,
    /// Reads a message.
    GetMessage,
    /// Edits a message.
    EditMessage,
    /// Deletes a message.
    DeleteMessage,
    /// Shows that the bot is writing.
    Typing,
    /// The first response to an interaction.
    Callback,
    /// A further message after the first response.
    FollowUp,
    /// Reads a response (`@original` or a follow-up).
    GetResponse,
    /// Edits a response.
    EditResponse,
    /// Deletes a response.
    DeleteResponse,
    /// Replaces all global commands.
    PutCommands,
    /// Reads all global commands.
    GetCommands,
    /// Anything else.
    Unknown,
}

/// An endpoint with the ids its path carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) route: Route,
    pub(super) channel: Option<Id>,
    /// `None` on a response endpoint means `@original`.
    pub(super) message: Option<Id>,
    pub(super) interaction: Option<Id>,
    pub(super) application: Option<Id>,
    pub(super) token: Option<String>,
}

/// Why a path is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Astray {
    Nowhere,
    WrongMethod,
    BadId { field: &'static str, value: String },
}

impl Route {
    /// The endpoint's path as the published specification writes it, such as `/channels/{channel_id}/messages`.
    #[must_use]
    pub fn template(self) -> &'static str {
        match self {
            Self::Socket | Self::Unknown => "",
            Self::Gateway => "/gateway",
            Self::GatewayBot => "/gateway/bot",
            Self::Me => "/users/@me",
            Self::Application => "/applications/@me",
            Self::OpenDm => "/users/@me/channels",
            Self::GetChannel | Self::EditChannel => "/channels/{channel_id}",
            Self::CreateMessage => "/channels/{channel_id}/messages",
            Self::GetMessage | Self::EditMessage | Self::DeleteMessage => {
                "/channels/{channel_id}/messages/{message_id}"
            }
            Self::Typing => "/channels/{channel_id}/typing",
            Self::Callback => "/interactions/{interaction_id}/{interaction_token}/callback",
            Self::FollowUp => "/webhooks/{webhook_id}/{webhook_token}",
            Self::GetResponse | Self::EditResponse | Self::DeleteResponse => {
                "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
            }
            Self::PutCommands | Self::GetCommands => "/applications/{application_id}/commands",
        }
    }

    /// Whether the endpoint is authorised by the token in its path instead of the bot token.
    #[must_use]
    pub(super) fn carries_its_token(self) -> bool {
        matches!(self, Self::Callback | Self::FollowUp | Self::GetResponse | Self::EditResponse | Self::DeleteResponse)
    }
}

impl Target {
    pub(super) fn of(route: Route) -> Self {
        Self { route, channel: None, message: None, interaction: None, application: None, token: None }
    }
}

/// Finds the endpoint of a request; `path` as it came, still percent-encoded.
pub(super) fn find(method: &Method, path: &str) -> Result<Target, Astray> {
    let rest = path.strip_prefix("/api/v10/").ok_or(Astray::Nowhere)?;
    let plain = rest.replace("%40", "@");
    let parts: Vec<&str> = plain.split('/').collect();
    let mut target = Target::of(Route::Unknown);

    let choices: &[(Method, Route)] = match parts.as_slice() {
        ["gateway"] => &[(Method::GET, Route::Gateway)],
        ["gateway", "bot"] => &[(Method::GET, Route::GatewayBot)],
        ["users", "@me"] => &[(Method::GET, Route::Me)],
        ["applications", "@me"] | ["oauth2", "applications", "@me"] => &[(Method::GET, Route::Application)],
        ["users", "@me", "channels"] => &[(Method::POST, Route::OpenDm)],
        ["channels", channel] => {
            target.channel = Some(snowflake("channel_id", channel)?);
            &[(Method::GET, Route::GetChannel), (Method::PATCH, Route::EditChannel)]
        }
        ["channels", channel, "typing"] => {
            target.channel = Some(snowflake("channel_id", channel)?);
            &[(Method::POST, Route::Typing)]
        }
        ["channels", channel, "messages"] => {
            target.channel = Some(snowflake("channel_id", channel)?);
            &[(Method::POST, Route::CreateMessage)]
        }
        ["channels", channel, "messages", message] => {
            target.channel = Some(snowflake("channel_id", channel)?);
            target.message = Some(snowflake("message_id", message)?);
            &[
                (Method::GET, Route::GetMessage),
                (Method::PATCH, Route::EditMessage),
                (Method::DELETE, Route::DeleteMessage),
            ]
        }
        ["interactions", interaction, token, "callback"] => {
            target.interaction = Some(snowflake("interaction_id", interaction)?);
            target.token = Some((*token).to_owned());
            &[(Method::POST, Route::Callback)]
        }
        ["webhooks", application, token] => {
            target.application = Some(snowflake("webhook_id", application)?);
            target.token = Some((*token).to_owned());
            &[(Method::POST, Route::FollowUp)]
        }
        ["webhooks", application, token, "messages", message] => {
            target.application = Some(snowflake("webhook_id", application)?);
            target.token = Some((*token).to_owned());
            if *message != "@original" {
                target.message = Some(snowflake("message_id", message)?);
            }
            &[
                (Method::GET, Route::GetResponse),
                (Method::PATCH, Route::EditResponse),
                (Method::DELETE, Route::DeleteResponse),
            ]
        }
        ["applications", application, "commands"] => {
            target.application = Some(snowflake("application_id", application)?);
            &[(Method::PUT, Route::PutCommands), (Method::GET, Route::GetCommands)]
        }
        _ => return Err(Astray::Nowhere),
    };
    target.route = choices.iter().find(|(m, _)| m == method).map(|(_, route)| *route).ok_or(Astray::WrongMethod)?;
    Ok(target)
}

fn snowflake(field: &'static str, value: &str) -> Result<Id, Astray> {
    value.parse().map_err(|()| Astray::BadId { field, value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_their_endpoint() {
        for (method, path, route) in [
            (Method::GET, "/api/v10/gateway", Route::Gateway),
            (Method::GET, "/api/v10/gateway/bot", Route::GatewayBot),
            (Method::GET, "/api/v10/users/@me", Route::Me),
            (Method::GET, "/api/v10/users/%40me", Route::Me),
            (Method::GET, "/api/v10/applications/@me", Route::Application),
            (Method::GET, "/api/v10/oauth2/applications/@me", Route::Application),
            (Method::POST, "/api/v10/users/@me/channels", Route::OpenDm),
            (Method::POST, "/api/v10/channels/7/messages", Route::CreateMessage),
            (Method::PATCH, "/api/v10/channels/7/messages/8", Route::EditMessage),
            (Method::DELETE, "/api/v10/channels/7/messages/8", Route::DeleteMessage),
            (Method::POST, "/api/v10/interactions/7/tok/callback", Route::Callback),
            (Method::POST, "/api/v10/webhooks/7/tok", Route::FollowUp),
            (Method::PATCH, "/api/v10/webhooks/7/tok/messages/@original", Route::EditResponse),
            (Method::PUT, "/api/v10/applications/7/commands", Route::PutCommands),
        ] {
            assert_eq!(find(&method, path).map(|target| target.route), Ok(route), "{method} {path}");
        }
    }

    #[test]
    fn other_paths_are_refused_for_the_right_reason() {
        assert_eq!(find(&Method::GET, "/api/v9/gateway"), Err(Astray::Nowhere));
        assert_eq!(find(&Method::GET, "/api/v10/oauth2/@me"), Err(Astray::Nowhere));
        assert_eq!(find(&Method::GET, "/api/v10/nothing"), Err(Astray::Nowhere));
        assert_eq!(find(&Method::PUT, "/api/v10/channels/7/messages"), Err(Astray::WrongMethod));
        assert_eq!(
            find(&Method::GET, "/api/v10/channels/abc"),
            Err(Astray::BadId { field: "channel_id", value: "abc".to_owned() })
        );
    }
}
