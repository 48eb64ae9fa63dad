//! Medians, percentiles, and the table.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use adapters::clock::{Clock as _, SystemClock};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// What was measured, with its unit.
    pub(crate) what: String,
    /// askgate's value.
    pub(crate) ours: String,
    /// The bare thing's value; empty where there is none.
    pub(crate) bare: String,
    /// The ratio to the bare thing, or what the aim says of the value.
    pub(crate) verdict: String,
}

impl Row {
    /// A row that compares.
    pub(crate) fn ratio(what: &str, ours: f64, bare: f64, digits: usize) -> Self {
        Self {
            what: what.to_owned(),
            ours: format!("{ours:.digits$}"),
            bare: format!("{bare:.digits$}"),
            verdict: format!("{:.2}", ours / bare),
        }
    }

    /// A row that stands for itself.
    pub(crate) fn alone(what: &str, ours: String, verdict: &str) -> Self {
        Self { what: what.to_owned(), ours, bare: String::new(), verdict: verdict.to_owned() }
    }
}

/// The middle value; NaN of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    percentile(&values, 50)
}

/// A percentile of sorted values; NaN of none.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last * percent + 50) / 100).copied().unwrap_or(f64::NAN)
}

/// Milliseconds with their fraction.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Says something at once; progress goes to stderr, so that stdout holds the table alone.
pub(crate) fn say(sentence: &str) {
    // Nobody may be reading.
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

/// Prints the table with what it was made by.
pub(crate) fn print(rows: &[Row], rounds: usize, arguments: &[String]) -> anyhow::Result<()> {
    let date = humandate(SystemClock.unix_millis());
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    let command = if words.is_empty() { String::new() } else { format!(" -- {}", words.join(" ")) };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let mut out = std::io::stdout().lock();
    writeln!(out, "`cargo bench -p tests{command}`, {date}, {cores} cores, medians of {rounds} rounds;")?;
    writeln!(out, "a sync of the disk takes {:.2} ms here (median of 50).\n", millis(sync_time()?))?;
    writeln!(out, "| measure | askgate | bare | ratio or aim |\n| --- | --- | --- | --- |")?;
    for Row { what, ours, bare, verdict } in rows {
        writeln!(out, "| {what} | {ours} | {bare} | {verdict} |")?;
    }
    Ok(())
}

/// How long it takes to make 4 KiB durable where the stores are.
fn sync_time() -> anyhow::Result<Duration> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sync-probe");
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..50 {
        let begun = SystemClock.instant();
        file.write_all(&[7; 4096])?;
        file.sync_all()?;
        times.push((SystemClock.instant() - begun).as_secs_f64());
    }
    std::fs::remove_file(&path)?;
    Ok(Duration::from_secs_f64(median(times)))
}

/// The date of a time in UTC, by the count of days since 1970.
fn humandate(unix_millis: i64) -> String {
    let mut days = unix_millis / 86_400_000;
    let mut year = 1970;
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}
