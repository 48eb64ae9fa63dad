//! A measured process, and what the kernel says of it.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use tests::gateway::binary;

/// A process that dies with this value.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Starts a program whose output goes to a file.
    pub(crate) fn start(program: &Path, arguments: &[&str], log: &Path) -> anyhow::Result<Self> {
        let log = File::create(log)?;
        let child = Command::new(program)
            .args(arguments)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self(child))
    }

    /// The CPU time it has used, its threads' user and system time together; in steps of 10 ms.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        // The name stands in parentheses and may hold spaces; user and system time are the 14th and 15th field.
        let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat has no name")?;
        let ticks: u64 = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Resident memory in KiB, now (`VmRSS`) or at its highest (`VmHWM`).
    pub(crate) fn resident(&self, which: &str) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':'));
        let line = line.with_context(|| format!("/proc/PID/status has no {which}; did the process end?"))?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says what has to be built first.
pub(crate) fn built(programs: &[&str]) -> anyhow::Result<()> {
    for program in programs {
        let path = binary(program);
        anyhow::ensure!(
            path.exists(),
            "{} is missing; first run: cargo build --release -p gateway --bins && cargo build --release -p adapters \
             --example bare_teloxide",
            path.display()
        );
    }
    Ok(())
}
