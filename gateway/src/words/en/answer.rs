//! English: the answer page.

use super::English;
use crate::words::answer::AnswerWords;

impl AnswerWords for English {
    fn answer_title(&self) -> String {
        "Answer".to_owned()
    }

    fn answer_here(&self) -> String {
        "Answer here".to_owned()
    }

    fn no_such_page(&self) -> String {
        "There is no question at this address. Please use the button below a question.".to_owned()
    }

    fn cannot_read_ask(&self) -> String {
        "The app cannot be asked for the whole question right now, so only its buttons are shown. Load the page again to see all of it.".to_owned()
    }

    fn try_again_later(&self) -> String {
        "The app cannot be reached right now, so this question cannot be answered here. Please load the page again in a minute.".to_owned()
    }

    fn on_its_way(&self) -> String {
        "Your answer is saved and on its way. This page shows how it went.".to_owned()
    }

    fn page_too_old(&self) -> String {
        "This was not sent from the answer page itself. Please open the page again and send it from there.".to_owned()
    }

    fn too_large(&self, megabytes: u64) -> String {
        format!("This is too large to be sent: {megabytes} MB are possible in all. Please choose smaller files.")
    }

    fn your_text(&self) -> String {
        "your text".to_owned()
    }

    fn your_form(&self) -> String {
        "your answers".to_owned()
    }

    fn your_files(&self, count: usize) -> String {
        if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
    }
}
