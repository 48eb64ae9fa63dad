//! What was read, as the port's types.

use asks::ask::{AskSummary, History, PendingAsk, Row, RowKind};
use asks::ids::{ConversationId, Subject};
use asks::wire;

use crate::source::{AnswerRow, Conversation, Listed, Snapshot};

/// A list. One entry without its ids makes it incomplete: it could be any of the asks that are missing.
#[must_use]
pub(super) fn snapshot(pending: wire::Pending, subject: Option<Subject>) -> Snapshot {
    let mut snapshot = Snapshot {
        complete: true,
        asks: pending.asks.into_iter().map(listed).collect(),
        unreadable: Vec::new(),
        subject,
    };
    for lost in pending.unreadable {
        match (lost.conversation, lost.ask) {
            (Some(conversation), Some(ask)) => snapshot.unreadable.push((conversation, ask)),
            _ => snapshot.complete = false,
        }
    }
    snapshot
}

/// The ask that a turn paused on.
#[must_use]
pub(super) fn next(ask: AskSummary, conversation: ConversationId, conversation_title: Option<String>) -> Listed {
    Listed { conversation, conversation_title, ask: ask.ask, card: ask.card, created: String::new() }
}

/// A conversation.
#[must_use]
pub(super) fn conversation(read: wire::Conversation) -> Conversation {
    let complete = read.unreadable.is_empty();
    let History { title, rows, pending_ask, .. } = read.history;
    let mut answers = Vec::new();
    let mut rest = rows.as_slice();
    while let Some((row, after)) = rest.split_first() {
        if let Some((ask, response)) = row.ask_id.as_ref().zip(answer(row)) {
            answers.push(AnswerRow { ask: ask.clone(), response: response.clone(), said_after: said(after) });
        }
        rest = after;
    }
    Conversation { title, pending: pending_ask.map(|ask| (ask.ask, ask.input)), answers, complete }
}

fn listed(ask: PendingAsk) -> Listed {
    Listed {
        conversation: ask.conversation,
        conversation_title: ask.title,
        ask: ask.ask,
        card: ask.card,
        created: ask.created,
    }
}

/// The envelope in a row that answers an ask. A host's tool may return anything, but hardly these words.
fn answer(row: &Row) -> Option<&serde_json::Value> {
    let result = row.result.as_ref().filter(|_| row.kind == RowKind::ToolResult)?;
    let action = result.get("action")?.as_str()?;
    matches!(action, "accept" | "decline" | "cancel").then_some(result)
}

/// What the agent says in rows, up to the next ask, answer or message of the person.
fn said(rows: &[Row]) -> String {
    let ends = |row: &&Row| row.kind == RowKind::User || row.ask.is_some() || answer(row).is_some();
    let texts = rows.iter().take_while(|row| !ends(row)).filter(|row| row.kind == RowKind::Assistant);
    let texts: Vec<&str> = texts.map(|row| row.text.as_str()).filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &str) -> Conversation {
        let body = format!(r#"{{"data":{{"id":"h1","title":"T","prompts":{rows}}}}}"#);
        conversation(wire::read_history(body.as_bytes()).unwrap())
    }

    #[test]
    fn an_answer_comes_with_what_was_said_up_to_the_next_ask() {
        let found = read(
            r#"[
            {"type":"user","text":"go"},
            {"type":"tool-call","toolCallId":"a1","ask":{"kind":"confirm","status":"answered"}},
            {"type":"tool-result","toolCallId":"a1","result":{"action":"accept","content":{"confirmed":true}}},
            {"type":"assistant","text":"One."},
            {"type":"tool-call","toolCallId":"t1","toolName":"search"},
            {"type":"tool-result","toolCallId":"t1","result":{"action":"found"}},
            {"type":"assistant","text":"  "},
            {"type":"assistant","text":"Two."},
            {"type":"tool-call","toolCallId":"a2","ask":{"kind":"confirm","status":"cancelled"}},
            {"type":"assistant","text":"Not after a1."},
            {"type":"tool-result","toolCallId":"a2","result":{"action":"cancel","reason":"user_sent_message"}},
            {"type":"user","text":"never mind"},
            {"type":"assistant","text":"Neither after a2."}]"#,
        );
        let answers: Vec<_> = found.answers.iter().map(|row| (row.ask.as_str(), row.said_after.as_str())).collect();
        assert_eq!(answers, [("a1", "One.\n\nTwo."), ("a2", "")]);
        assert!(found.complete);
        assert_eq!(found.title.as_deref(), Some("T"));
    }

    #[test]
    fn a_row_that_cannot_be_read_is_told() {
        let rows = r#"[7, {"type":"tool-result","toolCallId":"a1","result":{"action":"decline"}}]"#;
        let found = read(rows);
        assert!(!found.complete);
        assert_eq!(found.answers.len(), 1);
    }

    #[test]
    fn a_list_with_an_entry_without_ids_is_incomplete() {
        let entry = |ids: &str| format!(r#"{{{ids}"simple":7}}"#);
        let cases = [(entry(""), false, 0), (entry(r#""historyId":"h1","toolCallId":"c1","#), true, 1)];
        for (entry, complete, unreadable) in cases {
            let body = format!(r#"{{"data":[{entry}]}}"#);
            let snapshot = snapshot(wire::read_pending(body.as_bytes()).unwrap(), None);
            assert_eq!((snapshot.complete, snapshot.unreadable.len()), (complete, unreadable), "{body}");
        }
    }
}
