//! Many people with an account each: what they see, what they press, what they were told.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use sim::discord::{self, CallbackKind, Id};
use sim::telegram::{self, Pick};

use crate::screen::{Channel, Tap};
use crate::world::{PASSWORD, Setup, World};

/// One person.
#[derive(Debug, Clone)]
pub struct Person {
    /// The account's name.
    pub name: String,
    /// The e-mail address at the host.
    pub email: String,
    /// The Telegram user id, which is also the private chat's.
    pub telegram: i64,
    /// The Discord user id.
    pub discord: u64,
}

/// One message of the bot, with when it came and when it changed (since 1970).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The message's id.
    pub id: u64,
    /// All that a person reads above the buttons.
    pub text: String,
    /// Label and data of each button that answers.
    pub buttons: Vec<(String, String)>,
    /// Whether a button leads to the app.
    pub has_link: bool,
    /// When it came.
    pub sent: Duration,
    /// When it changed last.
    pub edited: Option<Duration>,
}

impl Copy {
    /// Whether it says that something is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.text.contains("Sending") || self.text.contains('⏳')
    }

    /// Whether a button is there that answers.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        !self.buttons.is_empty()
    }

    fn of_telegram(message: &telegram::Message) -> Self {
        let data = |button: &telegram::Button| Some((button.text.clone(), button.callback_data()?.to_owned()));
        Self {
            id: u64::try_from(message.id).unwrap_or_default(),
            text: message.text.clone(),
            buttons: message.buttons().filter_map(data).collect(),
            has_link: message.buttons().any(|button| button.url().is_some()),
            sent: message.sent,
            edited: message.edited,
        }
    }

    fn of_discord(message: &discord::Message) -> Self {
        let live = message.live_buttons().into_iter();
        Self {
            id: message.id.number(),
            text: message.text(),
            buttons: live.filter_map(|button| Some((button.label, button.custom_id?))).collect(),
            has_link: message.buttons().iter().any(|button| button.url.is_some()),
            sent: message.created,
            edited: message.edited,
        }
    }
}

/// What somebody was told after a press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Nothing, yet or for ever.
    Nothing,
    /// It was acknowledged as recorded.
    Recorded,
    /// A sentence.
    Sentence(String),
}

/// Everybody.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// The people, in order.
    pub people: Vec<Person>,
}

impl Crowd {
    /// So many people join a world, on all of its platforms.
    #[must_use]
    pub fn join(world: &World, count: u32) -> Self {
        let people = (0..count).map(|number| Person {
            name: format!("p{number}"),
            email: format!("p{number}@example.com"),
            telegram: 500_000 + i64::from(number),
            discord: 600_000 + u64::from(number),
        });
        let people: Vec<Person> = people.collect();
        for person in &people {
            world.terreno.add_user(&person.email, PASSWORD);
            world.telegram.private_chat(person.telegram);
            world.discord.add_user(person.discord, &person.name);
        }
        Self { people }
    }

    /// A configuration in which everybody has an account and is served on these channels.
    #[must_use]
    pub fn setup(&self, channels: &[Channel], poll: &str) -> Setup {
        let mut more = String::new();
        for Person { name, email, telegram, discord } in &self.people {
            let places = channels.iter().map(|channel| match channel {
                Channel::Telegram => format!("telegram:{telegram}"),
                Channel::Discord => format!("discord:user:{discord}"),
            });
            let places: Vec<String> = places.collect();
            let _ = writeln!(more, "[[accounts]]\nname = \"{name}\"\nsource = \"app\"\nemail = \"{email}\"");
            let _ = writeln!(more, "password = \"{PASSWORD}\"\ndeliver = {places:?}\n");
        }
        Setup {
            telegram: channels.contains(&Channel::Telegram),
            discord: channels.contains(&Channel::Discord),
            deliver: Some(Vec::new()),
            source: format!("poll_active = \"{poll}\"\npoll_idle = \"{poll}\""),
            more,
            env: vec![("RUST_LOG".to_owned(), "info".to_owned())],
            ..Setup::default()
        }
    }
}

impl Person {
    /// Every message of the bot to this person there, oldest first.
    #[must_use]
    pub fn sees(&self, world: &World, channel: Channel) -> Vec<Copy> {
        match channel {
            Channel::Telegram => {
                let messages = world.telegram.messages(self.telegram);
                messages.iter().filter(|message| message.from == telegram::Sender::Bot).map(Copy::of_telegram).collect()
            }
            Channel::Discord => {
                world.discord.read(|state| state.messages_to(Id::new(self.discord)).map(Copy::of_discord).collect())
            }
        }
    }

    /// Presses what a message shows, or showed.
    ///
    /// # Errors
    /// When there is no such message.
    pub fn press(&self, world: &World, channel: Channel, message: u64, data: &str) -> anyhow::Result<Tap> {
        match channel {
            Channel::Telegram => {
                let pick = Pick::Data(data.to_owned());
                let message = i64::try_from(message)?;
                Ok(Tap::Telegram(world.telegram.tap(self.telegram, self.telegram, message, pick)?))
            }
            Channel::Discord => {
                let tapped = world.discord.tap_stale(self.discord, Id::new(message), data);
                Ok(Tap::Discord(tapped.context("there is no such message")?))
            }
        }
    }
}

/// What a press was told so far.
#[must_use]
pub fn told(world: &World, tap: &Tap) -> Told {
    match tap {
        Tap::Telegram(id) => match world.telegram.answer_to(id) {
            None => Told::Nothing,
            Some(answer) if answer.text.is_empty() => Told::Recorded,
            Some(answer) => Told::Sentence(answer.text),
        },
        Tap::Discord(id) => {
            let callback = world.discord.interaction(*id).and_then(|interaction| interaction.callback);
            match callback.map(|callback| callback.kind) {
                None => Told::Nothing,
                Some(CallbackKind::DeferredUpdate) => Told::Recorded,
                Some(_) => Told::Sentence(world.discord.read(|state| state.shown_privately(*id)).join(" ")),
            }
        }
    }
}
