//! Follows the three systems: a new picture whenever one of them changes, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, stream};
use tokio::sync::watch;

use super::Site;
use super::state::Snapshot;

/// How long changes are gathered, so that one tap is a few pictures and not dozens.
const GATHER: Duration = Duration::from_millis(40);

/// How often the picture is compared although nothing was reported: some things change with time alone, such as a press that
/// Discord gives up on.
const LOOK: Duration = Duration::from_secs(1);

/// `GET /state`: the picture as it is now.
pub(super) async fn state(State(site): State<Arc<Site>>) -> Json<Snapshot> {
    Json(site.snapshot())
}

/// `GET /events`: the picture now, and after every change.
pub(super) async fn follow(State(site): State<Arc<Site>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let pictures = stream::unfold(Follower::new(site), |mut follower| async move {
        let picture = follower.next().await?;
        Some((Ok(Event::default().event("state").data(picture)), follower))
    });
    Sse::new(pictures).keep_alive(KeepAlive::default())
}

struct Follower {
    changes: [watch::Receiver<u64>; 4],
    last: Option<String>,
    /// How many signs of activity the bot has sent.
    typed: usize,
    site: Arc<Site>,
}

impl Follower {
    fn new(site: Arc<Site>) -> Self {
        let options = &site.options;
        let changes = [
            options.telegram.subscribe(),
            options.discord.changes(),
            options.terreno.subscribe(),
            site.tapped.subscribe(),
        ];
        Self { changes, last: None, typed: 0, site }
    }

    /// The next picture that differs from the last; `None` when the page ends.
    async fn next(&mut self) -> Option<String> {
        loop {
            if self.last.is_some() {
                self.wait().await?;
            }
            for changes in &mut self.changes {
                changes.mark_unchanged();
            }
            self.typed = self.site.options.telegram.chat_actions().len();
            let picture = serde_json::to_string(&self.site.snapshot()).ok()?;
            if self.last.as_ref() != Some(&picture) {
                self.last = Some(picture.clone());
                return Some(picture);
            }
        }
    }

    async fn wait(&mut self) -> Option<()> {
        let [telegram, discord, terreno, taps] = &mut self.changes;
        // "Typing" changes nothing in a chat, so the subscription does not tell of it.
        let (bot, typed) = (&self.site.options.telegram, self.typed);
        let activity =
            bot.wait_for("a sign of activity", LOOK, |now| (now.chat_actions().len() != typed).then_some(()));
        tokio::select! {
            () = self.site.stop.cancelled() => return None,
            _ = telegram.changed() => {}
            _ = discord.changed() => {}
            _ = terreno.changed() => {}
            _ = taps.changed() => {}
            _ = activity => {}
        }
        tokio::time::sleep(GATHER).await;
        Some(())
    }
}
