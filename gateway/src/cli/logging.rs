//! What is logged, and from whom.
//!
//! `RUST_LOG` sets the level of askgate's own parts. Libraries never get below `warn`, because some of them print whole requests
//! at `debug`, and serenity's websocket target is off, because it prints payloads with tokens at any level.

use std::io::IsTerminal as _;

use config::LogFormat;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The crates that are ours.
const OWN: [&str; 7] = ["adapters", "asks", "askgate", "config", "gateway", "sim", "store"];

/// Starts logging to standard error.
pub(super) fn start(format: LogFormat) {
    #[expect(clippy::disallowed_methods, reason = "the binary's edge: RUST_LOG is the name everybody expects")]
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = filter(&wanted);
    let registry = tracing_subscriber::registry();
    // A second call (a test in the same process) keeps the first subscriber.
    let _ = match format {
        LogFormat::Text => {
            let colours = std::io::stderr().is_terminal();
            let layer =
                tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colours);
            registry.with(layer.with_filter(filter)).try_init()
        }
        LogFormat::Json => {
            let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(std::io::stderr);
            registry.with(layer.with_filter(filter)).try_init()
        }
    };
}

/// Builds the filter from `RUST_LOG`: a level, or `target=level` pairs with commas between.
fn filter(wanted: &str) -> Targets {
    let mut filter = Targets::new().with_default(LevelFilter::WARN).with_target("serenity::gateway", LevelFilter::OFF);
    filter = own(filter, LevelFilter::INFO);
    for directive in wanted.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        match directive.split_once('=') {
            None => {
                if let Ok(level) = directive.parse() {
                    filter = own(filter, level);
                }
            }
            Some((target, level)) => {
                let Ok(level) = level.parse::<LevelFilter>() else { continue };
                let target = target.trim();
                let root = target.split("::").next().unwrap_or_default();
                if target == "askgate" {
                    filter = own(filter, level);
                } else if OWN.contains(&root) {
                    filter = filter.with_target(target.to_owned(), level);
                } else if root != "serenity" {
                    filter = filter.with_target(target.to_owned(), level.min(LevelFilter::WARN));
                }
            }
        }
    }
    filter
}

fn own(filter: Targets, level: LevelFilter) -> Targets {
    OWN.iter().fold(filter, |filter, name| filter.with_target(*name, level))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn our_parts_follow_rust_log_and_libraries_stay_quiet() {
        let table = [
            ("", "gateway::poll", Level::INFO, true),
            ("", "gateway::poll", Level::DEBUG, false),
            ("trace", "adapters::http", Level::TRACE, true),
            ("trace", "reqwest::connect", Level::INFO, false),
            ("hyper=trace", "hyper::proto", Level::INFO, false),
            ("serenity=trace", "serenity::gateway::ws", Level::ERROR, false),
            ("trace", "serenity::gateway::ws", Level::ERROR, false),
            ("gateway::poll=debug", "gateway::poll::apply", Level::DEBUG, true),
            ("gateway::poll=debug", "gateway::answer", Level::DEBUG, false),
            ("askgate=debug", "store::sled", Level::DEBUG, true),
            ("warn,nonsense=,=", "gateway", Level::INFO, false),
        ];
        for (wanted, target, level, expected) in table {
            assert_eq!(filter(wanted).would_enable(target, &level), expected, "RUST_LOG={wanted} {target} {level}");
        }
    }
}
