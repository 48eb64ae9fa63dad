//! The configuration: one typed value out of `askgate.toml`, the environment and secret files, or every reason why not.
//!
//! | file | subject |
//! | --- | --- |
//! | `load` | the edge: reads the files, puts the layers on top of each other |
//! | `env` | the layer of `ASKGATE_<SECTION>__<KEY>` |
//! | `reader` | walks the merged tables, notes which keys are known, reports the others |
//! | `hours` | quiet hours and the time of a digest, by the clock on a person's wall |
//! | `values` | the types that several sections share: names, addresses, durations, choices |
//! | `sections` | one file per section, each with a `validate` that makes the typed section |
//! | `problem` | what is wrong, where, and how to fix it |
//! | `secret` | text that never shows itself |
//!
//! A derive would stop at the first wrong value. Here every value is read, and each failure leaves a proof behind
//! (`Reported`, which only a recorded problem can make), so a section is either complete or refused with a reason.

mod env;
mod hours;
mod load;
mod nearest;
mod problem;
mod reader;
mod secret;
mod sections;
mod values;

pub use hours::{DailyTime, HoursError, QuietHours, Zone};
pub use load::{Loaded, Refused, load, reread};
pub use problem::Problem;
pub use secret::{SealingKey, Secret};
pub use sections::Config;
pub use sections::account::{AccountConfig, Credential, LANGUAGES, Language, LockScreen};
pub use sections::discord::{DiscordConfig, DiscordMode};
pub use sections::group::{GroupConfig, Privacy};
pub use sections::handoff::HandoffUrl;
pub use sections::log::{LogConfig, LogFormat};
pub use sections::ntfy::NtfyConfig;
pub use sections::proxies::Network;
pub use sections::secrets::SecretsConfig;
pub use sections::server::ServerConfig;
pub use sections::source::{Headers, SignIn, SourceConfig, SourceKind};
pub use sections::store::StoreConfig;
pub use sections::telegram::{TelegramConfig, TelegramMode};
pub use sections::web::WebConfig;
