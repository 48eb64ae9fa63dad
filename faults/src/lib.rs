//! Named points at which the breaking machine ends the process, and a wall clock that it moves.
//!
//! Without the feature `armed`, which only `tests` asks for, all of this is empty and is compiled away: an ordinary build of
//! the binary has no way to be told to crash. Every point is listed in [`POINTS`], and `tests/tests/crash_points.rs` kills the
//! process at each of them.

/// Every named point, in the order in which an ask passes them.
///
/// A name says what has just been done, so that "killed at" reads as a sentence.
pub const POINTS: &[&str] = &[
    "resume.all-unclear",
    "ask.recorded",
    "announce.sending-saved",
    "announce.sent",
    "announce.shown-saved",
    "claim.durable",
    "telegram.acknowledged",
    "telegram.batch-handled",
    "discord.acknowledged",
    "turn.posted",
    "turn.try-counted",
    "reply.expected",
    "move.saved",
    "poll.withdrawn",
    "poll.reopened",
    "revise.sent",
    "revise.saved",
    "notice.sending-saved",
    "notice.sent",
    "store.batch-applied",
    "store.flushed",
    "store.synced",
    "store.answered",
    "store.doubt-noted",
    "store.doubt-undone",
    "store.reopened",
];

/// Those of [`POINTS`] that are passed only when a disk fails: the tests of `store` end a process there.
pub const DISK_POINTS: &[&str] = &["store.doubt-noted", "store.doubt-undone", "store.reopened"];

/// Ends the process here, as `kill -9` would, if the environment says so: `ASKGATE_CRASH_AT=name`, or `name:3` for the third
/// time that the point is passed.
///
/// Nothing is flushed and nothing is unwound.
#[cfg(feature = "armed")]
pub fn point(name: &str) {
    armed::point(name);
}

/// Does nothing: the build is not armed.
#[cfg(not(feature = "armed"))]
#[inline]
pub const fn point(_name: &str) {}

/// By how many milliseconds the wall clock is moved: the number in the file that `ASKGATE_CLOCK_FILE` names, else 0.
///
/// It is read anew each time, so that a test moves the clock of a running process.
#[cfg(feature = "armed")]
#[must_use]
pub fn clock_offset_millis() -> i64 {
    armed::clock_offset_millis()
}

/// Zero: the build is not armed.
#[cfg(not(feature = "armed"))]
#[inline]
#[must_use]
pub const fn clock_offset_millis() -> i64 {
    0
}

#[cfg(feature = "armed")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Where to crash, and at which time of passing it.
    struct Plan {
        name: String,
        time: u32,
        passed: AtomicU32,
    }

    #[expect(clippy::print_stderr, reason = "the last words of a process under test; the log may be behind a lock")]
    pub(super) fn point(name: &str) {
        static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
        let Some(plan) = PLAN.get_or_init(plan) else { return };
        if plan.name == name && plan.passed.fetch_add(1, Ordering::SeqCst) + 1 == plan.time {
            // Standard error is not buffered, so the line is out before the end.
            eprintln!("crashing at {name}");
            std::process::abort();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the machine that breaks the process speaks to it from outside")]
    fn plan() -> Option<Plan> {
        let text = std::env::var("ASKGATE_CRASH_AT").ok()?;
        let (name, time) = text.split_once(':').unwrap_or((text.as_str(), "1"));
        Some(Plan { name: name.to_owned(), time: time.parse().unwrap_or(1), passed: AtomicU32::new(0) })
    }

    pub(super) fn clock_offset_millis() -> i64 {
        static FILE: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
        let Some(file) = FILE.get_or_init(clock_file) else { return 0 };
        std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn clock_file() -> Option<std::ffi::OsString> {
        std::env::var_os("ASKGATE_CLOCK_FILE")
    }
}
