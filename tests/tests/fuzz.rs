//! Every fuzz target for a bounded time; `ASKGATE_FUZZ_SECONDS=600` for longer.

use std::collections::BTreeSet;

use tests::fuzz::{TARGETS, run};

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() -> anyhow::Result<()> {
                let target = TARGETS.iter().find(|target| target.name == stringify!($name)).expect("a target");
                assert!(run(target)? > 20, "too slow to find anything");
                Ok(())
            }
        )*
    };
}

targets![
    ask_lines,
    ask_forms,
    cards,
    configuration,
    discord_answer,
    discord_frame,
    discord_interaction,
    places,
    previews,
    shown_text,
    store_import,
    store_value,
    telegram_answer,
    telegram_update,
    terreno_headers,
    terreno_reply,
    terreno_token,
    wire,
];

#[test]
fn every_target_is_run_here_and_by_cargo_fuzz() {
    let all: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(all, NAMES.iter().copied().collect(), "tests/tests/fuzz.rs names every target");
    let manifest = include_str!("../../fuzz/Cargo.toml");
    let named = manifest.lines().filter_map(|line| line.strip_prefix("[[bin]]")).count();
    assert_eq!(named, all.len(), "fuzz/Cargo.toml has a program for every target");
    for name in all {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "fuzz/Cargo.toml lacks {name}");
    }
}
