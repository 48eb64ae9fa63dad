//! Discord: cards as messages with buttons, taps through the gateway.
//!
//! `render` makes the bodies, `rest` sends them within Discord's limits (`pace`, `breaker`), `failure` says what an answer
//! means, `listen` hears presses and `acks` answers them. Nothing here is logged that came through the gateway or in a
//! body, and no address of an interaction, which holds its token.

mod acks;
mod begun;
mod breaker;
mod failure;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod interaction;
mod jitter;
mod limits;
mod listen;
mod markup;
mod offers;
mod pace;
mod posted;
mod render;
mod rest;
mod route;
mod sends;
mod session;
mod socket;

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use asks::place::{ChannelKind, MessageRef, Place};
use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use self::acks::Acks;
use self::failure::{Refusal, Trouble, failure};
use self::jitter::Jitter;
use self::limits::{CALL, LABEL};
use self::listen::{Counts, Listener};
use self::posted::{Post, Proof, Watch};
use self::render::Piece;
use self::rest::{Call, HttpRest, Rest};
use self::route::Route;
use self::sends::{Repeat, Sends, nonce};
use crate::channel::{Capabilities, CardView, Channel, Desk, Failure, Headers, Inbound, Offer, Outbound, SendKey};
use crate::clock::SharedClock;

/// Three of the gateway's longest rounds: connecting, HELLO and a new session after a back-off take 28 s at most.
const PATIENCE: Duration = Duration::from_secs(90);
/// Channels of direct messages kept in memory; the desk remembers all of them.
const MOST_DMS: usize = 50_000;

/// What a Discord channel is made of.
pub struct DiscordOptions {
    /// The bot's token, without `Bot ` in front. Never printed.
    pub token: String,
    /// The application the bot belongs to, if it is to be checked.
    pub application_id: Option<u64>,
    /// What stands before `/api/v10`.
    pub api_url: Url,
    /// The client for REST calls.
    pub http: reqwest::Client,
    /// The clock for deadlines and limits.
    pub clock: SharedClock,
    /// Randomness for back-off.
    pub rng: StdRng,
    /// The slash commands the app offers; set when listening begins, where they are others. None leaves them alone.
    pub commands: Vec<Offer>,
    /// How Discord posts interactions; `None` hears them from its gateway.
    pub interactions: Option<InteractionsOptions>,
}

/// How Discord posts interactions.
#[derive(Debug, Clone)]
pub struct InteractionsOptions {
    /// The application's public key.
    pub public_key: [u8; 32],
    /// Under which address the outside reaches the gateway.
    pub public_url: Url,
}

/// What is known of interactions that are posted.
#[derive(Debug)]
struct Posted {
    proof: Proof,
    /// Where they are to be posted.
    url: String,
}

/// Discord as a [`Channel`].
pub struct DiscordChannel {
    rest: Arc<dyn Rest>,
    acks: Arc<Acks>,
    clock: SharedClock,
    token: String,
    application_id: Option<u64>,
    rng: Mutex<StdRng>,
    sends: Sends,
    dms: Mutex<HashMap<u64, u64>>,
    /// Where channels of direct messages are remembered, once something listens.
    desk: OnceLock<Arc<dyn Desk>>,
    counts: Arc<Counts>,
    commands: Vec<Offer>,
    posted: Option<Posted>,
}

/// The longest label a button shows, in code points.
pub const LABEL_LIMIT: usize = LABEL;

/// What a card's messages would be, as the bodies of requests without their nonces: for `askgate preview`.
#[must_use]
pub fn preview(view: &CardView) -> Vec<serde_json::Value> {
    let card = render::card(view);
    let before =
        card.before.iter().map(|content| render::create_text(render::Piece { content, nonce: "", about: None }));
    let mut bodies: Vec<serde_json::Value> = before.chain([render::create_card(&card, "")]).collect();
    for body in bodies.iter_mut().filter_map(serde_json::Value::as_object_mut) {
        body.remove("nonce");
        body.remove("enforce_nonce");
    }
    bodies
}

