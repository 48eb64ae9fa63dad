//! What is wrong with a configuration, where, and how to fix it.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;

/// How much of a wrong value is repeated in a message, in characters.
const QUOTED: usize = 60;

/// One thing that is wrong, or worth a warning.
///
/// `Display` is one line, `key: what; fix`, whatever the file contained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: a key such as `sources[0].url`, or the file's name when the file as a whole is meant.
    pub key: String,
    /// What is wrong there. Never contains a secret's value.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl Problem {
    pub(crate) fn new(key: impl AsRef<str>, what: impl AsRef<str>, fix: impl AsRef<str>) -> Self {
        Self { key: visible(key.as_ref()), what: visible(what.as_ref()), fix: visible(fix.as_ref()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.key, self.what, self.fix)
    }
}

/// Proof that a problem was recorded: nothing else makes one, so no value can be refused without a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reported(());

/// Everything found so far. Shared by all readers of one load.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
}

impl Findings {
    pub(crate) fn report(&self, problem: Problem) -> Reported {
        self.problems.borrow_mut().push(problem);
        Reported(())
    }

    pub(crate) fn warn(&self, warning: Problem) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Ends the search: the problems, then the warnings.
    pub(crate) fn into_parts(self) -> (Vec<Problem>, Vec<Problem>) {
        (self.problems.into_inner(), self.warnings.into_inner())
    }
}

/// A value as a message repeats it: in back-ticks and not at length.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED).collect();
    if text.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The text with control and direction-changing characters escaped, so that a file cannot forge lines of our output.
fn visible(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if hidden {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_whatever_it_quotes() {
        let problem = Problem::new("a\nb", "has\u{202e} a \r\n break", "remove it");
        assert_eq!(problem.to_string(), r"a\u{a}b: has\u{202e} a \u{d}\u{a} break; remove it");
    }

    #[test]
    fn long_values_are_quoted_in_part() {
        assert_eq!(quoted("é"), "`é`");
        assert_eq!(quoted(&"é".repeat(61)), format!("`{}…`", "é".repeat(60)));
    }
}
