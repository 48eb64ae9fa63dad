//! Feeds a target for a bounded time, and keeps what made it fail.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::mutate::mutated;
use super::targets::Target;
use crate::crash::dice::Dice;

/// How long a target is fed where nobody says how long.
const BRIEFLY: Duration = Duration::from_secs(2);

/// Tries what failed before, the examples as they are, and changed ones until the time is over. Returns how many were tried.
///
/// # Errors
/// With the seed and the file that holds the input, if a target panics; or if its files cannot be read.
#[expect(clippy::disallowed_methods, reason = "a test run's own settings and its time")]
#[expect(clippy::print_stderr, reason = "how much was tried must be seen")]
pub fn run(target: &Target) -> anyhow::Result<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let time = number("ASKGATE_FUZZ_SECONDS").map_or(BRIEFLY, Duration::from_secs);
    // A short run is the same each time; a long one looks elsewhere each time.
    let anew = if time > BRIEFLY { u64::from(std::process::id()) ^ nanos() } else { 1 };
    let seed = number("ASKGATE_FUZZ_SEED").unwrap_or(anew);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(target.name);
    for path in kept(&folder)? {
        let bytes = std::fs::read(&path)?;
        holds(target, &bytes).map_err(|said| anyhow::anyhow!("{}: {}: {said}", target.name, path.display()))?;
    }
    let examples = (target.seeds)()?;
    anyhow::ensure!(!examples.is_empty(), "{} has no examples", target.name);
    let mut dice = Dice::new(seed);
    let mut tried = 0_u64;
    let begin = Instant::now();
    let mut firsts = examples.iter();
    while begin.elapsed() < time {
        let bytes = firsts.next().cloned().unwrap_or_else(|| mutated(&mut dice, &examples));
        tried += 1;
        if let Err(said) = holds(target, &bytes) {
            std::fs::create_dir_all(&folder)?;
            let path = folder.join(format!("{seed:x}-{tried}"));
            std::fs::write(&path, &bytes).with_context(|| path.display().to_string())?;
            anyhow::bail!("{}: {said}\nthe input is in {}, seed {seed}", target.name, path.display());
        }
    }
    eprintln!("{}: {tried} inputs in {:?}, seed {seed}", target.name, begin.elapsed());
    Ok(tried)
}

fn holds(target: &Target, bytes: &[u8]) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).map_err(|panic| words(panic.as_ref()))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn kept(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

#[expect(clippy::disallowed_methods, reason = "a seed of a long run's own")]
fn nanos() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or_default()
}
