//! The port to a kind of place people are.
//!
//! Adding a channel: a folder `channels/<name>/` with the same five parts (the module root with the type that implements
//! [`Channel`], `render`, `listen`, `failure`, `limits`), one line in [`crate::channels`] and one arm in the gateway's
//! wiring. `render` turns a [`CardView`] into the platform's payload and is pure; `failure` is the one file that turns raw
//! errors into [`Failure`], fed by a table of literal texts; `listen` calls [`Desk::press`] and renders its [`Reply`].

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use asks::card::Style;
use asks::place::{Actor, ChannelKind, MessageRef, Place};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// What a channel is to show of one ask: words chosen by the gateway, buttons with their tap tokens, nothing of a platform.
///
/// All text here is shown as written. What comes from an agent has been made visible before (no hidden direction changes,
/// no invisible characters), and is cut nowhere: where a text does not fit one message, `render` puts whole pieces of it
/// into messages before the one with the buttons.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CardView {
    /// One quiet line above everything (which source and account), where a place serves several.
    pub origin: Option<String>,
    /// The heading.
    pub title: Option<String>,
    /// The question.
    pub text: String,
    /// What a button would send and the question does not show, in full, with a heading of its own.
    pub content: Option<(String, String)>,
    /// A legend for numbered buttons, one line each; empty when the labels fit.
    pub legend: Vec<String>,
    /// How it stands or ended, below the question: "Sending...", "You chose: Team", ...
    pub status: Option<String>,
    /// The buttons, in order; empty when nothing can be pressed.
    pub buttons: Vec<ViewButton>,
    /// The hand-off: label and web address.
    pub link: Option<(String, String)>,
    /// How much it deserves to disturb somebody.
    pub urgency: Urgency,
}

/// How much a card deserves to disturb somebody, for channels that make a sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Urgency {
    /// It waits for an answer.
    #[default]
    Waiting,
    /// It waits for an answer, in its person's quiet hours.
    Quiet,
    /// Something is under way and will change by itself.
    Passing,
    /// It is over.
    Over,
}

/// One button to show.
#[derive(Clone, PartialEq)]
pub struct ViewButton {
    /// What it says.
    pub label: String,
    /// How it is meant to look.
    pub style: Style,
    /// The tap token in its callback data. A live one is a secret.
    pub token: String,
}

impl Debug for ViewButton {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ViewButton").field("label", &self.label).field("style", &self.style).finish_non_exhaustive()
    }
}

/// What a channel can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The longest button label, in the platform's own unit.
    pub label_limit: usize,
    /// Whether a send that is repeated under its key stays one message, and tells which: then a doubtful one may be repeated.
    pub sends_once: bool,
    /// Whether a card has room for what a button would send. Where it has none, such a button is not offered.
    pub shows_content: bool,
}

/// Why a platform did not do what it was asked, as what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Not done, and may be tried again after this long.
    #[error("not now; again in {after:?} ({why})")]
    Retry {
        /// How long to wait.
        after: Duration,
        /// What the platform said, without secrets.
        why: String,
    },
    /// The place has another address now; nothing was sent.
    #[error("the place moved to {to}")]
    Moved {
        /// The new address.
        to: Place,
    },
    /// The message is not there any more.
    #[error("the message is gone")]
    MessageGone,
    /// The place cannot be reached until something changes there.
    #[error("the place cannot be reached: {why}")]
    PlaceGone {
        /// The platform's reason, short.
        why: String,
    },
    /// It says that already.
    #[error("nothing to change")]
    Unchanged,
    /// It may have been done: the request was sent and no answer came.
    #[error("nobody knows whether it arrived ({why})")]
    Ambiguous {
        /// What happened, without secrets.
        why: String,
    },
    /// The platform will never take this request as it is.
    #[error("refused: {why}")]
    Refused {
        /// What the platform said.
        why: String,
    },
    /// The bot's own credential is not accepted: the whole channel stops and is reported.
    #[error("the bot's token is not accepted; put a valid one into the configuration")]
    Unauthorised,
}

