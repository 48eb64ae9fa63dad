//! Telegram, through a bot and its long poll.
//!
//! Requests are teloxide's payloads; they travel through a small client of our own, because the library's sleeps ten
//! seconds inside a call on any 5xx, knows error texts only as they once were, and ends before a button's `style`. The long
//! poll is our own too: the library confirms updates when it fetches them, and a crash then loses taps.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use asks::place::{ChannelKind, MessageRef, Place};
use async_trait::async_trait;
use rand::rngs::StdRng;
use serde_json::Value;
use teloxide::payloads::{GetMe, GetMyCommands, GetWebhookInfo, SendChatAction, SetMyCommands};
use teloxide::requests::Payload;
use teloxide::types::{BotCommand, ChatAction};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::client::{Client, Trouble};
use self::failure::{Act, failure};
use self::listen::Hook;
use self::pace::Pacer;
use self::post::Post;
use self::wire::Address;
use crate::channel::{Capabilities, CardView, Channel, Desk, Failure, Headers, Inbound, Offer, Outbound, SendKey};
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
    /// The commands the app offers; set when listening begins, where they are others. None leaves them alone.
    pub commands: Vec<Offer>,
    /// How Telegram posts updates; `None` polls for them.
    pub webhook: Option<WebhookOptions>,
}

/// How Telegram posts updates.
pub struct WebhookOptions {
    /// Under which address the outside reaches the gateway.
    pub public_url: Url,
    /// What Telegram sends along: 1 to 256 letters, digits, `-` and `_`. Never printed.
    pub secret: String,
}

impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookOptions").field("public_url", &self.public_url.as_str()).finish_non_exhaustive()
    }
}

/// Telegram as a channel.
pub struct TelegramChannel {
    client: Client,
    post: Post,
    clock: SharedClock,
    jitter: Mutex<StdRng>,
    timing: Timing,
    commands: Vec<Offer>,
    hook: Option<Hook>,
    /// What takes posted updates, while something listens.
    ear: Mutex<Option<Arc<Ear>>>,
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
        Self {
            post: Post::new(client.clone(), pacer, Arc::clone(&options.clock)),
            client,
            clock: options.clock,
            jitter: Mutex::new(options.jitter),
            timing: options.timing,
            commands: options.commands,
            hook: options.webhook.map(|webhook| Hook::new(&webhook.public_url, webhook.secret)),
            ear: Mutex::default(),
        }
    }

    fn hear_with(&self, ear: Option<Arc<Ear>>) {
        *self.ear.lock().unwrap_or_else(PoisonError::into_inner) = ear;
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

    /// Offers the commands in every language they are translated into. One language that fails takes no other with it.
    async fn offer_commands(&self) {
        if self.commands.is_empty() {
            return;
        }
        let codes = self.commands.iter().flat_map(|offer| &offer.translations).map(|(code, _)| code.as_str());
        let codes: BTreeSet<&str> = codes.collect();
        for code in std::iter::once(None).chain(codes.into_iter().map(Some)) {
            if let Err(trouble) = self.offer_commands_in(code).await {
                tracing::debug!(?trouble, "the bot's commands could not be set");
            }
        }
    }

    async fn offer_commands_in(&self, code: Option<&str>) -> Result<(), Trouble> {
        let wanted: Vec<BotCommand> = self
            .commands
            .iter()
            .map(|offer| {
                let translated = offer.translations.iter().find(|(known, _)| Some(known.as_str()) == code);
                BotCommand::new(&offer.name, translated.map_or(&offer.description, |(_, text)| text))
            })
            .collect();
        let mut ask = GetMyCommands::new();
        ask.language_code = code.map(str::to_owned);
        let there: Result<Value, Trouble> = self.client.call(GetMyCommands::NAME, &ask, EXAMINE).await;
        if there.is_ok_and(|there| there == serde_json::json!(wanted)) {
            return Ok(());
        }
        let mut body = SetMyCommands::new(wanted);
        body.language_code = code.map(str::to_owned);
        self.client.call::<_, Value>(SetMyCommands::NAME, &body, EXAMINE).await.map(drop)
    }
}

#[async_trait]
impl Channel for TelegramChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { label_limit: limits::LABEL_SHOWN, sends_once: false, shows_content: true }
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
        let listening = async {
            match self.hook.clone() {
                Some(hook) => listen::keep(Arc::clone(&self), hook, desk, stop).await,
                None => listen::run(Arc::clone(&self), desk, stop).await,
            }
        };
        tokio::pin!(listening);
        tokio::select! {
            heard = &mut listening => return heard,
            () = self.offer_commands() => {}
        }
        listening.await
    }

    fn patience(&self) -> Option<Duration> {
        self.hook.is_none().then(|| (self.timing.poll + self.timing.grace) * 3)
    }

    async fn examine(&self) -> Result<String, Failure> {
        let nowhere = Place::Telegram { chat: 0, topic: None };
        let said = |trouble| failure(&trouble, Act::Change, &nowhere);
        let me: Value = self.client.call(GetMe::NAME, &GetMe::new(), EXAMINE).await.map_err(said)?;
        let name = me.get("username").and_then(Value::as_str).unwrap_or("a bot without a name");
        let hook: Value =
            self.client.call(GetWebhookInfo::NAME, &GetWebhookInfo::new(), EXAMINE).await.map_err(said)?;
        let hook = hook.get("url").and_then(Value::as_str).filter(|url| !url.is_empty());
        let ours = self.hook.as_ref().map(|hook| hook.url.as_str());
        let Some(hook) = hook.filter(|hook| Some(*hook) != ours) else { return Ok(format!("@{name}")) };
        // The address may hold a secret in its path; the host says enough to find whose it is.
        let host = Url::parse(hook).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        Err(Failure::Refused {
            why: format!(
                "@{name} has a webhook set, at {host}; while it is, askgate hears nothing, and one that it set itself is \
                 replaced at the next start: remove another's (deleteWebhook) if it is not in use, or give askgate a bot of \
                 its own"
            ),
        })
    }

    fn is_called(&self) -> bool {
        self.hook.is_some()
    }

    fn admit(&self, headers: &Headers) -> Result<(), Outbound> {
        match &self.hook {
            None => Err(Outbound::status(404)),
            Some(hook) if hook.admits(headers) => Ok(()),
            Some(_) => Err(Outbound::status(401)),
        }
    }

    async fn receive(self: Arc<Self>, request: Inbound) -> Outbound {
        if let Err(refused) = self.admit(&request.headers) {
            return refused;
        }
        let ear = self.ear.lock().unwrap_or_else(PoisonError::into_inner).clone();
        listen::receive(ear, request).await
    }
}
