//! The environment as a layer over the file: `ASKGATE_<SECTION>__<KEY>`.
//!
//! A number is a place in a list (`ASKGATE_SOURCES__0__URL`); `ASKGATE_<SECTION>` alone sets a whole section as a TOML
//! value. Values are kept as text here: the reader knows what a key wants and parses lists and tables as TOML then.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::{Table, Value};

use crate::problem::{Findings, Problem, quoted};
use crate::reader::parse_value;

/// What every variable of ours starts with.
const PREFIX: &str = "ASKGATE_";
/// The sections there are.
const SECTIONS: [&str; 11] =
    ["server", "store", "secrets", "sources", "telegram", "discord", "ntfy", "web", "accounts", "groups", "log"];
/// The keys that have a `*_file` twin.
const SECRETS: [&str; 7] =
    ["token", "refresh_token", "password", "key", "previous_key", "admin_token", "webhook_secret"];

/// Which variable set a key: `telegram.token` -> `ASKGATE_TELEGRAM__TOKEN`.
pub(crate) type Origins = BTreeMap<String, String>;

/// One step of a path into the tables. Numbers sort as numbers, so that `2` is set before `10`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(usize),
    Name(String),
}

/// Lays the variables over the file's tables and tells where they went.
///
/// Variables of others are left alone, also those an orchestrator makes up for a service called `askgate`
/// (`ASKGATE_PORT`, `ASKGATE_SERVICE_HOST`).
pub(crate) fn overlay(
    table: &mut Table,
    env: impl IntoIterator<Item = (String, String)>,
    findings: &Findings,
) -> Origins {
    let settings: BTreeMap<Vec<Step>, (String, String)> = env
        .into_iter()
        .filter_map(|(variable, value)| Some((path_of(&variable, findings)?, (variable, value))))
        .collect();
    for path in settings.keys() {
        forget_twin(table, path);
    }
    let mut origins = Origins::new();
    for (path, (variable, value)) in settings {
        let key = key_of(&path);
        let set = match path.as_slice() {
            [Step::Name(section)] => match parse_value(&value) {
                Some(whole) => {
                    table.insert(section.clone(), whole);
                    Ok(())
                }
                None => Err("is no TOML value".to_owned()),
            },
            path => set_in_table(table, path, value),
        };
        match set {
            Ok(()) => {
                origins.insert(key, variable);
            }
            Err(what) => {
                let fix = format!("correct or unset {variable}; lists count from 0, as in ASKGATE_SOURCES__0__URL");
                findings.report(Problem::new(key, what, fix));
            }
        }
    }
    origins
}

/// The path a variable names, if it is one of ours.
fn path_of(variable: &str, findings: &Findings) -> Option<Vec<Step>> {
    let rest = variable.strip_prefix(PREFIX)?.to_ascii_lowercase();
    if !rest.contains("__") {
        if SECTIONS.contains(&rest.as_str()) {
            return Some(vec![Step::Name(rest)]);
        }
        warn_of_single_underscore(variable, &rest, findings);
        return None;
    }
    let mut path: Vec<Step> = Vec::new();
    for word in rest.split("__") {
        let in_headers = path.last() == Some(&Step::Name("headers".to_owned()));
        path.push(match word.parse() {
            Ok(index) if !in_headers && word.bytes().all(|b| b.is_ascii_digit()) => Step::Index(index),
            // A variable's name cannot hold the hyphen that nearly every header has.
            _ if in_headers => Step::Name(word.replace('_', "-")),
            _ => Step::Name(word.to_owned()),
        });
    }
    if path.contains(&Step::Name(String::new())) {
        let what = "names no key";
        findings.report(Problem::new(variable, what, "write ASKGATE_<SECTION>__<KEY>, or unset it"));
        return None;
    }
    Some(path)
}

/// `ASKGATE_TELEGRAM_TOKEN` does nothing, and its owner should hear it.
fn warn_of_single_underscore(variable: &str, rest: &str, findings: &Findings) {
    let meant = SECTIONS.iter().find_map(|section| Some((section, rest.strip_prefix(section)?.strip_prefix('_')?)));
    if let Some((section, key)) = meant
        && !key.starts_with("service_")
        && !key.starts_with("port")
    {
        let meant = format!("{PREFIX}{section}__{key}").to_ascii_uppercase();
        findings.warn(Problem::new(variable, "is not used", format!("with two underscores it is {meant}")));
    }
}

/// A secret from the environment replaces the file's, whichever of the two ways each is given in.
fn forget_twin(table: &mut Table, path: &[Step]) {
    let Some((Step::Name(name), parents)) = path.split_last() else { return };
    let twin = match name.strip_suffix("_file") {
        Some(bare) => bare.to_owned(),
        None => format!("{name}_file"),
    };
    if !SECRETS.iter().any(|secret| name == secret || twin == **secret) {
        return;
    }
    let Some((Step::Name(section), inner)) = parents.split_first() else { return };
    let mut node = table.get_mut(section);
    for step in inner {
        node = match (node, step) {
            (Some(Value::Array(list)), Step::Index(index)) => list.get_mut(*index),
            (Some(Value::Table(table)), Step::Name(name)) => table.get_mut(name),
            _ => None,
        };
    }
    if let Some(Value::Table(parent)) = node {
        parent.remove(&twin);
    }
}

