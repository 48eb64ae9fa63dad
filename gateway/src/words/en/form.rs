//! English: an ask as a form.

use asks::errors::Code;

use super::English;
use crate::pages::form::Bounds;
use crate::words::form::FormWords;

/// "between 1 and 4", "at least 1", "at most 4", or nothing.
fn between(bounds: &Bounds) -> String {
    match (&bounds.least, &bounds.most) {
        (Some(least), Some(most)) if least == most => format!("exactly {least}"),
        (Some(least), Some(most)) if least == "0" => format!("at most {most}"),
        (Some(least), Some(most)) => format!("between {least} and {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "another number of".to_owned(),
    }
}

impl FormWords for English {
    fn submit(&self) -> String {
        "Send answer".to_owned()
    }

    fn skip(&self) -> String {
        "Skip".to_owned()
    }

    fn other(&self) -> String {
        "Other".to_owned()
    }

    fn optional(&self) -> String {
        "optional".to_owned()
    }

    fn choose(&self, bounds: &Bounds) -> String {
        format!("Choose {}.", between(bounds))
    }

    fn length(&self, bounds: &Bounds) -> String {
        format!("Write {} characters.", between(bounds))
    }

    fn size(&self, bounds: &Bounds) -> String {
        if *bounds == Bounds::default() { String::new() } else { format!("A number: {}.", between(bounds)) }
    }

    fn whole_number(&self) -> String {
        "Whole numbers only.".to_owned()
    }

    fn file_rules(&self, kinds: &[&str], bounds: &Bounds, megabytes: u64) -> String {
        format!("{}; {} files, each up to {megabytes} MB.", kinds.join(", "), between(bounds))
    }

    fn utc_offset(&self) -> String {
        "Offset from UTC, such as +01:00".to_owned()
    }

    fn choose_one(&self) -> String {
        "Choose one".to_owned()
    }

    fn please_correct(&self) -> String {
        "Not sent yet: please correct what is marked below. Nothing you typed is lost.".to_owned()
    }

    fn choose_files_again(&self) -> String {
        "Please choose the files again; a browser does not let a page keep them.".to_owned()
    }

    fn broken_rule(&self, code: Code, bounds: &Bounds) -> String {
        match code {
            Code::MissingRequired | Code::RequiredField => "This is needed. Please fill it in.".to_owned(),
            Code::TooLong => format!("This is too long. Write {} characters.", between(bounds)),
            Code::TooShort => format!("This is too short. Write {} characters.", between(bounds)),
            Code::SelectionCount => format!("Please choose {}.", between(bounds)),
            Code::TooFew | Code::TooMany => "That is not the right number of entries. Choose fewer or more.".to_owned(),
            Code::FileCount => format!("Please choose {} files.", between(bounds)),
            Code::OutOfRange | Code::RangeInvalid => format!("Please use a number that is {}.", between(bounds)),
            Code::InvalidDate => {
                "There is no such date or time. Please check it; a point in time needs its offset from UTC.".to_owned()
            }
            Code::FieldTypeMismatch | Code::InvalidType | Code::InvalidFormat => {
                "This is not written as it has to be. Please check it.".to_owned()
            }
            Code::FileTooLarge => "A file is too large. Please choose a smaller one.".to_owned(),
            Code::FileTypeNotAccepted => "This type of file is not accepted. Please choose another one.".to_owned(),
            Code::MimeMismatch => "A file does not hold what its type says. Please choose another one.".to_owned(),
            Code::FileNotOwned => "The app cannot find an uploaded file. Please send it again.".to_owned(),
            Code::DeclineNotAllowed => "This question cannot be skipped. Please answer it.".to_owned(),
            Code::OptionNotOffered | Code::InvalidEnum | Code::DefaultNotInOptions => {
                "This was not offered. Please choose from the list.".to_owned()
            }
            Code::DuplicateId | Code::DuplicateLabel => {
                "Something was chosen twice. Please choose each once.".to_owned()
            }
            Code::OtherNotAllowed => "Free text is not allowed here. Please choose from the list.".to_owned(),
            Code::ChangedMismatch | Code::UnknownKey | Code::UnknownButton => {
                "The app cannot read this answer. Please load the page again.".to_owned()
            }
        }
    }
}
