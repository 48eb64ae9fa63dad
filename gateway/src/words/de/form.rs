//! Deutsch: eine Frage als Formular.

use asks::errors::Code;

use super::German;
use crate::pages::form::Bounds;
use crate::words::form::FormWords;

/// „zwischen 1 und 4", „mindestens 1", „höchstens 4" oder nichts.
fn between(bounds: &Bounds) -> String {
    match (&bounds.least, &bounds.most) {
        (Some(least), Some(most)) if least == most => format!("genau {least}"),
        (Some(least), Some(most)) if least == "0" => format!("höchstens {most}"),
        (Some(least), Some(most)) => format!("zwischen {least} und {most}"),
        (Some(least), None) => format!("mindestens {least}"),
        (None, Some(most)) => format!("höchstens {most}"),
        (None, None) => "eine andere Anzahl".to_owned(),
    }
}

impl FormWords for German {
    fn submit(&self) -> String {
        "Antwort senden".to_owned()
    }

    fn skip(&self) -> String {
        "Überspringen".to_owned()
    }

    fn other(&self) -> String {
        "Anderes".to_owned()
    }

    fn optional(&self) -> String {
        "freiwillig".to_owned()
    }

    fn choose(&self, bounds: &Bounds) -> String {
        format!("Auswählen: {}.", between(bounds))
    }

    fn length(&self, bounds: &Bounds) -> String {
        format!("Länge: {} Zeichen.", between(bounds))
    }

    fn size(&self, bounds: &Bounds) -> String {
        if *bounds == Bounds::default() { String::new() } else { format!("Eine Zahl: {}.", between(bounds)) }
    }

    fn whole_number(&self) -> String {
        "Nur ganze Zahlen.".to_owned()
    }

    fn file_rules(&self, kinds: &[&str], bounds: &Bounds, megabytes: u64) -> String {
        format!("{}; {} Dateien, je bis zu {megabytes} MB.", kinds.join(", "), between(bounds))
    }

    fn utc_offset(&self) -> String {
        "Abstand zu UTC, zum Beispiel +01:00".to_owned()
    }

    fn choose_one(&self) -> String {
        "Bitte wählen".to_owned()
    }

    fn please_correct(&self) -> String {
        "Noch nicht gesendet: Bitte berichtige, was unten markiert ist. Nichts Getipptes ist verloren.".to_owned()
    }

    fn choose_files_again(&self) -> String {
        "Bitte wähle die Dateien noch einmal aus; ein Browser lässt die Seite sie nicht behalten.".to_owned()
    }

    fn broken_rule(&self, code: Code, bounds: &Bounds) -> String {
        match code {
            Code::MissingRequired | Code::RequiredField => "Das wird gebraucht. Bitte fülle es aus.".to_owned(),
            Code::TooLong => format!("Das ist zu lang. Länge: {} Zeichen.", between(bounds)),
            Code::TooShort => format!("Das ist zu kurz. Länge: {} Zeichen.", between(bounds)),
            Code::SelectionCount => format!("Bitte wähle aus: {}.", between(bounds)),
            Code::TooFew | Code::TooMany => "Das sind zu wenige oder zu viele Einträge.".to_owned(),
            Code::FileCount => format!("Bitte wähle {} Dateien aus.", between(bounds)),
            Code::OutOfRange | Code::RangeInvalid => format!("Bitte nimm eine Zahl: {}.", between(bounds)),
            Code::InvalidDate => {
                "Diesen Tag oder diese Zeit gibt es nicht. Bitte prüfe die Angabe; ein Zeitpunkt braucht seinen Abstand zu UTC.".to_owned()
            }
            Code::FieldTypeMismatch | Code::InvalidType | Code::InvalidFormat => {
                "Das ist nicht so geschrieben, wie es sein muss. Bitte prüfe es.".to_owned()
            }
            Code::FileTooLarge => "Eine Datei ist zu groß. Bitte wähle eine kleinere.".to_owned(),
            Code::FileTypeNotAccepted => "Diese Art von Datei wird nicht angenommen. Bitte wähle eine andere.".to_owned(),
            Code::MimeMismatch => "Eine Datei enthält nicht, was ihr Typ sagt. Bitte wähle eine andere.".to_owned(),
            Code::FileNotOwned => "Die App findet eine hochgeladene Datei nicht. Bitte sende sie noch einmal.".to_owned(),
            Code::DeclineNotAllowed => "Diese Frage kann nicht übersprungen werden. Bitte beantworte sie.".to_owned(),
            Code::OptionNotOffered | Code::InvalidEnum | Code::DefaultNotInOptions => {
                "Das stand nicht zur Wahl. Bitte wähle aus der Liste.".to_owned()
            }
            Code::DuplicateId | Code::DuplicateLabel => "Etwas wurde doppelt gewählt. Bitte wähle jedes nur einmal.".to_owned(),
            Code::OtherNotAllowed => "Freier Text geht hier nicht. Bitte wähle aus der Liste.".to_owned(),
            Code::ChangedMismatch | Code::UnknownKey | Code::UnknownButton => {
                "Die App kann diese Antwort nicht lesen. Bitte lade die Seite neu.".to_owned()
            }
        }
    }
}
