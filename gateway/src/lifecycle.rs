//! The service's life: start, signals, a soft end, a hard end.
//!
//! The first SIGTERM or SIGINT ends what is idle at once and gives what is claimed its grace; a second one ends everything.
//! Shutdown is only a crash with manners: whatever the grace does not finish is taken up at the next start.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use config::{Config, ServerConfig};
use store::ledger::Ledger;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::announce;
use crate::answer;
use crate::board::{Board, Health};
use crate::hub::{Hub, Stop};
use crate::wiring::{self, Tools};
use crate::{accounts, http, listening, poll};

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
/// The pause before a part that ended is started again.
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
    let admin = match config.server.admin_listen {
        Some(listen) => Some(TcpListener::bind(listen).await.with_context(|| {
            format!("cannot listen on {listen}; set server.admin_listen to a free address, or remove it")
        })?),
        None => None,
    };
    let hub = wiring::hub(&config, Arc::clone(&ledger), &mut tools, stop.clone()).await?;
    let address = listener.local_addr()?;
    tracing::info!(%address, accounts = config.accounts.len(), "askgate {} listens on {address}", env!("CARGO_PKG_VERSION"));

    let (section, retention) = (config.server.clone(), config.store.retention);
    // The parts have what they need of it; ten thousand accounts are not kept twice.
    drop(config);
    let shutdown_grace = section.shutdown_grace;
    let mut audience = http::Audience::All;
    if let Some(admin) = admin {
        tracing::info!("/v1 and /metrics are served only at {}", admin.local_addr()?);
        audience = http::Audience::People;
        serve_http(&hub, "http:admin", admin.into_std()?, section.clone(), http::Audience::Operator);
    }
    serve_http(&hub, "http", listener.into_std()?, section, audience);
    supervise(&hub, "second looks", announce::look_again);
    supervise(&hub, "store watcher", watch_store);
    answer::resume(&hub).await?;
    announce::resume(&hub).await?;
    for channel in hub.channels.values() {
        hub.spawn(listening::keep(Arc::clone(&hub), Arc::clone(channel)));
    }
    supervise(&hub, "kept credentials", accounts::keep_renewals);
    supervise(&hub, "quiet hours", crate::quiet::run);
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

/// Keeps a task of the hub running, which shutdown waits for.
fn supervise<F>(hub: &Arc<Hub>, part: &'static str, task: impl Fn(Arc<Hub>) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (hub, its) = (Arc::clone(hub), Arc::clone(hub));
    let task = move || task(Arc::clone(&its));
    hub.clone().spawn(async move { keep_running(&hub.board, &hub.stop.soft, part, RESTART_PAUSE, task).await });
}

/// Keeps the HTTP server running. It serves until the end of the grace, so shutdown does not wait for it.
fn serve_http(
    hub: &Arc<Hub>,
    part: &'static str,
    listener: std::net::TcpListener,
    section: ServerConfig,
    audience: http::Audience,
) {
    let hub = Arc::clone(hub);
    let serve = {
        let hub = Arc::clone(&hub);
        move || {
            // The socket stays open meanwhile: who connects waits, and is refused nothing.
            let listener = listener.try_clone().and_then(TcpListener::from_std);
            let (hub, section) = (Arc::clone(&hub), section.clone());
            async move {
                match listener {
                    Ok(listener) => http::serve(hub, listener, section, audience).await,
                    Err(error) => tracing::error!("cannot listen again: {error}"),
                }
            }
        }
    };
    tokio::spawn(async move { keep_running(&hub.board, &hub.stop.soft, part, RESTART_PAUSE, serve).await });
}

/// Keeps a task running that must not end before the service does: one that panics is reported and started again.
async fn keep_running<F>(
    board: &Board,
    stop: &CancellationToken,
    part: &'static str,
    pause: Duration,
    task: impl Fn() -> F + Send,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        // A task of its own, so that a panic ends it and not the service.
        let ended = tokio::spawn(task()).await;
        if stop.is_cancelled() {
            return;
        }
        let why = if ended.is_err() { "it crashed" } else { "it ended by itself" };
        tracing::error!(part, "{part} is started again, because {why}; please report this with the log");
        board.count("askgate_crashes_total");
        board.report(part, Health::Bad { why: why.to_owned() });
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        board.clear(part);
    }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_panics_or_ends_is_named_counted_and_started_again() {
        let (board, stop, starts) = (Board::default(), CancellationToken::new(), Arc::new(AtomicU32::new(0)));
        let (started, until) = (Arc::clone(&starts), stop.clone());
        let task = move || {
            let (start, until) = (started.fetch_add(1, Ordering::SeqCst), until.clone());
            async move {
                match start {
                    0 => panic!("as a library might"),
                    1 => {}
                    _ => until.cancelled().await,
                }
            }
        };
        let keeping = keep_running(&board, &stop, "polling", Duration::from_millis(100), task);
        let watching = async {
            let mut whys = Vec::new();
            while starts.load(Ordering::SeqCst) < 3 {
                if let Some(Health::Bad { why }) = board.status().parts.get("polling")
                    && whys.last() != Some(why)
                {
                    whys.push(why.clone());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let healthy = !board.status().parts.contains_key("polling");
            stop.cancel();
            (whys, healthy)
        };
        let ((), (whys, healthy)) = tokio::join!(keeping, watching);
        assert_eq!(whys, ["it crashed", "it ended by itself"]);
        assert!(healthy, "a part that runs again is named no more");
        assert_eq!(board.counters().get("askgate_crashes_total"), Some(&2));
        assert_eq!(starts.load(Ordering::SeqCst), 3, "nothing is started after the end");
    }
}
