//! One ask's life: an enum with data whose transitions consume it.
//!
//! An illegal move is an error value, never a panic and never a silent no-op. The invariants the moves keep:
//!
//! 1. At most one claim per ask, by compare-and-swap in the ledger.
//! 2. A claim is on disk before the person is told that it is recorded and before the turn is posted.
//! 3. Only a tap makes a claim: never a timer, never a restart.
//! 4. An error, a 401, a 404 or a truncated list proves nothing: only a complete, successful poll withdraws.
//! 5. A poll judges only asks whose last move was durable before its request was sent, and never one with a turn in flight.
//! 6. "Accepted, still listed, no answer row" is told to the person and not posted again by itself.
//! 7. A token is never re-bound and never truncated; after settling it only reports the outcome, until retention.

use serde::{Deserialize, Serialize};

use crate::ids::ButtonId;
use crate::place::{Actor, Place};

/// Wall time in milliseconds since 1970, for what people read and for retention; never for back-off.
pub type UnixMillis = i64;

/// The tap that won.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The pressed button, whose id goes to the source.
    pub button: ButtonId,
    /// What the button said when it was pressed.
    pub label: String,
    /// Who pressed.
    pub actor: Actor,
    /// What the platform calls that person; untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// Where it was pressed.
    pub place: Place,
    /// When it was pressed.
    pub at: UnixMillis,
    /// The whole answer, where it was given on the answer page and not by a button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<serde_json::Value>,
}

/// Why a claimed answer has not been sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The source asked us to slow down.
    RateLimited,
    /// The source does not accept the account's credential.
    SignIn,
    /// The source cannot be reached.
    Unreachable,
}

/// What a live card says about an earlier answer that did not stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum Note {
    /// The source took the answer back: its agent failed before it had used it.
    Undone {
        /// The button that had been pressed.
        label: String,
        /// What the source said; untrusted text.
        error: String,
    },
    /// The answer could not be brought to the source within the tries it is given.
    NotDelivered {
        /// The tap, which may still turn out to have arrived.
        claim: Claim,
    },
    /// The source refused the button; its answer needs the full app.
    ButtonRefused {
        /// The button that had been pressed.
        label: String,
    },
    /// The source refused a whole answer: it breaks the ask's rules as the source knows them.
    AnswerRefused {
        /// The answer, kept so that nothing typed is lost.
        claim: Claim,
        /// Path and sentence of each broken rule; untrusted text.
        fields: Vec<(String, String)>,
    },
    /// The source accepted the answer, and the agent still waits: no model took it.
    NotConsumed {
        /// The tap, which may still turn out to count.
        claim: Claim,
    },
    /// The source lists the ask again, so the answer that had settled it was taken back.
    Reopened,
    /// A listener was away for longer than the platform keeps taps.
    TapsMayBeLost,
}

