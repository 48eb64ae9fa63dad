//! The page that `askgate demo` shows: one conversation as it looks in the full app, on Telegram and on Discord.
//!
//! The page holds the handles of the three simulated systems. It shows what they show, and does only what a person could do
//! there: write, tap, answer. So a tap travels through the adapters exactly as one from outside would.
//!
//! ```text
//! assets    the files it is made of      guard    what a browser and its other pages may do
//! state     one picture of everything    events   a new picture whenever one of the three changes
//! actions   what the visitor does
//! ```

mod actions;
mod assets;
mod events;
mod guard;
mod state;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::discord::{Discord, Id};
use crate::telegram::Telegram;
use crate::terreno::Terreno;
use state::Tap;

/// Whom the page shows, and where.
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// The simulated Telegram.
    pub telegram: Telegram,
    /// The person whose Telegram it is.
    pub telegram_user: i64,
    /// The chat that is shown; a private chat has its person's id.
    pub telegram_chat: i64,
    /// The simulated Discord.
    pub discord: Discord,
    /// The person whose direct messages with the bot are shown.
    pub discord_user: Id,
    /// The simulated Terreno host.
    pub terreno: Terreno,
    /// The e-mail address of the host's user.
    pub user: String,
}

/// The largest answer the page takes, in bytes: a few files as data URLs, within what the host itself reads.
const BODY_MAX: usize = 48 * 1024 * 1024;

/// How many taps are remembered, to tell later where an answer came from.
const TAPS_KEPT: usize = 200;

/// Serves the page until `shutdown`.
///
/// # Errors
///
/// What the listener reports when it can no longer accept.
pub async fn serve(listener: TcpListener, options: PageOptions, shutdown: CancellationToken) -> io::Result<()> {
    let site = Arc::new(Site::new(options, shutdown.clone()));
    let router = Router::new()
        .route("/state", get(events::state))
        .route("/events", get(events::follow))
        .route("/telegram/tap", post(actions::tap_telegram))
        .route("/telegram/send", post(actions::write_telegram))
        .route("/discord/tap", post(actions::tap_discord))
        .route("/app/new", post(actions::open))
        .route("/app/prompt", post(actions::prompt))
        .route("/app/answer", post(actions::answer))
        .fallback(get(assets::file))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn(guard::guard))
        .with_state(site);
    axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await
}

/// What the page's handlers share.
struct Site {
    options: PageOptions,
    taps: Mutex<VecDeque<Tap>>,
    /// Counts the taps.
    tapped: watch::Sender<u64>,
    stop: CancellationToken,
}

impl Site {
    fn new(options: PageOptions, stop: CancellationToken) -> Self {
        Self { options, taps: Mutex::new(VecDeque::new()), tapped: watch::Sender::new(0), stop }
    }

    fn note(&self, tap: Tap) {
        let mut taps = self.taps.lock().unwrap_or_else(PoisonError::into_inner);
        if taps.len() >= TAPS_KEPT {
            taps.pop_front();
        }
        taps.push_back(tap);
        drop(taps);
        self.tapped.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn taps(&self) -> Vec<Tap> {
        self.taps.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
