//! A Terreno host: asks by polling, answers by turns, one session per person.
//!
//! | file | what |
//! | --- | --- |
//! | `credential` | what an account proves itself with, in types that never print |
//! | `transport` | one request: a deadline, a size cap, and errors that hold no address |
//! | `verdict` | the one file that turns a status and a body into a verdict |
//! | `pace` | what the rate-limit headers ask for |
//! | `sign_in` | the routes that give out tokens, and their shared budget |
//! | `session` | one account's token: renewed early, renewed once, never somebody else's |
//! | `mapping` | what was read, as the port's types |
//! | `linked` | people who linked themselves: their sign-in, and what is kept of it |

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use asks::answer::{AskResponse, TurnRequest};
use asks::ask::Surface;
use asks::ids::{AccountKey, AskKey, ConversationId};
use async_trait::async_trait;
use reqwest::Method;
use url::Url;

use crate::clock::SharedClock;
use crate::source::{self, Answer, Conversation, Failure, Keeper, Pace, Repost, Signed, Snapshot, Source, Verdict};

mod credential;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod jwt;
mod linked;
mod mapping;
mod pace;
mod session;
mod sign_in;
mod transport;
mod verdict;

pub use credential::{Credential, Secret};
pub use sign_in::{Address, Auth};
pub use transport::Unusable;

use linked::Session;
use session::{Account, Renewal};
use sign_in::Door;
use transport::{Call, Reply, Transport, Trouble};

/// How long a poll or a read may take.
const CALL: Duration = Duration::from_secs(10);
/// The most of a list that is read, in bytes. A card is a few hundred bytes.
const LIST_BYTES: usize = 16 << 20;
/// The most of a conversation or of a turn's reply that is read, in bytes. Files in a conversation are data URLs.
const CONVERSATION_BYTES: usize = 64 << 20;

/// What a Terreno source is made of.
pub struct TerrenoOptions {
    /// Where its API begins. A path in it stands before every route.
    pub url: Url,
    /// How its people sign in.
    pub auth: Auth,
    /// What the agent may ask in a turn that is posted from here.
    pub surface: Surface,
    /// Sent with every request.
    pub headers: Vec<(String, Secret)>,
    /// How long a turn may run.
    pub turn_timeout: Duration,
    /// The shared client.
    pub http: reqwest::Client,
    /// The time.
    pub clock: SharedClock,
    /// The budget of sign-ins. Sources with one address share one.
    pub address: Arc<Address>,
    /// The accounts known at the start.
    pub accounts: Vec<(AccountKey, Credential)>,
    /// Who keeps what was renewed for accounts that are added later.
    pub keeper: Option<Arc<dyn Keeper>>,
}

/// All accounts at one Terreno host.
pub struct TerrenoSource {
    door: Door,
    surface: Surface,
    turn_timeout: Duration,
    accounts: RwLock<HashMap<AccountKey, Arc<Account>>>,
    keeper: Option<Arc<dyn Keeper>>,
}

/// Why a call brought no reply.
enum Stop {
    /// Nothing was taken.
    Before(Failure),
    /// The request itself failed.
    During(Trouble),
}

impl TerrenoSource {
    /// Makes the source. Nothing is sent before the first call.
    ///
    /// # Errors
    /// When the address or a header cannot be used.
    pub fn new(options: TerrenoOptions) -> Result<Self, Unusable> {
        let transport = Transport::new(options.http, options.url, &options.headers)?;
        let source = Self {
            door: Door::new(transport, options.auth, options.address, options.clock),
            surface: options.surface,
            turn_timeout: options.turn_timeout,
            accounts: RwLock::default(),
            keeper: options.keeper,
        };
        for (key, credential) in options.accounts {
            source.add(key, credential);
        }
        Ok(source)
    }

    /// Adds an account, or replaces its credential and forgets its session.
    pub fn add(&self, key: AccountKey, credential: Credential) {
        self.put(key, Account::new(credential, self.door.now()));
    }

    fn put(&self, key: AccountKey, account: Account) {
        let account = Arc::new(account);
        let former = self.accounts.write().unwrap_or_else(PoisonError::into_inner).insert(key, account);
        former.inspect(|former| former.retire());
    }

    /// Forgets an account. Its calls that are under way end by themselves.
    pub fn remove(&self, key: &AccountKey) {
        let former = self.accounts.write().unwrap_or_else(PoisonError::into_inner).remove(key);
        former.inspect(|former| former.retire());
    }

    fn account(&self, key: &AccountKey) -> Result<Arc<Account>, Failure> {
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        accounts.get(key).cloned().ok_or_else(|| Failure::Unauthorised {
            why: "the account has no credential here; add it to [[accounts]] or link it again".to_owned(),
        })
    }

    /// Makes a call as an account: signs in when it must, and repeats once after a credential was refused.
    async fn call(&self, account: &Account, call: &Call<'_>) -> Result<Reply, Stop> {
        if let Some(after) = account.held(self.door.now()) {
            return Err(Stop::Before(Failure::RateLimited { after }));
        }
        let bearer = account.bearer(&self.door).await.map_err(Stop::Before)?;
        let reply = self.send(account, call, &bearer.session.token).await?;
        if reply.status != 401 {
            return Ok(reply);
        }
        let why = verdict::refusal(&reply);
        let session = match bearer.renewal {
            // Boxed, like the repetition below: both are rare, and every call would carry the room for them.
            Renewal::NotYet => {
                Box::pin(account.renew(&self.door, Some(&bearer.session), true)).await.map_err(Stop::Before)?
            }
            Renewal::Done => return Err(Stop::Before(account.refused(&bearer.session, why, self.door.now()))),
            Renewal::Failed(failure) => return Err(Stop::Before(failure)),
        };
        let reply = Box::pin(self.send(account, call, &session.token)).await?;
        if reply.status != 401 {
            return Ok(reply);
        }
        Err(Stop::Before(account.refused(&session, verdict::refusal(&reply), self.door.now())))
    }

