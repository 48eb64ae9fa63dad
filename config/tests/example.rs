//! `askgate.example.toml` is true: it loads, its defaults are the defaults, and it names every key.

use std::fs;
use std::io;
use std::path::Path;

use config::{Loaded, Refused, load};

const EXAMPLE: &str = include_str!("../../askgate.example.toml");

fn loaded(text: &str) -> io::Result<Result<Loaded, Refused>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("askgate.toml");
    fs::write(&path, text)?;
    Ok(load(&path, []))
}

/// The setting that a commented line shows, such as `# poll_idle = "60s"`.
fn commented(line: &str) -> Option<&str> {
    let setting = line.strip_prefix("# ")?;
    let (key, _) = setting.split_once(" = ")?;
    key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_').then_some(setting)
}

/// The example with its optional sections switched on, so that their lines can be as well.
fn whole() -> String {
    let groups = "place = \"telegram:-1001234567890/77\"\naccounts = [\"me\"]\napprovers = [\"telegram:123456789\"]";
    EXAMPLE
        .replace("\n# [discord]\n", "\n[discord]\ntoken = \"abc\"\n")
        .replace("\n# [ntfy]\n", "\n[ntfy]\n")
        .replace("\n# [[groups]]\n", &format!("\n[[groups]]\n{groups}\n"))
}

#[test]
fn it_loads_as_it_stands() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../askgate.example.toml"));
    let loaded = load(path, []).expect("good");
    assert_eq!(loaded.warnings, []);
    assert_eq!((loaded.config.sources.len(), loaded.config.accounts.len()), (1, 1));
    assert!(loaded.config.telegram.is_some() && loaded.config.discord.is_none());
}

#[test]
fn every_commented_line_is_legal_where_it_stands() {
    let whole = whole();
    let mut tried = 0;
    for (i, line) in whole.lines().enumerate() {
        let Some(setting) = commented(line) else { continue };
        let (key, _) = setting.split_once(" = ").expect("a setting");
        // A key that stands there already is shown with another value; a file of secrets is not there to be read.
        let lines = whole.lines().enumerate().map(|(j, other)| match other.split_once(" = ") {
            _ if i == j => setting,
            Some((other_key, _)) if other_key == key && j.abs_diff(i) < 10 => "",
            _ => other,
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let problems = loaded(&text).expect("written").err().map(|refused| refused.problems).unwrap_or_default();
        let expected = [
            "is not yet supported",
            "cannot be read from",
            "is given twice",
            "only one can count",
            "is given without key",
            "has no time zone",
        ];
        let wrong: Vec<_> =
            problems.iter().filter(|problem| !expected.iter().any(|words| problem.what.contains(words))).collect();
        assert!(wrong.is_empty(), "{setting}: {wrong:#?}");
        tried += 1;
    }
    assert!(tried > 60, "only {tried} lines were tried");
}

#[test]
fn the_defaults_it_shows_are_the_defaults() {
    let defaults = [
        "listen",
        "trusted_proxies",
        "shutdown_grace",
        "path",
        "retention",
        "surface",
        "poll_active",
        "poll_idle",
        "turn_timeout",
        "auth",
        "api_url",
        "language",
        "mode",
        "privacy",
        "link",
        "url = \"https://ntfy.sh\"",
        "enabled",
        "lock_screen",
        "remind_most",
        "votes",
        "destructive_votes",
        "requester_may_answer",
        "confirm_destructive",
        "format",
    ];
    let without = whole();
    let with: Vec<_> = without
        .lines()
        .map(|line| match commented(line) {
            Some(setting) if defaults.iter().any(|key| setting == *key || setting.split(' ').next() == Some(key)) => {
                setting
            }
            _ => line,
        })
        .collect();
    let with = with.join("\n");
    assert_ne!(with, without);
    let config = |text: &str| {
        let mut config = loaded(text).expect("written").expect("good").config;
        // Each load has its own folder.
        config.store.path = config.store.path.file_name().expect("a name").into();
        format!("{config:#?}")
    };
    assert_eq!(config(&with), config(&without));
}

#[test]
fn it_names_every_key() {
    let whole = whole();
    let mut section = "";
    let mut asked = 0;
    for header in whole.lines().filter(|line| line.starts_with('[')) {
        // A key like no other makes the refusal list all that are known in its section.
        let text = whole.replacen(&format!("\n{header}\n"), &format!("\n{header}\nqqqqqqqqqqqq = 1\n"), 1);
        let refused = loaded(&text).expect("written").expect_err("an unknown key");
        let listed = refused.problems[0].fix.strip_prefix("known here: ").expect("a list").to_owned();
        let (_, body) = whole.split_once(&format!("\n{header}\n")).expect("the section");
        let body = body.split("\n[").next().unwrap_or_default();
        for key in listed.split(", ") {
            let named = body.lines().any(|line| {
                line.strip_prefix("# ").unwrap_or(line).strip_prefix(key).is_some_and(|rest| rest.starts_with(" = "))
            });
            assert!(named, "{header} has a key `{key}` that the example does not name");
            asked += 1;
        }
        section = header;
    }
    assert_eq!(section, "[log]", "all sections were asked");
    assert!(asked > 65, "only {asked} keys");
}
