//! `askgate doctor`.

use std::path::Path;
use std::time::Duration;

use super::{Exit, block_on, load, logging, out};
use crate::wiring::{self, Tools};

/// The longest one look takes.
const DEADLINE: Duration = Duration::from_secs(20);

pub(super) fn run(path: &Path) -> anyhow::Result<Exit> {
    let loaded = match load(path) {
        Ok(loaded) => loaded,
        Err(exit) => return Ok(exit),
    };
    logging::start(loaded.config.log.format);
    for warning in &loaded.warnings {
        out::line(&format!("warn  {warning}"));
    }
    let config = loaded.config;
    block_on(async move {
        let mut tools = Tools::system()?;
        let mut healthy = true;
        for (kind, channel) in wiring::channels(&config, &mut tools) {
            healthy &= tell(kind.as_str(), tokio::time::timeout(DEADLINE, channel.examine()).await);
        }
        let addresses = wiring::Addresses::default();
        for section in &config.sources {
            let source = wiring::source(&config, section, &tools, &addresses, None)?;
            for account in config.accounts.iter().filter(|account| account.key.source == section.name) {
                let name = format!("{} at {}", account.key.name, section.name);
                healthy &= tell(&name, tokio::time::timeout(DEADLINE, source.examine(&account.key)).await);
            }
        }
        Ok(if healthy { Exit::Fine } else { Exit::Failed })
    })
}

fn tell<E: std::fmt::Display>(name: &str, found: Result<Result<String, E>, tokio::time::error::Elapsed>) -> bool {
    match found {
        Ok(Ok(fine)) => {
            out::line(&format!("ok    {name}: {fine}"));
            true
        }
        Ok(Err(error)) => {
            out::line(&format!("FAIL  {name}: {error}"));
            false
        }
        Err(_) => {
            out::line(&format!(
                "FAIL  {name}: no answer in {} s; is the address right, and a firewall open?",
                DEADLINE.as_secs()
            ));
            false
        }
    }
}
