//! What may be on a disk after the power went: all that was synced, and anything of what was not.
//!
//! A file's bytes are there as of its last `fsync`; of every later write none, all, or some blocks of 512 bytes. A
//! directory's names are there as of its own last `fsync`, and of the later changes the first few, as a journal keeps them.
//! `sync_file_range` counts for nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::trace::{Event, What};

const BLOCK: usize = 512;

/// Numbers that look random and are the same each time.
#[derive(Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides.max(1)
    }
}

/// How much of what was not synced arrived.
#[derive(Debug, Clone, Copy)]
pub(super) enum Luck {
    Nothing,
    Everything,
    Some,
}

#[derive(Default)]
struct Node {
    /// What was done to its bytes and when that was begun and done.
    changes: Vec<(usize, usize, Change)>,
    /// When a sync that has ended began.
    synced: Option<usize>,
}

#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

enum Naming {
    Put(PathBuf, usize),
    Directory(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl Naming {
    fn directory(&self) -> PathBuf {
        let (Self::Put(path, _) | Self::Directory(path) | Self::Rename(_, path) | Self::Remove(path)) = self;
        path.parent().expect("a parent").to_owned()
    }
}

/// Makes below `to` what may be left of `root` when the power goes at line `cut` of the trace.
pub(super) fn rebuild(events: &[Event], cut: usize, root: &Path, to: &Path, luck: Luck, dice: &mut Dice) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut names: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut namings: Vec<(usize, Naming)> = Vec::new();
    let mut synced_directories: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.begun <= cut) {
        let change = |path: &Path, change: Change, nodes: &mut Vec<Node>| {
            if let Some(node) = names.get(path) {
                nodes[*node].changes.push((event.begun, event.done, change));
            }
        };
        match &event.what {
            What::Make { path, .. } if !path.starts_with(root) => {}
            What::Make { path, emptied } => {
                if !names.contains_key(path) {
                    names.insert(path.clone(), nodes.len());
                    namings.push((event.done, Naming::Put(path.clone(), nodes.len())));
                    nodes.push(Node::default());
                } else if *emptied {
                    change(path, Change::Length(0), &mut nodes);
                }
            }
            What::Directory { path } if path.starts_with(root) => {
                namings.push((event.done, Naming::Directory(path.clone())));
            }
            What::Rename { from, to } if from.starts_with(root) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
                namings.push((event.done, Naming::Rename(from.clone(), to.clone())));
            }
            What::Remove { path } if path.starts_with(root) => {
                names.remove(path);
                namings.push((event.done, Naming::Remove(path.clone())));
            }
            What::Write { path, at, bytes } => change(path, Change::Write(*at, bytes.clone()), &mut nodes),
            What::Length { path, length } => change(path, Change::Length(*length), &mut nodes),
            What::Sync { path } if event.done <= cut => match names.get(path) {
                Some(node) => nodes[*node].synced = Some(event.begun),
                None => {
                    synced_directories.insert(path.clone(), event.begun);
                }
            },
            _ => {}
        }
    }
    fs::create_dir_all(to).expect("made");
    let mut left: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    let mut ended: Vec<PathBuf> = Vec::new();
    for (done, naming) in &namings {
        let directory = naming.directory();
        let durable = synced_directories.get(&directory).is_some_and(|synced| done < synced);
        let arrives = durable
            || match luck {
                Luck::Nothing => false,
                Luck::Everything => true,
                // From the first change that did not arrive on, none did.
                Luck::Some => !ended.contains(&directory) && dice.roll(4) > 0,
            };
        if !arrives {
            ended.push(directory);
            continue;
        }
        match naming {
            Naming::Put(path, node) => {
                left.insert(path.clone(), *node);
            }
            Naming::Directory(path) => directories.push(path.clone()),
            Naming::Rename(from, to) => {
                if let Some(node) = left.remove(from) {
                    left.insert(to.clone(), node);
                }
            }
            Naming::Remove(path) => {
                left.remove(path);
            }
        }
    }
    let place = |path: &Path| to.join(path.strip_prefix(root).expect("below the root"));
    // A name can be durable although its directory's is not: then both are gone.
    for directory in &directories {
        let target = place(directory);
        if !target.exists() && target.parent().is_some_and(Path::is_dir) {
            fs::create_dir(target).expect("made");
        }
    }
    for (path, node) in &left {
        let target = place(path);
        if target.parent().is_some_and(Path::is_dir) {
            fs::write(target, bytes(&nodes[*node], luck, dice)).expect("written");
        }
    }
}

fn bytes(node: &Node, luck: Luck, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (_, done, change) in &node.changes {
        let durable = node.synced.is_some_and(|synced| *done < synced);
        let share = match luck {
            _ if durable => 2,
            Luck::Nothing => 0,
            Luck::Everything => 2,
            Luck::Some => dice.roll(3),
        };
        match change {
            _ if share == 0 => {}
            Change::Length(length) => bytes.resize(usize::try_from(*length).expect("small"), 0),
            Change::Write(at, what) => {
                let at = usize::try_from(*at).expect("small");
                if bytes.len() < at + what.len() {
                    bytes.resize(at + what.len(), 0);
                }
                let mut from = 0;
                while from < what.len() {
                    let to = ((at + from) / BLOCK + 1) * BLOCK - at;
                    let to = to.min(what.len());
                    if share == 2 || dice.roll(2) == 0 {
                        bytes[at + from..at + to].copy_from_slice(&what[from..to]);
                    }
                    from = to;
                }
            }
        }
    }
    bytes
}
