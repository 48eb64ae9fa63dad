//! German.

mod answer;
mod form;
mod inbox;
mod link;
mod offers;
mod policy;

use asks::life::{Hold, Note};

use super::{Words, quoted};

/// The German sentences.
#[derive(Debug)]
pub(super) struct German;

impl Words for German {
    fn sending(&self, label: &str) -> String {
        format!("⏳ Wird gesendet: {}", quoted(label))
    }

    fn held(&self, label: &str, hold: Hold) -> String {
        let label = quoted(label);
        match hold {
            Hold::RateLimited => format!("⏳ Gespeichert: {label}. Die App bremst uns gerade; es wird bald gesendet."),
            Hold::SignIn => format!("⏳ Gespeichert: {label}. Die App verlangt vorher eine neue Anmeldung."),
            Hold::Unreachable => {
                format!(
                    "⏳ Gespeichert: {label}. Die App ist nicht erreichbar; es wird gesendet, sobald sie zurück ist."
                )
            }
        }
    }

    fn unclear(&self, label: &str) -> String {
        format!("⏳ Gespeichert: {}. Wir prüfen, ob es angekommen ist.", quoted(label))
    }

    fn answered(&self, label: &str, by: Option<&str>) -> String {
        match by {
            None => format!("✅ Beantwortet: {}", quoted(label)),
            Some(by) => format!("✅ Beantwortet von {}: {}", quoted(by), quoted(label)),
        }
    }

    fn answered_with_error(&self, label: &str, by: Option<&str>, error: &str) -> String {
        format!("{}\n⚠️ Danach ist beim Agenten ein Fehler aufgetreten: {}", self.answered(label, by), quoted(error))
    }

    fn answered_elsewhere(&self, label: Option<&str>) -> String {
        match label {
            None => "☑️ Anderswo beantwortet.".to_owned(),
            Some(label) => format!("☑️ Anderswo beantwortet: {}", quoted(label)),
        }
    }

    fn cancelled(&self) -> String {
        "☑️ Nicht mehr nötig: Das Gespräch ging weiter.".to_owned()
    }

    fn forbidden(&self) -> String {
        "🚫 Die App lässt dieses Konto hier nicht antworten.".to_owned()
    }

    fn gone(&self) -> String {
        "🗑️ Das Gespräch wurde gelöscht.".to_owned()
    }

    fn replaced(&self) -> String {
        "↪️ Die App fragt jetzt etwas anderes; dafür gibt es eine eigene Karte.".to_owned()
    }

    fn note(&self, note: &Note) -> String {
        match note {
            Note::Undone { label, error } => format!(
                "⚠️ Deine Antwort {} zählt nicht: Beim Agenten ist ein Fehler aufgetreten ({}). Bitte antworte noch einmal.",
                quoted(label),
                quoted(error)
            ),
            Note::NotDelivered { claim } => {
                format!(
                    "⚠️ Deine Antwort {} kam nicht bei der App an. Bitte versuche es noch einmal.",
                    quoted(&claim.label)
                )
            }
            Note::ButtonRefused { label } => {
                format!("⚠️ Die App nimmt {} von hier nicht an. Bitte antworte auf anderem Weg.", quoted(label))
            }
            Note::AnswerRefused { .. } => {
                "⚠️ Die App hat deine Antwort nicht angenommen. Bitte sieh sie dir auf der Antwortseite noch einmal an."
                    .to_owned()
            }
            Note::NotConsumed { claim } => format!(
                "⚠️ Die App hat {} angenommen, aber ihr Agent hat es nicht verwendet; die Frage ist wieder offen. Ist dort ein Modell eingerichtet?",
                quoted(&claim.label)
            ),
            Note::Reopened => "⚠️ Die App stellt diese Frage noch einmal.".to_owned(),
            Note::TapsMayBeLost => {
                "⚠️ Wir waren eine Weile offline. Falls du inzwischen getippt hast, tippe bitte noch einmal.".to_owned()
            }
        }
    }

    fn only_in_app(&self) -> String {
        "Bitte beantworte diese Frage in der App.".to_owned()
    }

