//! Credentials at rest: XChaCha20-Poly1305 under the configured key, bound to the account they belong to.
//!
//! A sealed text names the key it was sealed under, so that a key can be replaced: the new one seals, both open, and what the
//! old one had sealed is sealed anew when it is next written. The account is the associated data: a sealed credential that is
//! moved to another account's record does not open.

use asks::ids::AccountKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use config::SealingKey;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The form a sealed text is in; another one would be another number.
const FORM: &str = "x1";
/// The length of a nonce, in bytes. So long that random ones never meet.
pub const NONCE_BYTES: usize = 24;

/// Seals and opens credentials.
pub struct Sealer {
    /// Seals.
    current: Key,
    /// Opens what was sealed before the current key came.
    previous: Option<Key>,
}

struct Key {
    id: String,
    cipher: XChaCha20Poly1305,
}

/// Why a sealed text does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It names a key that is not configured.
    #[error("it is sealed under another key; put that one into secrets.previous_key, or link the account again")]
    UnknownKey,
    /// It was changed, cut, or belongs to another account.
    #[error("it was changed or belongs to another account; link the account again")]
    Damaged,
    /// The cipher refused to seal.
    #[error("it cannot be sealed")]
    NotSealed,
}

/// What a sealed text held.
pub struct Opened {
    /// The text; wiped when dropped.
    pub text: Zeroizing<String>,
    /// Whether it should be sealed anew, because the key it is sealed under is on its way out.
    pub is_old: bool,
}

impl Sealer {
    /// Seals under `key`, and still opens what `previous` sealed.
    #[must_use]
    pub fn new(key: &SealingKey, previous: Option<&SealingKey>) -> Self {
        Self { current: Key::new(key), previous: previous.map(Key::new) }
    }

    /// Seals a text for an account. The nonce must be random and never used before.
    ///
    /// # Errors
    /// [`SealError::NotSealed`], which no text of a credential's length causes.
    pub fn seal(&self, account: &AccountKey, text: &str, nonce: [u8; NONCE_BYTES]) -> Result<String, SealError> {
        let bound = bound_to(account);
        let payload = Payload { msg: text.as_bytes(), aad: &bound };
        let sealed = self.current.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::NotSealed)?;
        let bytes: Vec<u8> = nonce.into_iter().chain(sealed).collect();
        Ok(format!("{FORM}.{}.{}", self.current.id, URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Opens a sealed text of an account.
    ///
    /// # Errors
    /// See [`SealError`].
    pub fn open(&self, account: &AccountKey, sealed: &str) -> Result<Opened, SealError> {
        let mut parts = sealed.splitn(3, '.');
        let (Some(FORM), Some(id), Some(data)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(SealError::Damaged);
        };
        let is_old = id != self.current.id;
        let key = if is_old {
            self.previous.as_ref().filter(|key| key.id == id).ok_or(SealError::UnknownKey)?
        } else {
            &self.current
        };
        let bytes = URL_SAFE_NO_PAD.decode(data).map_err(|_| SealError::Damaged)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(SealError::Damaged)?;
        let bound = bound_to(account);
        let payload = Payload { msg: sealed, aad: &bound };
        let plain = key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Damaged)?;
        let text = String::from_utf8(plain).map_err(|_| SealError::Damaged)?;
        Ok(Opened { text: Zeroizing::new(text), is_old })
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(..)")
    }
}

impl Key {
    fn new(key: &SealingKey) -> Self {
        // Which key it is may be known; eight bytes of a hash tell nothing of the key itself.
        let digest = Sha256::new().chain_update(b"askgate sealing key").chain_update(key.expose()).finalize();
        let id = URL_SAFE_NO_PAD.encode(digest.iter().copied().take(8).collect::<Vec<u8>>());
        Self { id, cipher: XChaCha20Poly1305::new(key.expose().into()) }
    }
}

/// The account as associated data; the length first, so that no two accounts give the same bytes.
fn bound_to(account: &AccountKey) -> Vec<u8> {
    let (source, name) = (account.source.as_str().as_bytes(), account.name.as_str().as_bytes());
    let length = u64::try_from(source.len()).unwrap_or(u64::MAX).to_be_bytes();
    [&length, source, name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> AccountKey {
        AccountKey { source: "app".into(), name: name.into() }
    }

    fn key(byte: u8) -> SealingKey {
        SealingKey::new([byte; 32])
    }

    #[test]
    fn what_is_sealed_opens_for_its_account_alone() {
        let keys = Sealer::new(&key(1), None);
        let sealed = keys.seal(&account("me"), "a session", [7; NONCE_BYTES]).expect("sealed");
        assert!(!sealed.contains("session"));
        let opened = keys.open(&account("me"), &sealed).expect("opened");
        assert_eq!((opened.text.as_str(), opened.is_old), ("a session", false));
        assert_eq!(keys.open(&account("you"), &sealed).err(), Some(SealError::Damaged));
        assert_eq!(
            keys.open(&AccountKey { source: "appm".into(), name: "e".into() }, &sealed).err(),
            Some(SealError::Damaged)
        );
    }

    #[test]
    fn a_key_is_replaced_by_keeping_the_one_before() {
        let sealed = Sealer::new(&key(1), None).seal(&account("me"), "s", [7; NONCE_BYTES]).expect("sealed");
        let rotated = Sealer::new(&key(2), Some(&key(1)));
        assert!(rotated.open(&account("me"), &sealed).expect("opened").is_old);
        assert_eq!(Sealer::new(&key(2), None).open(&account("me"), &sealed).err(), Some(SealError::UnknownKey));
        let anew = rotated.seal(&account("me"), "s", [8; NONCE_BYTES]).expect("sealed");
        assert!(!rotated.open(&account("me"), &anew).expect("opened").is_old);
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let keys = Sealer::new(&key(1), None);
        let sealed = keys.seal(&account("me"), "a session", [7; NONCE_BYTES]).expect("sealed");
        for at in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).expect("ASCII");
            // The last character of unpadded base64 may hold bits that count for nothing; those are refused too.
            assert!(changed == sealed || keys.open(&account("me"), &changed).is_err(), "at {at}");
        }
        for text in ["", "x1", "x1..", "x2.a.b", "x1.\u{0}.\u{0}"] {
            assert!(keys.open(&account("me"), text).is_err(), "{text:?}");
        }
    }
}
