//! What holds for any frame, interaction and answer of Discord.

use std::time::Duration;

use serde_json::Value;

use super::failure::{AckTrouble, Refusal, Trouble, ack_trouble, failure};
use super::interaction::{self, What};
use super::rest::{is_global, wait, window};
use super::session::{Closed, Frame, Session, closed, resume_address};
use crate::channel::Failure;
use crate::fuzzing::reply;

const A_DAY: Duration = Duration::from_hours(24);

/// Reads bytes as a frame of the gateway, and its data as what HELLO, READY and an interaction carry.
///
/// Asserts that a session is resumed only at its gateway's own host, and that only the known close codes are fatal.
///
/// # Panics
/// If one of these does not hold.
pub fn discord_frame(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(frame) = Frame::read(text) else { return };
    let whole: Value = serde_json::from_str(text).unwrap_or_default();
    assert_eq!(whole.get("s").and_then(Value::as_u64), frame.seq, "another number than the frame's");
    let session = Session {
        id: frame.data.get("session_id").and_then(Value::as_str).map(str::to_owned),
        resume_url: frame.data.get("resume_gateway_url").and_then(Value::as_str).map(str::to_owned),
        seq: frame.seq,
    };
    if let Some(address) = resume_address(&session, "ws://127.0.0.1:4001") {
        assert_eq!(address.host_str(), Some("127.0.0.1"), "the simulated gateway was left for {address}");
    }
    if let Some(address) = resume_address(&session, "wss://gateway.discord.gg") {
        let host = address.host_str().unwrap_or_default();
        assert!(host == "discord.gg" || host.ends_with(".discord.gg"), "Discord was left for {address}");
    }
    let code = frame.seq.and_then(|seq| u16::try_from(seq).ok());
    if let Closed::Fatal(failure) = closed(code) {
        assert!(matches!(code, Some(4004 | 4010..=4014)), "{failure} for {code:?}");
    }
    event(&frame.data);
}

/// Reads bytes as an interaction.
///
/// Asserts that a press keeps its id and that its token is in nothing that is printed.
///
/// # Panics
/// If one of these does not hold.
pub fn discord_interaction(bytes: &[u8]) {
    if let Ok(data) = serde_json::from_slice::<Value>(bytes) {
        event(&data);
    }
}

fn event(data: &Value) {
    let Ok(read) = interaction::read(data) else { return };
    assert!(read.user != 0 && read.ticket.id != 0, "an id of nothing");
    assert!(read.channel != Some(0) && read.ticket.dm.is_none_or(|dm| Some(dm) == read.channel), "another channel");
    assert!(!read.ticket.token.0.is_empty(), "an interaction that cannot be answered");
    match &read.what {
        What::Press { custom_id, .. } => {
            assert_eq!(data.pointer("/data/custom_id").and_then(Value::as_str), Some(custom_id.as_str()));
            let shown = format!("{:?}", read.what);
            assert!(custom_id.len() < 24 || !shown.contains(custom_id), "a token is printed");
        }
        What::Command(line) => assert!(line.starts_with('/'), "no command: {line}"),
    }
}

/// Reads a status line, headers and a body as a refusal of Discord's.
///
/// Asserts that no wait is longer than a day, that words are short, that a refused interaction never stops the bot, and that
/// a server's own trouble without a code of Discord's never parks a place or retires a message.
///
/// # Panics
/// If one of these does not hold.
pub fn discord_answer(bytes: &[u8]) {
    let (status, headers, body) = reply(bytes);
    let asked = wait(status, &headers, body);
    assert!(asked.is_none_or(|wait| wait <= A_DAY), "a wait of more than a day");
    assert!(window(&headers).is_none_or(|window| window.reset_after <= A_DAY), "a window of more than a day");
    let _ = is_global(&headers, body);
    let refusal = Refusal::read(status, body, asked);
    assert!(refusal.message.chars().count() <= 300, "words that are too long for a log");
    let trouble = Trouble::Refused(refusal.clone());
    if ack_trouble(&trouble) == AckTrouble::Already {
        assert_eq!(refusal.code, 40060, "acknowledged before, by whom?");
    }
    match failure(trouble) {
        Failure::Retry { after, .. } => assert!(after <= A_DAY, "a retry after more than a day"),
        Failure::Unauthorised => assert_eq!(status, 401, "the bot is stopped by {status}"),
        next @ (Failure::MessageGone | Failure::PlaceGone { .. }) => {
            assert!(refusal.code != 0 || status < 500, "{next:?} after {status} without a code");
        }
        _ => {}
    }
}
