//! What a simulated Discord is told once, at its start.

use std::{fmt, time::Duration};

use super::id::Id;

/// How one simulated Discord behaves.
#[derive(Clone)]
pub struct Options {
    /// The bot token that is accepted, without the `Bot ` in front.
    pub token: String,
    /// The application's id; the bot user has the same.
    pub application_id: Id,
    /// The secret half of the key that interactions over HTTP are signed with; `GET /applications/@me` shows the other.
    pub signing_key: [u8; 32],
    /// What HELLO tells the client. A client that misses two of these is closed with 4009.
    pub heartbeat_interval: Duration,
    /// The rate limits.
    pub limits: Limits,
    /// The shortest time between two IDENTIFYs (5 s on the platform); sooner is answered with op 9. `None`: not watched.
    pub identify_spacing: Option<Duration>,
    /// How many requests the log keeps; older ones are forgotten first.
    pub log_limit: usize,
}

/// The rate limits of one simulated Discord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Whether buckets and the global limit are applied and their headers sent.
    pub enabled: bool,
    /// Requests per second of one bot, interaction endpoints apart.
    pub global_per_second: u32,
    /// Posting into one channel.
    pub create: Allowance,
    /// Editing in one channel.
    pub edit: Allowance,
    /// Deleting in one channel.
    pub delete: Allowance,
    /// Opening direct-message channels.
    pub open_dm: Allowance,
    /// Follow-ups and edits through one interaction's webhook.
    pub webhook: Allowance,
    /// How many answers 401, 403 and 429 (not of scope `shared`) within ten minutes end in a ban.
    pub invalid_before_ban: u32,
}

/// So many requests per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Requests per window.
    pub requests: u32,
    /// The window's length.
    pub window: Duration,
}

impl Options {
    /// Usual behaviour for this token and application.
    #[must_use]
    pub fn new(token: impl Into<String>, application_id: impl Into<Id>) -> Self {
        Self {
            token: token.into(),
            application_id: application_id.into(),
            signing_key: [11; 32],
            heartbeat_interval: Duration::from_millis(41_250),
            limits: Limits::platform(),
            identify_spacing: None,
            log_limit: 50_000,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("application_id", &self.application_id)
            .field("heartbeat_interval", &self.heartbeat_interval)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Limits {
    /// What bots see in the field.
    #[must_use]
    pub fn platform() -> Self {
        let per_five_seconds = |requests| Allowance { requests, window: Duration::from_secs(5) };
        Self {
            enabled: true,
            global_per_second: 50,
            create: per_five_seconds(5),
            edit: per_five_seconds(5),
            delete: Allowance { requests: 5, window: Duration::from_secs(1) },
            open_dm: per_five_seconds(10),
            webhook: Allowance { requests: 5, window: Duration::from_secs(2) },
            invalid_before_ban: 10_000,
        }
    }

    /// No limits, for tests about something else and for benchmarks.
    #[must_use]
    pub fn off() -> Self {
        Self { enabled: false, ..Self::platform() }
    }
}
