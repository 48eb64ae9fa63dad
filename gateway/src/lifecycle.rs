//! The service's life: start, signals, a soft end, a hard end.
//!
//! The first SIGTERM or SIGINT ends what is idle at once and gives what is claimed its grace; a second one ends everything.
//! Shutdown is only a crash with manners: whatever the grace does not finish is taken up at the next start.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use adapters::channel::Channel;
use adapters::channel::Failure;
use config::Config;
use store::ledger::Ledger;
use tokio::net::TcpListener;

use crate::announce;
use crate::answer;
use crate::board::{Health, channel_part};
use crate::desk::FrontDesk;
use crate::hub::{Hub, Stop};
use crate::wiring::{self, Tools};
use crate::{http, poll};

/// How often finished asks past their retention are removed.
const PRUNE_EVERY: Duration = Duration::from_mins(10);
/// The name under which the ledger keeps where its damaged forerunner was set aside.
pub const SET_ASIDE: &str = "store/set-aside";
/// How often the store is looked at.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// The longest a healthy disk takes for a small write.
const PROBE_DEADLINE: Duration = Duration::from_secs(3);
/// The pause between two removals while there is more to remove.
const PRUNE_MORE: Duration = Duration::from_secs(1);
/// The pauses before a listener that ended is started again.
const RESTART_PAUSE: Duration = Duration::from_secs(5);

/// Runs the service until `stop.soft`, and then for at most the configured grace.
///
/// # Errors
/// If it cannot start.
pub async fn run(
    config: Config,
    ledger: Arc<dyn Ledger>,
    listener: TcpListener,
    mut tools: Tools,
    stop: Stop,
) -> anyhow::Result<()> {
    let hub = wiring::hub(&config, Arc::clone(&ledger), &mut tools, stop.clone()).await?;
    let address = listener.local_addr()?;
    tracing::info!(%address, accounts = config.accounts.len(), "askgate {} listens on {address}", env!("CARGO_PKG_VERSION"));

    let (section, retention) = (config.server.clone(), config.store.retention);
    // The parts have what they need of it; ten thousand accounts are not kept twice.
    drop(config);
    let shutdown_grace = section.shutdown_grace;
    let server = tokio::spawn(http::serve(Arc::clone(&hub), listener, section));
    supervise(&hub, "second looks", announce::look_again);
    supervise(&hub, "store watcher", watch_store);
    answer::resume(&hub).await?;
    announce::resume(&hub).await?;
    for channel in hub.channels.values() {
        hub.spawn(listen(Arc::clone(&hub), Arc::clone(channel)));
    }
    supervise(&hub, "polling", poll::run);
    supervise(&hub, "retention", move |hub| prune(hub, retention));

    stop.soft.cancelled().await;
    hub.board.stopping();
    tracing::info!("stopping; what is claimed has {shutdown_grace:?} to finish");
    hub.tasks.close();
    let grace = tokio::time::sleep(shutdown_grace);
    tokio::select! {
        () = hub.tasks.wait() => tracing::info!("everything is finished"),
        () = grace => tracing::warn!("the grace is over; what is left is taken up at the next start"),
        () = stop.hard.cancelled() => tracing::warn!("ended at once; what is left is taken up at the next start"),
    }
    stop.hard.cancel();
    server.abort();
    // Writes that were begun must reach the disk, but a disk that hangs must not keep the process.
    if tokio::time::timeout(Duration::from_secs(5), ledger.close()).await.is_err() {
        tracing::warn!("the store did not close in time");
    }
    Ok(())
}

/// Sets `stop` from the process's signals: soft by the first, hard by the second.
///
/// # Errors
/// If the signals cannot be received.
pub fn on_signals(stop: Stop) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        for token in [stop.soft, stop.hard] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            token.cancel();
        }
    });
    Ok(())
}

