//! What one person sees on one channel, and does there: the same words for Telegram and Discord.

use std::time::Duration;

use anyhow::Context as _;
use sim::discord::{self, CallbackKind, Id};
use sim::telegram::{self, Pick};

use crate::world::{DISCORD_PERSON, TELEGRAM_PERSON, World};

/// How long a test waits for what the design promises within a few seconds: twice the promise, because machines are busy.
pub const SOON: Duration = Duration::from_secs(20);
/// Twice the second that an acknowledgement may take.
pub const AT_ONCE: Duration = Duration::from_secs(2);

/// A channel under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
}

impl Channel {
    /// The channels there are.
    pub const ALL: [Self; 2] = [Self::Telegram, Self::Discord];
}

/// One message of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The message's id.
    pub id: u64,
    /// All that a person reads above the buttons.
    pub text: String,
    /// The labels of the buttons that answer, in order.
    pub labels: Vec<String>,
    /// The data of the buttons that answer, in the same order.
    pub tokens: Vec<String>,
    /// Where the link buttons lead.
    pub links: Vec<String>,
    /// How often it was edited.
    pub edits: u32,
    /// The Telegram topic it is in.
    pub topic: Option<i64>,
}

impl Card {
    /// Whether a button is there that answers.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.labels.is_empty()
    }

    /// Whether it is over and says so: no button of any kind, and nothing under way.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        !self.is_live() && self.links.is_empty() && !self.text.contains("Sending") && !self.text.contains('⏳')
    }

    fn of_telegram(message: &telegram::Message) -> Self {
        let answering = || message.buttons().filter(|button| button.callback_data().is_some());
        Self {
            id: u64::try_from(message.id).unwrap_or_default(),
            text: message.text.clone(),
            labels: answering().map(|button| button.text.clone()).collect(),
            tokens: answering().filter_map(|button| button.callback_data()).map(str::to_owned).collect(),
            links: message.buttons().filter_map(|button| button.url()).map(str::to_owned).collect(),
            edits: message.edits,
            topic: message.thread,
        }
    }

    fn of_discord(message: &discord::Message) -> Self {
        let live = message.live_buttons();
        Self {
            id: message.id.number(),
            text: as_shown(&message.text()),
            labels: live.iter().map(|button| button.label.clone()).collect(),
            tokens: live.iter().filter_map(|button| button.custom_id.clone()).collect(),
            links: message.buttons().into_iter().filter_map(|button| button.url).collect(),
            edits: message.edits,
            topic: None,
        }
    }
}

/// One press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tap {
    /// The id of a callback query.
    Telegram(String),
    /// The id of an interaction.
    Discord(Id),
}

/// One place on one channel, as somebody looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Screen<'w> {
    world: &'w World,
    channel: Channel,
    user: u64,
    /// `None` is the private chat with the bot.
    chat: Option<i64>,
}

impl World {
    /// The person's private chat with the bot.
    #[must_use]
    pub fn screen(&self, channel: Channel) -> Screen<'_> {
        let user = match channel {
            Channel::Telegram => TELEGRAM_PERSON.unsigned_abs(),
            Channel::Discord => DISCORD_PERSON,
        };
        self.screen_of(channel, user)
    }

    /// Somebody else's private chat with the bot.
    #[must_use]
    pub fn screen_of(&self, channel: Channel, user: u64) -> Screen<'_> {
        Screen { world: self, channel, user, chat: None }
    }
}