    fn open_in_app(&self) -> String {
        "In der App öffnen".to_owned()
    }

    fn agent_waits(&self) -> String {
        "Ein Agent wartet auf eine Antwort".to_owned()
    }

    fn would_send(&self, button: &str) -> String {
        format!("{} sendet:", quoted(button))
    }

    fn empty_text(&self) -> String {
        "(ein leerer Text)".to_owned()
    }

    fn no_label(&self) -> String {
        "(ohne Beschriftung)".to_owned()
    }

    fn origin(&self, account: &str, source: &str) -> String {
        format!("Für {} · {}", quoted(account), quoted(source))
    }

    fn unknown_button(&self) -> String {
        "Dieser Knopf ist hier nicht mehr bekannt. Es wurde nichts gesendet.".to_owned()
    }

    fn not_yours(&self) -> String {
        "Diese Frage ist nicht für dich. Es wurde nichts gesendet.".to_owned()
    }

    fn not_linked(&self) -> String {
        "Dieser Chat ist mit dem Konto nicht mehr verbunden. Es wurde nichts gesendet.".to_owned()
    }

    fn card_unlinked(&self) -> String {
        "🔗 Dieser Chat ist nicht mehr mit dem Konto verbunden.".to_owned()
    }

    fn sign_in_again(&self, account: &str, source: &str, link: Option<&str>) -> String {
        let (account, source) = (quoted(account), quoted(source));
        let how = match link {
            Some(link) => format!("Hier neu anmelden: {link}"),
            None => "Bitte neu verbinden, dann geht es weiter.".to_owned(),
        };
        format!("🔑 {source} nimmt die Anmeldung von {account} nicht mehr an. Was wartet, bleibt erhalten. {how}")
    }

    fn already(&self, label: &str, by: Option<&str>) -> String {
        match by {
            None => format!("Schon beantwortet: {}", quoted(label)),
            Some(by) => format!("{} hat schon geantwortet: {}", quoted(by), quoted(label)),
        }
    }

    fn not_saved(&self) -> String {
        "Deine Antwort wurde nicht gespeichert, weil unser Speicher sie gerade nicht annimmt. Es wurde nichts gesendet. Bitte tippe später noch einmal."
            .to_owned()
    }

    fn button_dead(&self) -> String {
        "Die App nimmt diesen Knopf nicht an. Bitte antworte in der App.".to_owned()
    }

    fn recorded(&self) -> String {
        "Deine Antwort ist gespeichert und unterwegs.".to_owned()
    }

    fn still_saving(&self) -> String {
        "Das dauert gerade und ist noch nicht gespeichert. Die Karte sagt, sobald es so weit ist.".to_owned()
    }

    fn start_linked(&self, accounts: &str) -> String {
        format!("Dieser Chat ist mit {} verbunden. Fragen der Agenten erscheinen hier, mit Knöpfen.", quoted(accounts))
    }

    fn start_unknown(&self, place: &str) -> String {
        format!(
            "Dieser Chat ist noch nicht verbunden. Seine Adresse ist {place}\nTrage sie in askgate.toml bei einem Konto unter deliver ein, dann erscheinen Fragen hier."
        )
    }

    fn only_buttons(&self) -> String {
        "Getippte Nachrichten beantworten hier nichts. Bitte nutze die Knöpfe unter einer Frage.".to_owned()
    }

    fn still_waits(&self) -> String {
        "⏰ Diese Frage wartet noch auf deine Antwort.".to_owned()
    }

    fn digest(&self, count: usize) -> String {
        if count == 1 {
            "1 Frage wartet auf deine Antwort.".to_owned()
        } else {
            format!("{count} Fragen warten auf deine Antwort.")
        }
    }

    fn replied(&self) -> String {
        "Der Agent hat geantwortet.".to_owned()
    }

    fn error_kept_private(&self) -> String {
        "Einzelheiten nur im direkten Chat".to_owned()
    }

    fn rest_in_app(&self) -> String {
        "… Der Rest steht in der App.".to_owned()
    }
}
