//! Quiet hours and the time of a digest, by the clock on a person's wall.
//!
//! A window is two times of the day in an IANA zone, and an instant is quiet when the wall's clock shows a time within. So
//! nothing has to be said about the days on which clocks change: a time that is skipped is never shown, one that is repeated
//! is shown twice. The zones come along in the binary; neither the machine's zone nor its files count.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use jiff::civil::{DateTime, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase, TimeZoneName};
use jiff::{Span, Timestamp};

use crate::nearest::nearest;
use crate::problem::quoted;

/// The zones that came along.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
/// How far ahead a quiet time can end, in days: one, and one more for each end that falls into a skipped hour or day.
const LONGEST: i64 = 4;

/// A time zone of the IANA database. `Display` and `FromStr` are its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

/// When no notification rings: windows of the day in one zone.
///
/// The text form is `22:00-07:00 Europe/Berlin`, or `12:00-13:00, 22:00-07:00 Europe/Berlin`. A window begins with its first
/// minute and ends before its last; one whose end is earlier goes over midnight, and one that ends when it begins is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    windows: Vec<Window>,
    zone: Zone,
}

/// A time of each day, in a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyTime {
    at: Time,
    zone: Zone,
}

/// Why a text is no zone, no quiet hours or no time of the day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct HoursError {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

/// From `start` to before `end`, times of the day in whole minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    start: Time,
    end: Time,
}

impl Zone {
    /// The name as the database writes it, such as `Europe/Berlin`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the wall's clock shows at an instant, if a calendar reaches that far.
    fn wall(&self, unix_millis: i64) -> Option<DateTime> {
        Some(self.rules.to_datetime(Timestamp::from_millisecond(unix_millis).ok()?))
    }
}

impl FromStr for Zone {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(rules) = ZONES.get(text)
            && !rules.is_unknown()
            && let Some(name) = rules.iana_name()
        {
            return Ok(Self { name: name.to_owned(), rules });
        }
        let names: Vec<_> = ZONES.available().collect();
        let fix = match nearest(text, names.iter().map(TimeZoneName::as_str)) {
            Some(meant) => format!("did you mean {}?", quoted(meant)),
            None => "write an IANA name, such as \"Europe/Berlin\" or \"America/New_York\"".to_owned(),
        };
        Err(HoursError { what: format!("{} is no time zone", quoted(text)), fix })
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl QuietHours {
    /// Reads lines such as `22:00-07:00 Europe/Berlin`. All are in one zone: the one they name, else `beside`.
    ///
    /// # Errors
    /// When a line is no window, there is none, or the zone is unknown, missing, or not the same in all of them.
    pub fn parse<'t>(lines: impl IntoIterator<Item = &'t str>, beside: Option<&Zone>) -> Result<Self, HoursError> {
        const EXAMPLE: &str = "write \"22:00-07:00 Europe/Berlin\"";
        let error = |what: String, fix: &str| HoursError { what, fix: fix.to_owned() };
        let mut windows = Vec::new();
        let mut named: Option<Zone> = None;
        let mut unnamed = false;
        for line in lines {
            let mut of_line: Option<Zone> = None;
            let words = line.split([' ', ',']).filter(|word| !word.is_empty());
            let before = windows.len();
            for word in words {
                if word.starts_with(|c: char| c.is_ascii_digit()) && of_line.is_none() {
                    windows.push(word.parse()?);
                } else if of_line.is_none() {
                    of_line = Some(word.parse()?);
                } else {
                    return Err(error(format!("{} goes on after its time zone", quoted(line)), EXAMPLE));
                }
            }
            if windows.len() == before {
                return Err(error(format!("{} has no hours", quoted(line)), EXAMPLE));
            }
            match (&named, &of_line) {
                (Some(one), Some(other)) if one != other => {
                    let what = format!("is in two time zones, {one} and {other}");
                    return Err(error(what, "write all of them in the zone where the person lives"));
                }
                _ => {}
            }
            unnamed |= of_line.is_none();
            named = named.or(of_line);
        }
        if windows.is_empty() {
            return Err(error("has no hours".to_owned(), EXAMPLE));
        }
        let zone = match (named, beside) {
            (Some(named), Some(beside)) if unnamed && named != *beside => {
                let what = format!("is in two time zones, {named} and {beside}");
                return Err(error(what, "write all of them in the zone where the person lives"));
            }
            (Some(named), _) => named,
            (None, Some(beside)) => beside.clone(),
            (None, None) => return Err(error("has no time zone".to_owned(), EXAMPLE)),
        };
        Ok(Self { windows, zone })
    }

