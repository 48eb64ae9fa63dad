//! Collects plain text and the formatting over it while markup is read.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::telegram::model::Entity;

/// The output of a markup reader.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    at: usize,
    entities: Vec<Entity>,
}

impl Writer {
    /// Where the next symbol goes, in UTF-16 units.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Adds one symbol.
    pub(super) fn push(&mut self, symbol: char) {
        self.text.push(symbol);
        self.at += symbol.len_utf16();
    }

    /// Marks everything since `start` as `kind`; nothing where nothing was written since.
    pub(super) fn mark(&mut self, kind: &str, start: usize, more: BTreeMap<String, Value>) {
        if start < self.at {
            self.entities.push(Entity { kind: kind.to_owned(), offset: start, length: self.at - start, more });
        }
    }

    /// The text from a place on, given in UTF-16 units.
    pub(super) fn since(&self, start: usize) -> String {
        let mut at = 0;
        self.text
            .chars()
            .skip_while(|symbol| {
                let before = at;
                at += symbol.len_utf16();
                before < start
            })
            .collect()
    }

    /// The text and its formatting, outer before inner.
    pub(super) fn finish(mut self) -> (String, Vec<Entity>) {
        self.entities.sort_by_key(|entity| (entity.offset, usize::MAX - entity.length));
        (self.text, self.entities)
    }
}

/// The one field a link needs.
pub(super) fn link(url: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([("url".to_owned(), Value::String(url.to_owned()))])
}