impl DiscordChannel {
    /// A channel that is not connected yet.
    #[must_use]
    pub fn new(options: DiscordOptions) -> Self {
        let DiscordOptions { token, application_id, api_url, http, clock, mut rng, commands, interactions } = options;
        let jitter = Jitter::new(StdRng::seed_from_u64(rng.next_u64()));
        let rest: Arc<dyn Rest> = Arc::new(HttpRest::new(http, api_url, &token, clock.clone(), jitter));
        Self {
            acks: Arc::new(Acks::new(rest.clone(), clock.clone())),
            rest,
            clock,
            token,
            application_id,
            rng: Mutex::new(rng),
            sends: Sends::default(),
            dms: Mutex::default(),
            desk: OnceLock::new(),
            counts: Arc::default(),
            commands,
            posted: interactions.map(|given| Posted {
                proof: Proof::new(&given.public_key),
                url: format!("{}/discord/interactions", given.public_url.as_str().trim_end_matches('/')),
            }),
        }
    }

    /// How many interactions came, and how many of them were understood and taken to the desk. They differ where Discord
    /// sends something this version does not know.
    #[must_use]
    pub fn interactions(&self) -> (u64, u64) {
        (self.counts.seen.load(Ordering::Relaxed), self.counts.handled.load(Ordering::Relaxed))
    }

    async fn call(&self, route: Route, body: Option<Value>, deadline: Instant) -> Result<Value, Trouble> {
        self.rest.call(Call { route, body, deadline }).await
    }

    /// Posts the messages of one send, from where an earlier try got to, and gives the id of the last.
    async fn post(
        &self,
        place: &Place,
        bodies: &[Value],
        key: &SendKey,
        deadline: Instant,
    ) -> Result<MessageRef, Failure> {
        if self.sends.may_repeat(key, self.clock.instant()) == Repeat::Doubtful {
            let why = "an earlier try had no answer, and Discord no longer knows its nonce".to_owned();
            return Err(Failure::Ambiguous { why });
        }
        let mut channel = self.channel_of(place, deadline).await?;
        // The last one always goes out: its id is the answer, and its nonce brings back the first copy's.
        let done = self.sends.done(key).min(bodies.len().saturating_sub(1));
        let mut last = None;
        for (number, body) in bodies.iter().enumerate().skip(done) {
            let mut created = self.create(channel, body, key, deadline).await;
            if let (Err(Trouble::Refused(Refusal { code: 10003, .. })), Place::DiscordUser(user)) = (&created, place) {
                // The channel that was remembered is no more; Discord tells the one that is.
                self.remember_dm(*user, None).await;
                channel = self.channel_of(place, deadline).await?;
                created = self.create(channel, body, key, deadline).await;
            }
            match created {
                Ok(id) => last = Some(id),
                Err(trouble) => return Err(self.failed(key, trouble)),
            }
            self.sends.one_done(key, number + 1);
        }
        self.sends.over(key);
        let id = last.ok_or_else(|| Failure::Refused { why: "there is nothing to send".to_owned() })?;
        Ok(MessageRef { chat: channel.to_string(), id: id.to_string() })
    }

    async fn create(&self, channel: u64, body: &Value, key: &SendKey, deadline: Instant) -> Result<u64, Trouble> {
        let created = self.open_thread_and_retry(channel, deadline, || Route::Create { channel }, body).await;
        let trouble = match created {
            Ok(message) => match snowflake(message.get("id")) {
                Some(id) => return Ok(id),
                None => Trouble::Unanswered { why: "the answer names no message".to_owned() },
            },
            Err(trouble) => trouble,
        };
        if is_doubtful(&trouble) {
            self.sends.doubtful(key, self.clock.instant());
        }
        Err(trouble)
    }

    /// Makes a call in a channel, and once more after opening it if it is an archived thread.
    async fn open_thread_and_retry(
        &self,
        channel: u64,
        deadline: Instant,
        route: impl Fn() -> Route,
        body: &Value,
    ) -> Result<Value, Trouble> {
        let first = self.call(route(), Some(body.clone()), deadline).await;
        if !matches!(&first, Err(Trouble::Refused(Refusal { code: 50083, .. }))) {
            return first;
        }
        let open = Some(json!({ "archived": false }));
        if let Err(trouble) = self.call(Route::Channel { channel }, open, deadline).await {
            tracing::warn!(channel, ?trouble, "a thread is archived, and the bot may not open it");
            return first;
        }
        self.call(route(), Some(body.clone()), deadline).await
    }

