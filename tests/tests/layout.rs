//! The shape of the house: who may depend on whom, and which words may stand where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

/// Files longer than this are listed, so that somebody looks at them.
const LONG: usize = 500;

/// Our crates, and which of ours each may depend on.
const TABLE: [(&str, &[&str]); 8] = [
    ("asks", &[]),
    ("faults", &[]),
    ("config", &["asks"]),
    ("store", &["asks", "faults"]),
    ("adapters", &["asks", "faults"]),
    ("sim", &["asks"]),
    ("gateway", &["adapters", "asks", "config", "faults", "sim", "store"]),
    ("tests", &["adapters", "asks", "config", "faults", "gateway", "sim", "store"]),
];

/// Libraries that few may name: the library, who may use it, and who may for their tests.
const GUARDED: [(&str, &[&str], &[&str]); 7] = [
    ("serenity", &["adapters"], &[]),
    ("teloxide", &["adapters"], &[]),
    ("sled", &["store"], &[]),
    ("sqlx", &["store"], &[]),
    ("tokio-postgres", &["store"], &[]),
    ("axum", &["gateway", "sim"], &["adapters"]),
    // The vocabulary and the rules know no network, no tasks and no clock.
    ("reqwest", &["adapters", "gateway", "tests"], &["sim"]),
];

/// What the vocabulary may use; each of it is without I/O, tasks and clocks.
const PURE: [&str; 5] = ["serde", "serde_json", "thiserror", "unicode-segmentation", "url"];

struct Dependency {
    name: String,
    is_dev: bool,
    is_optional: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every crate of the workspace with its dependencies, as cargo reads them.
fn crates() -> anyhow::Result<BTreeMap<String, Vec<Dependency>>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()?;
    anyhow::ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let dependency = |value: &Value| Dependency {
        name: text(value, "name"),
        is_dev: text(value, "kind") == "dev",
        is_optional: value.get("optional") == Some(&Value::Bool(true)),
    };
    let packages = list(&metadata, "packages");
    Ok(packages
        .iter()
        .map(|package| (text(package, "name"), list(package, "dependencies").iter().map(dependency).collect()))
        .collect())
}

/// Every Rust file of ours, by its path from the root.
fn sources() -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = TABLE.iter().map(|(name, _)| root().join(name)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(root())?.display().to_string();
                found.push((name, std::fs::read_to_string(&path)?));
            }
        }
    }
    anyhow::ensure!(found.len() > 50, "only {} files were found", found.len());
    found.sort();
    Ok(found)
}

/// Whether a path of that crate is named in a line: `sled::`, but not `crate::sled::`, `store::sled::` or `unsled::`.
fn names(line: &str, library: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let word = format!("{library}::");
    let mut rest = code;
    let mut before = None;
    while let Some(at) = rest.find(&word) {
        let (head, tail) = rest.split_at(at);
        let last = head.chars().last().or(before);
        if last.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '"')) {
            return true;
        }
        before = word.chars().last();
        rest = tail.get(word.len()..).unwrap_or_default();
    }
    // `::sled::` is the library for certain.
    code.contains(&format!(" ::{word}")) || code.contains(&format!("(::{word}"))
}

#[test]
fn dependencies_point_one_way() -> anyhow::Result<()> {
    let crates = crates()?;
    let ours: BTreeSet<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    assert_eq!(crates.keys().map(String::as_str).collect::<BTreeSet<_>>(), ours, "the table names every crate");
    for (name, allowed) in TABLE {
        for dependency in &crates[name] {
            if ours.contains(dependency.name.as_str()) {
                assert!(allowed.contains(&dependency.name.as_str()), "{name} must not depend on {}", dependency.name);
            }
        }
    }
    let sim = crates["gateway"].iter().find(|dependency| dependency.name == "sim").context("gateway needs sim")?;
    assert!(sim.is_optional && !sim.is_dev, "gateway depends on sim only behind the feature `demo`");
    for dependency in crates["asks"].iter().filter(|dependency| !dependency.is_dev) {
        assert!(PURE.contains(&dependency.name.as_str()), "asks is pure, and {} may not be", dependency.name);
    }
    Ok(())
}

#[test]
fn each_library_stays_behind_its_wall() -> anyhow::Result<()> {
    let crates = crates()?;
    for (library, users, testers) in GUARDED {
        for (name, dependencies) in &crates {
            for dependency in dependencies.iter().filter(|dependency| dependency.name == library) {
                let may = users.contains(&name.as_str()) || (dependency.is_dev && testers.contains(&name.as_str()));
                assert!(may, "{name} must not depend on {library}");
            }
        }
    }
    Ok(())
}

#[test]
fn each_library_is_named_only_behind_its_wall() -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    // This file names them all, as examples.
    for (file, text) in sources()?.into_iter().filter(|(file, _)| !file.ends_with("tests/layout.rs")) {
        for (library, users) in [("serenity", "adapters/"), ("teloxide", "adapters/"), ("sled", "store/")] {
            // A `mod sled` of ours in scope makes `sled::` a module; only its own crate and its tests have one.
            let has_module = library == "sled" && file.starts_with("store/");
            for (number, line) in text.lines().enumerate().filter(|(_, line)| names(line, library)) {
                let at = format!("{file}:{}: {line}", number + 1);
                // The logging filter names the library's log target, in quotes, which `names` does not take for code.
                assert!(has_module || file.starts_with(users), "{library} is named outside {users}: {at}");
                seen.insert(library);
            }
        }
    }
    assert_eq!(seen.len(), 3, "the search finds what it looks for: {seen:?}");
    Ok(())
}

#[test]
fn the_search_knows_a_library_from_a_module() {
    for (line, expected) in [
        ("use sled::Tree;", true),
        ("    let db: ::sled::Db = x;", true),
        ("use store::sled::SledLedger;", false),
        ("use crate::sled::Tree; use sled::Db;", true),
        ("// sled::Db is opened elsewhere", false),
        ("with_target(\"sled::pagecache\")", false),
        ("unsled::x()", false),
    ] {
        assert_eq!(names(line, "sled"), expected, "{line}");
    }
}

#[test]
fn files_keep_the_house_rules() -> anyhow::Result<()> {
    let mut long = Vec::new();
    for (file, text) in sources()? {
        assert!(!file.ends_with("/mod.rs"), "{file}: a module is `name.rs` beside `name/`");
        for (number, line) in text.lines().enumerate() {
            let code = line.trim_start();
            let silences = code.starts_with("#[allow(") || code.starts_with("#![allow(");
            assert!(!silences, "{file}:{}: use #[expect(.., reason = \"..\")]", number + 1);
        }
        let length = text.lines().count();
        if length > LONG {
            long.push(format!("{file}: {length} lines"));
        }
    }
    assert!(long.is_empty(), "files that should be cut in two: {long:#?}");
    Ok(())
}
