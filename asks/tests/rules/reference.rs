//! Where the expected results come from: the shared reference, and a few of the project's own beside it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use asks::errors::FieldError;
use serde_json::{Value, json};

/// A file or folder of the shared reference. Where it is missing that is said aloud: a test that checked little must not
/// look like one that checked everything.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference/terreno")).join(name);
    if path.exists() {
        return Some(path);
    }
    // Written past the test harness, which hides what a passing test prints.
    let said = "of the shared Terreno reference is not here; only the project's own data was used";
    writeln!(std::io::stderr(), "NOT CHECKED: {name} {said}").expect("a standard error to write to");
    None
}

/// Every vector of a kind: the project's own, and the shared ones where they are.
pub(crate) fn vectors(name: &str) -> Vec<Value> {
    let own = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).join(name);
    let lines = |path: &Path| -> Vec<Value> {
        let text = fs::read_to_string(path).expect("a readable file of vectors");
        text.lines().filter(|line| !line.is_empty()).map(parse).collect()
    };
    let mut vectors = lines(&own);
    assert!(!vectors.is_empty(), "no own vectors in {name}");
    if let Some(path) = shared(&format!("vectors/{name}")) {
        let ours = vectors.len();
        vectors.extend(lines(&path));
        assert!(vectors.len() > ours, "no shared vectors in {name}");
    }
    vectors
}

/// Every JSON file of a folder of the shared reference, by name; empty where it is missing.
pub(crate) fn folder(name: &str) -> Vec<(String, Value)> {
    let Some(path) = shared(name) else { return Vec::new() };
    let mut files: Vec<(String, Value)> = fs::read_dir(path)
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable entry").path())
        .map(|path| (path.display().to_string(), parse(&fs::read_to_string(&path).expect("a readable file"))))
        .collect();
    files.sort_by(|one, two| one.0.cmp(&two.0));
    assert!(!files.is_empty(), "{name} is empty");
    files
}

pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Paths and codes, as the vectors write them.
pub(crate) fn brief(errors: &[FieldError]) -> Value {
    errors.iter().map(|error| json!({ "path": error.path, "code": error.code })).collect()
}

/// The same value with every number as a float, since the vectors compare numbers by value.
pub(crate) fn by_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(by_value).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), by_value(value))).collect(),
        other => other.clone(),
    }
}
