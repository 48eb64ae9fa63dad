//! One run of the binary, from its arguments to its exit code.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::gateway::binary;

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// Standard output as JSON lines.
    ///
    /// # Errors
    /// If a line is no JSON.
    pub fn lines(&self) -> anyhow::Result<Vec<Value>> {
        self.out.lines().map(|line| serde_json::from_str(line).with_context(|| format!("in {line}"))).collect()
    }
}

/// Runs `askgate` with these arguments and this standard input, and waits for its end.
///
/// # Errors
/// If it cannot be started.
pub fn askgate<S: AsRef<std::ffi::OsStr>>(arguments: &[S], input: &str) -> anyhow::Result<Ran> {
    let program = binary("askgate");
    let mut child = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} cannot be started; build it with: cargo build --bins", program.display()))?;
    // A thread of its own: the program prints while it still reads.
    let mut pipe = child.stdin.take().context("no standard input")?;
    let input = input.to_owned();
    let writing = std::thread::spawn(move || {
        // A program that reads nothing closes its end, which is no failure of the test.
        let _ = pipe.write_all(input.as_bytes());
    });
    let output = child.wait_with_output()?;
    let _ = writing.join();
    Ok(Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs `askgate COMMAND.. -c FILE`.
///
/// # Errors
/// As [`askgate`].
pub fn with_file(command: &[&str], file: &Path) -> anyhow::Result<Ran> {
    let file = file.to_str().context("a path that is no text")?;
    askgate(&[command, &["-c", file]].concat(), "")
}
