//! How a host is set up; everything may be changed while it runs.

use std::time::Duration;

use super::limits::Limit;

/// Which kinds of sign-in a host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMode {
    /// JWTs from `/auth/login`.
    Terreno,
    /// Better Auth sessions from `/api/auth/sign-in/email`.
    BetterAuth,
    /// Both.
    Both,
}

impl AuthMode {
    pub(super) const fn has_terreno(self) -> bool {
        matches!(self, Self::Terreno | Self::Both)
    }

    pub(super) const fn has_better_auth(self) -> bool {
        matches!(self, Self::BetterAuth | Self::Both)
    }
}

/// Whether a host has a model to run turns with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Always.
    Configured,
    /// Only for requests with the header `x-ai-api-key`.
    PerRequestKey,
    /// Never: every turn ends in the host's demo mode.
    Missing,
}

/// How a host is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kinds of sign-in.
    pub auth: AuthMode,
    /// Whether asks are switched on.
    pub asks: bool,
    /// Whether there is a model.
    pub model: Model,
    /// How long an access token lives, in whole seconds, at least one.
    pub access_lifetime: Duration,
    /// How long a refresh token lives, in whole seconds, at least one.
    pub refresh_lifetime: Duration,
    /// How long a Better Auth session lives.
    pub session_lifetime: Duration,
    /// The limit per user (per address without a credential), off by default as on a host.
    pub api_limit: Option<Limit>,
    /// The limit of log-ins and refreshes per address, off by default as on a host.
    pub auth_limit: Option<Limit>,
    /// How long the built-in agent takes to reply.
    pub pace: Duration,
    /// The largest file an answer may carry, in bytes.
    pub max_file_bytes: u64,
    /// How many requests the log keeps; their counts are always kept.
    pub keep_requests: usize,
    /// From which ids are minted. Hosts that run at the same time should differ in it.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auth: AuthMode::Terreno,
            asks: true,
            model: Model::Configured,
            access_lifetime: Duration::from_mins(15),
            refresh_lifetime: Duration::from_hours(30 * 24),
            session_lifetime: Duration::from_hours(7 * 24),
            api_limit: None,
            auth_limit: None,
            pace: Duration::ZERO,
            max_file_bytes: 10_485_760,
            keep_requests: 10_000,
            seed: 1,
        }
    }
}
