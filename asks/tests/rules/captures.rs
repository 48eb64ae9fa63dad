//! Every response that was captured from a running host is read whole, and what is understood of it is written alike.

use std::fs;

use asks::wire::{read_history, read_pending, read_turn};
use serde_json::{Value, json};

use crate::reference::{parse, shared};

/// The JSON blocks of the captures.
fn captured() -> Vec<Value> {
    let Some(path) = shared("captures.md") else { return Vec::new() };
    let text = fs::read_to_string(path).expect("readable captures");
    let blocks: Vec<Value> = text
        .split("```json\n")
        .skip(1)
        .map(|rest| parse(rest.split("```").next().expect("the end of a block")))
        .collect();
    assert!(blocks.len() > 40, "too few captures: {}", blocks.len());
    blocks
}

#[test]
fn captured_responses_are_read() {
    let mut seen = [0; 3];
    let bodies = captured();
    for body in &bodies {
        let data = &body["data"];
        let bytes = body.to_string().into_bytes();
        if data.as_array().is_some_and(|list| list.iter().all(|entry| entry.get("simple").is_some())) {
            let read = read_pending(&bytes).expect("a list");
            assert_eq!((json!(read.asks), read.unreadable.len()), (data.clone(), 0), "{body}");
            seen[0] += 1;
        } else if data.get("historyId").is_some() {
            let read = read_turn(&bytes).expect("a result");
            assert_eq!((json!(read.result), read.unreadable), (data.clone(), None), "{body}");
            seen[1] += 1;
        } else if data.get("prompts").is_some() {
            let read = read_history(&bytes).expect("a conversation");
            assert_eq!(read.unreadable, [], "{body}");
            assert_eq!(json!(read.history.rows), data["prompts"], "{body}");
            assert_eq!(json!(read.history.pending_ask), data["pendingAsk"], "{body}");
            seen[2] += 1;
        }
    }
    assert!(bodies.is_empty() || seen.iter().all(|count| *count > 0), "{seen:?}");
}
