//! The listening socket with a hand on every connection: they can be refused, or cut in the middle of a reply.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Whether connections are let in, shared by the listener and the control handle.
#[derive(Debug, Default)]
pub(super) struct Gate {
    down: AtomicBool,
    open: Mutex<CancellationToken>,
}

impl Gate {
    /// Closes every connection, and each new one at once, or lets them in again.
    pub(super) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
        if down {
            self.cut_all();
        }
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }

    /// Closes every connection that is open now.
    pub(super) fn cut_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *open).cancel();
    }

    fn token(&self) -> CancellationToken {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).child_token()
    }
}

/// The listener behind the gate.
pub(super) struct Gated {
    pub(super) listener: TcpListener,
    pub(super) gate: std::sync::Arc<Gate>,
}

impl Listener for Gated {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let cut = self.gate.token();
                    if self.gate.is_down() {
                        continue;
                    }
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "the simulated Terreno host cannot set TCP_NODELAY");
                    }
                    let cancelled = Box::pin(cut.clone().cancelled_owned());
                    return (Wire { stream, cut, cancelled }, peer);
                }
                Err(error) => {
                    tracing::debug!(%error, "the simulated Terreno host cannot accept");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection.
pub(super) struct Wire {
    stream: TcpStream,
    cut: CancellationToken,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.cut.is_cancelled() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What a handler knows of the connection a request came on.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) cut: CancellationToken,
}

impl Connected<IncomingStream<'_, Gated>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Gated>) -> Self {
        Self { address: *stream.remote_addr(), cut: stream.io().cut.clone() }
    }
}
