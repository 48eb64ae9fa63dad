//! `[secrets]`: the key that seals credentials at rest.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use crate::problem::Reported;
use crate::reader::{Flaw, Section};
use crate::secret::SealingKey;

/// Base64 as the common tools write it; whether the padding was copied along does not matter.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The secrets of askgate itself.
#[derive(Debug, Clone)]
pub struct SecretsConfig {
    /// Seals credentials at rest.
    pub key: Option<SealingKey>,
    /// The key before, which still opens what it sealed. Only beside `key`, and never the same.
    pub previous_key: Option<SealingKey>,
}

impl SecretsConfig {
    pub(crate) fn validate(section: &Section<'_>) -> Result<Self, Reported> {
        let key = optional_key(section, "key");
        let previous_key = optional_key(section, "previous_key");
        let (key, previous_key) = (key?, previous_key?);
        match (&key, &previous_key) {
            (None, Some(_)) => {
                let what = "is given without key, which replaces it";
                Err(section.report("previous_key", what, "add key or key_file, or rename previous_key to key"))
            }
            (Some(key), Some(previous)) if key.expose() == previous.expose() => {
                let fix = "make a new key with `openssl rand -base64 32`, or remove previous_key";
                Err(section.report("previous_key", "is the same as key, so nothing would change", fix))
            }
            _ => Ok(Self { key, previous_key }),
        }
    }
}

fn optional_key(section: &Section<'_>, name: &'static str) -> Result<Option<SealingKey>, Reported> {
    let mut key = None;
    section.secret(name, |text| {
        key = Some(sealing_key(text)?);
        Ok(())
    })?;
    Ok(key)
}

fn sealing_key(text: &str) -> Result<SealingKey, Flaw> {
    const FIX: &str = "make one with `openssl rand -base64 32`";
    let bytes = Zeroizing::new(BASE64.decode(text).map_err(|_| Flaw::new("is no base64", FIX))?);
    let length = bytes.len();
    let bytes = <[u8; 32]>::try_from(bytes.as_slice())
        .map_err(|_| Flaw::new(format!("is the base64 of {length} bytes, not of 32"), FIX))?;
    Ok(SealingKey::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_32_bytes() {
        let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        for text in [text, text.trim_end_matches('=')] {
            assert_eq!(sealing_key(text).expect("a key").expose()[31], 31);
        }
        assert_eq!(sealing_key("AAEC").expect_err("short").what, "is the base64 of 3 bytes, not of 32");
        assert_eq!(sealing_key("no base64!").expect_err("not base64").what, "is no base64");
    }
}
