//! Requests held against the platforms' published specifications, and against the rules that those leave to prose.
//!
//! The published files live outside the project. Where they are absent the rules in prose are checked all the same, and what
//! could not be checked is said loudly.

mod discord;
mod telegram;

use std::path::{Path, PathBuf};

use serde_json::Value;

use self::discord::DiscordFile;
use self::telegram::TelegramFile;

/// The rules of both platforms.
#[derive(Debug)]
pub struct Specs {
    telegram: Option<TelegramFile>,
    discord: Option<DiscordFile>,
}

impl Specs {
    /// Reads the published files beside the project, where they are.
    ///
    /// # Errors
    /// If a file is there and cannot be read.
    pub fn load() -> anyhow::Result<Self> {
        Ok(Self {
            telegram: published("telegram-api.json")?.map(TelegramFile::new),
            discord: published("discord-openapi.json")?.map(DiscordFile::new),
        })
    }

    /// Whether both published files are there.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        self.telegram.is_some() && self.discord.is_some()
    }

    /// What is wrong with these calls of the Bot API, one sentence each; none when all are valid.
    #[must_use]
    pub fn telegram(&self, requests: &[sim::telegram::Request]) -> Vec<String> {
        let mut problems = Vec::new();
        for request in requests {
            let mut found = telegram::prose(request);
            if let Some(file) = &self.telegram {
                found.extend(file.problems(request));
            }
            let name = format!("{} (request {})", request.method, request.number);
            problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
        }
        problems
    }

    /// What is wrong with these requests to Discord, one sentence each; none when all are valid.
    #[must_use]
    pub fn discord(&self, requests: &[sim::discord::Request]) -> Vec<String> {
        let mut problems = discord::nonces(requests);
        for request in requests.iter().filter(|request| request.route != sim::discord::Route::Socket) {
            let mut found = discord::prose(request);
            if let Some(file) = &self.discord {
                found.extend(file.problems(request));
            }
            let name = format!("{} {} (request {})", request.method, request.template, request.number);
            problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
        }
        problems
    }
}

/// A file that is shared beside the project, if it is there.
#[must_use]
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference")).join(path);
    path.exists().then_some(path)
}

#[expect(clippy::print_stderr, reason = "what a test run leaves out must be seen")]
fn published(name: &str) -> anyhow::Result<Option<Value>> {
    let Some(path) = shared(&format!("specs/{name}")) else {
        eprintln!("NOT CHECKED: requests against {name}, which is not beside the project");
        return Ok(None);
    };
    Ok(Some(serde_json::from_slice(&std::fs::read(path)?)?))
}
