//! Text that never shows itself: tokens, passwords and keys.
//!
//! There is deliberately no `Display`, no `Serialize` and no equality: whoever needs the value calls `expose`, and that
//! word is easy to search for in a review. The memory is wiped when a secret is dropped; the copies that the TOML parser
//! and the process environment make are not ours to wipe.

use std::fmt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// A secret text from the configuration.
#[derive(Clone)]
pub struct Secret {
    text: Zeroizing<String>,
    file: Option<PathBuf>,
}

impl Secret {
    /// Wraps a text that must not be shown.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: Zeroizing::new(text.into()), file: None }
    }

    /// The same secret, remembered as the content of `file`.
    #[must_use]
    pub(crate) fn from_file(text: String, file: PathBuf) -> Self {
        Self { text: Zeroizing::new(text), file: Some(file) }
    }

    /// The text itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The file it was read from, if a `*_file` key named one. See [`reread`](crate::reread).
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The 32 bytes that seal credentials at rest.
#[derive(Clone)]
pub struct SealingKey(Zeroizing<[u8; 32]>);

impl SealingKey {
    /// Wraps the bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes themselves, for the one place that seals.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let secret = Secret::from_file("hunter2".into(), "/run/secrets/token".into());
        assert_eq!(format!("{secret:?} {:?}", SealingKey::new([104; 32])), "Secret(..) SealingKey(..)");
        assert_eq!(secret.expose(), "hunter2");
    }
}
