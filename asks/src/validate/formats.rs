//! What counts as an e-mail address, a URL, a telephone number, a day and a time.
//!
//! The formats are those of the schema library that the asks' rules were written with (zod 4.6.7), so that what is
//! accepted here is accepted by a host.

use crate::limits;
use crate::text;

/// An address in ASCII: dot-separated parts, `@`, and a domain that ends in at least two letters.
pub(super) fn is_email(written: &str) -> bool {
    let Some((local, domain)) = written.split_once('@') else { return false };
    is_local_part(local) && is_domain(domain)
}

fn is_local_part(local: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\'' | b'+' | b'-');
    local.split('.').all(|part| !part.is_empty() && part.bytes().all(allowed)) && !local.ends_with('\'')
}

fn is_domain(domain: &str) -> bool {
    let Some((labels, top)) = domain.rsplit_once('.') else { return false };
    let is_label = |label: &str| {
        label.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    labels.split('.').all(is_label) && top.len() >= 2 && top.bytes().all(|b| b.is_ascii_alphabetic())
}

/// An `http` or `https` URL by the WHATWG rules, written with its two slashes.
pub(super) fn is_url(written: &str) -> bool {
    let written = text::trim(written);
    let begins = |scheme: &str| written.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    (begins("http://") || begins("https://")) && url::Url::parse(written).is_ok()
}

/// An optional `+`, then digits with spaces, dots, dashes and parentheses between.
pub(super) fn is_phone(written: &str) -> bool {
    let number = written.strip_prefix('+').unwrap_or(written);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'(' | b')' | b'.' | b'-'))
        && limits::PHONE_DIGITS.holds(crate::input::count(digits))
}

/// `YYYY-MM-DD`, a day that exists.
pub(super) fn is_date(written: &str) -> bool {
    let Some([year, month, day]) = numbers(written, '-', [4, 2, 2]) else { return false };
    (1..=days_in(year, month)).contains(&day)
}

/// `HH:mm`.
pub(super) fn is_time(written: &str) -> bool {
    numbers(written, ':', [2, 2]).is_some_and(|[hours, minutes]| hours < 24 && minutes < 60)
}

/// A date, `T`, a time with optional seconds and fraction, then `Z` or an offset.
pub(super) fn is_datetime(written: &str) -> bool {
    let Some((date, rest)) = written.split_once('T') else { return false };
    is_date(date) && without_zone(rest).is_some_and(is_precise_time)
}

/// The time before `Z` or an offset such as `+02:00`.
fn without_zone(time: &str) -> Option<&str> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some(time);
    }
    let (time, offset) = time.rfind(['+', '-']).and_then(|at| time.split_at_checked(at))?;
    is_time(offset.get(1..)?).then_some(time)
}

fn is_precise_time(time: &str) -> bool {
    let (whole, fraction) = match time.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (time, None),
    };
    let has_seconds =
        numbers(whole, ':', [2, 2, 2]).map(|[hours, minutes, seconds]| hours < 24 && minutes < 60 && seconds < 60);
    match fraction {
        Some(fraction) => {
            has_seconds == Some(true) && !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit())
        }
        None => has_seconds.unwrap_or_else(|| is_time(whole)),
    }
}

/// The numbers of a text like `2026-12-01`, each with exactly so many digits.
fn numbers<const N: usize>(written: &str, separator: char, digits: [usize; N]) -> Option<[u32; N]> {
    let mut numbers = [0; N];
    let mut parts = written.split(separator);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// How many days a month has; none for a month that does not exist.
const fn days_in(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(check: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(check(text), "{text:?} is fine");
        }
        for text in bad {
            assert!(!check(text), "{text:?} is not");
        }
    }

    #[test]
    fn addresses() {
        all(
            is_email,
            &["a@b.co", "o'brien@x-.example.ie", "_@1.io"],
            &["a'@b.co", "a@b.c0", "a@.co", "a@b..co", "@", ""],
        );
        let urls =
            ["http://localhost", "https://user:p@x.com", "https://[::1]", "HTTP://X.com", "\u{a0}https://x..com "];
        all(is_url, &urls, &["https:x.com", "https:/x.com", "http://", "http://a b", "ftp://x.org", "é", ""]);
        all(is_phone, &["+1 (415) 555-2671", "1234567"], &["+", "++1234567", "12345678901234567", "1234567\t"]);
    }

    #[test]
    fn days_and_times() {
        all(
            is_date,
            &["0000-02-29", "2024-02-29"],
            &["1900-02-29", "2023-00-01", "2023-01-32", "+023-01-01", "2023-01"],
        );
        all(is_time, &["00:00", "23:59"], &["24:00", "9:30", "09:30:00", ""]);
        all(
            is_datetime,
            &["2026-10-01T09:30Z", "2026-10-01T09:30:00.123456789+02:00", "2026-10-01T09:30-08:00"],
            &["2026-10-01T09:30", "2026-10-01T09:30:00.Z", "2026-10-01T09:30.5Z", "2026-10-01T09:30+24:00", "TZ", "T"],
        );
    }
}
