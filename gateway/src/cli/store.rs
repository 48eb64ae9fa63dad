//! `askgate store`: the ledger, off-line.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use store::sled::offline;

use super::{ConfigFile, Exit, load, out};

/// The command's arguments.
#[derive(Debug, Args)]
pub(super) struct Store {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read every record and say what is damaged.
    Verify(ConfigFile),
    /// Write every record as a JSON line. The file holds secrets: keep it as you keep the store.
    Export {
        #[command(flatten)]
        file: ConfigFile,
        /// Where to write; it must not exist yet.
        #[arg(value_name = "TO")]
        to: PathBuf,
    },
    /// Read an export into an empty store.
    Import {
        #[command(flatten)]
        file: ConfigFile,
        /// What to read.
        #[arg(value_name = "FROM")]
        from: PathBuf,
    },
}

impl Store {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let file = match &self.action {
            Action::Verify(file) | Action::Export { file, .. } | Action::Import { file, .. } => &file.config,
        };
        let loaded = match load(file) {
            Ok(loaded) => loaded,
            Err(exit) => return Ok(exit),
        };
        let path = loaded.config.store.path;
        match self.action {
            Action::Verify(_) => {
                anyhow::ensure!(path.exists(), "there is no store at {}", path.display());
                let report = offline::verify(&path)?;
                out::line(&report.to_string());
                Ok(if report.is_whole() { Exit::Fine } else { Exit::Failed })
            }
            Action::Export { to, .. } => {
                anyhow::ensure!(path.exists(), "there is no store at {}", path.display());
                let out = private_file(&to)
                    .with_context(|| format!("{} cannot be made; it must not exist yet", to.display()))?;
                let mut out = BufWriter::new(out);
                let count = offline::export(&path, &mut out)?;
                out.flush()?;
                out.get_ref().sync_all()?;
                super::out::line(&format!("wrote {count} records to {}; it holds secrets", to.display()));
                Ok(Exit::Fine)
            }
            Action::Import { from, .. } => {
                let input = File::open(&from).with_context(|| format!("{} cannot be read", from.display()))?;
                let count = offline::import(&path, BufReader::new(input))?;
                out::line(&format!("read {count} records into {}", path.display()));
                Ok(Exit::Fine)
            }
        }
    }
}

/// A new file that only its owner can read.
fn private_file(path: &std::path::Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}