    fn failed(&self, key: &SendKey, trouble: Trouble) -> Failure {
        let failure = failure(trouble);
        if matches!(failure, Failure::Refused { .. } | Failure::PlaceGone { .. }) {
            self.sends.over(key);
        }
        failure
    }

    async fn channel_of(&self, place: &Place, deadline: Instant) -> Result<u64, Failure> {
        let user = match place {
            Place::DiscordChannel(id) => return Ok(*id),
            Place::DiscordUser(id) => *id,
            other => return Err(Failure::Refused { why: format!("{other} is no place on Discord") }),
        };
        if let Some(channel) = lock(&self.dms).get(&user) {
            return Ok(*channel);
        }
        if let Some(desk) = self.desk.get()
            && let Some(channel) = desk.recall(&dm_name(user)).await.and_then(|id| id.parse().ok())
        {
            self.keep_dm(user, channel);
            return Ok(channel);
        }
        let body = Some(json!({ "recipient_id": user.to_string() }));
        let opened = self.call(Route::OpenDm, body, deadline).await.map_err(failure)?;
        let Some(channel) = snowflake(opened.get("id")) else {
            let why = "Discord names no channel for the direct messages".to_owned();
            return Err(Failure::Retry { after: Duration::from_secs(5), why });
        };
        self.remember_dm(user, Some(channel)).await;
        Ok(channel)
    }

    async fn remember_dm(&self, user: u64, channel: Option<u64>) {
        match channel {
            Some(channel) => self.keep_dm(user, channel),
            None => drop(lock(&self.dms).remove(&user)),
        }
        if let Some(desk) = self.desk.get() {
            desk.remember(&dm_name(user), channel.map(|id| id.to_string())).await;
        }
    }

    fn keep_dm(&self, user: u64, channel: u64) {
        let mut dms = lock(&self.dms);
        if dms.len() >= MOST_DMS {
            dms.clear();
        }
        dms.insert(user, channel);
    }

    async fn hear(&self, desk: Arc<dyn Desk>, stop: CancellationToken) -> Result<(), Failure> {
        if let Some(Posted { proof, url }) = &self.posted {
            let (rest, clock) = (self.rest.as_ref(), self.clock.clone());
            return Watch { rest, proof, url, desk, clock, stop }.run().await;
        }
        let seed = lock(&self.rng).next_u64();
        let listener = Listener {
            rest: self.rest.clone(),
            acks: self.acks.clone(),
            desk,
            clock: self.clock.clone(),
            jitter: Jitter::new(StdRng::seed_from_u64(seed)),
            token: self.token.clone(),
            application: self.application_id,
            counts: self.counts.clone(),
            tasks: TaskTracker::new(),
            stop,
        };
        listener.run().await
    }

    fn deadline(&self) -> Instant {
        self.clock.instant() + CALL
    }
}

