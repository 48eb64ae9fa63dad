//! Telegram, through a bot and its long poll.
//!
//! Requests are teloxide's payloads; they travel through a small client of our own, because the library's sleeps ten
//! seconds inside a call on any 5xx, knows error texts only as they once were, and ends before a button's `style`. The long
//! poll is our own too: the library confirms updates when it fetches them, and a crash then loses taps.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use asks::place::{ChannelKind, MessageRef, Place};
use async_trait::async_trait;
use rand::rngs::StdRng;
use serde_json::Value;
use teloxide::payloads::{GetMe, GetWebhookInfo, SendChatAction, SetMyCommands};
use teloxide::requests::Payload;
use teloxide::types::{BotCommand, ChatAction};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::client::Client;
use self::failure::{Act, failure};
use self::pace::Pacer;
use self::post::Post;
use self::wire::Address;
use crate::channel::{Capabilities, CardView, Channel, Desk, Failure, SendKey};
use crate::clock::SharedClock;

mod client;
mod failure;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod limits;
mod listen;
mod pace;
mod post;
mod render;
mod wire;

#[cfg(test)]
mod double;

pub use self::client::BotToken;
pub use self::limits::{Pace, Rate, Timing};
pub use self::listen::Ear;

/// How long a question to the platform about the bot itself may take.
const EXAMINE: Duration = Duration::from_secs(10);

/// What the channel is made of.
#[derive(Debug)]
pub struct TelegramOptions {
    /// The bot's token.
    pub token: BotToken,
    /// Where the Bot API is, such as `https://api.telegram.org`; plain HTTP on the loopback address is fine.
    pub api_url: Url,
    /// The shared HTTP client.
    pub http: reqwest::Client,
    /// Time.
    pub clock: SharedClock,
    /// Randomness for back-off.
    pub jitter: StdRng,
    /// How quickly messages go out.
    pub pace: Pace,
    /// How updates are asked for.
    pub timing: Timing,
    /// The commands the app offers, as name and description; set when listening begins. None leaves them alone.
    pub commands: Vec<(String, String)>,
}

/// Telegram as a channel.
pub struct TelegramChannel {
    client: Client,
    post: Post,
    clock: SharedClock,
    jitter: Mutex<StdRng>,
    timing: Timing,
    commands: Vec<BotCommand>,
}

impl fmt::Debug for TelegramChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramChannel").field("client", &self.client).finish_non_exhaustive()
    }
}

/// The longest label a button shows on a phone, in UTF-16 units.
pub const LABEL_LIMIT: usize = limits::LABEL_SHOWN;

impl TelegramChannel {
    /// A channel that has talked to nobody yet.
    #[must_use]
    pub fn new(options: TelegramOptions) -> Self {
        let client = Client::new(options.http, &options.api_url, options.token);
        let pacer = Pacer::new(options.pace, Arc::clone(&options.clock));
        let commands = options.commands.into_iter().map(|(name, text)| BotCommand::new(name, text)).collect();
        Self {
            post: Post::new(client.clone(), pacer, Arc::clone(&options.clock)),
            client,
            clock: options.clock,
            jitter: Mutex::new(options.jitter),
            timing: options.timing,
            commands,
        }
    }

    /// What a card's messages would be, as the bodies of requests without their address: for `askgate preview`.
    #[must_use]
    pub fn preview(view: &CardView) -> Vec<Value> {
        let shown = render::card(view, render::LinkAs::Button);
        let lead = shown.lead.into_iter().map(|piece| (piece, None));
        let all = lead.chain([(shown.last, shown.keyboard.to_send())]);
        all.map(|(piece, keyboard)| {
            let mut body = serde_json::json!({"text": piece.text});
            if let Some(fields) = body.as_object_mut() {
                if !piece.entities.is_empty() {
                    fields.insert("entities".to_owned(), serde_json::json!(piece.entities));
                }
                if let Some(keyboard) = keyboard {
                    fields.insert("reply_markup".to_owned(), serde_json::json!(keyboard));
                }
            }
            body
        })
        .collect()
    }

    async fn offer_commands(&self) {
        if self.commands.is_empty() {
            return;
        }
        let body = SetMyCommands::new(self.commands.clone());
        if let Err(trouble) = self.client.call::<_, Value>(SetMyCommands::NAME, &body, EXAMINE).await {
            tracing::debug!(?trouble, "the bot's commands could not be set");
        }
    }
}

#[async_trait]
impl Channel for TelegramChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { label_limit: limits::LABEL_SHOWN, shows_content: true }
    }

    async fn turn(&self, place: &Place) -> Result<(), Duration> {
        self.post.turn(place).await
    }

    async fn present(&self, place: &Place, view: &CardView, key: &SendKey) -> Result<MessageRef, Failure> {
        self.post.present(place, view, key).await
    }

    async fn revise(&self, place: &Place, message: &MessageRef, view: &CardView) -> Result<(), Failure> {
        self.post.revise(place, message, view).await
    }

    async fn notify(
        &self,
        place: &Place,
        text: &str,
        about: Option<&MessageRef>,
        key: &SendKey,
    ) -> Result<(), Failure> {
        self.post.notify(place, text, about, key).await
    }

    async fn working(&self, place: &Place) {
        let Ok(to) = Address::of(place) else { return };
        if self.post.pacer().is_held(to.chat) {
            return;
        }
        let mut body = SendChatAction::new(to.recipient(), ChatAction::Typing);
        body.message_thread_id = to.thread_id();
        if let Err(trouble) = self.client.call::<_, Value>(SendChatAction::NAME, &body, limits::ACKNOWLEDGE).await {
            tracing::debug!(%place, ?trouble, "typing could not be shown");
        }
    }

    async fn listen(self: Arc<Self>, desk: Arc<dyn Desk>, stop: CancellationToken) -> Result<(), Failure> {
        // Beside the first poll, not before it: what the app offers must not delay what is heard.
        let listening = listen::run(Arc::clone(&self), desk, stop);
        tokio::pin!(listening);
        tokio::select! {
            heard = &mut listening => return heard,
            () = self.offer_commands() => {}
        }
        listening.await
    }

    async fn examine(&self) -> Result<String, Failure> {
        let nowhere = Place::Telegram { chat: 0, topic: None };
        let said = |trouble| failure(&trouble, Act::Change, &nowhere);
        let me: Value = self.client.call(GetMe::NAME, &GetMe::new(), EXAMINE).await.map_err(said)?;
        let name = me.get("username").and_then(Value::as_str).unwrap_or("a bot without a name");
        let hook: Value =
            self.client.call(GetWebhookInfo::NAME, &GetWebhookInfo::new(), EXAMINE).await.map_err(said)?;
        let hook = hook.get("url").and_then(Value::as_str).filter(|url| !url.is_empty());
        let Some(hook) = hook else { return Ok(format!("@{name}")) };
        // The address may hold a secret in its path; the host says enough to find whose it is.
        let host = Url::parse(hook).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        Err(Failure::Refused {
            why: format!(
                "@{name} has a webhook set, at {host}; while it is, polling is refused: remove it (deleteWebhook) if it \
                 is not in use, or give askgate a bot of its own"
            ),
        })
    }
}
