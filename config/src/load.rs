//! The edge: reads the file and the secrets' files, and puts file, environment and secrets on top of each other.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use toml::Table;
use toml::de::DeTable;

use crate::env::overlay;
use crate::problem::{Findings, Problem};
use crate::reader::Context;
use crate::secret::Secret;
use crate::sections::Config;

/// The largest file that is read, in bytes: a wrong path must not fill the memory.
const LARGEST_FILE: u64 = 16 << 20;

/// A configuration that can be served.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What works, and yet is probably not what was meant.
    pub warnings: Vec<Problem>,
}

/// A configuration that cannot be served, and every reason. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct Refused {
    /// The reasons, in the order of the file's sections.
    pub problems: Vec<Problem>,
}

/// Loads the configuration: the file at `path`, then the environment, then the files that `*_file` keys name.
///
/// `env` is every variable of the process or of a test; those of others are ignored. Take it from `std::env::vars_os` and
/// drop what is no Unicode, since `std::env::vars` panics there. A relative `*_file` or `store.path` starts at the folder
/// of `path`.
///
/// # Errors
///
/// [`Refused`] with every problem at once, each naming its key and the fix. A file that is no TOML is refused with all of
/// its syntax errors and nothing else.
pub fn load(path: &Path, env: impl IntoIterator<Item = (String, String)>) -> Result<Loaded, Refused> {
    let name = path.display().to_string();
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) => {
            let fix = "name a readable file with -c, or copy askgate.example.toml there";
            return Err(Refused { problems: vec![Problem::new(name, format!("cannot be read: {error}"), fix)] });
        }
    };
    let base = path.parent().unwrap_or(Path::new(""));
    resolve(&name, &text, env, base, &read_secret_text)
}

/// Reads a secret again that came from a file, because it stopped working and may have been replaced there.
///
/// `None` when it did not come from a file.
///
/// # Errors
///
/// The file cannot be read, is empty, is no UTF-8 or is larger than 16 MiB.
pub fn reread(secret: &Secret) -> io::Result<Option<Secret>> {
    let Some(file) = secret.file() else { return Ok(None) };
    let text = read_secret_text(file)?;
    if text.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is empty"));
    }
    Ok(Some(Secret::from_file(text, file.to_owned())))
}

/// The decision without the edge: a configuration out of texts.
fn resolve(
    name: &str,
    text: &str,
    env: impl IntoIterator<Item = (String, String)>,
    base: &Path,
    read_file: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<Loaded, Refused> {
    let mut table = parse(name, text)?;
    let findings = Findings::default();
    let origins = overlay(&mut table, env, &findings);
    let config = Config::validate(&Context { findings: &findings, origins: &origins, base, read_file }, &table);
    let (problems, warnings) = findings.into_parts();
    match config {
        Ok(config) if problems.is_empty() => Ok(Loaded { config, warnings }),
        _ => Err(Refused { problems }),
    }
}

/// The file's tables, or all its syntax errors with line and column.
fn parse(name: &str, text: &str) -> Result<Table, Refused> {
    let problem = |error: &toml::de::Error| {
        let (line, column) = position(text, error.span().map_or(text.len(), |span| span.start));
        // Only the message: the error's own text repeats the line, and the line may hold a secret.
        let what = format!("line {line}, column {column} is no TOML: {}", error.message());
        Problem::new(name, what, "correct the line; text values stand in quotes")
    };
    let (_, mut errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        errors.sort_by_key(|error| error.span().map_or(text.len(), |span| span.start));
        return Err(Refused { problems: errors.iter().map(problem).collect() });
    }
    text.parse().map_err(|error| Refused { problems: vec![problem(&error)] })
}

/// The line and column of a byte, both from 1, the column in characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read <= LARGEST_FILE) {
        Ok(text)
    } else {
        Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 16 MiB"))
    }
}

/// A secret's file without the one line end that editors and `echo` put there.
fn read_secret_text(path: &Path) -> io::Result<String> {
    let mut text = read_text(path)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

fn lines(problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        let gap = if text.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{gap}{problem}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toml::Value;

    use super::*;

    const EXAMPLE: &str = include_str!("../../askgate.example.toml");

    fn resolved(text: &str, env: Vec<(String, String)>) -> Result<Loaded, Refused> {
        let no_files = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
        resolve("askgate.toml", text, env, Path::new("/etc/askgate"), &no_files)
    }

    fn one_line_each(result: Result<Loaded, Refused>) {
        match result {
            Ok(_) => {}
            Err(refused) => {
                assert!(!refused.problems.is_empty(), "refused without a reason");
                assert_eq!(refused.to_string().lines().count(), refused.problems.len());
            }
        }
    }

    /// Any value at all, with keys that the sections know among others.
    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Boolean),
            any::<i64>().prop_map(Value::Integer),
            any::<f64>().prop_map(Value::Float),
            any::<String>().prop_map(Value::String),
            "(telegram|discord|discord:user|discord:channel|ntfy)?:?-?[0-9]{0,22}(/[0-9]*)?".prop_map(Value::String),
            "https?://[a-z.\\[:\\]0-9@?#{}]{0,12}".prop_map(Value::String),
            "[0-9]{0,20}(ms|s|m|d|y)?".prop_map(Value::String),
            "[0-2]?[0-9]:[0-9]{2}(-[0-2][0-9]:[0-9]{2})?( Europe/Berlin)?".prop_map(Value::String),
            Just(Value::String("app".into())),
        ];
        let keys = "server|store|secrets|sources|telegram|discord|ntfy|web|accounts|groups|log|name|url|handoff_url|headers|\
                    token|token_file|email|password|deliver|place|approvers|kind|key|retention|listen|trusted_proxies|\
                    public_key|source|quiet_hours|zone|digest|votes|mode|contact|[a-z]{0,9}";
        leaf.prop_recursive(5, 60, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((keys, inner), 0..6).prop_map(|pairs| Value::Table(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            one_line_each(resolved(&text, Vec::new()));
        }

        #[test]
        fn no_change_of_a_good_file_makes_it_panic(at in 0..EXAMPLE.len(), cut in 0..40usize, put in ".{0,8}") {
            let before: String = EXAMPLE.chars().take(at).collect();
            let after: String = EXAMPLE.chars().skip(at + cut).collect();
            one_line_each(resolved(&format!("{before}{put}{after}"), Vec::new()));
        }

        #[test]
        fn no_value_anywhere_makes_it_panic(
            pairs in prop::collection::vec(
                ("server|store|secrets|sources|telegram|discord|ntfy|web|accounts|groups|log", any_value()), 0..8),
            env in prop::collection::vec(("ASKGATE_[A-Z0-9_]{0,20}", any::<String>()), 0..4),
        ) {
            let table: Table = pairs.into_iter().collect();
            let text = toml::to_string(&table).expect("a table is TOML");
            one_line_each(resolved(&text, env));
        }
    }

    #[test]
    fn a_syntax_error_gives_line_and_column_and_no_secret() {
        let text = "[server]\nlisten = \"127.0.0.1:1\"\n[telegram]\ntoken = 123:hunter2\n\n[discord\n";
        let refused = resolved(text, Vec::new()).expect_err("no TOML");
        let printed = refused.to_string();
        assert!(printed.starts_with("askgate.toml: line 4, column 9 is no TOML: "), "{printed}");
        assert!(printed.contains("line 6, column 9"), "{printed}");
        assert!(!printed.contains("hunter2"), "{printed}");
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(position("ä\nüx", 5), (2, 2));
        assert_eq!(position("", 9), (1, 1));
    }
}
