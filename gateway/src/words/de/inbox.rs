//! Deutsch: der Posteingang.

use asks::place::ChannelKind;

use super::German;
use crate::words::inbox::InboxWords;
use crate::words::listed;

impl InboxWords for German {
    fn inbox_title(&self) -> String {
        "Eingang".to_owned()
    }

    fn inbox_link(&self, address: &str) -> String {
        format!(
            "Öffne deinen Eingang innerhalb von 10 Minuten: {address}\nDer Link gilt einmal, behalte ihn also für dich."
        )
    }

    fn inbox_off(&self) -> String {
        "Hier gibt es keinen Eingang: Wer diesen Dienst betreibt, hat ihm keine öffentliche Adresse gegeben.".to_owned()
    }

    fn how_to_sign_in(&self) -> String {
        "Du bist nicht angemeldet. Sende dem Bot im privaten Chat /inbox: Er antwortet mit einem Link, der deinen Eingang in diesem Browser öffnet."
            .to_owned()
    }

    fn sign_in_title(&self) -> String {
        "Eingang öffnen".to_owned()
    }

    fn sign_in_for(&self, accounts: &[String]) -> String {
        format!("Dieser Browser zeigt und beantwortet 30 Tage lang die Fragen von {}.", listed(accounts, "und"))
    }

    fn sign_in(&self) -> String {
        "Eingang öffnen".to_owned()
    }

    fn no_such_sign_in(&self) -> String {
        "Dieser Link öffnet keinen Eingang. Bitte sende dem Bot /inbox, um einen neuen zu bekommen.".to_owned()
    }

    fn sign_in_spent(&self) -> String {
        "Dieser Link wurde schon benutzt oder ist älter als 10 Minuten. Bitte sende dem Bot /inbox, um einen neuen zu bekommen.".to_owned()
    }

    fn waiting(&self) -> String {
        "Wartet auf dich".to_owned()
    }

    fn nothing_waits(&self) -> String {
        "Nichts wartet auf deine Antwort.".to_owned()
    }

    fn settled_lately(&self) -> String {
        "Erledigt am letzten Tag".to_owned()
    }

    fn new_question(&self) -> String {
        "Eine neue Frage:".to_owned()
    }

    fn answer_in_full(&self) -> String {
        "Ganze Frage öffnen".to_owned()
    }

    fn ago(&self, minutes: u64) -> String {
        match minutes {
            0 => "gerade eben".to_owned(),
            1..60 => format!("vor {minutes} Min."),
            60..1_440 => format!("vor {} Std.", minutes / 60),
            1_440..2_880 => "vor 1 Tag".to_owned(),
            _ => format!("vor {} Tagen", minutes / 1_440),
        }
    }

    fn answered_on(&self, channel: Option<ChannelKind>) -> String {
        match channel {
            Some(ChannelKind::Telegram) => "in Telegram",
            Some(ChannelKind::Discord) => "in Discord",
            Some(ChannelKind::Ntfy | ChannelKind::Web) => "über eine Mitteilung",
            None => "auf diesen Seiten",
        }
        .to_owned()
    }

    fn offline(&self) -> String {
        "Du bist offline. Das hier hat gewartet, als die Seite zuletzt geladen wurde; beantworten lässt es sich erst, wenn du wieder online bist."
            .to_owned()
    }

    fn browsers(&self) -> String {
        "Angemeldete Browser".to_owned()
    }

    fn this_browser(&self) -> String {
        "dieser Browser".to_owned()
    }

    fn sign_out(&self) -> String {
        "Abmelden".to_owned()
    }

    fn sign_out_everywhere(&self) -> String {
        "Überall abmelden".to_owned()
    }

    fn signed_out(&self) -> String {
        "Du bist abgemeldet.".to_owned()
    }

    fn back_to_inbox(&self) -> String {
        "Zurück zum Eingang".to_owned()
    }
}
