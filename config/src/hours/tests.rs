use proptest::prelude::*;

use super::*;

const MINUTE: i64 = 60_000;

fn at(text: &str) -> i64 {
    text.parse::<Timestamp>().expect(text).as_millisecond()
}

fn hours(text: &str) -> QuietHours {
    text.parse().expect(text)
}

/// Goes through all minutes of `days` from `first` on: quiet in the stretches, and nowhere else.
fn golden(text: &str, first: &str, days: i64, stretches: &[(&str, &str)]) {
    let quiet = hours(text);
    let stretches: Vec<_> = stretches.iter().map(|(start, end)| (at(start), at(end))).collect();
    for minute in 0..days * 24 * 60 {
        let first_instant = at(first) + minute * MINUTE;
        for instant in [first_instant, first_instant + MINUTE - 1] {
            let expected = stretches.iter().find(|(start, end)| (*start..*end).contains(&instant)).map(|(_, end)| *end);
            let shown = Timestamp::from_millisecond(instant).expect("near");
            assert_eq!(quiet.is_quiet(instant), expected.is_some(), "{text} at {shown}");
            assert_eq!(quiet.ends(instant), expected, "{text} at {shown}");
        }
    }
}

#[test]
fn c65_over_midnight_while_clocks_change() {
    golden(
        "22:00-07:00 America/New_York",
        "2026-03-07T17:00Z",
        2,
        &[("2026-03-08T03:00Z", "2026-03-08T11:00Z"), ("2026-03-09T02:00Z", "2026-03-09T11:00Z")],
    );
    golden(
        "22:00-07:00 America/New_York",
        "2026-10-31T17:00Z",
        2,
        &[("2026-11-01T02:00Z", "2026-11-01T12:00Z"), ("2026-11-02T03:00Z", "2026-11-02T12:00Z")],
    );
    golden(
        "22:00-07:00 Europe/Berlin",
        "2026-03-28T12:00Z",
        2,
        &[("2026-03-28T21:00Z", "2026-03-29T05:00Z"), ("2026-03-29T20:00Z", "2026-03-30T05:00Z")],
    );
    golden(
        "22:00-07:00 Europe/Berlin",
        "2026-10-24T12:00Z",
        2,
        &[("2026-10-24T20:00Z", "2026-10-25T06:00Z"), ("2026-10-25T21:00Z", "2026-10-26T06:00Z")],
    );
}

#[test]
fn c65_a_skipped_time_is_never_shown() {
    let first = "2026-03-07T05:00Z";
    golden(
        "02:30-03:30 America/New_York",
        first,
        3,
        &[
            ("2026-03-07T07:30Z", "2026-03-07T08:30Z"),
            ("2026-03-08T07:00Z", "2026-03-08T07:30Z"),
            ("2026-03-09T06:30Z", "2026-03-09T07:30Z"),
        ],
    );
    golden(
        "22:00-02:30 America/New_York",
        "2026-03-07T17:00Z",
        2,
        &[("2026-03-08T03:00Z", "2026-03-08T07:00Z"), ("2026-03-09T02:00Z", "2026-03-09T06:30Z")],
    );
    golden(
        "02:10-02:50 America/New_York",
        first,
        3,
        &[("2026-03-07T07:10Z", "2026-03-07T07:50Z"), ("2026-03-09T06:10Z", "2026-03-09T06:50Z")],
    );
    // Only ten minutes are loud, and on that day they are skipped.
    let quiet = hours("02:20-02:10 America/New_York");
    assert_eq!(quiet.ends(at("2026-03-07T17:00Z")), Some(at("2026-03-09T06:10Z")));
}

#[test]
fn c65_a_repeated_time_is_shown_twice() {
    let first = "2026-10-31T17:00Z";
    golden(
        "01:30-01:45 America/New_York",
        first,
        2,
        &[
            ("2026-11-01T05:30Z", "2026-11-01T05:45Z"),
            ("2026-11-01T06:30Z", "2026-11-01T06:45Z"),
            ("2026-11-02T06:30Z", "2026-11-02T06:45Z"),
        ],
    );
    golden(
        "22:00-01:30 America/New_York",
        first,
        2,
        &[
            ("2026-11-01T02:00Z", "2026-11-01T05:30Z"),
            ("2026-11-01T06:00Z", "2026-11-01T06:30Z"),
            ("2026-11-02T03:00Z", "2026-11-02T06:30Z"),
        ],
    );
    golden(
        "01:30-06:00 America/New_York",
        first,
        2,
        &[
            ("2026-11-01T05:30Z", "2026-11-01T06:00Z"),
            ("2026-11-01T06:30Z", "2026-11-01T11:00Z"),
            ("2026-11-02T06:30Z", "2026-11-02T11:00Z"),
        ],
    );
    // Here clocks change by half an hour.
    golden(
        "01:45-01:50 Australia/Lord_Howe",
        "2026-04-04T03:00Z",
        2,
        &[
            ("2026-04-04T14:45Z", "2026-04-04T14:50Z"),
            ("2026-04-04T15:15Z", "2026-04-04T15:20Z"),
            ("2026-04-05T15:15Z", "2026-04-05T15:20Z"),
        ],
    );
}

