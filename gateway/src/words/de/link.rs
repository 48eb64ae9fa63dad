//! Deutsch: ein Konto verbinden.

use super::German;
use crate::link::commands::Off;
use crate::words::link::LinkWords;
use crate::words::{listed, quoted};

impl LinkWords for German {
    fn linking_off(&self, off: Off) -> String {
        match off {
            Off::NoKey => "Verbinden ist ausgeschaltet, weil ein Schlüssel zum Versiegeln fehlt. Wer diesen Dienst betreibt, kann secrets.key setzen.",
            Off::NoAddress => "Verbinden ist ausgeschaltet, weil dieser Dienst keine öffentliche Adresse hat. Wer ihn betreibt, kann server.public_url setzen.",
            Off::NoSource => "Verbinden ist für jede App ausgeschaltet. Wer diesen Dienst betreibt, kann link = true setzen.",
        }
        .to_owned()
    }

    fn link_here(&self, url: &str) -> String {
        format!(
            "Auf dieser Seite verbindest du dein Konto. Sie gilt einmal, 15 Minuten lang. Gib sie nicht weiter:\n{url}"
        )
    }

    fn link_too_often(&self, seconds: u64) -> String {
        format!("Du hast gerade mehrere Links angefordert. Bitte versuche es in {seconds} Sekunden noch einmal.")
    }

    fn link_not_now(&self) -> String {
        "Das geht gerade nicht, und nichts wurde geändert. Bitte versuche es in einer Minute noch einmal.".to_owned()
    }

    fn write_to_me_directly(&self) -> String {
        "Bitte schreib mir im direkten Chat: Links und Konten sind nur für eine Person.".to_owned()
    }

    fn nobody_linked(&self) -> String {
        "Hier ist kein Konto verbunden. Mit /link verbindest du eines.".to_owned()
    }

    fn linked(&self, who: &str, app: &str) -> String {
        format!("Verbunden: {} bei {}. Fragen erscheinen ab jetzt hier.", quoted(who), quoted(app))
    }

    fn unlinked(&self, who: &str) -> String {
        format!("{} ist nicht mehr mit diesem Chat verbunden.", quoted(who))
    }

    fn unlink_which(&self, names: &[String]) -> String {
        format!("Hier sind mehrere Konten verbunden: {}. Sende /unlink und den Namen von einem.", listed(names, "und"))
    }

    fn unlink_in_file(&self, who: &str) -> String {
        format!("{} wurde von den Betreibern dieses Dienstes verbunden; nur sie können das ändern.", quoted(who))
    }

    fn inbox_is_here(&self) -> String {
        "Es gibt noch keine Seite mit allen Fragen. Was auf dich wartet, steht in diesem Chat, mit Knöpfen.".to_owned()
    }

    fn invite_digits(&self) -> String {
        "Gib jetzt die vier Ziffern ein, die die App zeigt. Zeigt dir keine App welche, dann tu nichts.".to_owned()
    }

    fn invite_wrong(&self, left: u32) -> String {
        if left == 0 {
            "Das sind nicht die Ziffern, und die Einladung ist vorbei. Nichts wurde verbunden. Beginne in der App neu."
                .to_owned()
        } else {
            format!("Das sind nicht die Ziffern. Verbleibende Versuche: {left}.")
        }
    }

    fn invite_unknown(&self) -> String {
        "Diese Einladung ist abgelaufen oder wurde schon benutzt. Beginne in der App neu.".to_owned()
    }

    fn link_title(&self) -> String {
        "Konto verbinden".to_owned()
    }

    fn link_intro(&self) -> String {
        "Dieses Chat-Konto wird deine Fragen sehen und als du beantworten können:".to_owned()
    }

    fn link_chat(&self) -> String {
        "Chat-Konto".to_owned()
    }

    fn link_number(&self) -> String {
        "Nummer".to_owned()
    }

    fn link_app(&self) -> String {
        "App".to_owned()
    }

    fn link_only_yours(&self) -> String {
        "Ist das nicht dein eigenes Chat-Konto? Dann schließe diese Seite: Wer sie dir geschickt hat, könnte in deinem Namen antworten.".to_owned()
    }

    fn link_may(&self) -> String {
        "askgate darf deine Fragen dort zeigen und die Antworten, die du antippst, als du senden.".to_owned()
    }

    fn link_stored(&self) -> String {
        "Gespeichert wird eine versiegelte Sitzung, nie dein Passwort. /unlink im Chat beendet das.".to_owned()
    }

    fn link_email(&self) -> String {
        "E-Mail-Adresse".to_owned()
    }

    fn link_password(&self) -> String {
        "Passwort".to_owned()
    }

    fn link_token_instead(&self) -> String {
        "Stattdessen ein Sitzungs-Token verwenden".to_owned()
    }

    fn link_token(&self) -> String {
        "Sitzungs-Token".to_owned()
    }

    fn link_continue(&self) -> String {
        "Weiter".to_owned()
    }

    fn link_connect(&self) -> String {
        "Verbinden".to_owned()
    }

    fn link_back(&self) -> String {
        "Zurück".to_owned()
    }

    fn link_question(&self, who: &str, app: &str, chat: &str) -> String {
        format!("Du bist {} bei {}. Mit {} verbinden?", quoted(who), quoted(app), quoted(chat))
    }

    fn link_done(&self, who: &str, app: &str, chat: &str) -> String {
        format!(
            "Verbunden: {} bei {}. Fragen erscheinen in {}. Du kannst diese Seite schließen.",
            quoted(who),
            quoted(app),
            quoted(chat)
        )
    }

    fn link_incomplete(&self) -> String {
        "Gib deine E-Mail-Adresse und dein Passwort ein, oder ein Sitzungs-Token.".to_owned()
    }

    fn link_refused(&self, left: u32) -> String {
        format!(
            "Die App nimmt diese Anmeldung nicht an. Nichts wurde verbunden. Verbleibende Versuche mit diesem Link: {left}."
        )
    }

    fn link_no_tries(&self) -> String {
        "Mit diesem Link gibt es keine Versuche mehr. Nichts wurde verbunden. Sende /link im Chat für einen neuen."
            .to_owned()
    }

    fn link_app_down(&self, app: &str) -> String {
        format!(
            "{} antwortet gerade nicht. Nichts wurde verbunden, und dieser Link gilt noch. Bitte versuche es in einer Minute noch einmal.",
            quoted(app)
        )
    }

    fn link_app_busy(&self, app: &str, seconds: u64) -> String {
        format!(
            "{} nimmt gerade keine Anmeldungen an. Nichts wurde verbunden. Bitte versuche es in {seconds} Sekunden noch einmal.",
            quoted(app)
        )
    }

    fn link_over(&self) -> String {
        "Dieser Link wurde schon benutzt oder ist zu alt. Sende /link im Chat für einen neuen.".to_owned()
    }

    fn link_unknown(&self) -> String {
        "Diesen Link gibt es nicht. Sende /link im Chat für einen neuen.".to_owned()
    }

    fn link_form_old(&self) -> String {
        "Dieses Formular kam nicht von dieser Seite in diesem Browser, oder ist zu alt. Nichts wurde verbunden. Öffne den Link noch einmal.".to_owned()
    }

    fn page_too_often(&self, seconds: u64) -> String {
        format!("Zu viele Anfragen aus deinem Netz. Bitte versuche es in {seconds} Sekunden noch einmal.")
    }
}
