//! `GET /events`: tells one page that what it shows has changed. The page then loads itself again and exchanges what differs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use store::record::Seq;
use tokio::sync::OwnedSemaphorePermit;

use super::list;
use super::session::{self, Session};
use crate::hub::Hub;
use crate::pages::inbox::digest;

/// How often the ledger's position is looked at, which costs nothing.
const LOOK: Duration = Duration::from_millis(250);
/// How often something is said even when nothing happens: proxies close what is silent.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A stream for a session's page; it ends with the session, and when the service stops.
pub(super) fn stream(hub: Arc<Hub>, session: Session, permit: OwnedSemaphorePermit) -> Response {
    let heard = hub.clock.instant();
    let watch = Watch { hub, session, seen: None, shown: Vec::new(), heard, _permit: permit };
    let events = stream::unfold(watch, async |mut watch| {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    let mut response = Sse::new(events).into_response();
    // Proxies that collect an answer before they pass it on would make it late.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    response
}

struct Watch {
    hub: Arc<Hub>,
    session: Session,
    /// The ledger's position at the last look; `None` before the first.
    seen: Option<Seq>,
    /// What the page shows.
    shown: Vec<String>,
    heard: Instant,
    _permit: OwnedSemaphorePermit,
}

impl Watch {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.seen.is_some() && !self.hub.wait_softly(LOOK).await {
                return None;
            }
            let now = self.hub.clock.instant();
            let at = self.hub.ledger.sequence();
            let silent = now.saturating_duration_since(self.heard) >= HEARTBEAT;
            if self.seen == Some(at) && !silent {
                continue;
            }
            // Signed out, or not linked any more: the page asks again and learns it.
            self.session = match session::by_id(&self.hub, &self.session.id).await {
                Ok(Some(session)) => session,
                Ok(None) => return None,
                Err(_) => continue,
            };
            let Ok(list) = list::load(&self.hub, &self.session, None).await else { continue };
            let shown: Vec<String> = list.waiting.iter().chain(&list.settled).map(|(entry, _)| digest(entry)).collect();
            let first = self.seen.is_none();
            self.seen = Some(at);
            if shown != self.shown || first {
                self.shown = shown;
                self.heard = now;
                return Some(Event::default().event("change").data("look"));
            }
            if silent {
                self.heard = now;
                return Some(Event::default().comment("still here"));
            }
        }
    }
}
