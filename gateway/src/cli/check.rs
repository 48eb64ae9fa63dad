//! `askgate check`.

use clap::Args;

use super::{ConfigFile, Exit, load, out};

/// The command's arguments.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    file: ConfigFile,
    /// Print the problems as JSON lines.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        if self.json {
            return self.as_json();
        }
        let path = &self.file.config;
        let loaded = match load(path) {
            Ok(loaded) => loaded,
            Err(exit) => return Ok(exit),
        };
        for warning in &loaded.warnings {
            out::line(&format!("warning: {warning}"));
        }
        let config = loaded.config;
        let channels: Vec<&str> =
            [config.telegram.as_ref().map(|_| "telegram"), config.discord.as_ref().map(|_| "discord")]
                .into_iter()
                .flatten()
                .collect();
        out::line(&format!(
            "{} is fine: sources {}, accounts {}, groups {}, channels {}",
            path.display(),
            config.sources.len(),
            config.accounts.len(),
            config.groups.len(),
            if channels.is_empty() { "none".to_owned() } else { channels.join(" and ") },
        ));
        Ok(Exit::Fine)
    }

    fn as_json(&self) -> anyhow::Result<Exit> {
        #[expect(clippy::disallowed_methods, reason = "the binary's edge: the one place that reads the environment")]
        let environment =
            std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        let (problems, exit) = match config::load(&self.file.config, environment) {
            Ok(_) => (Vec::new(), Exit::Fine),
            Err(refused) => (refused.problems, Exit::WrongUse),
        };
        for problem in &problems {
            out::line(&serde_json::to_string(problem)?);
        }
        Ok(exit)
    }
}
