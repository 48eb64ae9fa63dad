//! The endpoints of Discord's API that this channel uses.

use std::fmt::{self, Debug};

use reqwest::Method;
use url::Url;

/// An endpoint with the ids in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// Who the bot is.
    Me,
    /// Which application the bot belongs to.
    Application,
    /// The gateway's address, with what the bot may do there.
    GatewayBot,
    /// The gateway's address alone.
    Gateway,
    /// Opens the direct messages with a person, or finds them.
    OpenDm,
    /// Posts a message.
    Create { channel: u64 },
    /// Changes a message.
    Edit { channel: u64, message: u64 },
    /// Shows "typing".
    Typing { channel: u64 },
    /// Changes a channel: here, opens an archived thread.
    Channel { channel: u64 },
    /// The first response to an interaction.
    Callback { interaction: u64, token: InteractionToken },
    /// The commands the app offers, with their translations.
    Commands { application: u64 },
    /// Replaces all of them.
    SetCommands { application: u64 },
    /// Fills in a deferred response.
    EditOriginal { application: u64, token: InteractionToken },
}

/// An interaction's token, a secret for 15 minutes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct InteractionToken(pub(super) String);

impl Debug for InteractionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InteractionToken(..)")
    }
}

impl Route {
    /// The HTTP method.
    pub(super) fn method(&self) -> Method {
        match self {
            Self::Me | Self::Application | Self::GatewayBot | Self::Gateway | Self::Commands { .. } => Method::GET,
            Self::SetCommands { .. } => Method::PUT,
            Self::OpenDm | Self::Create { .. } | Self::Typing { .. } | Self::Callback { .. } => Method::POST,
            Self::Edit { .. } | Self::Channel { .. } | Self::EditOriginal { .. } => Method::PATCH,
        }
    }

    /// Whether it carries its own token: outside the bot's limits, and without the bot's token.
    pub(super) fn is_interaction(&self) -> bool {
        matches!(self, Self::Callback { .. } | Self::EditOriginal { .. })
    }

    /// A name for logs, and with [`Route::major`] the key of its bucket.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Me => "me",
            Self::Application => "application",
            Self::GatewayBot => "gateway-bot",
            Self::Gateway => "gateway",
            Self::OpenDm => "open-dm",
            Self::Create { .. } => "create",
            Self::Edit { .. } => "edit",
            Self::Typing { .. } => "typing",
            Self::Channel { .. } => "channel",
            Self::Callback { .. } => "callback",
            Self::Commands { .. } => "commands",
            Self::SetCommands { .. } => "set-commands",
            Self::EditOriginal { .. } => "edit-original",
        }
    }

    /// The id that splits its bucket; 0 where there is none.
    pub(super) fn major(&self) -> u64 {
        match self {
            Self::Create { channel }
            | Self::Edit { channel, .. }
            | Self::Typing { channel }
            | Self::Channel { channel } => *channel,
            _ => 0,
        }
    }

    /// The whole address. Whatever a path segment holds is percent-encoded.
    pub(super) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        url.set_query(matches!(self, Self::Commands { .. }).then_some("with_localizations=true"));
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v10"]).extend(self.segments());
        }
        url
    }

    fn segments(&self) -> Vec<String> {
        let fixed = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        match self {
            Self::Me => fixed(&["users", "@me"]),
            Self::Application => fixed(&["applications", "@me"]),
            Self::GatewayBot => fixed(&["gateway", "bot"]),
            Self::Gateway => fixed(&["gateway"]),
            Self::OpenDm => fixed(&["users", "@me", "channels"]),
            Self::Create { channel } => fixed(&["channels", &channel.to_string(), "messages"]),
            Self::Edit { channel, message } => {
                fixed(&["channels", &channel.to_string(), "messages", &message.to_string()])
            }
            Self::Typing { channel } => fixed(&["channels", &channel.to_string(), "typing"]),
            Self::Channel { channel } => fixed(&["channels", &channel.to_string()]),
            Self::Callback { interaction, token } => {
                fixed(&["interactions", &interaction.to_string(), &token.0, "callback"])
            }
            Self::Commands { application } | Self::SetCommands { application } => {
                fixed(&["applications", &application.to_string(), "commands"])
            }
            Self::EditOriginal { application, token } => {
                fixed(&["webhooks", &application.to_string(), &token.0, "messages", "@original"])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stand_behind_the_configured_one() {
        let url = |route: Route, base: &str| route.url(&Url::parse(base).expect("a url")).to_string();
        assert_eq!(url(Route::Me, "https://discord.com"), "https://discord.com/api/v10/users/@me");
        assert_eq!(
            url(Route::Edit { channel: 1, message: 2 }, "http://127.0.0.1:9/proxy/"),
            "http://127.0.0.1:9/proxy/api/v10/channels/1/messages/2"
        );
        let token = InteractionToken("a/../b?c".to_owned());
        assert_eq!(
            url(Route::Callback { interaction: 3, token: token.clone() }, "https://discord.com/"),
            "https://discord.com/api/v10/interactions/3/a%2F..%2Fb%3Fc/callback"
        );
        assert!(!format!("{:?}", Route::EditOriginal { application: 1, token }).contains("a/.."));
    }
}
