//! One suite that every ledger passes.
//!
//! A ledger's tests give [`run`] a [`Fixture`] that makes empty ledgers and opens one again as after a restart. A case is
//! a function of a ledger that returns what is broken, so that one run reports every broken promise at once.

mod claims;
mod keeping;
mod recording;
mod restarts;
mod samples;
mod showing;

use std::sync::Arc;

use asks::life::IllegalMove;
use async_trait::async_trait;

use crate::ledger::{Ledger, LedgerError};

/// Makes the ledgers that the suite examines.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// An empty ledger of its own.
    ///
    /// # Errors
    /// If it cannot be made.
    async fn fresh(&self) -> Result<Arc<dyn Ledger>, LedgerError>;

    /// The same ledger, opened again as the next process would. The suite has closed it.
    ///
    /// # Errors
    /// If it cannot be opened.
    async fn reopened(&self, closed: Arc<dyn Ledger>) -> Result<Arc<dyn Ledger>, LedgerError>;
}

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

impl From<LedgerError> for Broken {
    fn from(error: LedgerError) -> Self {
        Self(format!("an operation failed: {error}"))
    }
}

impl From<IllegalMove> for Broken {
    fn from(error: IllegalMove) -> Self {
        Self(error.to_string())
    }
}

type Case = Result<(), Broken>;

/// Stops a case unless the promise is kept.
macro_rules! promise {
    ($kept:expr, $($text:tt)+) => {
        if !$kept {
            return Err($crate::contract::Broken(format!($($text)+)));
        }
    };
}
use promise;

/// Runs every case, each on a ledger of its own.
///
/// # Errors
/// The names of the cases that failed, with what was broken.
pub async fn run(fixture: &dyn Fixture) -> Result<(), Broken> {
    let mut broken = Vec::new();
    macro_rules! cases {
        ($($module:ident::$case:ident),+ $(,)?) => {
            $(
                if let Err(why) = fixture_case(fixture, async |ledger| $module::$case(ledger).await).await {
                    broken.push(format!("{}: {why}", stringify!($case)));
                }
            )+
        };
    }
    cases!(
        recording::an_ask_is_recorded_once,
        recording::ids_that_differ_only_in_their_borders_are_different_asks,
        recording::open_asks_are_listed_by_account_and_age,
        recording::content_is_kept_whole,
        recording::a_token_leads_to_its_button,
        recording::deliveries_are_added_once_per_place,
        recording::an_ask_put_aside_keeps_what_was_shown_of_it,
        claims::one_tap_wins,
        claims::a_dead_or_unknown_button_loses,
        claims::an_ask_that_is_over_cannot_be_claimed,
        claims::concurrent_taps_have_one_winner,
        claims::a_claim_writes_its_audit_line,
        claims::a_stale_move_changes_nothing,
        claims::a_move_writes_all_that_belongs_to_it,
        showing::the_first_card_shown_makes_the_ask_live,
        showing::a_message_leads_to_its_delivery,
        showing::a_delivery_keeps_its_ask_and_place,
        showing::notices_are_open_until_they_end,
        showing::a_moved_chat_is_renamed_everywhere,
        keeping::an_ask_finishes_when_all_of_it_has_ended,
        keeping::a_finished_ask_that_moves_is_open_again,
        keeping::named_values_are_kept_by_name,
        keeping::prune_deletes_what_is_finished_and_old,
        keeping::the_audit_trail_is_in_order,
        keeping::nothing_is_found_where_nothing_is,
    );
    if let Err(why) = restarts::a_restart_keeps_everything(fixture).await {
        broken.push(format!("a_restart_keeps_everything: {why}"));
    }
    if let Err(why) = restarts::a_closed_ledger_says_so(fixture).await {
        broken.push(format!("a_closed_ledger_says_so: {why}"));
    }
    if broken.is_empty() { Ok(()) } else { Err(Broken(broken.join("\n"))) }
}

async fn fixture_case(fixture: &dyn Fixture, case: impl AsyncFnOnce(&Arc<dyn Ledger>) -> Case) -> Case {
    let ledger = fixture.fresh().await?;
    let outcome = case(&ledger).await;
    ledger.close().await;
    outcome
}