#[test]
fn c66_only_the_named_zone_counts() {
    golden(
        "22:00-07:00 Africa/Nairobi",
        "2026-06-01T09:00Z",
        2,
        &[("2026-06-01T19:00Z", "2026-06-02T04:00Z"), ("2026-06-02T19:00Z", "2026-06-03T04:00Z")],
    );
    let unknown = "22:00-07:00 Europe/Berlim".parse::<QuietHours>().expect_err("unknown");
    assert_eq!(unknown.to_string(), "`Europe/Berlim` is no time zone; did you mean `Europe/Berlin`?");
    for unknown in ["", "+02:00", "Etc/Unknown", "EST5EDT4,M3.2.0,M11.1.0", "../UTC", "Mars/Olympus_Mons", "CET+1"] {
        assert!(unknown.parse::<Zone>().is_err(), "{unknown}");
    }
    assert_eq!("europe/berlin".parse::<Zone>().expect("known").name(), "Europe/Berlin");
}

#[test]
fn c65_equal_start_and_end_is_never() {
    golden("07:00-07:00 America/New_York", "2026-03-07T17:00Z", 2, &[]);
    assert!(hours("00:00-00:00 UTC").is_never());
}

#[test]
fn several_windows_count_together() {
    golden(
        "22:00-07:00, 06:00-08:00, 12:00-13:00 UTC",
        "2026-06-01T09:00Z",
        1,
        &[("2026-06-01T12:00Z", "2026-06-01T13:00Z"), ("2026-06-01T22:00Z", "2026-06-02T08:00Z")],
    );
    let always = hours("00:00-12:00, 12:00-00:00 Europe/Berlin");
    assert!(always.is_always() && always.is_quiet(0));
    assert_eq!(always.ends(0), None);
    assert!(!hours("00:00-23:59 UTC").is_always());
}

#[test]
fn texts_are_read_and_written() {
    for (text, written) in [
        ("22:00-07:00 Europe/Berlin", "22:00-07:00 Europe/Berlin"),
        ("  7:05\u{2013}08:00,12:00-13:00   america/new_york ", "07:05-08:00, 12:00-13:00 America/New_York"),
    ] {
        assert_eq!(hours(text).to_string(), written);
        assert_eq!(hours(written), hours(text));
    }
    for wrong in [
        "",
        "UTC",
        "22:00-07:00",
        "22:00 UTC",
        "22-07 UTC",
        "22:00-24:00 UTC",
        "22:0-07:00 UTC",
        "+2:00-07:00 UTC",
        "22:00-07:00:00 UTC",
        "22:00-07:00 UTC 12:00-13:00",
        "22:00-07:00 UTC UTC",
        "22:00-07:00-08:00 UTC",
    ] {
        assert!(wrong.parse::<QuietHours>().is_err(), "{wrong}");
    }
    let berlin: Zone = "Europe/Berlin".parse().expect("known");
    let beside = QuietHours::parse(["22:00-07:00", "12:00-13:00"], Some(&berlin)).expect("a zone beside");
    assert_eq!(beside.to_string(), "22:00-07:00, 12:00-13:00 Europe/Berlin");
    assert!(QuietHours::parse(["22:00-07:00 UTC", "12:00-13:00 Asia/Tokyo"], None).is_err(), "two zones");
    assert!(QuietHours::parse(["22:00-07:00 UTC", "12:00-13:00"], Some(&berlin)).is_err(), "two zones");
    assert!(QuietHours::parse([], Some(&berlin)).is_err());
}

#[test]
fn a_daily_time_comes_once_a_day() {
    let digest = |time: &str| DailyTime::parse(time, &"America/New_York".parse().expect("known")).expect(time);
    for (time, after, next) in [
        ("08:00", "2026-03-07T17:00Z", "2026-03-08T12:00Z"),
        ("08:00", "2026-03-08T12:00Z", "2026-03-09T12:00Z"),
        ("08:00", "2026-03-07T12:59Z", "2026-03-07T13:00Z"),
        // Skipped: the clock shows 03:30 then.
        ("02:30", "2026-03-07T17:00Z", "2026-03-08T07:30Z"),
        ("02:30", "2026-03-08T07:30Z", "2026-03-09T06:30Z"),
        // Repeated: only the first.
        ("01:30", "2026-10-31T17:00Z", "2026-11-01T05:30Z"),
        ("01:30", "2026-11-01T05:30Z", "2026-11-02T06:30Z"),
    ] {
        assert_eq!(digest(time).next(at(after)), Some(at(next)), "{time} after {after}");
    }
    assert_eq!(digest("8:00").to_string(), "08:00 America/New_York");
    assert!(DailyTime::parse("24:00", digest("08:00").zone()).is_err());
}

#[test]
fn beyond_the_calendar_nothing_is_quiet() {
    let quiet = hours("00:00-12:00, 12:00-00:00 UTC");
    for instant in [i64::MIN, i64::MAX] {
        assert!(!quiet.is_quiet(instant));
        assert_eq!(quiet.ends(instant), None);
        assert_eq!(DailyTime::parse("08:00", quiet.zone()).expect("a time").next(instant), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_quiet_until_it_ends(
        zone in prop::sample::select(vec!["America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"]),
        times in prop::collection::vec((0..24, 0..60, 0..24, 0..60), 1..4),
        minute in 21_000_000_i64..31_000_000,
    ) {
        let lines: Vec<_> = times.iter().map(|(a, b, c, d)| format!("{a}:{b:02}-{c}:{d:02}")).collect();
        let zone: Zone = zone.parse().expect("known");
        let quiet = QuietHours::parse(lines.iter().map(String::as_str), Some(&zone)).expect("hours");
        let now = minute * MINUTE;
        match quiet.ends(now) {
            Some(end) => {
                prop_assert!(!quiet.is_quiet(end));
                prop_assert!((now..end).step_by(60_000).all(|instant| quiet.is_quiet(instant)));
                prop_assert!(quiet.is_quiet(end - 1));
            }
            None => prop_assert!(!quiet.is_quiet(now) || quiet.is_always()),
        }
    }
}
