//! `[log]`: how logs look. Their level comes from `RUST_LOG`.

use crate::problem::Reported;
use crate::reader::Section;
use crate::values;

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object per line.
    Json,
}

/// How logs look.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// How a line is written.
    pub format: LogFormat,
}

impl LogConfig {
    pub(crate) fn validate(section: &Section<'_>) -> Result<Self, Reported> {
        let format = section.or("format", LogFormat::Text, |item| {
            values::one_of(item, &[("text", LogFormat::Text), ("json", LogFormat::Json)], &[])
        })?;
        Ok(Self { format })
    }
}
