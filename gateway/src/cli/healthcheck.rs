//! `askgate healthcheck`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;

use super::{ConfigFile, Exit, block_on, load, out};

/// The command's arguments.
#[derive(Debug, Args)]
pub(super) struct Healthcheck {
    #[command(flatten)]
    file: ConfigFile,
    /// Ask for readiness instead of liveness.
    #[arg(long)]
    ready: bool,
}

impl Healthcheck {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let loaded = match load(&self.file.config) {
            Ok(loaded) => loaded,
            Err(exit) => return Ok(exit),
        };
        let address = reachable(loaded.config.server.listen);
        let path = if self.ready { "readyz" } else { "healthz" };
        block_on(async move {
            let request =
                adapters::http::client()?.get(format!("http://{address}/{path}")).timeout(Duration::from_secs(5));
            match request.send().await {
                Ok(response) if response.status().is_success() => Ok(Exit::Fine),
                Ok(response) => {
                    out::error(&format!(
                        "askgate answers {}: {}",
                        response.status(),
                        response.text().await.unwrap_or_default()
                    ));
                    Ok(Exit::Failed)
                }
                Err(error) => {
                    out::error(&format!("askgate does not answer on {address}: {}", error.without_url()));
                    Ok(Exit::Failed)
                }
            }
        })
    }
}

/// A service that listens everywhere is asked at home.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