impl Screen<'_> {
    /// The same place with somebody else in front of it.
    #[must_use]
    pub fn as_user(self, user: u64) -> Self {
        // The private chat that is looked at stays that of its owner.
        let chat = self.chat.or_else(|| match self.channel {
            Channel::Telegram => i64::try_from(self.user).ok(),
            Channel::Discord => None,
        });
        Self { user, chat, ..self }
    }

    /// A group or a guild channel.
    #[must_use]
    pub fn in_chat(self, chat: i64) -> Self {
        Self { chat: Some(chat), ..self }
    }

    /// Every message of the bot there, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<Card> {
        match self.channel {
            Channel::Telegram => {
                let chat = self.chat.or_else(|| i64::try_from(self.user).ok()).unwrap_or_default();
                let messages = self.world.telegram.messages(chat);
                messages.iter().filter(|message| message.from == telegram::Sender::Bot).map(Card::of_telegram).collect()
            }
            Channel::Discord => self.world.discord.read(|state| self.of_discord(state)),
        }
    }

    fn of_discord(&self, state: &discord::State) -> Vec<Card> {
        match self.chat {
            Some(chat) => {
                let bot = state.bot();
                let messages = state.messages_in(Id::new(chat.unsigned_abs()));
                messages.filter(|message| message.author == bot).map(Card::of_discord).collect()
            }
            None => state.messages_to(Id::new(self.user)).map(Card::of_discord).collect(),
        }
    }

    /// Waits until a message is there that fits; the newest is taken.
    ///
    /// # Errors
    /// With everything that is on the screen, when none comes in time.
    pub async fn see(&self, what: &str, fits: impl Fn(&Card) -> bool) -> anyhow::Result<Card> {
        self.see_within(what, SOON, fits).await
    }

    /// As [`Screen::see`], within another time.
    ///
    /// # Errors
    /// As [`Screen::see`].
    pub async fn see_within(&self, what: &str, within: Duration, fits: impl Fn(&Card) -> bool) -> anyhow::Result<Card> {
        let newest = |cards: Vec<Card>| cards.into_iter().rev().find(|card| fits(card));
        let found = match self.channel {
            Channel::Telegram => self
                .world
                .telegram
                .wait_for(what, within, |_| newest(self.messages()))
                .await
                .map_err(anyhow::Error::from),
            Channel::Discord => {
                let look = |state: &discord::State| {
                    let cards = match self.chat {
                        None => state.messages_to(Id::new(self.user)).map(Card::of_discord).collect(),
                        Some(_) => self.of_discord(state),
                    };
                    newest(cards)
                };
                self.world.discord.wait_for(what, within, look).await.map_err(anyhow::Error::from)
            }
        };
        found.with_context(|| format!("{:?} shows {:#?}", self.channel, self.messages()))
    }

    /// Waits for a card with that text that can be answered: with buttons, or with a way to the app.
    ///
    /// # Errors
    /// As [`Screen::see`].
    pub async fn card(&self, text: &str) -> anyhow::Result<Card> {
        self.see(text, |card| card.text.contains(text) && (card.is_live() || !card.links.is_empty())).await
    }

    /// Waits until that message is over and says all of these.
    ///
    /// # Errors
    /// As [`Screen::see`].
    pub async fn settled(&self, card: &Card, says: &[&str]) -> anyhow::Result<Card> {
        let id = card.id;
        self.see(&format!("{id} settled, saying {says:?}"), |card| {
            card.id == id && card.is_settled() && says.iter().all(|part| card.text.contains(part))
        })
        .await
    }

    /// How many messages contain a text.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        self.messages().iter().filter(|card| card.text.contains(text)).count()
    }

    /// Presses a button.
    ///
    /// # Errors
    /// When the card never had it.
    pub fn tap(&self, card: &Card, label: &str) -> anyhow::Result<Tap> {
        let position = card.labels.iter().position(|other| other == label);
        let position = position.with_context(|| format!("no button {label:?} on {card:#?}"))?;
        let token = card.tokens.get(position).context("a label without data")?;
        self.press(card, token)
    }

    /// Presses what an old app still shows, or what somebody made up.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn press(&self, card: &Card, token: &str) -> anyhow::Result<Tap> {
        match self.channel {
            Channel::Telegram => {
                let user = i64::try_from(self.user)?;
                let chat = self.chat.unwrap_or(user);
                let data = Pick::Data(token.to_owned());
                Ok(Tap::Telegram(self.world.telegram.tap(user, chat, i64::try_from(card.id)?, data)?))
            }
            Channel::Discord => {
                let tapped = self.world.discord.tap_stale(self.user, Id::new(card.id), token);
                Ok(Tap::Discord(tapped.context("no such message")?))
            }
        }
    }

    /// Waits for what a press is told; empty when it is only acknowledged.
    ///
    /// # Errors
    /// When nothing comes in time.
    pub async fn told(&self, tap: &Tap, within: Duration) -> anyhow::Result<String> {
        match tap {
            Tap::Telegram(id) => Ok(self.world.telegram.wait_for_answer(id, within).await?.text),
            Tap::Discord(id) => {
                let callback = self.world.discord.wait_for_response(*id, within).await?;
                if callback.kind == CallbackKind::DeferredUpdate {
                    return Ok(String::new());
                }
                anyhow::ensure!(callback.ephemeral, "everybody sees {callback:?}");
                let look = |state: &discord::State| state.shown_privately(*id).first().map(|text| as_shown(text));
                Ok(self.world.discord.wait_for("a private sentence", within, look).await?)
            }
        }
    }

    /// Presses a button that wins, and waits for the acknowledgement.
    ///
    /// # Errors
    /// When it is told anything, or nothing at all.
    pub async fn answer(&self, card: &Card, label: &str) -> anyhow::Result<()> {
        let tap = self.tap(card, label)?;
        let told = self.told(&tap, AT_ONCE).await?;
        anyhow::ensure!(told.is_empty(), "the first tap was told {told:?}");
        Ok(())
    }
}

/// What Discord's clients show of a text: a backslash before anything but letters, digits and white space is not shown.
fn as_shown(content: &str) -> String {
    let mut shown = String::with_capacity(content.len());
    let mut chars = content.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && !next.is_ascii_alphanumeric() && !next.is_whitespace() => {
                shown.extend(chars.next());
            }
            _ => shown.push(c),
        }
    }
    shown
}
