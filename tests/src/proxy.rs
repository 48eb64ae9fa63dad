//! A TCP proxy that breaks connections on command, between the gateway and a simulated system.
//!
//! Everything on loopback is plain bytes, so cutting, holding and dropping them is all that a network can do to us. What it does
//! wrong is one [`Mode`] for the connections that are open and those to come; [`Proxy::cut`] ends the open ones at once.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What the proxy does to the bytes that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Passes them on.
    #[default]
    Pass,
    /// Closes every connection at once, and listens no more: new ones are refused.
    Refuse,
    /// Holds the bytes of both directions until the mode changes.
    Stall,
    /// Accepts, reads, and throws away: nothing arrives and nothing is answered.
    BlackHole,
    /// Passes requests on, and closes the connection instead of passing the first byte of an answer back.
    LoseAnswers,
}

/// A running proxy; dropping it closes everything.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
    cut: watch::Sender<u64>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    accepted: AtomicUsize,
    /// Answers that were thrown away.
    lost: AtomicUsize,
    stop: CancellationToken,
}

impl Proxy {
    /// A proxy in front of `target`, on a free port of this machine.
    ///
    /// # Errors
    /// If there is no loopback socket.
    pub async fn start(target: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (mode, cut) = (watch::Sender::new(Mode::Pass), watch::Sender::new(0));
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared { target, accepted: AtomicUsize::new(0), lost: AtomicUsize::new(0), stop });
        let proxy = Self { address, mode, cut, shared };
        let (shared, modes, cuts) = (Arc::clone(&proxy.shared), proxy.mode.subscribe(), proxy.cut.subscribe());
        tokio::spawn(async move {
            let stop = shared.stop.clone();
            let _stopped = stop.run_until_cancelled(accept(shared, listener, address, modes, cuts)).await;
        });
        Ok(proxy)
    }

    /// Its address, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does this to all bytes from now on.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Passes everything on again. Connections that were broken stay so.
    pub fn heal(&self) {
        self.set(Mode::Pass);
    }

    /// Closes every open connection, once.
    pub fn cut(&self) {
        self.cut.send_modify(|count| *count += 1);
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many answers were thrown away by [`Mode::LoseAnswers`].
    #[must_use]
    pub fn lost_answers(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

/// Why a connection ends.
enum End {
    /// One side closed it.
    Closed,
    /// An answer was thrown away.
    AnswerLost,
}

async fn accept(
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
    mut modes: watch::Receiver<Mode>,
    cuts: watch::Receiver<u64>,
) {
    let mut listener = Some(listener);
    loop {
        // Nobody listens while connections are refused, so the system itself refuses them.
        if *modes.borrow_and_update() == Mode::Refuse {
            listener = None;
            if modes.wait_for(|mode| *mode != Mode::Refuse).await.is_err() {
                return;
            }
        }
        let Some(open) = &listener else {
            match TcpListener::bind(address).await {
                Ok(bound) => listener = Some(bound),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
            continue;
        };
        let accepted = tokio::select! {
            changed = modes.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            accepted = open.accept() => accepted,
        };
        if let Ok((client, _)) = accepted {
            shared.accepted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(carry(Arc::clone(&shared), client, modes.clone(), cuts.clone()));
        }
    }
}

async fn carry(
    shared: Arc<Shared>,
    client: TcpStream,
    mut modes: watch::Receiver<Mode>,
    mut cuts: watch::Receiver<u64>,
) {
    cuts.mark_unchanged();
    if *modes.borrow_and_update() == Mode::Refuse {
        return;
    }
    let Ok(server) = TcpStream::connect(shared.target).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let there = pass(from_client, to_server, modes.clone(), false);
    let back = pass(from_server, to_client, modes.clone(), true);
    let refused = async {
        // The sender lives as long as the proxy, and without it there is nothing to wait for.
        if modes.wait_for(|mode| *mode == Mode::Refuse).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = shared.stop.cancelled() => {}
        _ = cuts.changed() => {}
        () = refused => {}
        end = there => count(&shared, &end),
        end = back => count(&shared, &end),
    }
}

fn count(shared: &Shared, end: &End) {
    if matches!(end, End::AnswerLost) {
        shared.lost.fetch_add(1, Ordering::SeqCst);
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut modes: watch::Receiver<Mode>,
    is_answer: bool,
) -> End {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let Ok(length) = from.read(&mut buffer).await else { return End::Closed };
        if length == 0 {
            // A half-closed connection goes on in the other direction.
            let _ended = to.shutdown().await;
            return std::future::pending().await;
        }
        // Held until the mode is another one; what then happens is decided anew.
        if modes.wait_for(|mode| *mode != Mode::Stall).await.is_err() {
            return End::Closed;
        }
        let mode = *modes.borrow_and_update();
        match mode {
            Mode::BlackHole => continue,
            Mode::Refuse => return End::Closed,
            Mode::LoseAnswers if is_answer => return End::AnswerLost,
            Mode::Pass | Mode::Stall | Mode::LoseAnswers => {}
        }
        let Some(bytes) = buffer.get(..length) else { return End::Closed };
        if to.write_all(bytes).await.is_err() {
            return End::Closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says everything back.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a socket");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ended = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(proxy.address).await.expect("connected")
    }

    /// What comes back after `hi`; `None` when the connection ends, an error text when nothing comes.
    async fn say(stream: &mut TcpStream) -> Result<Option<String>, &'static str> {
        if stream.write_all(b"hi").await.is_err() {
            return Ok(None);
        }
        hear(stream).await
    }

    async fn hear(stream: &mut TcpStream) -> Result<Option<String>, &'static str> {
        let mut buffer = [0; 8];
        match tokio::time::timeout(Duration::from_millis(300), stream.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) => Ok(None),
            Ok(Ok(length)) => Ok(Some(String::from_utf8_lossy(&buffer[..length]).into_owned())),
            Err(_) => Err("nothing came"),
        }
    }

    #[tokio::test]
    async fn each_mode_does_what_it_says() {
        let proxy = Proxy::start(echo().await).await.expect("a proxy");
        let mut open = connect(&proxy).await;
        assert_eq!(say(&mut open).await, Ok(Some("hi".into())));

        proxy.set(Mode::Stall);
        assert_eq!(say(&mut open).await, Err("nothing came"));
        proxy.heal();
        assert_eq!(hear(&mut open).await, Ok(Some("hi".into())), "what was held arrives");

        proxy.set(Mode::BlackHole);
        assert_eq!(say(&mut open).await, Err("nothing came"));
        proxy.heal();
        assert_eq!(say(&mut open).await, Ok(Some("hi".into())), "what was swallowed does not arrive");

        proxy.set(Mode::LoseAnswers);
        assert_eq!((say(&mut open).await, proxy.lost_answers()), (Ok(None), 1));
        proxy.heal();

        let mut other = connect(&proxy).await;
        assert_eq!(say(&mut other).await, Ok(Some("hi".into())));
        proxy.cut();
        assert_eq!(hear(&mut other).await, Ok(None));

        let mut third = connect(&proxy).await;
        assert_eq!(say(&mut third).await, Ok(Some("hi".into())), "only those that were open are cut");
        proxy.set(Mode::Refuse);
        assert_eq!(hear(&mut third).await, Ok(None));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(TcpStream::connect(proxy.address).await.is_err(), "nobody listens");
        proxy.heal();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(say(&mut connect(&proxy).await).await, Ok(Some("hi".into())), "and somebody listens again");
        assert_eq!(proxy.connections(), 4);
    }
}
