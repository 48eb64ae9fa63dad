//! `[ntfy]`: the server that brings notifications to phones.

use url::Url;

use crate::problem::Reported;
use crate::reader::Section;
use crate::secret::Secret;
use crate::values;

/// The public server.
const URL: &str = "https://ntfy.sh";

/// The ntfy server.
#[derive(Debug, Clone)]
pub struct NtfyConfig {
    /// Its base address.
    pub url: Url,
    /// Sent as the bearer, where the server asks for one.
    pub token: Option<Secret>,
}

impl NtfyConfig {
    pub(crate) fn validate(section: &Section<'_>) -> Result<Self, Reported> {
        let url = values::address_or(section, "url", URL);
        let token = section.secret("token", values::bearer);
        Ok(Self { url: url?, token: token? })
    }
}
