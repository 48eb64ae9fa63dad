//! Discord's ids (snowflakes) and its way of writing a moment.

use std::{fmt, num::NonZeroU64, str::FromStr, time::Duration};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The moment Discord counts from: the first second of 2015, in milliseconds since the Unix epoch.
///
/// <https://discord.com/developers/docs/reference#snowflakes>
const DISCORD_EPOCH_MS: u128 = 1_420_070_400_000;

/// One Discord id; a string in JSON, because JavaScript would round the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(NonZeroU64);

/// Hands out ids that grow with time and never repeat.
#[derive(Debug, Default)]
pub(super) struct Mint {
    last: u64,
}

impl Id {
    /// The id with this number; 0, which Discord never gives out, becomes 1.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// An id in a body: a string, or, as careless clients send it, a number.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.as_u64().and_then(NonZeroU64::new).map(Self),
            _ => None,
        }
    }

    /// The number itself.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::new(number)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        text.parse().map(Self).map_err(|_| ())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Mint {
    /// The next id, as given out at `now` (time since the Unix epoch).
    pub(super) fn next(&mut self, now: Duration) -> Id {
        let since = u64::try_from(now.as_millis().saturating_sub(DISCORD_EPOCH_MS)).unwrap_or(u64::MAX >> 22);
        self.last = self.last.saturating_add(1).max(since << 22);
        Id::new(self.last)
    }
}

/// Writes a moment as Discord does: `2026-12-01T00:00:00.000000+00:00`.
#[must_use]
pub(super) fn timestamp(moment: Duration) -> String {
    let seconds = moment.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let micros = moment.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00")
}

/// The Gregorian date of a day counted from 1 January 1970, by whole 400-year cycles that start in March.
fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let cycle = shifted / 146_097;
    let in_cycle = shifted % 146_097;
    let year_of_cycle = (in_cycle - in_cycle / 1460 + in_cycle / 36_524 - in_cycle / 146_096) / 365;
    let in_year = in_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * in_year + 2) / 153;
    let date = in_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (cycle * 400 + year_of_cycle + u64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_iso_8601_with_microseconds() {
        for (seconds, micros, expected) in [
            (0, 0, "1970-01-01T00:00:00.000000+00:00"),
            (951_782_400, 0, "2000-02-29T00:00:00.000000+00:00"),
            (1_796_083_200, 1, "2026-12-01T00:00:00.000001+00:00"),
            (4_107_542_399, 0, "2100-02-28T23:59:59.000000+00:00"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000000+00:00"),
        ] {
            assert_eq!(timestamp(Duration::from_secs(seconds) + Duration::from_micros(micros)), expected);
        }
    }

    #[test]
    fn ids_grow_even_when_the_clock_stands_or_runs_back() {
        let mut mint = Mint::default();
        let first = mint.next(Duration::from_hours(498_912));
        let second = mint.next(Duration::from_hours(498_912));
        let third = mint.next(Duration::from_secs(5));
        assert!(first < second && second < third);
    }

    #[test]
    fn an_id_is_digits_only_and_never_zero() {
        assert_eq!("42".parse(), Ok(Id::new(42)));
        for text in ["", "0", "+4", "-4", "4x", "99999999999999999999999"] {
            assert_eq!(text.parse::<Id>(), Err(()), "{text}");
        }
    }
}