/// Keeps one channel's listener running; only a refused token or the end of the service ends it for good.
async fn listen(hub: Arc<Hub>, channel: Arc<dyn Channel>) {
    let part = channel_part(channel.kind());
    loop {
        let desk = Arc::new(FrontDesk::new(Arc::clone(&hub)));
        // A task of its own, so that a panic in a library ends the listener and not the service.
        let listening = tokio::spawn(Arc::clone(&channel).listen(desk, hub.stop.soft.clone()));
        let ended = match listening.await {
            Ok(Ok(())) => "it ended by itself".to_owned(),
            Ok(Err(failure @ Failure::Unauthorised)) => {
                hub.board.report(part, Health::Bad { why: failure.to_string() });
                return;
            }
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "it crashed; please report this with the log".to_owned(),
        };
        if hub.stop.soft.is_cancelled() {
            return;
        }
        hub.board.count("askgate_listener_restarts_total");
        hub.board.report(part, Health::Bad { why: ended });
        if !hub.wait_softly(RESTART_PAUSE).await {
            return;
        }
    }
}

/// Keeps a task running that must not end before the service does: one that panics is reported and started again.
fn supervise<F>(hub: &Arc<Hub>, part: &'static str, task: impl Fn(Arc<Hub>) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let hub = Arc::clone(hub);
    hub.clone().spawn(async move {
        loop {
            // A task of its own, so that a panic ends it and not the service.
            let ended = tokio::spawn(task(Arc::clone(&hub))).await;
            if hub.stop.soft.is_cancelled() {
                return;
            }
            let why = if ended.is_err() { "it crashed" } else { "it ended by itself" };
            tracing::error!(part, "{part} was started again, because {why}; please report this with the log");
            hub.board.count("askgate_crashes_total");
            hub.board.report(part, Health::Bad { why: why.to_owned() });
            if !hub.wait_softly(RESTART_PAUSE).await {
                return;
            }
            hub.board.clear(part);
        }
    });
}

/// Looks whether the store can write, so that readiness tells before a tap has to.
async fn watch_store(hub: Arc<Hub>) {
    tell_set_aside(&hub).await;
    loop {
        let health = match tokio::time::timeout(PROBE_DEADLINE, hub.ledger.probe()).await {
            Ok(Ok(())) => Health::Fine,
            Ok(Err(error)) => Health::Bad { why: error.to_string() },
            Err(_) => {
                Health::Bad { why: "the disk does not answer; look at it, or move the store to another one".into() }
            }
        };
        hub.board.report("store", health);
        if !hub.wait_softly(PROBE_EVERY).await {
            return;
        }
    }
}

/// Keeps telling of a damaged store that was set aside, also after further starts, until somebody has taken it away.
async fn tell_set_aside(hub: &Hub) {
    let Ok(Some(path)) = hub.ledger.recall(SET_ASIDE).await else { return };
    if std::path::Path::new(&path).exists() {
        let why = format!(
            "the store was damaged and is kept at {path}; what waits was found again at the sources. People who linked \
             themselves come back with an export of it or of a backup (askgate store export, import). Move it away to end this"
        );
        hub.board.report("store:set-aside", Health::Down { why });
    } else if let Err(error) = hub.ledger.remember(SET_ASIDE, None).await {
        tracing::debug!(%error, "that the damaged store is gone was not kept");
    }
}

async fn prune(hub: Arc<Hub>, retention: Duration) {
    let keep = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    loop {
        let before = hub.now().saturating_sub(keep);
        if let Err(error) = announce::expire(&hub, before).await {
            tracing::warn!("asks past their retention are not closed yet: {error}");
        }
        let pause = match hub.ledger.prune(before).await {
            Ok(0) => PRUNE_EVERY,
            Ok(count) => {
                tracing::info!(count, "removed {count} asks past their retention");
                // A call removes a bounded number.
                PRUNE_MORE
            }
            Err(error) => {
                tracing::warn!("old asks are not removed yet: {error}");
                PRUNE_EVERY
            }
        };
        if !hub.wait_softly(pause).await {
            return;
        }
    }
}
