//! Tap tokens: opaque 128-bit capabilities, each bound to one button of one delivery of one ask.
//!
//! A token is an HMAC-SHA-256 under a key that is made with the ledger and never leaves it, cut to 128 bits. So it can be
//! made again for every re-rendering, and only its hash has to be stored. It fits Telegram's 64 bytes of callback data and
//! Discord's 100 characters of custom id, which the ids themselves do not.

use std::fmt;

use asks::ids::{AskKey, ButtonId};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::record::{DeliveryId, Purpose};

/// The secret that tokens are made under.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

impl TokenKey {
    /// Takes 32 random bytes as the key.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key's bytes, for the ledger that keeps them.
    #[must_use]
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// The token that presses one button of one delivery.
    #[must_use]
    pub fn token(&self, ask: &AskKey, delivery: DeliveryId, button: &ButtonId) -> TapToken {
        self.token_for(Purpose::Press, ask, delivery, button)
    }

    /// The token of one delivery for a purpose.
    #[must_use]
    pub fn token_for(&self, purpose: Purpose, ask: &AskKey, delivery: DeliveryId, button: &ButtonId) -> TapToken {
        // A fixed-size key of the block's length or less is always accepted.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return TapToken(String::new()) };
        for part in [ask.source.as_str(), ask.conversation.as_str(), ask.ask.as_str(), button.as_str()] {
            // Length first, so that no two lists of parts give the same bytes.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.update(&delivery.0.to_be_bytes());
        match purpose {
            Purpose::Press => {}
            Purpose::Sure => mac.update(b"sure"),
            Purpose::Back => mac.update(b"back"),
            Purpose::Page => mac.update(b"page"),
        }
        let full = mac.finalize().into_bytes();
        TapToken(URL_SAFE_NO_PAD.encode(full.iter().copied().take(16).collect::<Vec<u8>>()))
    }

    /// A name for something of this ledger that no other ledger gives to anything: 22 characters. It is no secret and presses
    /// nothing.
    ///
    /// Ids are counted from 1 in every ledger, so a platform that remembers what it was sent under an id would take the first
    /// card of a new ledger for one of the ledger before.
    #[must_use]
    pub fn name(&self, of: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        // No list of parts with their lengths begins like this.
        mac.update(&u64::MAX.to_be_bytes());
        mac.update(of.as_bytes());
        let full = mac.finalize().into_bytes();
        URL_SAFE_NO_PAD.encode(full.iter().copied().take(16).collect::<Vec<u8>>())
    }
}

/// The text in a button's callback data: 22 characters of URL-safe base64. A live one is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct TapToken(String);

impl TapToken {
    /// Takes what a platform sent as a token, whatever it is.
    #[must_use]
    pub fn from_outside(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The token's text, for the platform.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The hash that the ledger finds it by.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for TapToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TapToken(..)")
    }
}

/// The SHA-256 of a token's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(conversation: &str, ask: &str) -> AskKey {
        AskKey { source: "app".into(), conversation: conversation.into(), ask: ask.into() }
    }

    #[test]
    fn a_token_is_bound_to_all_it_names() {
        let secret = TokenKey::new([7; 32]);
        let token =
            |c: &str, a: &str, d: u64, b: &str| secret.token(&key(c, a), DeliveryId(d), &b.into()).expose().to_owned();
        let first = token("c", "a", 1, "approve");
        assert_eq!(first.len(), 22);
        assert_eq!(first, token("c", "a", 1, "approve"), "made again for every rendering");
        for other in [
            token("c", "a", 2, "approve"),
            token("c", "a", 1, "deny"),
            token("ca", "", 1, "approve"),
            token("x", "a", 1, "approve"),
        ] {
            assert_ne!(first, other);
        }
        assert_ne!(first, TokenKey::new([8; 32]).token(&key("c", "a"), DeliveryId(1), &"approve".into()).expose());
    }

    #[test]
    fn a_name_belongs_to_one_ledger() {
        let secret = TokenKey::new([7; 32]);
        let first = secret.name("card 1");
        assert_eq!((first.len(), &first), (22, &secret.name("card 1")));
        assert_ne!(first, secret.name("card 2"));
        assert_ne!(first, TokenKey::new([8; 32]).name("card 1"));
    }

    #[test]
    fn a_token_does_not_print() {
        let token = TokenKey::new([7; 32]).token(&key("c", "a"), DeliveryId(1), &"b".into());
        assert!(!format!("{token:?}").contains(token.expose()));
    }
}