/// How an ask ended with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// A tap here answered it.
    Ours {
        /// The tap.
        claim: Claim,
        /// What failed after the answer was kept; untrusted text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Another answer stood, although a tap here was on its way.
    Elsewhere {
        /// The tap that came too late.
        claim: Claim,
        /// The label of the answer that stands, where the source tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

/// Why an ask ended without an answer from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Why {
    /// The source no longer lists it: it was answered or dropped somewhere else.
    Elsewhere {
        /// The label of the answer that stands, where the source tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// The conversation went on without an answer.
    Cancelled,
    /// The account may not answer it; never posted again.
    Forbidden,
    /// Its conversation does not exist any more; never posted again.
    Gone,
    /// Its source asks something else under the same id; that has a card of its own.
    Replaced,
}

impl Why {
    /// Whether a source that lists the ask again brings it back to life.
    #[must_use]
    pub const fn may_reopen(&self) -> bool {
        matches!(self, Self::Elsewhere { .. } | Self::Cancelled)
    }
}

/// Where an ask stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Life {
    /// Known, shown nowhere yet. Next: `Live`, `Claimed` (a tap proves that a card arrived), `Withdrawn`.
    Announcing,
    /// Shown somewhere, and waiting. Next: `Claimed`, `Withdrawn`.
    Live {
        /// What the card says about an answer that did not stand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    },
    /// A tap won; its turn is to be posted or in flight. Next: `Settled`, `Live`, `Unclear`, `Withdrawn`.
    Claimed {
        /// The tap.
        claim: Claim,
        /// Why its turn waits, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Hold>,
    },
    /// The turn was posted, or may have been, and nobody knows how it ended. Next: `Claimed`, `Settled`, `Live`,
    /// `Withdrawn`.
    Unclear {
        /// The tap.
        claim: Claim,
        /// When it became unclear first.
        since: UnixMillis,
        /// How often its turn was posted again since then.
        tries: u32,
    },
    /// Answered. Next: `Live`, when the source undid the answer.
    Settled {
        /// How.
        outcome: Outcome,
    },
    /// Ended without an answer from here. Next: `Live`, when the source lists it again.
    Withdrawn {
        /// Why.
        why: Why,
    },
}

/// A move the table of an ask's life does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an ask that is {from} cannot {wanted}; read its record again and decide anew")]
pub struct IllegalMove {
    from: &'static str,
    wanted: &'static str,
}

/// How often an unclear answer is posted again before its card goes live with a sentence.
pub const MAX_REPOSTS: u32 = 5;
/// How long an unclear answer is posted again, in milliseconds.
pub const REPOST_WINDOW_MS: UnixMillis = 10 * 60 * 1000;

impl Life {
    /// The state's name, for logs and `--json`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Announcing => "announcing",
            Self::Live { .. } => "live",
            Self::Claimed { .. } => "claimed",
            Self::Unclear { .. } => "unclear",
            Self::Settled { .. } => "settled",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }

    /// Whether the ask has ended, as far as anybody knows now.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Settled { .. } | Self::Withdrawn { .. })
    }

    /// Whether a tap could win now.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Announcing | Self::Live { .. })
    }

    /// The tap that won, while and after it counts.
    #[must_use]
    pub const fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Claimed { claim, .. }
            | Self::Unclear { claim, .. }
            | Self::Settled { outcome: Outcome::Ours { claim, .. } | Outcome::Elsewhere { claim, .. } } => Some(claim),
            _ => None,
        }
    }

    /// A platform accepted the first delivery.
    ///
    /// # Errors
    /// Unless the ask is announcing.
    pub fn announced(self) -> Result<Self, IllegalMove> {
        match self {
            Self::Announcing => Ok(Self::Live { note: None }),
            other => Err(other.cannot("be announced")),
        }
    }

    /// A tap won.
    ///
    /// # Errors
    /// Unless the ask is open: somebody was faster, or it is over.
    pub fn claimed(self, claim: Claim) -> Result<Self, IllegalMove> {
        match self {
            Self::Announcing | Self::Live { .. } => Ok(Self::Claimed { claim, hold: None }),
            other => Err(other.cannot("be claimed")),
        }
    }

    /// The claimed answer waits, or waits no longer.
    ///
    /// # Errors
    /// Unless the ask is claimed.
    pub fn held(self, hold: Option<Hold>) -> Result<Self, IllegalMove> {
        match self {
            Self::Claimed { claim, .. } => Ok(Self::Claimed { claim, hold }),
            other => Err(other.cannot("be held")),
        }
    }

    /// The turn was accepted, or the history shows our answer.
    ///
    /// # Errors
    /// Unless a claim is on its way.
    pub fn accepted(self, error: Option<String>) -> Result<Self, IllegalMove> {
        match self {
            Self::Claimed { claim, .. } | Self::Unclear { claim, .. } => {
                Ok(Self::Settled { outcome: Outcome::Ours { claim, error } })
            }
            other => Err(other.cannot("be settled")),
        }
    }

    /// The history shows another answer than ours.
    ///
    /// # Errors
    /// Unless a claim is on its way.
    pub fn answered_elsewhere(self, label: Option<String>) -> Result<Self, IllegalMove> {
        match self {
            Self::Claimed { claim, .. } | Self::Unclear { claim, .. } => {
                Ok(Self::Settled { outcome: Outcome::Elsewhere { claim, label } })
            }
            other => Err(other.cannot("be settled elsewhere")),
        }
    }

    /// The claim did not stand, and the ask waits again.
    ///
    /// # Errors
    /// Unless a claim is on its way.
    pub fn reopened(self, note: Note) -> Result<Self, IllegalMove> {
        match self {
            Self::Claimed { .. } | Self::Unclear { .. } => Ok(Self::Live { note: Some(note) }),
            other => Err(other.cannot("be reopened")),
        }
    }

    /// Nobody knows how the turn ended.
    ///
    /// # Errors
    /// Unless a claim is on its way.
    pub fn unclear(self, now: UnixMillis) -> Result<Self, IllegalMove> {
        match self {
            Self::Claimed { claim, .. } => Ok(Self::Unclear { claim, since: now, tries: 0 }),
            unclear @ Self::Unclear { .. } => Ok(unclear),
            other => Err(other.cannot("become unclear")),
        }
    }

    /// A fresh poll lists the unclear ask, so the same button is posted once more.
    ///
    /// # Errors
    /// Unless the ask is unclear and tries are left ([`MAX_REPOSTS`] within [`REPOST_WINDOW_MS`]).
    pub fn tried_again(self, now: UnixMillis) -> Result<Self, IllegalMove> {
        match self {
            Self::Unclear { claim, since, tries }
                if tries < MAX_REPOSTS && now.saturating_sub(since) <= REPOST_WINDOW_MS =>
            {
                Ok(Self::Unclear { claim, since, tries: tries + 1 })
            }
            other => Err(other.cannot("be posted again")),
        }
    }

    /// The ask ended without an answer from here.
    ///
    /// # Errors
    /// If it is over already.
    pub fn withdrawn(self, why: Why) -> Result<Self, IllegalMove> {
        match self {
            over @ (Self::Settled { .. } | Self::Withdrawn { .. }) => Err(over.cannot("be withdrawn")),
            _ => Ok(Self::Withdrawn { why }),
        }
    }

    /// A fresh poll lists an ask that was over.
    ///
    /// # Errors
    /// Unless it is over, and for a reason that can pass.
    pub fn listed_again(self, note: Note) -> Result<Self, IllegalMove> {
        match self {
            Self::Settled { .. } => Ok(Self::Live { note: Some(note) }),
            Self::Withdrawn { ref why } if why.may_reopen() => Ok(Self::Live { note: Some(note) }),
            other => Err(other.cannot("be listed again")),
        }
    }

    /// The tap whose answer did not seem to stand, on a card that is live again because of it.
    #[must_use]
    pub const fn late_claim(&self) -> Option<&Claim> {
        match self {
            Self::Live { note: Some(Note::NotDelivered { claim } | Note::NotConsumed { claim }) } => Some(claim),
            _ => None,
        }
    }

    /// The history shows an answer of ours that did not seem to stand: it arrived late.
    ///
    /// # Errors
    /// Unless the ask is live because of such an answer.
    pub fn found_ours(self) -> Result<Self, IllegalMove> {
        match self.late_claim() {
            Some(claim) => Ok(Self::Settled { outcome: Outcome::Ours { claim: claim.clone(), error: None } }),
            None => Err(self.cannot("be settled by a late answer")),
        }
    }

    /// A live card says something, or says it no longer.
    ///
    /// # Errors
    /// Unless the ask is live.
    pub fn noted(self, note: Option<Note>) -> Result<Self, IllegalMove> {
        match self {
            Self::Live { .. } => Ok(Self::Live { note }),
            other => Err(other.cannot("carry a note")),
        }
    }

    const fn cannot(&self, wanted: &'static str) -> IllegalMove {
        IllegalMove { from: self.name(), wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim {
            button: ButtonId::new("approve"),
            label: "Approve".into(),
            actor: Actor::Telegram(7),
            actor_name: None,
            place: Place::Telegram { chat: 7, topic: None },
            at: 1,
            response: None,
        }
    }

    fn every_state() -> Vec<Life> {
        vec![
            Life::Announcing,
            Life::Live { note: None },
            Life::Claimed { claim: claim(), hold: None },
            Life::Unclear { claim: claim(), since: 1, tries: 0 },
            Life::Settled { outcome: Outcome::Ours { claim: claim(), error: None } },
            Life::Withdrawn { why: Why::Elsewhere { label: None } },
            Life::Withdrawn { why: Why::Gone },
        ]
    }

    /// The design's table, read as: from which states is each move legal?
    #[test]
    fn only_the_moves_of_the_table_are_legal() {
        type Move = fn(Life) -> Result<Life, IllegalMove>;
        let table: [(&str, Move, &[usize], &str); 9] = [
            ("announced", Life::announced, &[0], "live"),
            ("claimed", |life| life.claimed(claim()), &[0, 1], "claimed"),
            ("held", |life| life.held(Some(Hold::SignIn)), &[2], "claimed"),
            ("accepted", |life| life.accepted(None), &[2, 3], "settled"),
            ("elsewhere", |life| life.answered_elsewhere(None), &[2, 3], "settled"),
            ("reopened", |life| life.reopened(Note::Reopened), &[2, 3], "live"),
            ("unclear", |life| life.unclear(5), &[2, 3], "unclear"),
            ("withdrawn", |life| life.withdrawn(Why::Gone), &[0, 1, 2, 3], "withdrawn"),
            ("listed again", |life| life.listed_again(Note::Reopened), &[4, 5], "live"),
        ];
        for (name, act, legal, result) in table {
            for (index, state) in every_state().into_iter().enumerate() {
                let from = state.name();
                match act(state) {
                    Ok(next) => {
                        assert!(legal.contains(&index), "{name} from {from} must be refused");
                        assert_eq!(next.name(), result, "{name} from {from}");
                    }
                    Err(refused) => {
                        assert!(!legal.contains(&index), "{name} from {from} must be allowed");
                        assert!(refused.to_string().contains(from));
                    }
                }
            }
        }
    }

    #[test]
    fn reposts_end_after_five_tries_or_ten_minutes() {
        let mut life = Life::Claimed { claim: claim(), hold: None }.unclear(1_000).expect("unclear");
        for _ in 0..MAX_REPOSTS {
            life = life.tried_again(2_000).expect("a try is left");
        }
        assert!(life.clone().tried_again(2_000).is_err());
        let late = Life::Unclear { claim: claim(), since: 0, tries: 0 };
        assert!(late.tried_again(REPOST_WINDOW_MS + 1).is_err());
    }

    #[test]
    fn an_answer_that_arrives_late_is_still_ours() {
        let given_up =
            Life::Unclear { claim: claim(), since: 1, tries: 5 }.reopened(Note::NotDelivered { claim: claim() });
        let settled = given_up.expect("reopened").found_ours().expect("settled");
        assert_eq!(settled, Life::Settled { outcome: Outcome::Ours { claim: claim(), error: None } });
        for state in every_state() {
            assert!(state.found_ours().is_err(), "only a card that is live because of it");
        }
    }

    #[test]
    fn a_life_survives_its_record() {
        for state in every_state() {
            let json = serde_json::to_string(&state).expect("serialises");
            assert_eq!(serde_json::from_str::<Life>(&json).expect("reads back"), state);
        }
    }
}
