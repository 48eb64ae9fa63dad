//! The one-time codes behind `/link/CODE`.
//!
//! A code is 128 random bits; the ledger has only its digest, as `link/DIGEST`. One per chat account: a new one makes the older
//! one void. Only the confirming POST spends it; what has been used or has lapsed is remembered for a while, to say so.

use std::sync::Arc;

use asks::life::UnixMillis;
use asks::place::Place;
use serde::{Deserialize, Serialize};
use store::ledger::LedgerError;

use super::{digest, random_code};
use crate::hub::Hub;
use crate::words::Language;

/// How often a password may be tried with one code.
pub const TRIES: u32 = 5;
/// How long a code can be used, in milliseconds.
pub const LIFE: UnixMillis = 15 * 60 * 1000;
/// What the names of all codes in the ledger begin with.
const PREFIX: &str = "link/";
/// How long a lapsed code is remembered, in milliseconds.
const REMEMBERED: UnixMillis = 60 * 60 * 1000;
/// The most codes that are kept at a time.
const MOST: usize = 10_000;
/// The length of a code as text.
const LENGTH: usize = 32;

/// Whom a code was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linkee {
    /// Their direct place.
    pub place: Place,
    /// What the platform calls them; untrusted text.
    #[serde(default)]
    pub name: Option<String>,
    /// The code of their language.
    pub language: String,
    /// Until when the code can be used.
    pub expires: UnixMillis,
    /// How often a sign-in was tried with it.
    #[serde(default)]
    pub tries: u32,
    /// Whether it was used.
    #[serde(default)]
    pub used: bool,
}

/// What a code turns out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It can be used.
    Open(Linkee),
    /// It was used, or is too old.
    Over(Linkee),
    /// There is no such code.
    Unknown,
}

impl Linkee {
    /// The language of our own sentences.
    #[must_use]
    pub fn language(&self) -> Language {
        Language::from_code(&self.language).unwrap_or_default()
    }
}

/// Makes a code for a person; their older ones are void from now on. `None` while too many wait.
///
/// # Errors
/// If the ledger cannot be read or written.
pub async fn issue(
    hub: &Arc<Hub>,
    place: &Place,
    name: Option<&str>,
    language: Language,
) -> Result<Option<String>, LedgerError> {
    let _turn = hub.linking.turn.lock().await;
    let now = hub.now();
    let mut kept = 0;
    for (key, text) in hub.ledger.recall_all(PREFIX).await? {
        let stays = serde_json::from_str::<Linkee>(&text)
            .is_ok_and(|linkee| linkee.place != *place && linkee.expires.saturating_add(REMEMBERED) > now);
        if stays {
            kept += 1;
        } else {
            hub.ledger.remember(&key, None).await?;
        }
    }
    if kept >= MOST {
        return Ok(None);
    }
    let code = random_code(hub);
    let linkee = Linkee {
        place: place.clone(),
        name: name.map(str::to_owned),
        language: language.code().to_owned(),
        expires: now.saturating_add(LIFE),
        tries: 0,
        used: false,
    };
    save(hub, &code, &linkee).await?;
    Ok(Some(code))
}

/// Looks a code up. Changes nothing.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn find(hub: &Hub, code: &str) -> Result<Found, LedgerError> {
    if code.len() != LENGTH {
        return Ok(Found::Unknown);
    }
    let Some(text) = hub.ledger.recall(&key(code)).await? else { return Ok(Found::Unknown) };
    let Ok(linkee) = serde_json::from_str::<Linkee>(&text) else { return Ok(Found::Unknown) };
    Ok(if linkee.used || linkee.expires <= hub.now() { Found::Over(linkee) } else { Found::Open(linkee) })
}

/// Takes one of a code's tries before a password is sent. Returns how many are left, `None` if there were none.
///
/// # Errors
/// If the ledger cannot be read or written.
pub async fn take_try(hub: &Arc<Hub>, code: &str) -> Result<Option<u32>, LedgerError> {
    let _turn = hub.linking.turn.lock().await;
    let Found::Open(mut linkee) = find(hub, code).await? else { return Ok(None) };
    if linkee.tries >= TRIES {
        return Ok(None);
    }
    linkee.tries += 1;
    save(hub, code, &linkee).await?;
    Ok(Some(TRIES.saturating_sub(linkee.tries)))
}

/// Gives a try back: the source did not look at the password.
///
/// # Errors
/// If the ledger cannot be read or written.
pub async fn give_back(hub: &Arc<Hub>, code: &str) -> Result<(), LedgerError> {
    let _turn = hub.linking.turn.lock().await;
    let Found::Open(mut linkee) = find(hub, code).await? else { return Ok(()) };
    linkee.tries = linkee.tries.saturating_sub(1);
    save(hub, code, &linkee).await
}

/// Spends a code. Returns whom it was for, to the first who asks.
///
/// # Errors
/// If the ledger cannot be read or written.
pub async fn spend(hub: &Arc<Hub>, code: &str) -> Result<Option<Linkee>, LedgerError> {
    let _turn = hub.linking.turn.lock().await;
    let Found::Open(mut linkee) = find(hub, code).await? else { return Ok(None) };
    linkee.used = true;
    save(hub, code, &linkee).await?;
    Ok(Some(linkee))
}

fn key(code: &str) -> String {
    format!("{PREFIX}{}", digest(code))
}

async fn save(hub: &Hub, code: &str, linkee: &Linkee) -> Result<(), LedgerError> {
    let text = serde_json::to_string(linkee).map_err(|error| LedgerError::NotSaved { why: error.to_string() })?;
    hub.ledger.remember(&key(code), Some(text)).await
}
