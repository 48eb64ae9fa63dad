//! `askgate serve`.

use std::path::Path;
use std::sync::{Arc, mpsc};

use anyhow::Context as _;
use config::{Config, Loaded};
use rand::RngCore as _;
use store::ledger::Ledger;
use store::sled::{Options, SledLedger};
use tokio::net::TcpListener;

use super::{Exit, block_on, load, logging};
use crate::hub::Stop;
use crate::lifecycle;
use crate::wiring::Tools;

pub(super) fn run(path: &Path) -> anyhow::Result<Exit> {
    let (loaded, _memory) = load_apart(path)?;
    let loaded = match loaded {
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

/// Loads the configuration on a thread of its own, which lives as long as what is returned beside it.
///
/// The parser's tree is many times as large as the file, and the allocator keeps the memory of a thread apart while the thread
/// lives. So nothing that stays is put between what goes: once the parts are built and the configuration is dropped, all of it
/// is given back, which with ten thousand accounts is more than everything else.
fn load_apart(path: &Path) -> anyhow::Result<(Result<Loaded, Exit>, mpsc::Sender<()>)> {
    let path = path.to_owned();
    let (done, loaded) = mpsc::channel();
    let (keep, kept) = mpsc::channel::<()>();
    std::thread::Builder::new().name("askgate-config".to_owned()).spawn(move || {
        // Whoever waits is the caller below; the thread then sleeps until the other end is dropped.
        let _ = done.send(load(&path));
        let _ = kept.recv();
    })?;
    let loaded = loaded.recv().context("reading the configuration crashed; please report this with the file")?;
    Ok((loaded, keep))
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
    Ok(Some(Arc::new(opened.ledger)))
}
