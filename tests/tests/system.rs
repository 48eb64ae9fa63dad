//! Whole-system tests: the real binary, over real sockets, against the simulated platforms.

/// Runs each `async fn name(channel: Channel)` once for Telegram and once for Discord.
macro_rules! on_both_channels {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn telegram() -> anyhow::Result<()> {
                super::$name(tests::Channel::Telegram).await
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn discord() -> anyhow::Result<()> {
                super::$name(tests::Channel::Discord).await
            }
        }
    )+};
}

#[path = "system/common.rs"]
mod common;

#[path = "system/backend.rs"]
mod backend;
#[path = "system/cards.rs"]
mod cards;
#[path = "system/delivery.rs"]
mod delivery;
#[path = "system/discord.rs"]
mod discord;
#[path = "system/elsewhere.rs"]
mod elsewhere;
#[path = "system/hooks.rs"]
mod hooks;
#[path = "system/linked.rs"]
mod linked;
#[path = "system/main_job.rs"]
mod main_job;
#[path = "system/network.rs"]
mod network;
#[path = "system/ntfy.rs"]
mod ntfy;
#[path = "system/outcomes.rs"]
mod outcomes;
#[path = "system/people.rs"]
mod people;
#[path = "system/policies.rs"]
mod policies;
#[path = "system/restart.rs"]
mod restart;
#[path = "system/stubborn.rs"]
mod stubborn;
#[path = "system/telegram.rs"]
mod telegram;
