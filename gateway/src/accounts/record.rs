//! What is kept of one linked account.

use asks::ids::{AccountKey, AccountName, SourceName, Subject};
use asks::life::UnixMillis;
use asks::place::Place;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::words::Language;

/// What the names of all records in the ledger begin with.
pub const PREFIX: &str = "account/";

/// One linked account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedAccount {
    /// The account.
    pub key: AccountKey,
    /// Whose it is at its source.
    pub subject: Subject,
    /// What that person is called there; untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// The places that were linked, all direct ones.
    pub places: Vec<Place>,
    /// The code of the language of our own sentences.
    #[serde(default)]
    pub language: String,
    /// When it was last linked.
    #[serde(default)]
    pub linked_at: UnixMillis,
    /// The sealed credential; `None` for an account of the configuration file, which has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// Why it waits for its person to sign in again, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
}

/// Why an account waits for its person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// What the source said, without secrets.
    pub why: String,
    /// Since when.
    pub since: UnixMillis,
    /// Whether the person was told.
    #[serde(default)]
    pub told: bool,
}

impl LinkedAccount {
    /// A record with no places and no credential yet.
    #[must_use]
    pub const fn new(key: AccountKey, subject: Subject) -> Self {
        Self {
            key,
            subject,
            display: None,
            places: Vec::new(),
            language: String::new(),
            linked_at: 0,
            sealed: None,
            parked: None,
        }
    }

    /// Reads a record; `None` for what is none.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The record as text.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }

    /// The language of our own sentences.
    #[must_use]
    pub fn language(&self) -> Language {
        Language::from_code(&self.language).unwrap_or_default()
    }

    /// Adds places that are not among the `known` ones of its account, and returns those.
    pub fn add_places(&mut self, places: &[Place], known: &[Place]) -> Vec<Place> {
        let mut fresh = Vec::new();
        for place in places {
            if !known.contains(place) && !self.places.contains(place) {
                self.places.push(place.clone());
                fresh.push(place.clone());
            }
        }
        fresh
    }

    /// The record as the operator sees it: never the credential, and places as in a log, because an ntfy topic is a secret.
    #[must_use]
    pub fn row(&self, places: &[Place]) -> Value {
        let mut row = row(&self.key, places);
        if let Value::Object(row) = &mut row {
            row.insert("linked".to_owned(), json!(self.sealed.is_some()));
            row.insert("display".to_owned(), json!(self.display));
            row.insert("linked_at".to_owned(), json!(self.linked_at));
            row.insert("parked".to_owned(), json!(self.parked.as_ref().map(|parked| &parked.why)));
        }
        row
    }
}

impl std::fmt::Debug for LinkedAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkedAccount").field("key", &self.key).field("places", &self.places).finish_non_exhaustive()
    }
}

/// An account of the configuration file as the operator sees it.
#[must_use]
pub fn row(account: &AccountKey, places: &[Place]) -> Value {
    let places: Vec<String> = places.iter().map(ToString::to_string).collect();
    json!({"id": account.name, "name": account.name, "source": account.source, "places": places, "linked": false})
}

/// The name of an account's record in the ledger.
#[must_use]
pub fn name(account: &AccountKey) -> String {
    format!("{PREFIX}{}/{}", account.source, account.name)
}

/// A name for a person's new account: short, the same each time, and telling nothing about the person.
#[must_use]
pub fn new_key(source: &SourceName, subject: &Subject, taken: impl Fn(&AccountKey) -> bool) -> AccountKey {
    // The length first, so that no two pairs give the same bytes. The source counts, so that names are unique across sources.
    let digest = Sha256::new()
        .chain_update(source.as_str().len().to_string())
        .chain_update("/")
        .chain_update(source.as_str())
        .chain_update(subject.as_str())
        .finalize();
    let hex = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let named = |length: usize| AccountKey {
        source: source.clone(),
        name: AccountName::new(format!("p-{}", hex.chars().take(length).collect::<String>())),
    };
    [8, 16, 32].into_iter().map(named).find(|key| !taken(key)).unwrap_or_else(|| named(64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        text.parse().expect("a place")
    }

    #[test]
    fn a_name_is_the_persons_at_that_source_and_longer_only_where_it_must_be() {
        let key = |source: &str, subject: &str| new_key(&source.into(), &subject.into(), |_| false);
        assert_eq!(key("app", "u1"), key("app", "u1"));
        assert_ne!(key("app", "u1").name, key("app", "u2").name);
        assert_ne!(key("app", "u1").name, key("appu", "1").name);
        assert_eq!(key("app", "u1").name.as_str().len(), 10);
        let first = key("app", "u1");
        let second = new_key(&"app".into(), &"u1".into(), |taken| *taken == first);
        assert!(second.name.as_str().starts_with(first.name.as_str()) && second != first);
    }

    #[test]
    fn places_are_added_once_and_the_files_own_are_not_taken_over() {
        let mut record = LinkedAccount::new(AccountKey { source: "app".into(), name: "me".into() }, "u1".into());
        let (one, two) = (place("telegram:1"), place("telegram:2"));
        let new = record.add_places(&[one.clone(), two.clone(), two.clone()], std::slice::from_ref(&one));
        assert_eq!(new.as_slice(), std::slice::from_ref(&two));
        assert_eq!(record.places, [two]);
    }

    #[test]
    fn what_is_written_is_read_again_and_what_is_shown_holds_no_credential() {
        let mut record = LinkedAccount::new(AccountKey { source: "app".into(), name: "p-1".into() }, "u1".into());
        record.places.push(place("ntfy:a-secret-topic"));
        record.sealed = Some("x1.key.bytes".into());
        let text = record.write().expect("text");
        assert_eq!(LinkedAccount::read(&text), Some(record.clone()));
        let shown = format!("{} {record:?}", record.row(&record.places));
        assert!(!shown.contains("x1.key") && !shown.contains("a-secret-topic"), "{shown}");
        assert_eq!(LinkedAccount::read("{}"), None);
    }
}
