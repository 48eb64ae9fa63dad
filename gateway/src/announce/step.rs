//! What a delivery needs next, decided from records alone.

use asks::life::{Life, UnixMillis};
use asks::place::MessageRef;
use store::record::{AskRecord, Delivery, DeliveryState};

/// A missing card is replaced at most once in this time.
const REPLACE_AFTER_MS: UnixMillis = 60 * 60 * 1000;
/// A card that the platform refused is tried again after this time.
const RETRY_REFUSED_MS: UnixMillis = 24 * 60 * 60 * 1000;
/// How often something may be sent when nobody knows whether an earlier send arrived.
const MAX_SENDS: u32 = 2;
/// The same where a repeated send stays one message. Not without end: a platform remembers its keys for some minutes only.
const MAX_SENDS_ONCE: u32 = 8;

/// What to do for one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It is as it should be, or waits for its ask to move.
    Nothing,
    /// Send the card, as this attempt.
    Present {
        /// Which attempt it is, from 1.
        attempt: u32,
        /// When this replaces a message that went missing.
        replaces: bool,
    },
    /// Change the message to what the card says now.
    Revise,
    /// Tell another message with the same card how the ask ended.
    ReviseCopy(MessageRef),
    /// Never send it: the ask was over before the card was shown.
    Drop,
    /// Do not send it: its account is not linked to this place any more. Should it be linked again, it is sent then.
    Withhold,
    /// Give it up: it was sent as often as is safe, and nobody knows whether it arrived.
    GiveUp,
}

/// Decides the next step; `digest` is that of what the card should say now.
///
/// It looks at where things stand and never at how they came there. So a restart, a lost reply and a burst of changes all
/// end in the same place, and of several changes only the latest is sent.
#[must_use]
pub(super) fn step(record: &AskRecord, delivery: &Delivery, digest: u64, now: UnixMillis, sends_once: bool) -> Step {
    let open = record.life.is_open();
    let over = record.life.is_over();
    let most = most_sends(sends_once);
    match &delivery.state {
        DeliveryState::Planned | DeliveryState::Dropped if open => Step::Present { attempt: 1, replaces: false },
        DeliveryState::Planned if record.life.is_over() => Step::Drop,
        // Where that is one message, it is also how to learn which message may be there with buttons that do nothing any more.
        DeliveryState::Sending { attempt } if (open || (over && sends_once)) && *attempt < most => {
            Step::Present { attempt: attempt + 1, replaces: false }
        }
        DeliveryState::Sending { .. } if matches!(record.life, Life::Claimed { .. } | Life::Unclear { .. }) => {
            Step::Nothing
        }
        DeliveryState::Sending { .. } => Step::GiveUp,
        DeliveryState::Shown { rendered, .. } if *rendered == digest => match delivery.copies.first() {
            Some(copy) if record.life.is_over() => Step::ReviseCopy(copy.clone()),
            _ => Step::Nothing,
        },
        DeliveryState::Shown { .. } => Step::Revise,
        DeliveryState::Missing if open && may_replace(delivery, now) => Step::Present { attempt: 1, replaces: true },
        DeliveryState::Parked { rendered, at, .. }
            if open && (*rendered != digest || now.saturating_sub(*at) >= RETRY_REFUSED_MS) =>
        {
            Step::Present { attempt: 1, replaces: false }
        }
        // Planned while an answer from elsewhere is on its way: shown only if the ask comes back.
        DeliveryState::Planned
        | DeliveryState::Dropped
        | DeliveryState::Missing
        | DeliveryState::Unconfirmed
        | DeliveryState::Parked { .. } => Step::Nothing,
    }
}

/// The same at a place that its account is not linked to any more: what is shown there says so, and nothing new is sent.
#[must_use]
pub(super) fn step_unlinked(delivery: &Delivery, digest: u64) -> Step {
    match &delivery.state {
        DeliveryState::Planned | DeliveryState::Sending { .. } => Step::Withhold,
        DeliveryState::Shown { rendered, .. } if *rendered != digest => Step::Revise,
        DeliveryState::Shown { .. } => delivery.copies.first().cloned().map_or(Step::Nothing, Step::ReviseCopy),
        DeliveryState::Missing | DeliveryState::Parked { .. } | DeliveryState::Unconfirmed | DeliveryState::Dropped => {
            Step::Nothing
        }
    }
}

/// How often something may be sent, counting the first time, while nobody knows whether an earlier send arrived.
#[must_use]
pub(super) const fn most_sends(sends_once: bool) -> u32 {
    if sends_once { MAX_SENDS_ONCE } else { MAX_SENDS }
}

fn may_replace(delivery: &Delivery, now: UnixMillis) -> bool {
    delivery.replaced_at.is_none_or(|at| now.saturating_sub(at) >= REPLACE_AFTER_MS)
}

#[cfg(test)]
mod tests {
    use asks::ids::{AccountKey, AskKey};
    use asks::life::{Claim, Why};
    use asks::place::{Actor, Place};
    use serde_json::json;
    use store::record::{DeliveryId, Seq};

    use super::*;

    fn place() -> Place {
        Place::Telegram { chat: 7, topic: None }
    }

    fn record(life: Life) -> AskRecord {
        AskRecord {
            key: AskKey { source: "app".into(), conversation: "h".into(), ask: "c".into() },
            account: AccountKey { source: "app".into(), name: "me".into() },
            card: serde_json::from_value(json!({"toolCallId": "c", "kind": "confirm", "text": "?"})).expect("a card"),
            content: None,
            conversation_title: None,
            first_seen: 0,
            created: String::new(),
            life,
            dead_buttons: Vec::new(),
            unused: 0,
            votes: Vec::new(),
            seq: Seq(1),
            moved_at: 0,
            finished: false,
        }
    }

