//! The one file that turns what an ntfy server says into what to do next, fed by a table of its error numbers.
//!
//! A number says more than its status: 429 is "slow down" as well as "your messages of today are used up".

use std::time::Duration;

use crate::channel::Failure;

/// How long to wait after a 429 that does not say: a visitor gets one request back in 5 s.
const UNSAID_WAIT: Duration = Duration::from_secs(6);
/// How long to wait after the day's messages are used up.
const DAILY_WAIT: Duration = Duration::from_mins(15);
/// How long to wait after a failure of the network or the server.
const SHORT_WAIT: Duration = Duration::from_secs(3);

/// Why a request did not do what it was to do. Nothing here holds a topic or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There was no connection, so the request never left.
    NotSent {
        /// What the transport said.
        why: String,
    },
    /// The request left, and no whole answer came.
    NoAnswer {
        /// What the transport said.
        why: String,
    },
    /// The server, or something before it, said no.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's own number, 0 where the answer is none of its.
        code: u64,
        /// Its words, without secrets.
        words: String,
        /// Its `Retry-After`.
        retry_after: Option<Duration>,
    },
}

/// What the numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    TooFast,
    DayUsedUp,
    TokenRefused,
    TopicClosed,
    Wrong,
}

/// The numbers that say more than their status. Source: the server's table of errors.
const CODES: &[(u64, Meaning)] = &[
    (40101, Meaning::TokenRefused),
    (40301, Meaning::TopicClosed),
    (42901, Meaning::TooFast),
    (42902, Meaning::TooFast),
    (42903, Meaning::TooFast),
    (42904, Meaning::TooFast),
    (42908, Meaning::DayUsedUp),
    (42909, Meaning::TooFast),
    (41301, Meaning::Wrong),
    (41303, Meaning::Wrong),
];

fn meaning(status: u16, code: u64) -> Option<Meaning> {
    let by_code = CODES.iter().find(|(known, _)| *known == code).map(|(_, meaning)| *meaning);
    by_code.or(match status {
        401 => Some(Meaning::TokenRefused),
        403 => Some(Meaning::TopicClosed),
        429 => Some(Meaning::TooFast),
        400..=499 => Some(Meaning::Wrong),
        _ => None,
    })
}

/// What to do after a publish that failed.
pub(super) fn of_publish(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::NotSent { why } => Failure::Retry { after: SHORT_WAIT, why },
        // The same sequence id is sent again: where the server knows them the second replaces the first.
        Trouble::NoAnswer { why } => Failure::Ambiguous { why },
        Trouble::Refused { status, code, words, retry_after } => match meaning(status, code) {
            Some(Meaning::TooFast) => Failure::Retry { after: retry_after.unwrap_or(UNSAID_WAIT), why: words },
            Some(Meaning::DayUsedUp) => Failure::Retry { after: retry_after.unwrap_or(DAILY_WAIT), why: words },
            Some(Meaning::TokenRefused) => Failure::Unauthorised,
            Some(Meaning::TopicClosed) => Failure::PlaceGone {
                why: "the ntfy server does not let us publish to this topic; check ntfy.token and the topic's access"
                    .to_owned(),
            },
            Some(Meaning::Wrong) => Failure::Refused { why: format!("{status} {words}") },
            // A proxy's page or a crash: it may have been taken before.
            None => Failure::Ambiguous { why: format!("status {status}") },
        },
    }
}

/// What a failed look at the server's health means: nothing was to be done, so nothing is in doubt.
pub(super) fn of_health(trouble: Trouble) -> Failure {
    let why = match trouble {
        Trouble::NotSent { why } | Trouble::NoAnswer { why } => why,
        Trouble::Refused { status, words, .. } => format!("status {status} {words}"),
    };
    Failure::Retry { after: SHORT_WAIT, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: u64, seconds: Option<u64>) -> Failure {
        of_publish(Trouble::Refused { status, code, words: "w".into(), retry_after: seconds.map(Duration::from_secs) })
    }

    #[test]
    fn each_number_says_what_to_do() {
        let retry = |seconds| Failure::Retry { after: Duration::from_secs(seconds), why: "w".into() };
        let table = [
            (refused(429, 42901, Some(9)), retry(9)),
            (refused(429, 0, None), retry(6)),
            (refused(429, 42908, None), retry(900)),
            (refused(401, 40101, None), Failure::Unauthorised),
            (refused(413, 41303, None), Failure::Refused { why: "413 w".into() }),
            (refused(400, 40018, None), Failure::Refused { why: "400 w".into() }),
            (refused(502, 0, None), Failure::Ambiguous { why: "status 502".into() }),
            (of_publish(Trouble::NoAnswer { why: "cut".into() }), Failure::Ambiguous { why: "cut".into() }),
            (
                of_publish(Trouble::NotSent { why: "no route".into() }),
                Failure::Retry { after: SHORT_WAIT, why: "no route".into() },
            ),
        ];
        for (got, expected) in table {
            assert_eq!(got, expected);
        }
        assert!(matches!(refused(403, 40301, None), Failure::PlaceGone { .. }));
    }
}
