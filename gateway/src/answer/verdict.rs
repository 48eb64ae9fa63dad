//! What a source's verdict means for an ask: a pure function.

use std::time::Duration;

use adapters::source::{Listed, Verdict};
use asks::ids::ButtonId;
use asks::life::{Claim, Hold, Life, Note, UnixMillis, Why};

/// What to do after a verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// Move the ask, and say and announce what came with it.
    Move {
        /// Where it stands from now on.
        life: Box<Life>,
        /// What the agent said, for whoever answered.
        said: Option<String>,
        /// What it asks next.
        next: Option<Box<Listed>>,
        /// A button that is not offered again.
        kill: Option<ButtonId>,
    },
    /// The answer stands and waits; post it again after this long.
    Hold {
        /// For what.
        hold: Hold,
        /// How long; `None` for a growing pause.
        after: Option<Duration>,
    },
    /// Nobody knows how it ended; find out.
    Resolve,
}

/// Decides. `life` is `Claimed` or `Unclear`, with `claim`.
pub(super) fn decide(life: &Life, claim: &Claim, verdict: Verdict, now: UnixMillis) -> Decision {
    let label = claim.label.clone();
    let moved =
        |life: Result<Life, asks::life::IllegalMove>, said: Option<String>, next: Option<Listed>, kill| match life {
            Ok(life) => Decision::Move { life: Box::new(life), said, next: next.map(Box::new), kill },
            // The ask is not on its way any more; whoever moved it knows better.
            Err(_) => Decision::Resolve,
        };
    let life = life.clone();
    match verdict {
        Verdict::Accepted { text, next } => moved(life.accepted(None), some(text), next, None),
        Verdict::AcceptedWithError { text, error, next } => moved(life.accepted(Some(error)), some(text), next, None),
        Verdict::Reopened { error } => moved(life.reopened(Note::Undone { label, error }), None, None, None),
        Verdict::Invalid { fields } if claim.response.is_some() => {
            moved(life.reopened(Note::AnswerRefused { claim: claim.clone(), fields }), None, None, None)
        }
        Verdict::UnknownButton | Verdict::Invalid { .. } => {
            moved(life.reopened(Note::ButtonRefused { label }), None, None, Some(claim.button.clone()))
        }
        Verdict::Forbidden => moved(life.withdrawn(Why::Forbidden), None, None, None),
        Verdict::Gone => moved(life.withdrawn(Why::Gone), None, None, None),
        Verdict::RateLimited { after } => Decision::Hold { hold: Hold::RateLimited, after: Some(after) },
        Verdict::Unauthorised => Decision::Hold { hold: Hold::SignIn, after: None },
        Verdict::Unavailable { .. } => Decision::Hold { hold: Hold::Unreachable, after: None },
        Verdict::NotPending | Verdict::Unclear { .. } => match life.unclear(now) {
            Ok(life) => Decision::Move { life: Box::new(life), said: None, next: None, kill: None },
            Err(_) => Decision::Resolve,
        },
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use asks::life::Outcome;
    use asks::place::{Actor, Place};

    use super::*;

    #[test]
    fn every_verdict_leads_where_the_table_says() {
        let claim = Claim {
            button: "approve".into(),
            label: "Yes".into(),
            actor: Actor::Telegram(7),
            actor_name: None,
            place: Place::Telegram { chat: 7, topic: None },
            at: 0,
            response: None,
        };
        let settled = |error: Option<&str>| Life::Settled {
            outcome: Outcome::Ours { claim: claim.clone(), error: error.map(Into::into) },
        };
        let live = |note| Life::Live { note: Some(note) };
        let moved = |life, said: Option<&str>, kill: Option<&str>| Decision::Move {
            life: Box::new(life),
            said: said.map(Into::into),
            next: None,
            kill: kill.map(Into::into),
        };
        let unclear = Life::Unclear { claim: claim.clone(), since: 9, tries: 0 };
        let why = || "x".to_owned();
        let table = [
            (Verdict::Accepted { text: "Done".into(), next: None }, moved(settled(None), Some("Done"), None)),
            (Verdict::Accepted { text: " ".into(), next: None }, moved(settled(None), None, None)),
            (
                Verdict::AcceptedWithError { text: "Half".into(), error: "boom".into(), next: None },
                moved(settled(Some("boom")), Some("Half"), None),
            ),
            (
                Verdict::Reopened { error: "boom".into() },
                moved(live(Note::Undone { label: "Yes".into(), error: "boom".into() }), None, None),
            ),
            (Verdict::UnknownButton, moved(live(Note::ButtonRefused { label: "Yes".into() }), None, Some("approve"))),
            (
                Verdict::Invalid { fields: vec![] },
                moved(live(Note::ButtonRefused { label: "Yes".into() }), None, Some("approve")),
            ),
            (Verdict::Forbidden, moved(Life::Withdrawn { why: Why::Forbidden }, None, None)),
            (Verdict::Gone, moved(Life::Withdrawn { why: Why::Gone }, None, None)),
            (Verdict::NotPending, moved(unclear.clone(), None, None)),
            (Verdict::Unclear { why: why() }, moved(unclear, None, None)),
            (
                Verdict::RateLimited { after: Duration::from_secs(9) },
                Decision::Hold { hold: Hold::RateLimited, after: Some(Duration::from_secs(9)) },
            ),
            (Verdict::Unauthorised, Decision::Hold { hold: Hold::SignIn, after: None }),
            (Verdict::Unavailable { why: why() }, Decision::Hold { hold: Hold::Unreachable, after: None }),
        ];
        let claimed = Life::Claimed { claim: claim.clone(), hold: None };
        for (verdict, expected) in table {
            assert_eq!(decide(&claimed, &claim, verdict.clone(), 9), expected, "{verdict:?}");
        }
    }
}