    fn delivery(state: DeliveryState) -> Delivery {
        let ask = AskKey { source: "app".into(), conversation: "h".into(), ask: "c".into() };
        Delivery { id: DeliveryId(1), ask, place: place(), state, replaced_at: None, copies: Vec::new(), refused: None }
    }

    #[test]
    fn the_next_step_follows_from_where_things_stand() {
        let claim = Claim {
            button: "a".into(),
            label: "A".into(),
            actor: Actor::Telegram(7),
            actor_name: None,
            place: place(),
            at: 0,
            response: None,
        };
        let live = || Life::Live { note: None };
        let claimed = || Life::Claimed { claim: claim.clone(), hold: None };
        let over = || Life::Withdrawn { why: Why::Cancelled };
        let shown =
            |rendered| DeliveryState::Shown { message: MessageRef { chat: "7".into(), id: "1".into() }, rendered };
        let refused = |rendered, at| DeliveryState::Parked { why: "refused".into(), rendered, at };
        let first = Step::Present { attempt: 1, replaces: false };
        let table = [
            (Life::Announcing, DeliveryState::Planned, first.clone()),
            (live(), DeliveryState::Planned, first.clone()),
            (live(), DeliveryState::Dropped, first.clone()),
            (claimed(), DeliveryState::Planned, Step::Nothing),
            (over(), DeliveryState::Planned, Step::Drop),
            (over(), DeliveryState::Dropped, Step::Nothing),
            (live(), DeliveryState::Sending { attempt: 1 }, Step::Present { attempt: 2, replaces: false }),
            (live(), DeliveryState::Sending { attempt: 2 }, Step::GiveUp),
            (claimed(), DeliveryState::Sending { attempt: 1 }, Step::Nothing),
            (over(), DeliveryState::Sending { attempt: 1 }, Step::GiveUp),
            (live(), shown(5), Step::Nothing),
            (live(), shown(4), Step::Revise),
            (over(), shown(4), Step::Revise),
            (live(), DeliveryState::Missing, Step::Present { attempt: 1, replaces: true }),
            (over(), DeliveryState::Missing, Step::Nothing),
            (live(), refused(5, 10), Step::Nothing),
            (live(), refused(4, 10), first.clone()),
            (live(), refused(5, 10 - RETRY_REFUSED_MS), first),
            (over(), refused(4, 10), Step::Nothing),
            (live(), DeliveryState::Unconfirmed, Step::Nothing),
        ];
        for (life, state, expected) in table {
            let name = format!("{} and {state:?}", life.name());
            assert_eq!(step(&record(life), &delivery(state), 5, 10, false), expected, "{name}");
        }
    }

    #[test]
    fn where_it_is_not_linked_nothing_new_is_sent() {
        let message = MessageRef { chat: "7".into(), id: "1".into() };
        let shown = |rendered| DeliveryState::Shown { message: message.clone(), rendered };
        let table = [
            (DeliveryState::Planned, Step::Withhold),
            (DeliveryState::Sending { attempt: 1 }, Step::Withhold),
            (shown(4), Step::Revise),
            (shown(5), Step::Nothing),
            (DeliveryState::Missing, Step::Nothing),
            (DeliveryState::Dropped, Step::Nothing),
            (DeliveryState::Parked { why: "refused".into(), rendered: 4, at: 0 }, Step::Nothing),
        ];
        for (state, expected) in table {
            assert_eq!(step_unlinked(&delivery(state.clone()), 5), expected, "{state:?}");
        }
    }

    #[test]
    fn where_a_repeated_send_is_one_message_a_doubt_is_asked_away() {
        let again = |attempt| Step::Present { attempt, replaces: false };
        let doubt = |attempt| delivery(DeliveryState::Sending { attempt });
        let (live, over) = (record(Life::Live { note: None }), record(Life::Withdrawn { why: Why::Cancelled }));
        assert_eq!(step(&live, &doubt(2), 5, 10, true), again(3));
        assert_eq!(step(&over, &doubt(1), 5, 10, true), again(2), "its buttons may be there");
        assert_eq!(step(&live, &doubt(MAX_SENDS_ONCE), 5, 10, true), Step::GiveUp, "not without end");
        assert_eq!(step(&live, &doubt(2), 5, 10, false), Step::GiveUp);
    }

    #[test]
    fn a_second_copy_is_told_how_it_ended_and_not_before() {
        let message = |id: &str| MessageRef { chat: "7".into(), id: id.into() };
        let mut shown = delivery(DeliveryState::Shown { message: message("1"), rendered: 5 });
        shown.copies.push(message("2"));
        assert_eq!(step(&record(Life::Live { note: None }), &shown, 5, 10, false), Step::Nothing);
        let over = record(Life::Withdrawn { why: Why::Cancelled });
        assert_eq!(step(&over, &shown, 4, 10, false), Step::Revise, "the card itself comes first");
        assert_eq!(step(&over, &shown, 5, 10, false), Step::ReviseCopy(message("2")));
    }

    #[test]
    fn a_missing_card_is_replaced_at_most_once_an_hour() {
        let mut missing = delivery(DeliveryState::Missing);
        missing.replaced_at = Some(1_000);
        let live = record(Life::Live { note: None });
        assert_eq!(step(&live, &missing, 5, 1_000 + REPLACE_AFTER_MS - 1, false), Step::Nothing);
        assert_eq!(
            step(&live, &missing, 5, 1_000 + REPLACE_AFTER_MS, false),
            Step::Present { attempt: 1, replaces: true }
        );
    }
}