    async fn send(&self, account: &Account, call: &Call<'_>, token: &str) -> Result<Reply, Stop> {
        let reply = self.door.transport().send(call, Some(token)).await.map_err(Stop::During)?;
        account.heard(&reply, self.door.now());
        Ok(reply)
    }

    async fn list(&self, key: &AccountKey) -> Result<Snapshot, Failure> {
        let account = self.account(key)?;
        let path = ["gpt", "histories", "pendingAsks"];
        let call = Call { method: Method::GET, path: &path, body: None, within: CALL, most: LIST_BYTES };
        let reply = self.call(&account, &call).await.map_err(Stop::into_failure)?;
        let pending = verdict::pending(&reply)?;
        for lost in &pending.unreadable {
            tracing::warn!(account = %key, why = %lost.why, "an ask is listed that cannot be read; it stays as it is");
        }
        Ok(mapping::snapshot(pending, account.subject()))
    }

    async fn turn(&self, account: &AccountKey, ask: &AskKey, answer: &Answer) -> Verdict {
        let request = match answer {
            Answer::Button(button) => TurnRequest::button(ask.ask.clone(), button.clone()),
            Answer::Response(envelope) => match AskResponse::read(envelope) {
                Ok(response) => TurnRequest::response(ask.ask.clone(), response),
                Err(_) => return not_an_answer("the answer is no envelope: it needs an `action`"),
            },
        };
        let Ok(body) = serde_json::to_vec(&request.on(self.surface)) else {
            return not_an_answer("the answer cannot be written as JSON");
        };
        let account = match self.account(account) {
            Ok(account) => account,
            Err(failure) => return verdict::not_taken(failure),
        };
        let path = ["gpt", "histories", ask.conversation.as_str(), "turn"];
        let call = Call {
            method: Method::POST,
            path: &path,
            body: Some(body),
            within: self.turn_timeout,
            most: CONVERSATION_BYTES,
        };
        match self.call(&account, &call).await {
            Ok(reply) => verdict::turn(&reply, &ask.conversation, &ask.ask),
            Err(Stop::Before(failure)) => verdict::not_taken(failure),
            Err(Stop::During(trouble)) => verdict::turn_trouble(trouble),
        }
    }
}

impl fmt::Debug for TerrenoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerrenoSource").field("surface", &self.surface).finish_non_exhaustive()
    }
}

impl Stop {
    fn into_failure(self) -> Failure {
        match self {
            Self::Before(failure) => failure,
            Self::During(trouble) => verdict::call_trouble(trouble),
        }
    }
}

fn not_an_answer(why: &str) -> Verdict {
    Verdict::Invalid { fields: vec![("askResponse".to_owned(), why.to_owned())] }
}

#[async_trait]
impl Source for TerrenoSource {
    fn repost(&self) -> Repost {
        Repost::Safe
    }

    async fn pending(&self, account: &AccountKey) -> Result<Snapshot, Failure> {
        self.list(account).await
    }

    async fn answer(&self, account: &AccountKey, ask: &AskKey, answer: &Answer) -> Verdict {
        self.turn(account, ask, answer).await
    }

    async fn read(&self, account: &AccountKey, conversation: &ConversationId) -> Result<Conversation, Failure> {
        let account = self.account(account)?;
        let path = ["gpt", "histories", conversation.as_str()];
        let call = Call { method: Method::GET, path: &path, body: None, within: CALL, most: CONVERSATION_BYTES };
        let reply = self.call(&account, &call).await.map_err(Stop::into_failure)?;
        verdict::history(&reply, conversation).map(mapping::conversation)
    }

    fn pace(&self, account: &AccountKey) -> Pace {
        let now = self.door.now();
        Pace { wait: self.account(account).ok().and_then(|account| account.wait(&self.door, now)) }
    }

    async fn examine(&self, account: &AccountKey) -> Result<String, Failure> {
        let snapshot = self.list(account).await?;
        let unreadable = snapshot.unreadable.len();
        let mut found = match snapshot.asks.len().saturating_add(unreadable) {
            0 => "signed in, nothing waits".to_owned(),
            1 => "signed in, 1 ask waits".to_owned(),
            many => format!("signed in, {many} asks wait"),
        };
        if unreadable > 0 || !snapshot.complete {
            found.push_str("; the list has entries that cannot be read, update askgate or look at the host's version");
        }
        Ok(found)
    }

    async fn sign_in(&self, email: &str, password: &source::Secret) -> Result<Signed, Failure> {
        linked::sign_in(&self.door, email, password).await
    }

    async fn adopt(&self, token: &source::Secret, refresh: Option<&source::Secret>) -> Result<Signed, Failure> {
        linked::adopt(&self.door, token, refresh).await
    }

    fn add_account(&self, account: &AccountKey, credential: &source::Secret) -> Result<(), Failure> {
        let session = Session::read(credential)?;
        let renewed = linked::renewals(account, self.keeper.clone());
        self.put(account.clone(), Account::linked(&session, renewed, self.door.now()));
        Ok(())
    }

    fn remove_account(&self, account: &AccountKey) {
        self.remove(account);
    }
}
