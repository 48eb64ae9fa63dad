//! `askgate serve`.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use config::Config;
use rand::RngCore as _;
use store::ledger::Ledger;
use store::sled::{Options, SledLedger};
use tokio::net::TcpListener;

use super::{Exit, block_on, load, logging};
use crate::hub::Stop;
use crate::lifecycle;
use crate::wiring::Tools;

pub(super) fn run(path: &Path) -> anyhow::Result<Exit> {
    let loaded = match load(path) {
        Ok(loaded) => loaded,
        Err(exit) => return Ok(exit),
    };
    logging::start(loaded.config.log.format);
    for warning in loaded.warnings {
        tracing::warn!("{warning}");
    }
    let config = loaded.config;
    block_on(async move {
        let stop = Stop::default();
        lifecycle::on_signals(stop.clone())?;
        let mut tools = Tools::system()?;
        let Some(ledger) = open(&config, &mut tools, &stop).await? else { return Ok(Exit::Fine) };
        let listen = config.server.listen;
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("cannot listen on {listen}; set server.listen to a free address"))?;
        lifecycle::run(config, ledger, listener, tools, stop).await?;
        Ok(Exit::Fine)
    })
}

/// Opens the store, waiting for a process that is about to end; `None` when the service was stopped meanwhile.
async fn open(config: &Config, tools: &mut Tools, stop: &Stop) -> anyhow::Result<Option<Arc<dyn Ledger>>> {
    let mut random = [0; 32];
    tools.random.fill_bytes(&mut random);
    let options = Options::new(random, tools.clock.unix_millis());
    let path = config.store.path.clone();
    let opening = tokio::task::spawn_blocking(move || SledLedger::open(&path, options));
    let opened = tokio::select! {
        () = stop.soft.cancelled() => return Ok(None),
        opened = opening => opened??,
    };
    if let Some(aside) = &opened.set_aside {
        tracing::error!(
            moved_to = %aside.display(),
            "a damaged store was set aside and is kept; what waits is found again at the sources, and old cards may be shown once more"
        );
    }
    if let Some(aside) = opened.set_aside.filter(|_| opened.fresh) {
        opened.ledger.remember(lifecycle::SET_ASIDE, Some(aside.display().to_string())).await?;
    }
    Ok(Some(Arc::new(opened.ledger)))
}
