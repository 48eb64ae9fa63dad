//! German: votes and second thoughts.

use super::German;
use crate::words::{PolicyWords, listed, quoted};

impl PolicyWords for German {
    fn votes_so_far(&self, label: &str, count: usize, needed: usize, by: &[String]) -> String {
        format!("🗳️ {}: {count} von {needed}, von {}", quoted(label), listed(by, "und"))
    }

    fn votes_of(&self, by: &[String]) -> String {
        format!("🗳️ Stimmen: {}", listed(by, "und"))
    }

    fn vote_counted(&self, label: &str, count: usize, needed: usize) -> String {
        format!("Deine Stimme zählt: {count} von {needed} für {}.", quoted(label))
    }

    fn vote_counts_already(&self, label: &str, count: usize, needed: usize) -> String {
        format!("Deine Stimme für {} zählt schon: {count} von {needed}.", quoted(label))
    }

    fn not_your_own(&self) -> String {
        "Das fragt dein eigener Agent, darum müssen hier andere antworten. Es wurde nichts gesendet.".to_owned()
    }

    fn really(&self, label: &str) -> String {
        format!("⚠️ Das lässt sich nicht rückgängig machen. Wirklich: {}?", quoted(label))
    }

    fn yes(&self, label: &str) -> String {
        format!("Ja, {label}")
    }

    fn back(&self) -> String {
        "Zurück".to_owned()
    }

    fn confirms_another(&self) -> String {
        "Nur wer zuerst getippt hat, kann das bestätigen. Es wurde nichts gesendet.".to_owned()
    }

    fn another_is_asked(&self) -> String {
        "Gerade wird jemand anderes gefragt, ob es so gemeint ist. Bitte versuche es in einer halben Minute noch einmal. Es wurde nichts gesendet."
            .to_owned()
    }

    fn confirmed_too_late(&self) -> String {
        "Die Zeit zum Bestätigen ist um. Bitte tippe die Antwort noch einmal an. Es wurde nichts gesendet.".to_owned()
    }

    fn cannot_ask_here(&self) -> String {
        "Das lässt sich nicht rückgängig machen, und eine Benachrichtigung kann nicht nachfragen. Bitte öffne sie, um zu antworten. Es wurde nichts gesendet."
            .to_owned()
    }
}
