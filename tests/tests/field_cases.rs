//! Failures that others have met in the field, each as a test of ours. `tests/field-cases.md` says which is which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[path = "system/common.rs"]
mod common;

#[path = "field/places.rs"]
mod places;
#[path = "field/taps.rs"]
mod taps;
#[path = "field/time.rs"]
mod time;

/// How many cases from the field there are, and how many traps in libraries.
const CASES: (u32, u32) = (68, 12);
/// What stands for a test where a case belongs to work that is not done yet.
const LATER: [&str; 2] = ["issue 4", "issue 5"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The rows of the index: the case, and everything that proves it.
fn index() -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let text = std::fs::read_to_string(root().join("tests/field-cases.md"))?;
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| C") || line.starts_with("| S")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [case, name, proofs] = cells.as_slice() else { anyhow::bail!("a row has three cells: {line}") };
        if *case == "Case" {
            continue;
        }
        anyhow::ensure!(!name.is_empty(), "a row has a name: {line}");
        let proofs = proofs.split(", ").map(|proof| proof.trim_matches('`').to_owned()).collect();
        rows.push(((*case).to_owned(), proofs));
    }
    Ok(rows)
}

/// The sources of every crate by file, as far as functions are in them.
fn sources() -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let crates = ["adapters", "asks", "config", "gateway", "sim", "store", "tests"];
    let mut open: Vec<PathBuf> = crates.iter().map(|name| root().join(name)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(root())?.with_extension("").display().to_string();
                found.insert(name, std::fs::read_to_string(&path)?);
            }
        }
    }
    Ok(found)
}

/// Whether `crate::module::function` names a test: a file of that crate whose path ends in the module has that function.
fn is_there(sources: &BTreeMap<String, String>, proof: &str) -> bool {
    let parts: Vec<&str> = proof.split("::").collect();
    let [name, modules @ .., function] = parts.as_slice() else { return false };
    let end = format!("/{}", modules.join("/"));
    let plain = format!("fn {function}(");
    sources
        .iter()
        .any(|(file, text)| file.starts_with(&format!("{name}/")) && file.ends_with(&end) && text.contains(&plain))
}

#[test]
fn every_case_is_in_the_index_once_and_its_tests_are_there() -> anyhow::Result<()> {
    let (rows, sources) = (index()?, sources()?);
    let expected: BTreeSet<String> = (1..=CASES.0)
        .map(|number| format!("C{number}"))
        .chain((1..=CASES.1).map(|number| format!("S{number}")))
        .collect();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for (case, proofs) in &rows {
        if !seen.insert(case.clone()) {
            wrong.push(format!("{case} is listed twice"));
        }
        for proof in proofs {
            if !LATER.contains(&proof.as_str()) && !is_there(&sources, proof) {
                wrong.push(format!("{case}: there is no {proof}"));
            }
        }
    }
    wrong.extend(expected.difference(&seen).map(|case| format!("{case} is missing")));
    wrong.extend(seen.difference(&expected).map(|case| format!("{case} is no case")));
    assert!(wrong.is_empty(), "tests/field-cases.md: {wrong:#?}");
    Ok(())
}

#[test]
fn every_test_that_is_named_after_a_case_is_in_its_row() -> anyhow::Result<()> {
    let rows: BTreeMap<String, Vec<String>> = index()?.into_iter().collect();
    let mut wrong = Vec::new();
    for (file, text) in sources()?.iter().filter(|(file, _)| !file.starts_with("tests/src")) {
        for function in text.split("fn ").skip(1).filter_map(|rest| rest.split('(').next()) {
            for case in named(function) {
                let listed = rows
                    .get(&case)
                    .is_some_and(|proofs| proofs.iter().any(|proof| proof.ends_with(&format!("::{function}"))));
                if !listed {
                    wrong.push(format!("{case}: {function} in {file}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "tests/field-cases.md does not name: {wrong:#?}");
    Ok(())
}

/// The cases at the beginning of a test's name: `c07_c49_hanging` is C7 and C49.
fn named(function: &str) -> Vec<String> {
    let case = |part: &str| {
        let (kind, number) = part.split_at_checked(1)?;
        let letter = ["c", "s"].contains(&kind) && number.len() == 2;
        letter.then(|| number.parse::<u32>().ok().map(|number| format!("{}{number}", kind.to_uppercase())))?
    };
    function.split('_').map_while(case).collect()
}

#[test]
fn the_search_finds_a_function_in_its_module_only() {
    let sources = BTreeMap::from([("gateway/src/poll/tempo".to_owned(), "fn a_test() {}".to_owned())]);
    assert!(is_there(&sources, "gateway::poll::tempo::a_test") && is_there(&sources, "gateway::tempo::a_test"));
    for other in ["gateway::tempo::a_tes", "gateway::temp::a_test", "store::tempo::a_test", "a_test", "issue 6"] {
        assert!(!is_there(&sources, other), "{other}");
    }
    assert_eq!(named("c07_c49_hanging_turns"), ["C7", "C49"]);
    assert_eq!(named("s09_a_crowd"), ["S9"]);
    assert!(named("cards_are_derived").is_empty() && named("c1_x").is_empty());
}

/// A byte index into text ends a process on somebody's emoji, so no text is cut by one anywhere.
#[test]
fn c37_no_text_is_cut_by_its_bytes() -> anyhow::Result<()> {
    let lints = std::fs::read_to_string(root().join("Cargo.toml"))?;
    assert!(lints.contains("string_slice = \"deny\"") && lints.contains("indexing_slicing = \"deny\""), "{lints}");
    Ok(())
}