#[async_trait]
impl Channel for DiscordChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Discord
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { label_limit: LABEL, sends_once: true, shows_content: true }
    }

    async fn turn(&self, place: &Place) -> Result<(), Duration> {
        let deadline = self.deadline();
        // A channel that cannot be had is told by the send itself.
        let Ok(channel) = self.channel_of(place, deadline).await else { return Ok(()) };
        self.rest.ready(&Route::Create { channel }, deadline).await
    }

    async fn present(&self, place: &Place, view: &CardView, key: &SendKey) -> Result<MessageRef, Failure> {
        let card = render::card(view);
        let mut bodies: Vec<Value> = card
            .before
            .iter()
            .enumerate()
            .map(|(number, content)| render::create_text(Piece { content, nonce: &nonce(&key.0, number), about: None }))
            .collect();
        bodies.push(render::create_card(&card, &nonce(&key.0, card.before.len())));
        self.post(place, &bodies, key, self.deadline()).await
    }

    async fn revise(&self, _place: &Place, message: &MessageRef, view: &CardView) -> Result<(), Failure> {
        let (Some(channel), Some(id)) = (number(&message.chat), number(&message.id)) else {
            return Err(Failure::Refused { why: "the message is not named as Discord names its messages".to_owned() });
        };
        let body = render::edit(&render::card(view));
        let route = || Route::Edit { channel, message: id };
        self.open_thread_and_retry(channel, self.deadline(), route, &body).await.map_err(failure)?;
        Ok(())
    }

    async fn notify(
        &self,
        place: &Place,
        text: &str,
        about: Option<&MessageRef>,
        key: &SendKey,
    ) -> Result<(), Failure> {
        let deadline = self.deadline();
        let channel = self.channel_of(place, deadline).await?;
        // Discord takes an answer only in the channel of what it answers.
        let about = about.and_then(|about| number(&about.chat).zip(number(&about.id)));
        let about = about.filter(|(chat, _)| *chat == channel);
        let bodies: Vec<Value> = render::texts(text)
            .iter()
            .enumerate()
            .map(|(number, content)| {
                let about = about.filter(|_| number == 0);
                render::create_text(Piece { content, nonce: &nonce(&key.0, number), about })
            })
            .collect();
        if bodies.is_empty() {
            return Ok(());
        }
        self.post(place, &bodies, key, deadline).await.map(drop)
    }

    async fn working(&self, place: &Place) {
        let deadline = self.clock.instant() + Duration::from_secs(3);
        if let Ok(channel) = self.channel_of(place, deadline).await {
            let _ = self.call(Route::Typing { channel }, None, deadline).await;
        }
    }

    async fn listen(self: Arc<Self>, desk: Arc<dyn Desk>, stop: CancellationToken) -> Result<(), Failure> {
        let _ = self.desk.set(desk.clone());
        let listening = self.hear(desk, stop);
        tokio::pin!(listening);
        // Beside listening, not before it: what the app offers must not delay what is heard.
        let offering =
            offers::register(self.rest.clone(), self.clock.clone(), self.application_id, self.commands.as_slice());
        tokio::select! {
            heard = &mut listening => return heard,
            () = offering => {}
        }
        listening.await
    }

    fn patience(&self) -> Option<Duration> {
        self.posted.is_none().then_some(PATIENCE)
    }

    async fn examine(&self) -> Result<String, Failure> {
        let deadline = self.deadline();
        let me = self.call(Route::Me, None, deadline).await.map_err(failure)?;
        let name = me.get("username").and_then(Value::as_str).unwrap_or("a bot without a name");
        let name = asks::text::quote(name);
        if let Some(Posted { proof, url }) = &self.posted {
            let application = self.call(Route::Application, None, deadline).await.map_err(failure)?;
            if let Some(why) = posted::amiss(&application, proof, url) {
                return Err(Failure::Refused { why });
            }
        }
        if let Some(configured) = self.application_id {
            let application = self.call(Route::Application, None, deadline).await.map_err(failure)?;
            if let Some(id) = snowflake(application.get("id")).filter(|id| *id != configured) {
                let why = format!("the token belongs to application {id}; set discord.application_id to that");
                return Err(Failure::Refused { why });
            }
        }
        Ok(match snowflake(me.get("id")) {
            Some(id) => format!("{name} (id {id})"),
            None => name,
        })
    }

    fn is_called(&self) -> bool {
        self.posted.is_some()
    }

    fn admit(&self, headers: &Headers) -> Result<(), Outbound> {
        if self.posted.is_none() {
            return Err(Outbound::status(404));
        }
        if Proof::admits(headers, self.clock.unix_millis()) { Ok(()) } else { Err(Outbound::status(401)) }
    }

    async fn receive(self: Arc<Self>, request: Inbound) -> Outbound {
        let Some(Posted { proof, .. }) = &self.posted else { return Outbound::status(404) };
        if let Err(refused) = self.admit(&request.headers) {
            return refused;
        }
        let desk = self.desk.get().cloned();
        Post { proof, acks: &self.acks, desk, counts: &self.counts }.take(&request).await
    }
}

impl Debug for DiscordOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscordOptions")
            .field("application_id", &self.application_id)
            .field("api_url", &self.api_url.as_str())
            .finish_non_exhaustive()
    }
}

impl Debug for DiscordChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscordChannel").field("rest", &self.rest).finish_non_exhaustive()
    }
}

/// Whether a message may be there although no answer says so.
fn is_doubtful(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Unanswered { .. } | Trouble::Refused(Refusal { status: 408 | 500.., .. }))
}

fn dm_name(user: u64) -> String {
    format!("discord.dm.{user}")
}

fn snowflake(value: Option<&Value>) -> Option<u64> {
    value.and_then(Value::as_str).and_then(number)
}

fn number(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|id| *id != 0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
