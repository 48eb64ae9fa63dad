//! Connections that can be cut or frozen from the outside, and a front door that can be shut.
//!
//! A test about a lost network needs the TCP connection itself to break, which no HTTP answer can express.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{extract::connect_info::Connected, serve::IncomingStream};
use futures::task::AtomicWaker;
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
};

const OPEN: u8 = 0;
const FROZEN: u8 = 1;
const CUT: u8 = 2;

/// Whether the whole server can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Reach {
    /// Normal.
    #[default]
    Open,
    /// The port is closed: connecting is refused. Existing connections are cut.
    Refused,
    /// Connections are accepted, counted and closed at once. Existing connections are cut.
    Dropped,
    /// Connections are accepted and never answered. Existing connections fall silent.
    Silent,
}

/// One connection's switch.
#[derive(Clone, Debug)]
pub(super) struct Wire(Arc<Switch>);

#[derive(Debug, Default)]
struct Switch {
    state: AtomicU8,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// A TCP connection that obeys its switch.
#[derive(Debug)]
pub(super) struct Plug {
    stream: TcpStream,
    wire: Wire,
}

/// The listening socket, which obeys [`Reach`].
#[derive(Debug)]
pub(super) struct Door {
    address: SocketAddr,
    socket: Option<TcpListener>,
    reach: watch::Receiver<Reach>,
    wires: Arc<Wires>,
    silent: Vec<TcpStream>,
}

/// All open connections, and how many there have been.
#[derive(Debug, Default)]
pub(super) struct Wires {
    open: Mutex<Vec<Weak<Switch>>>,
    accepted: AtomicU64,
    turned_away: AtomicU64,
}

impl Wire {
    /// Breaks the connection; both directions end with "connection reset".
    pub(super) fn cut(&self) {
        self.0.set(CUT);
    }

    /// Whether the connection is silent.
    pub(super) fn is_frozen(&self) -> bool {
        self.0.state.load(Ordering::SeqCst) == FROZEN
    }

    /// Lets the connection fall silent without closing it.
    pub(super) fn freeze(&self) {
        let _ = self.0.state.compare_exchange(OPEN, FROZEN, Ordering::SeqCst, Ordering::SeqCst);
    }
}

impl Switch {
    fn set(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
        self.reader.wake();
        self.writer.wake();
    }
}

impl Wires {
    pub(super) fn cut_all(&self) {
        for switch in self.all() {
            switch.set(CUT);
        }
    }

    pub(super) fn freeze_all(&self) {
        for switch in self.all() {
            Wire(switch).freeze();
        }
    }

    /// Lets silent connections speak again.
    pub(super) fn thaw_all(&self) {
        for switch in self.all() {
            if switch.state.load(Ordering::SeqCst) == FROZEN {
                switch.set(OPEN);
            }
        }
    }

    /// Connections accepted and served.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Connections accepted while the server was not to be reached.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::SeqCst)
    }

    fn all(&self) -> Vec<Arc<Switch>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().filter_map(Weak::upgrade).collect()
    }

    fn admit(&self, stream: TcpStream) -> (Plug, Wire) {
        let wire = Wire(Arc::new(Switch::default()));
        self.accepted.fetch_add(1, Ordering::SeqCst);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|switch| switch.strong_count() > 0);
        open.push(Arc::downgrade(&wire.0));
        (Plug { stream, wire: wire.clone() }, wire)
    }
}

impl Door {
    pub(super) fn new(socket: TcpListener, reach: watch::Receiver<Reach>, wires: Arc<Wires>) -> io::Result<Self> {
        Ok(Self { address: socket.local_addr()?, socket: Some(socket), reach, wires, silent: Vec::new() })
    }

    /// The socket, bound again at the same address after it was closed.
    async fn bound(&mut self) -> io::Result<&TcpListener> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => TcpListener::bind(self.address).await?,
        };
        Ok(self.socket.insert(socket))
    }
}

impl axum::serve::Listener for Door {
    type Io = Plug;
    type Addr = Wire;

    async fn accept(&mut self) -> (Plug, Wire) {
        loop {
            let reach = *self.reach.borrow_and_update();
            if reach != Reach::Silent {
                self.silent.clear();
            }
            let mut turned = self.reach.clone();
            if reach == Reach::Refused {
                self.socket = None;
                if turned.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                continue;
            }
            let accepted = tokio::select! {
                changed = turned.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                    continue;
                }
                accepted = async { self.bound().await?.accept().await } => accepted,
            };
            // A single failure (the client has gone again, the port is not free yet) says nothing about the next try.
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            match *self.reach.borrow() {
                Reach::Open => {
                    let _ = stream.set_nodelay(true);
                    return self.wires.admit(stream);
                }
                Reach::Silent => self.silent.push(stream),
                Reach::Dropped | Reach::Refused => drop(stream),
            }
            self.wires.turned_away.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn local_addr(&self) -> io::Result<Wire> {
        Ok(Wire(Arc::new(Switch::default())))
    }
}

impl Connected<IncomingStream<'_, Door>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

impl Plug {
    /// Says whether the wire carries data now; registers the waker in any case, so that a later cut is noticed.
    fn carries(&self, waker: &AtomicWaker, context: &Context<'_>) -> Poll<io::Result<()>> {
        waker.register(context.waker());
        match self.wire.0.state.load(Ordering::SeqCst) {
            OPEN => Poll::Ready(Ok(())),
            FROZEN => Poll::Pending,
            _ => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
        }
    }
}

impl AsyncRead for Plug {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.carries(&self.wire.0.reader, cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.stream).poll_read(cx, buf),
            other => other,
        }
    }
}

impl AsyncWrite for Plug {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.carries(&self.wire.0.writer, cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.stream).poll_write(cx, buf),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.carries(&self.wire.0.writer, cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.stream).poll_flush(cx),
            other => other,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.carries(&self.wire.0.writer, cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.stream).poll_shutdown(cx),
            other => other,
        }
    }
}
