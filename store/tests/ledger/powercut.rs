//! Power cuts: whatever the disk kept of what was not synced, an acknowledged claim is there and a refused one is not.
//!
//! `strace` writes down what a working store does to its files. From that, many disks are made as they may look after the
//! power went at some moment (`powercut/disk.rs`), and each is opened. `ASKGATE_POWER_CUTS=5000` makes more of them.

mod disk;
mod trace;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::ledger::{Claimed, Ledger};
use store::sled::offline;
use store::sled::{Options, SledLedger};

use self::disk::{Dice, Luck, rebuild};
use self::trace::{CALLS, Event, What};
use crate::refused::{Faulty, works_again};
use crate::support::{claim, is_claimed, new_ask, open, options};

const DIRECTORY: &str = "ASKGATE_TEST_DIRECTORY";
/// Power cuts in an ordinary run.
const CUTS: usize = 240;

#[expect(clippy::disallowed_methods, reason = "tells the child of this test what it is, and asks for a longer run")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Says a line in one system call, so that the trace has it where it was said.
fn say(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{line}\n").as_bytes()).expect("somebody reads");
    out.flush().expect("somebody reads");
}

async fn claims(ledger: &Arc<SledLedger>, round: &str, each: usize) {
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let (ledger, round) = (Arc::clone(ledger), round.to_owned());
            tokio::spawn(async move {
                for number in 0..each {
                    let name = format!("{round}t{task}n{number}");
                    ledger.record(new_ask(&name)).await.expect("recorded");
                    assert!(matches!(claim(&*ledger, &name, "deny", 7).await, Ok(Claimed::Won(_))));
                    say(&format!("acknowledged {name} ."));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
}

/// The child: claims, is refused by its disk, opens the store again, closes it, opens it, and claims once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of `whatever_a_power_cut_leaves_is_right`"]
async fn the_child_works() {
    let Some(directory) = told(DIRECTORY) else { return };
    let path = PathBuf::from(directory);
    let sync = Arc::new(Faulty::default());
    let opened = SledLedger::open(&path, Options { sync: Arc::<Faulty>::clone(&sync), ..options() });
    let ledger = Arc::new(opened.expect("opens").ledger);
    claims(&ledger, "a", 6).await;
    for number in 0..3 {
        let name = format!("refused{number}");
        ledger.record(new_ask(&name)).await.expect("recorded");
        sync.set(true, false);
        let refused = claim(&*ledger, &name, "approve", 7).await;
        assert!(refused.is_err(), "{refused:?}");
        say(&format!("refused {name} ."));
        sync.set(false, false);
        works_again(&ledger).await;
        claims(&ledger, &format!("b{number}"), 2).await;
    }
    assert!(sync.refusals.load(Ordering::SeqCst) >= 3);
    ledger.close().await;
    drop(ledger);
    let ledger = Arc::new(open(&path).ledger);
    claims(&ledger, "c", 6).await;
    ledger.close().await;
    say("closed .");
}

/// The child: finds its store damaged, sets it aside, and claims in the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of `what_is_set_aside_and_the_new_store_survive`"]
async fn the_child_sets_aside() {
    let Some(directory) = told(DIRECTORY) else { return };
    let path = PathBuf::from(directory);
    let ledger = Arc::new(open(&path).ledger);
    claims(&ledger, "old", 2).await;
    ledger.close().await;
    drop(ledger);
    // Truncated by hand and synced, as damage is.
    let db = fs::File::options().write(true).open(path.join("db")).expect("opens");
    db.set_len(40).expect("cut");
    db.sync_all().expect("synced");
    say("damaged .");
    let opened = open(&path);
    assert!(opened.set_aside.is_some() && opened.fresh);
    let ledger = Arc::new(opened.ledger);
    claims(&ledger, "new", 2).await;
    ledger.close().await;
}

/// The child: reads an export into a new store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of `an_import_that_was_reported_survives`"]
async fn the_child_imports() {
    let Some(directory) = told(DIRECTORY) else { return };
    let path = PathBuf::from(directory);
    let other = path.with_file_name("other");
    let ledger = Arc::new(open(&other).ledger);
    claims(&ledger, "a", 3).await;
    ledger.close().await;
    let mut lines = Vec::new();
    offline::export(&other, &mut lines).expect("exported");
    offline::import(&path, lines.as_slice()).expect("imported");
    say("imported .");
}

/// What a child did, and the directory that it did it in.
struct Story {
    root: PathBuf,
    events: Vec<Event>,
    _kept: tempfile::TempDir,
}

/// Runs a child under `strace`; `None` where there is none.
fn story(child: &str) -> Option<Story> {
    let kept = tempfile::tempdir().expect("a directory");
    let root = kept.path().join("home");
    fs::create_dir(&root).expect("made");
    let file = kept.path().join("trace");
    let able = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        println!("NOT CHECKED: power cuts (strace is missing or not allowed; get it with: apt-get install strace)");
        return None;
    }
    let output = Command::new("strace")
        .args(["-f", "-xx", "-y", "-s", "4000000", "-e"])
        .arg(format!("trace={CALLS}"))
        .arg("-o")
        .arg(&file)
        .arg(std::env::current_exe().expect("this test"))
        .args([&format!("powercut::{child}"), "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, root.join("data"))
        .output()
        .expect("strace runs");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let events = trace::read(&fs::read_to_string(&file).expect("a trace"));
    Some(Story { root, events, _kept: kept })
}

impl Story {
    /// What had been said by a line of the trace, of one kind.
    fn said(&self, kind: &str, cut: usize) -> Vec<String> {
        let said = self.events.iter().filter(|event| event.begun <= cut).filter_map(|event| match &event.what {
            What::Say { text } => Some(text.as_str()),
            _ => None,
        });
        said.flat_map(str::lines)
            .filter_map(|line| line.strip_prefix(kind)?.strip_suffix(" ."))
            .map(|name| name.trim().to_owned())
            .collect()
    }

    fn lines(&self) -> usize {
        self.events.iter().map(|event| event.done).max().unwrap_or(0)
    }

    /// The moments at which something of the store changed, or something was said.
    fn moments(&self) -> Vec<usize> {
        let moments: BTreeSet<usize> = self
            .events
            .iter()
            .filter(|event| match &event.what {
                What::Make { path, .. } | What::Directory { path } | What::Write { path, .. } | What::Sync { path } => {
                    path.starts_with(&self.root)
                }
                _ => true,
            })
            .flat_map(|event| [event.begun, event.done])
            .collect();
        moments.into_iter().collect()
    }

    /// The disk after a power cut, in a directory of its own.
    fn disk(&self, cut: usize, luck: Luck, dice: &mut Dice) -> (tempfile::TempDir, PathBuf) {
        let copy = tempfile::tempdir().expect("a directory");
        rebuild(&self.events, cut, &self.root, copy.path(), luck, dice);
        let path = copy.path().join("data");
        (copy, path)
    }
}

const LUCK: [Luck; 4] = [Luck::Nothing, Luck::Some, Luck::Everything, Luck::Some];

fn cuts() -> usize {
    told("ASKGATE_POWER_CUTS").and_then(|cuts| cuts.parse().ok()).unwrap_or(CUTS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_power_cut_leaves_is_right() {
    let Some(story) = story("the_child_works") else { return };
    let moments = story.moments();
    let mut dice = Dice(told("ASKGATE_SEED").and_then(|seed| seed.parse().ok()).unwrap_or(1));
    let (mut checked, mut wrong) = (0, Vec::new());
    for number in 0..cuts() {
        // The first round goes evenly over the story, later ones anywhere.
        let cut =
            if number < CUTS { moments[number * moments.len() / CUTS] } else { moments[dice.roll(moments.len())] };
        let luck = LUCK[number % LUCK.len()];
        let (_copy, path) = story.disk(cut, luck, &mut dice);
        let acknowledged = story.said("acknowledged ", cut);
        if let Err(why) = check(&path, &acknowledged, &story.said("refused ", cut)).await {
            wrong.push(format!(
                "cut {number} at line {cut} of {} ({luck:?} of what was not synced): {why}",
                story.lines()
            ));
        }
        checked += acknowledged.len();
    }
    println!("{} power cuts, {checked} times an acknowledged claim looked for: {} violations", cuts(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(story.said("refused ", story.lines()).len() == 3 && !story.said("closed", story.lines()).is_empty());
}

async fn check(path: &Path, acknowledged: &[String], refused: &[String]) -> Result<(), String> {
    let opened = SledLedger::open(path, options()).map_err(|error| error.to_string())?;
    if opened.fresh && !acknowledged.is_empty() {
        return Err(format!("the store is empty (set aside: {:?})", opened.set_aside));
    }
    for name in acknowledged {
        if !is_claimed(&opened.ledger, name).await {
            return Err(format!("{name} was acknowledged and is lost"));
        }
    }
    for name in refused {
        if is_claimed(&opened.ledger, name).await {
            return Err(format!("{name} was refused and is claimed"));
        }
    }
    opened.ledger.probe().await.map_err(|error| error.to_string())?;
    opened.ledger.close().await;
    let report = offline::verify(path).map_err(|error| error.to_string())?;
    if report.is_whole() { Ok(()) } else { Err(report.to_string()) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_set_aside_and_the_new_store_survive() {
    let Some(story) = story("the_child_sets_aside") else { return };
    let damaged = story
        .events
        .iter()
        .find(|event| matches!(&event.what, What::Say { text } if text.contains("damaged .")))
        .expect("said")
        .done;
    let mut dice = Dice(2);
    let mut after = 0;
    for cut in story.moments().into_iter().filter(|&cut| cut > damaged) {
        for luck in LUCK {
            let (copy, path) = story.disk(cut, luck, &mut dice);
            let new: Vec<String> =
                story.said("acknowledged ", cut).into_iter().filter(|name| name.starts_with("new")).collect();
            if new.is_empty() {
                continue;
            }
            after += 1;
            check(&path, &new, &[]).await.unwrap_or_else(|why| panic!("line {cut}, {luck:?}: {why}"));
            let aside = copy.path().join("data.corrupt-1700000000");
            assert!(
                aside.join("db").is_file() && aside.join("conf").is_file(),
                "line {cut}, {luck:?}: {aside:?} is not kept"
            );
            break;
        }
    }
    assert!(after > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_was_reported_survives() {
    let Some(story) = story("the_child_imports") else { return };
    let mut dice = Dice(3);
    let imported =
        story.events.iter().find(|event| matches!(&event.what, What::Say { text } if text.contains("imported .")));
    let cut = imported.expect("said").begun;
    for luck in LUCK {
        let (_copy, path) = story.disk(cut, luck, &mut dice);
        check(&path, &story.said("acknowledged ", cut), &[]).await.unwrap_or_else(|why| panic!("{luck:?}: {why}"));
    }
}
