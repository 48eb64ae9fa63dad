//! One gateway connection: frames in, frames out, until one side has enough.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{
        ConnectInfo, Query, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::sync::mpsc;

use super::{Out, protocol::Next};
use crate::discord::{
    core::Core,
    fault::Fault,
    rest,
    route::{Route, Target},
    wire::Wire,
};

/// How long a closing handshake may take.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// The query of a gateway address.
#[derive(Debug, serde::Deserialize)]
pub(in crate::discord) struct Asked {
    v: Option<String>,
    encoding: Option<String>,
}

/// Handles the upgrade request.
pub(in crate::discord) async fn serve(
    State(core): State<Arc<Core>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    Query(asked): Query<Asked>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let (refused, fault) = core.change(|world| {
        let fault = world.faults.take(&Target::of(Route::Socket));
        let refused = world.gateway.rules.refuse_connections || fault.is_some();
        let counts = &mut world.state.counts;
        *(if refused { &mut counts.gateway_refused } else { &mut counts.gateway_connections }) += 1;
        (refused, fault)
    });
    match fault {
        Some(Fault::Answer(canned) | Fault::AnswerAfter(canned)) => return rest::write(&canned),
        Some(Fault::DropBefore | Fault::DropAfter) => return rest::cut(&wire).await,
        Some(Fault::Hang) => return std::future::pending().await,
        Some(Fault::Delay(wait) | Fault::DelayAnswer(wait)) => tokio::time::sleep(wait).await,
        None if refused => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        None => {}
    }
    upgrade.on_upgrade(move |socket| async move {
        let stop = core.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = converse(&core, socket, wire, &asked) => {}
        }
    })
}

async fn converse(core: &Arc<Core>, mut socket: WebSocket, wire: Wire, asked: &Asked) {
    if asked.v.as_deref() != Some("10") {
        close(&mut socket, 4012, "Invalid API version.").await;
        return;
    }
    if asked.encoding.as_deref().is_some_and(|encoding| encoding != "json") {
        close(&mut socket, 4002, "Error while decoding payload.").await;
        return;
    }
    let (out, mut orders) = mpsc::unbounded_channel();
    let (line, hello) = core.change(|world| (world.gateway.open(out, wire.clone()), world.hello()));
    let _ = send(&mut socket, hello).await;
    let goodbye = talk(core, &mut socket, &mut orders, line).await;
    core.change(|world| {
        world.gateway.closed(line, goodbye, core.now());
        world.state.counts.ready = world.gateway.ready();
    });
    // A dead network path tells the client nothing, not even that this side has given up.
    if wire.is_frozen() {
        let _ = socket.recv().await;
    }
}

/// Talks until the end; says whether the client ended the session on purpose.
async fn talk(core: &Arc<Core>, socket: &mut WebSocket, orders: &mut mpsc::UnboundedReceiver<Out>, line: u64) -> bool {
    let patience = core.read(|world| world.options.heartbeat_interval) * 2 + Duration::from_secs(1);
    let silence = tokio::time::sleep(patience);
    tokio::pin!(silence);
    loop {
        let heard = tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(order) = order else { return false };
                // A dead path takes no more bytes: then the session is lost, and can be resumed elsewhere.
                match tokio::time::timeout(patience, send(socket, order)).await {
                    Ok(true) => continue,
                    Ok(false) | Err(_) => return false,
                }
            }
            heard = socket.recv() => heard,
            () = &mut silence => {
                // Whoever reads this code knows that the session is over; whoever cannot may still resume it.
                return close(socket, 4009, "Session timed out.").await;
            }
        };
        let text = match heard {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Binary(_))) => {
                close(socket, 4002, "Error while decoding payload.").await;
                return false;
            }
            // A client that closes with 1000 or 1001 gives its session up; any other code keeps it.
            Some(Ok(Message::Close(frame))) => {
                let _ = tokio::time::timeout(GOODBYE_WITHIN, socket.recv()).await;
                return frame.is_some_and(|frame| matches!(frame.code, 1000 | 1001));
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Err(_)) | None => return false,
        };
        silence.set(tokio::time::sleep(patience));
        let next = core.change(|world| {
            let next = world.heard(line, &text, core.now());
            world.state.counts.ready = world.gateway.ready();
            next
        });
        match next {
            Next::Send(outs) => {
                for out in outs {
                    if !send(socket, out).await {
                        return false;
                    }
                }
            }
            Next::Ready(session) => ready_in_time(core, line, session),
        }
    }
}

/// Sends READY when the rules let it; heartbeats go on meanwhile.
fn ready_in_time(core: &Arc<Core>, line: u64, session: String) {
    let make_ready = move |core: &Core| {
        core.change(|world| {
            world.make_ready(line, &session);
            world.state.counts.ready = world.gateway.ready();
        });
    };
    match core.read(|world| world.gateway.rules.ready_after) {
        None => {}
        Some(Duration::ZERO) => make_ready(core),
        Some(wait) => {
            let core = Arc::clone(core);
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                make_ready(&core);
            });
        }
    }
}

/// Sends one order; false when the connection is over.
async fn send(socket: &mut WebSocket, out: Out) -> bool {
    match out {
        Out::Frame(text) => socket.send(Message::Text(text.as_ref().into())).await.is_ok(),
        Out::Close(code, reason) => {
            close(socket, code, reason).await;
            false
        }
    }
}

/// Closes the connection; says whether the client took part.
async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) -> bool {
    let frame = CloseFrame { code, reason: reason.into() };
    let finish = async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    tokio::time::timeout(GOODBYE_WITHIN, finish).await.is_ok()
}
