//! The one place where HTTP clients are built, so that none is without time-outs and none prints a secret.

use std::time::Duration;

/// Builds the client that every adapter shares: native TLS, time-outs to connect, no redirects (a redirect could carry a
/// credential to another host), a user agent of our own. Each call sets its own total time-out.
///
/// # Errors
/// If the system's TLS library cannot be set up.
#[expect(clippy::disallowed_methods, reason = "this is the one file that builds clients")]
pub fn client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(concat!("askgate/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(Duration::from_secs(50))
        .tcp_keepalive(Duration::from_secs(30))
        .redirect(reqwest::redirect::Policy::none())
        .build()
}
