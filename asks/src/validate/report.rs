//! Collecting what is wrong, and putting it in order.

use std::collections::{BTreeMap, BTreeSet};

use crate::errors::{Code, FieldError, Path};

/// What was found so far.
#[derive(Default)]
pub(super) struct Report {
    /// Sorted by path, then code. Of one pair the first finding is kept.
    found: BTreeMap<(Path, Code), Sentences>,
}

struct Sentences {
    message: String,
    fix: String,
}

impl Report {
    pub(super) fn add(&mut self, path: &Path, code: Code, message: impl Into<String>, fix: impl Into<String>) {
        self.found
            .entry((path.clone(), code))
            .or_insert_with(|| Sentences { message: message.into(), fix: fix.into() });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether something was found after which comparing values makes no sense.
    pub(super) fn forbids_rules(&self) -> bool {
        self.found.keys().any(|(_, code)| {
            matches!(code, Code::MissingRequired | Code::InvalidType | Code::InvalidEnum | Code::TooMany)
        })
    }

    /// Everything in order. A type error at a path silences whatever else was found there.
    pub(super) fn finish(self) -> Vec<FieldError> {
        let mistyped: BTreeSet<Path> =
            self.found.keys().filter(|(_, code)| *code == Code::InvalidType).map(|(path, _)| path.clone()).collect();
        self.found
            .into_iter()
            .filter(|((path, code), _)| *code == Code::InvalidType || !mistyped.contains(path))
            .map(|((path, code), sentences)| FieldError::new(&path, code, sentences.message, sentences.fix))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_sorted_deduplicated_and_silenced_by_type_errors() {
        let root = Path::root();
        let mut report = Report::default();
        report.add(&root.key("b"), Code::TooShort, "second", "");
        report.add(&root.key("b"), Code::TooLong, "first", "");
        report.add(&root.key("b"), Code::TooLong, "again", "");
        report.add(&root.key("a").index(10), Code::TooLong, "", "");
        report.add(&root.key("a").index(9), Code::RangeInvalid, "", "");
        report.add(&root.key("a").index(9), Code::InvalidType, "", "");
        let found: Vec<_> = report.finish().into_iter().map(|e| (e.path, e.code, e.message)).collect();
        let expected = [
            ("a[9]", Code::InvalidType, ""),
            ("a[10]", Code::TooLong, ""),
            ("b", Code::TooLong, "first"),
            ("b", Code::TooShort, "second"),
        ];
        assert_eq!(found, expected.map(|(path, code, message)| (path.to_owned(), code, message.to_owned())));
    }
}
