//! What a process did to the files of one directory, read from what `strace` wrote down.

use std::collections::HashMap;
use std::path::PathBuf;

/// The system calls that change files, and those that say where the next write goes.
pub(super) const CALLS: &str = "openat,write,pwrite64,ftruncate,rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync,\
     mkdir,mkdirat,lseek";

/// One thing that was done, between two lines of the trace.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) begun: usize,
    pub(super) done: usize,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A name that may not have been there before; whether what was in it goes.
    Make {
        path: PathBuf,
        emptied: bool,
    },
    Directory {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    Write {
        path: PathBuf,
        at: u64,
        bytes: Vec<u8>,
    },
    Length {
        path: PathBuf,
        length: u64,
    },
    Sync {
        path: PathBuf,
    },
    /// A line on standard output.
    Say {
        text: String,
    },
}

/// The events of a trace, in the order in which they began.
pub(super) fn read(trace: &str) -> Vec<Event> {
    let mut positions: HashMap<String, u64> = HashMap::new();
    let mut unfinished: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut events = Vec::new();
    for (number, line) in trace.lines().enumerate() {
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(opening) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(pid, (number, opening));
            continue;
        }
        let resumed = call.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>"));
        let (since, whole) = match resumed {
            Some((_, rest)) => match unfinished.remove(pid) {
                Some((since, opening)) => (since, format!("{opening}{rest}")),
                None => continue,
            },
            None => (number, call.to_owned()),
        };
        if let Some(what) = understood(&whole, &mut positions) {
            events.push(Event { begun: since, done: number, what });
        }
    }
    // What was cut off in the middle was begun.
    let end = trace.lines().count();
    for (begun, opening) in unfinished.into_values() {
        if let Some(what) = understood(&format!("{opening}) = 0"), &mut positions) {
            events.push(Event { begun, done: end, what });
        }
    }
    events.sort_by_key(|event| event.begun);
    events
}

fn understood(call: &str, positions: &mut HashMap<String, u64>) -> Option<What> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(") ")?;
    let result = result.trim_start().strip_prefix("= ")?;
    if result.starts_with('-') {
        return None;
    }
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let first = *arguments.first()?;
    let named =
        |number: usize| arguments.iter().filter(|text| text.starts_with('"')).nth(number).map(|text| path(text));
    match name {
        "openat" => {
            let (descriptor, _) = opened(result)?;
            positions.insert(descriptor, 0);
            let makes = call.contains("O_CREAT");
            if makes { Some(What::Make { path: named(0)?, emptied: call.contains("O_TRUNC") }) } else { None }
        }
        "mkdir" | "mkdirat" => Some(What::Directory { path: named(0)? }),
        "rename" | "renameat" | "renameat2" => Some(What::Rename { from: named(0)?, to: named(1)? }),
        "unlink" | "unlinkat" => Some(What::Remove { path: named(0)? }),
        "lseek" => {
            positions.insert(opened(first)?.0, result.parse().ok()?);
            None
        }
        "write" if first.starts_with("1<") => {
            Some(What::Say { text: String::from_utf8_lossy(&bytes(arguments[1])).into_owned() })
        }
        "write" => {
            let (descriptor, path) = opened(first)?;
            let bytes = bytes(arguments[1]);
            let position = positions.entry(descriptor).or_insert(0);
            let at = *position;
            *position += bytes.len() as u64;
            Some(What::Write { path, at, bytes })
        }
        "pwrite64" => {
            let at = arguments.last()?.trim().parse().ok()?;
            Some(What::Write { path: opened(first)?.1, at, bytes: bytes(arguments[1]) })
        }
        "ftruncate" => Some(What::Length { path: opened(first)?.1, length: arguments.last()?.trim().parse().ok()? }),
        "fsync" | "fdatasync" => Some(What::Sync { path: opened(first)?.1 }),
        _ => None,
    }
}

/// A descriptor and its path, from `5<\x2f...>`.
fn opened(text: &str) -> Option<(String, PathBuf)> {
    let (descriptor, rest) = text.split_once('<')?;
    Some((descriptor.to_owned(), path(rest.split_once('>')?.0)))
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes(text)).expect("names are text"))
}

/// The bytes of `"\x61\x62"`.
fn bytes(text: &str) -> Vec<u8> {
    text.trim_matches('"').split("\\x").skip(1).map(|hex| u8::from_str_radix(hex, 16).expect("two digits")).collect()
}