/// Identifies one send, so that a platform with idempotency keys (Discord's `nonce`) shows it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendKey(pub String);

/// One press, as a listener reports it.
#[derive(Clone, PartialEq)]
pub struct Press {
    /// The callback data, whatever it is.
    pub token: String,
    /// Who pressed.
    pub actor: Actor,
    /// What the platform calls that person; untrusted text.
    pub actor_name: Option<String>,
    /// The language the platform reports for that person, such as `de`.
    pub language: Option<String>,
    /// The chat or channel it was pressed in, as in [`MessageRef::chat`]; `None` if the platform did not say.
    pub chat: Option<String>,
    /// The message it was pressed on, if the platform said.
    pub message: Option<MessageRef>,
}

impl Debug for Press {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Press").field("actor", &self.actor).field("message", &self.message).finish_non_exhaustive()
    }
}

/// What the person who pressed is told at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Recorded, and on its way: acknowledge without words; the card will say how it goes.
    Defer,
    /// One sentence, to this person only; the card stays as it is.
    Notice(String),
}

/// A text or command from a person, as a listener reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who.
    pub actor: Actor,
    /// Where.
    pub place: Place,
    /// What; untrusted text.
    pub text: String,
    /// The language the platform reports for that person.
    pub language: Option<String>,
    /// What the platform calls that person; untrusted text.
    pub name: Option<String>,
}

/// A command that a platform's app offers to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name, without the slash: small Latin letters only, so that every platform takes it.
    pub name: String,
    /// What it does, in at most 100 characters.
    pub description: String,
    /// The same in other languages, each with its two-letter code.
    pub translations: Vec<(String, String)>,
    /// What may be written after it, if anything may; in at most 100 characters.
    pub argument: Option<String>,
}

/// A request that a platform made to the gateway's own HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Its headers, names in small letters.
    pub headers: Headers,
    /// Its body, as it came.
    pub body: Vec<u8>,
}

impl Debug for Inbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbound").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// The headers of an [`Inbound`], in which credentials are.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    /// Collects headers; names count in any case.
    #[must_use]
    pub fn new(headers: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self(headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
    }

    /// The value of a header that is there exactly once; `name` in small letters.
    #[must_use]
    pub fn one(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_slice());
        values.next().filter(|_| values.next().is_none())
    }
}

impl Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Headers").field("count", &self.0.len()).finish_non_exhaustive()
    }
}

/// What a platform is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound {
    /// The HTTP status.
    pub status: u16,
    /// The body as JSON, where there is one.
    pub body: Option<String>,
}

impl Outbound {
    /// A status without a body.
    #[must_use]
    pub const fn status(status: u16) -> Self {
        Self { status, body: None }
    }
}

/// How a listener is doing, for readiness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hearing {
    /// Connected and listening; the platform was heard just now.
    Listening,
    /// Not connected, or not heard for too long.
    Deaf {
        /// Why, in a sentence that says what to do.
        why: String,
    },
    /// As deaf, but on purpose: the platform does not want to be asked for a while. To begin anew would be against its word.
    Paused {
        /// How long it waits from now.
        after: Duration,
        /// Why, in a sentence that says what to do.
        why: String,
    },
}

/// The gateway's side of a listener.
#[async_trait]
pub trait Desk: Debug + Send + Sync + 'static {
    /// Takes a press. Returns only when its claim is durable (or refused), so the caller confirms the update to the
    /// platform after this and not before.
    async fn press(&self, press: Press) -> Reply;

    /// What a person is told whose press takes long to record: it promises nothing yet.
    fn still_saving(&self, language: Option<&str>) -> String;

    /// What that person is told once it is recorded.
    fn recorded(&self, language: Option<&str>) -> String;

    /// Takes a text or command. Returns an answer for that place, if there is one.
    async fn said(&self, said: Said) -> Option<String>;

    /// A place showed a sign of life (`/start`, re-joined), or lost one (`Err` with the platform's reason: blocked, kicked).
    async fn place_changed(&self, place: Place, state: Result<(), String>);

    /// A listener tells how it is doing; called at every success and at every change.
    fn hearing(&self, channel: ChannelKind, hearing: Hearing);

    /// Taps may have been lost: the listener was away for longer than the platform keeps them.
    async fn taps_may_be_lost(&self, channel: ChannelKind);

    /// Something small that must survive a restart (the update ids already handled, a channel of direct messages).
    async fn remember(&self, name: &str, value: Option<String>);

    /// What was remembered.
    async fn recall(&self, name: &str) -> Option<String>;
}

