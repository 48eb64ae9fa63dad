//! Power cuts of a real file system: ext4 on a loop device, shut down without its journal while the store is written.
//!
//! The kernel forgets everything that was not on the device, as `xfstests` has it do. Only root may; where that is not
//! possible, `powercut.rs` remains. `ASKGATE_BLACKOUTS=200` runs it longer.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use store::ledger::Ledger;

use crate::support::{is_claimed, open};

/// Blackouts in an ordinary run.
const ROUNDS: u64 = 8;
/// `EXT4_IOC_SHUTDOWN` with the flag that leaves the journal unwritten.
const SHUT_DOWN: &str =
    r#"open F, "<", $ARGV[0] or die; $flag = pack("L", 2); ioctl(F, 0x8004587d, $flag) or die "$!""#;

#[expect(clippy::disallowed_methods, reason = "a longer run is asked for by hand")]
fn rounds() -> u64 {
    std::env::var("ASKGATE_BLACKOUTS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

fn works(program: &str, arguments: &[&Path]) -> bool {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// A file system of its own, which is taken away when it is dropped.
struct Mount(PathBuf);

impl Mount {
    fn new(image: &Path, at: &Path) -> Option<Self> {
        works("mount", &[Path::new("-o"), Path::new("loop"), image, at]).then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        assert!(works("umount", &[&self.0]) || works("umount", &[Path::new("-l"), &self.0]), "cannot be unmounted");
    }
}

/// An image with an empty file system.
fn image(root: &Path) -> Option<PathBuf> {
    let image = root.join("image");
    std::fs::File::create(&image).and_then(|file| file.set_len(48 << 20)).expect("an image");
    works("mkfs.ext4", &[Path::new("-q"), Path::new("-F"), &image]).then_some(image)
}

#[tokio::test]
async fn a_blackout_loses_nothing_acknowledged() {
    let root = tempfile::tempdir().expect("a directory");
    let at = root.path().join("mounted");
    std::fs::create_dir(&at).expect("made");
    let mut checked = 0;
    for round in 0..rounds() {
        let Some(mounted) = image(root.path()).and_then(|image| Mount::new(&image, &at)) else {
            println!(
                "NOT CHECKED: blackouts of a real file system (mkfs.ext4 or loop devices are not at hand, or not for this user)"
            );
            return;
        };
        let path = at.join("data");
        let mut child = crate::crash::child(&path, round);
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let named = |line: &str| line.split_once("acknowledged ").map(|(_, name)| name.to_owned());
        let mut acknowledged = vec![lines.by_ref().find_map(|line| named(&line)).expect("the child works")];
        std::thread::sleep(Duration::from_millis(round * 53 % 400));
        let shut_down = Command::new("perl").args(["-e", SHUT_DOWN]).arg(path.join("conf")).output();
        if !shut_down.is_ok_and(|output| output.status.success()) {
            child.kill().expect("killed");
            child.wait().expect("gone");
            println!(
                "NOT CHECKED: blackouts of a real file system (perl is missing, or the kernel cannot shut ext4 down)"
            );
            return;
        }
        child.kill().expect("killed");
        acknowledged.extend(lines.filter_map(|line| named(&line)));
        child.wait().expect("gone");
        drop(mounted);

        let _mounted = Mount::new(&root.path().join("image"), &at).expect("mounts again");
        let opened = open(&path);
        assert!(!opened.fresh && opened.set_aside.is_none(), "round {round}: {:?}", opened.set_aside);
        for name in &acknowledged {
            assert!(is_claimed(&opened.ledger, name).await, "{name} was acknowledged and is lost (round {round})");
        }
        opened.ledger.close().await;
        drop(opened);
        assert!(store::sled::offline::verify(&path).expect("readable").is_whole());
        checked += acknowledged.len();
    }
    println!("{checked} acknowledged claims survived {} blackouts", rounds());
}
