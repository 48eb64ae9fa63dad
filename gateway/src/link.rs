//! Linking: how a person lets askgate carry their answers, and how what that needs is kept.
//!
//! | module | subject |
//! | --- | --- |
//! | [`codes`] | the one-time codes behind `/link/CODE` |
//! | [`pending`] | who has signed in there and has not confirmed yet |
//! | [`invite`] | the other way round: a host app invites a person it knows |
//! | [`commands`] | what the bot answers to `/link` and the other commands |
//! | [`page`] | the pages |
//! | [`seal`] | credentials at rest |

pub mod codes;
pub mod commands;
pub mod invite;
pub mod page;
pub mod pending;
pub mod seal;

use std::sync::PoisonError;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngCore as _;
use sha2::{Digest as _, Sha256};

use crate::http::guard::Limit;
use crate::hub::Hub;

/// How many links a person may ask for at once.
const LINKS_AT_ONCE: u32 = 5;
/// How long until they may ask for one more.
const ONE_LINK: Duration = Duration::from_mins(1);
/// The most people that are counted.
const MOST_PEOPLE: usize = 10_000;

/// What linking keeps in memory. All of it is short-lived and bounded; a restart forgets it, and people begin again.
#[derive(Debug)]
pub struct Linking {
    /// The Discord application that people install, if it is configured.
    pub application: Option<u64>,
    /// Who has signed in and not confirmed yet.
    pub pending: pending::Pending,
    /// Invitations by host apps.
    pub invites: invite::Invites,
    /// How often each person asks for a link.
    pub asked: Limit<String>,
    /// Held by whoever changes a code, so that it is spent once.
    turn: tokio::sync::Mutex<()>,
}

impl Linking {
    /// Nobody is linking yet.
    #[must_use]
    pub fn new(application: Option<u64>) -> Self {
        Self {
            application,
            pending: pending::Pending::default(),
            invites: invite::Invites::default(),
            asked: Limit::new(LINKS_AT_ONCE, ONE_LINK, MOST_PEOPLE),
            turn: tokio::sync::Mutex::default(),
        }
    }
}

/// 128 random bits, as they stand in an address: digits and small letters, which no platform's markup takes for its own.
#[must_use]
pub fn random_code(hub: &Hub) -> String {
    let mut bytes = [0; 16];
    hub.random.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// What is kept of a code: nobody who reads it can use it.
#[must_use]
pub fn digest(code: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(code.as_bytes()))
}