/// Sets `value` at `path` below `table`, making what is missing on the way.
///
/// # Errors
///
/// What stands in the way, as the words after a key.
fn set_in_table(table: &mut Table, path: &[Step], value: String) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else { return Ok(()) };
    let name = match step {
        Step::Name(name) => name.clone(),
        Step::Index(index) => index.to_string(),
    };
    if rest.is_empty() {
        // Header names in the file may be written in any case; here they are lower case.
        table.retain(|key, _| !key.eq_ignore_ascii_case(&name));
        table.insert(name, Value::String(value));
        return Ok(());
    }
    set_in(table.entry(name).or_insert_with(|| empty_for(rest)), rest, value)
}

/// The same for a list: an item that exists, or the next one.
fn set_in_list(list: &mut Vec<Value>, path: &[Step], value: String) -> Result<(), String> {
    let (index, rest) = match path.split_first() {
        Some((Step::Index(index), rest)) => (*index, rest),
        Some((Step::Name(name), _)) => return Err(format!("is below a list, and {} is no number", quoted(name))),
        None => return Ok(()),
    };
    if index == list.len() {
        list.push(empty_for(rest));
    }
    let length = list.len();
    match list.get_mut(index) {
        Some(item) if rest.is_empty() => {
            *item = Value::String(value);
            Ok(())
        }
        Some(item) => set_in(item, rest, value),
        None => Err(format!("is number {index} in a list of {length}")),
    }
}

fn set_in(node: &mut Value, path: &[Step], value: String) -> Result<(), String> {
    match node {
        Value::Table(table) => set_in_table(table, path, value),
        Value::Array(list) => set_in_list(list, path, value),
        other => Err(format!("is below something that is no table and no list but {}", other.type_str())),
    }
}

/// What has to stand where `path` goes on.
fn empty_for(path: &[Step]) -> Value {
    match path.first() {
        Some(Step::Index(_)) => Value::Array(Vec::new()),
        Some(Step::Name(_)) | None => Value::Table(Table::new()),
    }
}

/// The path as messages and the reader write it: `sources[0].url`.
fn key_of(path: &[Step]) -> String {
    let mut key = String::new();
    for step in path {
        match step {
            Step::Index(index) => {
                // Writing to a String cannot fail.
                let _ = write!(key, "[{index}]");
            }
            Step::Name(name) => {
                if !key.is_empty() {
                    key.push('.');
                }
                key.push_str(name);
            }
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaid(file: &str, env: &[(&str, &str)]) -> (Table, Vec<String>, Vec<String>) {
        let mut table: Table = file.parse().expect("TOML");
        let findings = Findings::default();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        overlay(&mut table, env, &findings);
        let (problems, warnings) = findings.into_parts();
        let lines = |found: Vec<Problem>| found.iter().map(ToString::to_string).collect();
        (table, lines(problems), lines(warnings))
    }

    #[test]
    fn sets_keys_lists_and_headers() {
        let (table, problems, warnings) = overlaid(
            "[[sources]]\nurl = 'a'\nheaders = { X-Key = 'old' }",
            &[
                ("ASKGATE_SOURCES__10__URL", "too far"),
                ("ASKGATE_SOURCES__1__URL", "c"),
                ("ASKGATE_SOURCES__0__URL", "b"),
                ("ASKGATE_SOURCES__0__HEADERS__X_KEY", "new"),
                ("ASKGATE_LOG", "{ format = 'json' }"),
                ("PATH", "/bin"),
                ("ASKGATE_SERVICE_HOST", "10.0.0.1"),
                ("ASKGATE_STORE_PORT_8787_TCP", "tcp://10.0.0.1:8787"),
            ],
        );
        let expected =
            "[[sources]]\nurl = 'b'\nheaders = { x-key = 'new' }\n[[sources]]\nurl = 'c'\n[log]\nformat = 'json'";
        assert_eq!(table, expected.parse().expect("TOML"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("sources[10].url: is number 10 in a list of 2; "), "{problems:?}");
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn tells_what_it_cannot_set() {
        let (_, problems, warnings) = overlaid(
            "store = 3\n[[sources]]\nurl = 'a'",
            &[
                ("ASKGATE_STORE__PATH", "x"),
                ("ASKGATE_SOURCES__URL", "x"),
                ("ASKGATE___URL", "x"),
                ("ASKGATE_LOG", "{"),
                ("ASKGATE_TELEGRAM_TOKEN", "1:a"),
            ],
        );
        let keys: Vec<_> = problems.iter().filter_map(|line| line.split_once(": ")).map(|(key, _)| key).collect();
        assert_eq!(keys, ["ASKGATE___URL", "log", "sources.url", "store.path"]);
        assert_eq!(
            warnings,
            ["ASKGATE_TELEGRAM_TOKEN: is not used; with two underscores it is ASKGATE_TELEGRAM__TOKEN"]
        );
    }

    #[test]
    fn a_secret_replaces_its_twin_in_the_file_only() {
        let file = "[telegram]\ntoken_file = 'f'\n[[accounts]]\npassword = 'p'";
        let (table, ..) =
            overlaid(file, &[("ASKGATE_TELEGRAM__TOKEN", "1:a"), ("ASKGATE_ACCOUNTS__0__PASSWORD_FILE", "g")]);
        assert_eq!(table, "[telegram]\ntoken = '1:a'\n[[accounts]]\npassword_file = 'g'".parse().expect("TOML"));
        let (table, ..) = overlaid("", &[("ASKGATE_TELEGRAM__TOKEN", "1:a"), ("ASKGATE_TELEGRAM__TOKEN_FILE", "g")]);
        assert_eq!(table["telegram"].as_table().map(Table::len), Some(2));
    }
}