/// A kind of place people are.
///
/// Calls for one message come one after the other; calls for different places come side by side. Every call ends within
/// ten seconds. Pacing (limits per chat, per bot, `retry_after`) happens inside: a call waits its turn for at most its
/// deadline, then fails with [`Failure::Retry`]. Acknowledgements never wait.
#[async_trait]
pub trait Channel: Debug + Send + Sync + 'static {
    /// The kind.
    fn kind(&self) -> ChannelKind;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Waits until a message to this place may go at once. Asked before a send is written down as begun: so a crash during a
    /// long wait for the platform's pace leaves no doubt whether the message arrived.
    ///
    /// # Errors
    /// How long to wait before asking again, when its turn does not come in time.
    async fn turn(&self, _place: &Place) -> Result<(), Duration> {
        Ok(())
    }

    /// Shows a card at a place and says which message carries its buttons.
    ///
    /// # Errors
    /// See [`Failure`].
    async fn present(&self, place: &Place, view: &CardView, key: &SendKey) -> Result<MessageRef, Failure>;

    /// Makes a message say what the view says, keyboard included.
    ///
    /// # Errors
    /// See [`Failure`].
    async fn revise(&self, place: &Place, message: &MessageRef, view: &CardView) -> Result<(), Failure>;

    /// Sends a text to a place, split where it does not fit; a reply to `about` where the platform can.
    ///
    /// # Errors
    /// See [`Failure`]. After `Ambiguous` some pieces may be there.
    async fn notify(&self, place: &Place, text: &str, about: Option<&MessageRef>, key: &SendKey)
    -> Result<(), Failure>;

    /// Shows "typing" for a few seconds, where the platform can. Best effort: failures are ignored.
    async fn working(&self, place: &Place);

    /// Listens until `stop`, reconnecting by itself, and reports to the desk.
    ///
    /// It may be dropped at any moment and begun anew: nothing that a platform handed over may be lost by that, so what is
    /// not durable is either not confirmed or in a task of its own.
    ///
    /// # Errors
    /// Only what no retry can mend (a refused token), as a sentence that says what to do.
    async fn listen(self: Arc<Self>, desk: Arc<dyn Desk>, stop: CancellationToken) -> Result<(), Failure>;

    /// How long a healthy listener may go without [`Hearing::Listening`]: three of its longest rounds. One that is silent for
    /// longer is begun anew. `None` where there is nothing that could fall silent.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Looks whether the platform can be reached and the credential works, for `askgate doctor`: who the bot is.
    ///
    /// # Errors
    /// See [`Failure`].
    async fn examine(&self) -> Result<String, Failure>;

    /// Whether the platform calls the gateway, instead of being asked by it.
    fn is_called(&self) -> bool {
        false
    }

    /// Looks whether a request's headers may come from the platform, before its body is read.
    ///
    /// # Errors
    /// What a request is answered that does not.
    fn admit(&self, _headers: &Headers) -> Result<(), Outbound> {
        Err(Outbound::status(404))
    }

    /// Takes a request that was admitted, proves it, and hands what it says to the desk of [`Channel::listen`].
    ///
    /// Runs to its end, however long its sender waits.
    async fn receive(self: Arc<Self>, _request: Inbound) -> Outbound {
        Outbound::status(404)
    }
}
