//! Deutsch: die Antwortseite.

use super::German;
use crate::words::answer::AnswerWords;

impl AnswerWords for German {
    fn answer_title(&self) -> String {
        "Antworten".to_owned()
    }

    fn answer_here(&self) -> String {
        "Hier antworten".to_owned()
    }

    fn no_such_page(&self) -> String {
        "Unter dieser Adresse gibt es keine Frage. Bitte benutze den Knopf unter einer Frage.".to_owned()
    }

    fn cannot_read_ask(&self) -> String {
        "Die App kann gerade nicht nach der ganzen Frage gefragt werden, deshalb stehen hier nur ihre Knöpfe. Lade die Seite neu, um alles zu sehen.".to_owned()
    }

    fn try_again_later(&self) -> String {
        "Die App ist gerade nicht erreichbar, deshalb lässt sich diese Frage hier nicht beantworten. Bitte lade die Seite in einer Minute neu.".to_owned()
    }

    fn on_its_way(&self) -> String {
        "Deine Antwort ist gespeichert und unterwegs. Diese Seite zeigt, wie es ausging.".to_owned()
    }

    fn page_too_old(&self) -> String {
        "Das wurde nicht von der Antwortseite selbst gesendet. Bitte öffne die Seite neu und sende es von dort."
            .to_owned()
    }

    fn too_large(&self, megabytes: u64) -> String {
        format!("Das ist zu groß zum Senden: Zusammen sind {megabytes} MB möglich. Bitte wähle kleinere Dateien.")
    }

    fn your_text(&self) -> String {
        "dein Text".to_owned()
    }

    fn your_form(&self) -> String {
        "deine Angaben".to_owned()
    }

    fn your_files(&self, count: usize) -> String {
        if count == 1 { "1 Datei".to_owned() } else { format!("{count} Dateien") }
    }
}
