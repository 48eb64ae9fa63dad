//! `[store]`: what must survive a restart.

use std::path::PathBuf;
use std::time::Duration;

use crate::problem::Reported;
use crate::reader::Section;
use crate::values;

/// The folder of the embedded store, beside the configuration file.
const PATH: &str = "askgate-data";
/// How long a settled ask is remembered: 30 days.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Where the ledger is and how long it remembers.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The folder of the embedded store, already relative to the working directory.
    pub path: PathBuf,
    /// How long a settled ask is remembered.
    pub retention: Duration,
}

impl StoreConfig {
    pub(crate) fn validate(section: &Section<'_>) -> Result<Self, Reported> {
        let path = section.or("path", PATH.to_owned(), |item| item.text().map(str::to_owned));
        let retention = section.or("retention", RETENTION, values::interval);
        let url = section.later("url");
        url?;
        Ok(Self { path: section.base().join(path?), retention: retention? })
    }
}
