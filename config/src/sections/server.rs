//! `[server]`: where askgate listens and what the outside calls it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use url::Url;

use super::proxies::Network;
use crate::problem::{Reported, quoted};
use crate::reader::{Item, Section};
use crate::secret::Secret;
use crate::values;

/// Where it listens unless told otherwise: this machine only.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);
/// How long running turns may finish after a stop signal.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);

/// The HTTP side.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The socket to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// A second socket; `/v1` and `/metrics` are then served only there. Never the same as `listen`.
    pub admin_listen: Option<SocketAddr>,
    /// The address under which the outside reaches us; a path in it prefixes every route. Never contacted by us.
    pub public_url: Option<Url>,
    /// The bearer for `/v1`; without it `/v1` is off.
    pub admin_token: Option<Secret>,
    /// The proxies whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<Network>,
    /// How long running turns may finish after a stop signal; zero ends at once.
    pub shutdown_grace: Duration,
}

impl ServerConfig {
    pub(crate) fn validate(section: &Section<'_>) -> Result<Self, Reported> {
        let listen = section.or("listen", LISTEN, socket);
        let admin_listen = section.optional("admin_listen", socket);
        let public_url = section.optional("public_url", values::address);
        let admin_token = section.secret("admin_token", values::bearer);
        let trusted_proxies = section.or("trusted_proxies", Vec::new(), |item| item.each(network));
        let shutdown_grace = section.or("shutdown_grace", SHUTDOWN_GRACE, values::duration);
        if let (Ok(listen), Ok(Some(admin))) = (listen, admin_listen)
            && collide(listen, admin)
        {
            let fix = "give it another port, or remove it to serve /v1 and /metrics at listen";
            return Err(section.report("admin_listen", "takes the port of listen", fix));
        }
        Ok(Self {
            listen: listen?,
            admin_listen: admin_listen?,
            public_url: public_url?,
            admin_token: admin_token?,
            trusted_proxies: trusted_proxies?,
            shutdown_grace: shutdown_grace?,
        })
    }
}

fn socket(item: &Item<'_>) -> Result<SocketAddr, Reported> {
    let text = item.text()?;
    text.parse().map_err(|_| {
        let what = format!("{} is no address with a port", quoted(text));
        item.report(what, "write numbers, such as \"127.0.0.1:8787\" or \"0.0.0.0:8787\"")
    })
}

/// Whether both cannot be listened to: an unspecified address takes its port on every other.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let any = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && (any || one.ip() == other.ip())
}

fn network(item: &Item<'_>) -> Result<Network, Reported> {
    let text = item.text()?;
    text.parse().map_err(|_| {
        let what = format!("{} is no IP address and no network", quoted(text));
        item.report(what, "write numbers, such as \"10.0.0.7\" or \"10.0.0.0/8\"")
    })
}
