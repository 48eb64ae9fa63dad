//! How long to wait before an account's next poll.

use std::time::Duration;

use config::SourceConfig;

/// The longest pause after a failure.
const LONGEST: Duration = Duration::from_mins(1);
/// The longest pause while a source cannot be reached and few accounts try: one of them notices its return in time.
const LONGEST_ALONE: Duration = Duration::from_secs(10);
/// From this many failing accounts on, each tries at most once in [`LONGEST`].
const MANY: usize = 100;
/// The pause at a source that has asks switched off.
const SWITCHED_OFF: Duration = Duration::from_mins(3);
/// While asks are open, the pause grows to at most this many active intervals: somebody may answer elsewhere.
const OPEN_FACTOR: u32 = 4;

/// How a poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The source listed what waits.
    Listed {
        /// What is going on for the account.
        active: Activity,
    },
    /// It failed in a way that only a person can mend.
    Failed,
    /// The source cannot be reached.
    Unreachable,
    /// The source has asks switched off.
    Off,
    /// The source wants a pause.
    Later(Duration),
}

/// What is going on for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Something changed just now.
    Busy,
    /// Asks are open, and nothing changed.
    Waiting,
    /// Nothing waits.
    Idle,
}

/// One account's rhythm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tempo {
    failures: u32,
    quiet: u32,
}

impl Tempo {
    /// Whether the last poll failed.
    #[must_use]
    pub const fn is_failing(self) -> bool {
        self.failures > 0
    }

    /// The tempo after an activity: quick again.
    #[must_use]
    pub const fn awake(self) -> Self {
        Self { quiet: 0, ..self }
    }

    /// The tempo and the pause after a poll. `failing` accounts at the same source failed too.
    #[must_use]
    pub fn after(self, outcome: &Outcome, source: &SourceConfig, failing: usize) -> (Self, Duration) {
        match outcome {
            Outcome::Listed { active } => {
                let quiet = if *active == Activity::Busy { 0 } else { self.quiet.saturating_add(1) };
                let longest = match active {
                    Activity::Waiting => source.poll_idle.min(source.poll_active * OPEN_FACTOR),
                    Activity::Busy | Activity::Idle => source.poll_idle,
                };
                // A quarter longer each time: from three seconds to a minute in about four minutes.
                let grown =
                    source.poll_active.as_secs_f64() * 1.25_f64.powi(i32::try_from(quiet.min(64)).unwrap_or(64));
                let pause = Duration::from_secs_f64(grown.min(86_400.0)).min(longest.max(source.poll_active));
                (Self { failures: 0, quiet }, pause)
            }
            Outcome::Failed => self.failed(source, LONGEST),
            Outcome::Unreachable => self.failed(source, if failing < MANY { LONGEST_ALONE } else { LONGEST }),
            Outcome::Off => (Self { failures: 1, ..self }, SWITCHED_OFF),
            Outcome::Later(after) => (self, (*after).max(source.poll_active)),
        }
    }

    /// One interval first, then doubling.
    fn failed(self, source: &SourceConfig, longest: Duration) -> (Self, Duration) {
        let doubled = source.poll_active.saturating_mul(1_u32 << self.failures.min(16));
        (
            Self { failures: self.failures.saturating_add(1), ..self },
            doubled.min(longest).max(source.poll_active.min(longest)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> SourceConfig {
        SourceConfig {
            name: "app".into(),
            label: "app".into(),
            link: true,
            kind: config::SourceKind::Terreno,
            url: "http://127.0.0.1:1".parse().expect("a url"),
            auth: config::SignIn::Auto,
            handoff_url: None,
            surface: asks::ask::Surface::Compact,
            poll_active: Duration::from_secs(3),
            poll_idle: Duration::from_mins(1),
            turn_timeout: Duration::from_mins(2),
            headers: config::Headers::default(),
        }
    }

    fn pauses(outcome: Outcome, count: usize) -> Vec<f64> {
        let mut tempo = Tempo::default();
        let mut pauses = Vec::new();
        for _ in 0..count {
            let (next, pause) = tempo.after(&outcome, &source(), 1);
            tempo = next;
            pauses.push(pause.as_secs_f64());
        }
        pauses
    }

    #[test]
    fn failures_wait_one_interval_then_double_to_a_cap() {
        assert_eq!(pauses(Outcome::Failed, 7), [3.0, 6.0, 12.0, 24.0, 48.0, 60.0, 60.0]);
        assert_eq!(pauses(Outcome::Unreachable, 4), [3.0, 6.0, 10.0, 10.0]);
        let (_, pause) = Tempo { failures: 9, quiet: 0 }.after(&Outcome::Unreachable, &source(), MANY);
        assert_eq!(pause, LONGEST, "ten thousand accounts do not knock every ten seconds");
    }

    #[test]
    fn quiet_accounts_slow_down_and_activity_wakes_them() {
        let idle = pauses(Outcome::Listed { active: Activity::Idle }, 20);
        assert!(idle.windows(2).all(|pair| pair[0] <= pair[1]) && idle[19] > 59.9, "{idle:?}");
        let waiting = pauses(Outcome::Listed { active: Activity::Waiting }, 20);
        assert!((waiting[19] - 12.0).abs() < 1e-9, "open asks are looked at more often");
        let busy = pauses(Outcome::Listed { active: Activity::Busy }, 3);
        assert_eq!(busy, [3.0, 3.0, 3.0]);
    }

    #[test]
    fn a_source_that_wants_a_pause_gets_it() {
        assert_eq!(pauses(Outcome::Later(Duration::from_secs(90)), 1), [90.0]);
        assert_eq!(pauses(Outcome::Off, 1), [180.0]);
    }
}