    /// Whether it is quiet at an instant, in milliseconds since 1970.
    #[must_use]
    pub fn is_quiet(&self, unix_millis: i64) -> bool {
        self.zone.wall(unix_millis).is_some_and(|wall| self.holds(wall.time()))
    }

    /// When the quiet of an instant ends, both in milliseconds since 1970: the first later instant that is not quiet.
    ///
    /// `None` when it is not quiet then, or when the windows leave no minute of the day.
    #[must_use]
    pub fn ends(&self, unix_millis: i64) -> Option<i64> {
        if !self.is_quiet(unix_millis) {
            return None;
        }
        let now = Timestamp::from_millisecond(unix_millis).ok()?;
        let last = now.checked_add(Span::new().hours(LONGEST * 24)).ok()?;
        // What is quiet turns only when the wall's clock comes to an end of a window, or when somebody turns the clock.
        let turned = self.zone.rules.following(now).map(|turn| turn.timestamp()).take_while(|turn| *turn <= last);
        let today = self.zone.wall(unix_millis)?.date();
        let ends = (-1..=LONGEST).filter_map(|day| today.checked_add(Span::new().days(day)).ok()).flat_map(|date| {
            self.windows.iter().flat_map(move |window| {
                let shown = self.zone.rules.to_ambiguous_timestamp(date.to_datetime(window.end));
                [shown.earlier().ok(), shown.later().ok()].into_iter().flatten()
            })
        });
        turned.chain(ends).filter(|at| *at > now).map(Timestamp::as_millisecond).filter(|at| !self.is_quiet(*at)).min()
    }

    /// The zone they are in.
    #[must_use]
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether no minute of the day is quiet.
    pub(crate) fn is_never(&self) -> bool {
        self.windows.iter().all(|window| window.start == window.end)
    }

    /// Whether every minute of the day is quiet.
    pub(crate) fn is_always(&self) -> bool {
        // The first loud minute would be the end of a window.
        self.windows.iter().all(|window| self.holds(window.end))
    }

    fn holds(&self, time: Time) -> bool {
        self.windows.iter().any(|window| {
            if window.start <= window.end {
                window.start <= time && time < window.end
            } else {
                window.start <= time || time < window.end
            }
        })
    }
}

impl FromStr for QuietHours {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse([text], None)
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, window) in self.windows.iter().enumerate() {
            let gap = if i == 0 { "" } else { ", " };
            write!(f, "{gap}{}-{}", minute(window.start), minute(window.end))?;
        }
        write!(f, " {}", self.zone)
    }
}

impl DailyTime {
    /// Reads a time such as `08:00`.
    ///
    /// # Errors
    /// When it is no time of the day.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, HoursError> {
        Ok(Self { at: time(text)?, zone: zone.clone() })
    }

    /// The first instant after another at which it is this time, both in milliseconds since 1970.
    ///
    /// Once on each day: at the first of two where clocks go back, and as long after midnight as usual, which the clock then
    /// shows as later, where they go forward. `None` beyond the calendar.
    #[must_use]
    pub fn next(&self, unix_millis: i64) -> Option<i64> {
        let today = self.zone.wall(unix_millis)?.date();
        (-1..=LONGEST)
            .filter_map(|day| today.checked_add(Span::new().days(day)).ok())
            .filter_map(|date| self.zone.rules.to_timestamp(date.to_datetime(self.at)).ok())
            .map(Timestamp::as_millisecond)
            .filter(|at| *at > unix_millis)
            .min()
    }

    /// The zone it is in.
    #[must_use]
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }
}

impl fmt::Display for DailyTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", minute(self.at), self.zone)
    }
}

impl FromStr for Window {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (start, end) = text.split_once(['-', '\u{2013}']).ok_or_else(|| HoursError {
            what: format!("{} is no window", quoted(text)),
            fix: "write its start and end, such as \"22:00-07:00\"".to_owned(),
        })?;
        Ok(Self { start: time(start)?, end: time(end)? })
    }
}

/// A time of the day, such as `07:30`.
fn time(text: &str) -> Result<Time, HoursError> {
    let digits = |part: &str, longest| {
        let fits = (1..=longest).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| part.parse::<i8>().ok()).flatten()
    };
    let time = text.split_once(':').and_then(|(hour, minute)| {
        let minute = digits(minute, 2).filter(|_| minute.len() == 2)?;
        Time::new(digits(hour, 2)?, minute, 0, 0).ok()
    });
    time.ok_or_else(|| HoursError {
        what: format!("{} is no time of the day", quoted(text)),
        fix: "write hours and minutes from 00:00 to 23:59; midnight is 00:00".to_owned(),
    })
}

/// The time without seconds.
fn minute(time: Time) -> String {
    format!("{:02}:{:02}", time.hour(), time.minute())
}

#[cfg(test)]
mod tests;
