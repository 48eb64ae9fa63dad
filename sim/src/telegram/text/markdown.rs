//! `parse_mode` `MarkdownV2` and the older Markdown, with the platform's complaints.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::CharIndices;

use super::writer::{Writer, link};
use crate::telegram::model::Entity;
use crate::telegram::refusal::Refusal;

type Symbols<'a> = Peekable<CharIndices<'a>>;

/// The kinds of `MarkdownV2`: mark, name in complaints, name as an entity. Longer marks come first.
const KINDS: &[(&str, &str, &str)] = &[
    ("```", "PreCode", "pre"),
    ("||", "Spoiler", "spoiler"),
    ("__", "Underline", "underline"),
    ("*", "Bold", "bold"),
    ("_", "Italic", "italic"),
    ("~", "Strikethrough", "strikethrough"),
    ("`", "Code", "code"),
    ("[", "TextUrl", "text_link"),
];

struct Open {
    mark: &'static str,
    name: &'static str,
    kind: &'static str,
    start: usize,
    at: usize,
}

/// Reads `MarkdownV2` into plain text and entities.
///
/// # Errors
///
/// 400 `can't parse entities: ...` for a reserved character without a backslash and for an entity without an end.
pub(super) fn parse_v2(input: &str) -> Result<(String, Vec<Entity>), Refusal> {
    let mut symbols = input.char_indices().peekable();
    let mut writer = Writer::default();
    let mut open: Vec<Open> = Vec::new();
    let mut quote = None;
    let mut line_start = true;
    while let Some((at, symbol)) = symbols.peek().copied() {
        let first = std::mem::replace(&mut line_start, symbol == '\n');
        let verbatim = open.last().is_some_and(|last| matches!(last.mark, "`" | "```"));
        if first && symbol == '>' && !verbatim {
            symbols.next();
            quote.get_or_insert(writer.at());
            continue;
        }
        if first && let Some(start) = quote.take() {
            writer.mark("blockquote", start, BTreeMap::new());
        }
        if symbol == '\\' {
            symbols.next();
            let next = symbols.next_if(|(_, next)| next.is_ascii() && !next.is_ascii_control());
            writer.push(next.map_or('\\', |(_, next)| next));
            continue;
        }
        if symbol == ']' && !verbatim && open.last().is_some_and(|last| last.mark == "[") {
            symbols.next();
            let address = address(&mut symbols, at)?;
            if let Some(last) = open.pop()
                && crate::telegram::urls::check(&address).is_ok()
            {
                writer.mark(last.kind, last.start, link(&address));
            }
            continue;
        }
        let found = KINDS.iter().find(|(mark, ..)| ahead(&symbols, mark));
        let closes = |(mark, ..): &&(&str, &str, &str)| open.last().is_some_and(|last| last.mark == *mark);
        match found {
            Some(kind) if closes(&kind) && kind.0 != "[" => {
                skip(&mut symbols, kind.0);
                if let Some(last) = open.pop() {
                    writer.mark(last.kind, last.start, BTreeMap::new());
                }
            }
            _ if verbatim => {
                symbols.next();
                writer.push(symbol);
            }
            Some((mark, name, kind)) => {
                skip(&mut symbols, mark);
                open.push(Open { mark, name, kind, start: writer.at(), at });
            }
            None if "]()>#+-=|{}.!".contains(symbol) => {
                return Err(unreadable(&format!(
                    "Character '{symbol}' is reserved and must be escaped with the preceding '\\'"
                )));
            }
            None => {
                symbols.next();
                writer.push(symbol);
            }
        }
    }
    if let Some(last) = open.pop() {
        return Err(unreadable(&format!("Can't find end of {} entity at byte offset {}", last.name, last.at)));
    }
    if let Some(start) = quote {
        writer.mark("blockquote", start, BTreeMap::new());
    }
    Ok(writer.finish())
}

/// Reads the older Markdown into plain text and entities; entities do not nest.
///
/// # Errors
///
/// 400 `can't parse entities: ...` for an entity without an end.
pub(super) fn parse_legacy(input: &str) -> Result<(String, Vec<Entity>), Refusal> {
    let mut symbols = input.char_indices().peekable();
    let mut writer = Writer::default();
    while let Some((at, symbol)) = symbols.next() {
        if symbol == '\\'
            && let Some((_, next)) = symbols.next_if(|(_, next)| "_*`[".contains(*next))
        {
            writer.push(next);
            continue;
        }
        let (kind, end) = match symbol {
            '*' => ("bold", "*"),
            '_' => ("italic", "_"),
            '`' if ahead(&symbols, "``") => {
                skip(&mut symbols, "``");
                ("pre", "```")
            }
            '`' => ("code", "`"),
            '[' => ("text_link", "]"),
            other => {
                writer.push(other);
                continue;
            }
        };
        let start = writer.at();
        while !ahead(&symbols, end) {
            let Some((_, inner)) = symbols.next() else {
                return Err(unreadable(&format!("Can't find end of the entity starting at byte offset {at}")));
            };
            writer.push(inner);
        }
        skip(&mut symbols, end);
        if kind == "text_link" {
            let address = address(&mut symbols, at)?;
            if crate::telegram::urls::check(&address).is_ok() {
                writer.mark(kind, start, link(&address));
            }
        } else {
            writer.mark(kind, start, BTreeMap::new());
        }
    }
    Ok(writer.finish())
}

fn unreadable(what: &str) -> Refusal {
    Refusal::bad(format!("can't parse entities: {what}"))
}

fn ahead(symbols: &Symbols<'_>, mark: &str) -> bool {
    let mut symbols = symbols.clone();
    mark.chars().all(|expected| symbols.next().is_some_and(|(_, symbol)| symbol == expected))
}

fn skip(symbols: &mut Symbols<'_>, mark: &str) {
    for _ in mark.chars() {
        symbols.next();
    }
}

/// What stands in the brackets after a link's text; empty where none follow.
fn address(symbols: &mut Symbols<'_>, at: usize) -> Result<String, Refusal> {
    let mut address = String::new();
    if symbols.next_if(|(_, next)| *next == '(').is_none() {
        return Ok(address);
    }
    while let Some((_, symbol)) = symbols.next() {
        match symbol {
            ')' => return Ok(address),
            '\\' => address.extend(symbols.next().map(|(_, next)| next)),
            other => address.push(other),
        }
    }
    Err(unreadable(&format!("Can't find end of a URL at byte offset {at}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(entities: &[Entity]) -> Vec<(&str, usize, usize)> {
        entities.iter().map(|entity| (entity.kind.as_str(), entity.offset, entity.length)).collect()
    }

    #[test]
    fn formatting_is_read_and_text_is_plain() {
        let (text, entities) = parse_v2("*🎻 _a_* \\. `a.b` ||s|| [l](http://e.org/\\)) __u__\n>q\\!\nend").unwrap();
        assert_eq!(text, "🎻 a . a.b s l u\nq!\nend");
        assert_eq!(
            kinds(&entities),
            [
                ("bold", 0, 4),
                ("italic", 3, 1),
                ("code", 7, 3),
                ("spoiler", 11, 1),
                ("text_link", 13, 1),
                ("underline", 15, 1),
                ("blockquote", 17, 3)
            ]
        );
        let (text, entities) = parse_legacy("*b* _i_ \\* `c` [l](http://e.org)").unwrap();
        assert_eq!(text, "b i * c l");
        assert_eq!(kinds(&entities), [("bold", 0, 1), ("italic", 2, 1), ("code", 6, 1), ("text_link", 8, 1)]);
    }

    #[test]
    fn complaints_are_the_platforms() {
        let table = [
            ("*unclosed", "Can't find end of Bold entity at byte offset 0"),
            ("hello.", "Character '.' is reserved and must be escaped with the preceding '\\'"),
            ("a-b", "Character '-' is reserved and must be escaped with the preceding '\\'"),
            ("a|b", "Character '|' is reserved and must be escaped with the preceding '\\'"),
            ("`a", "Can't find end of Code entity at byte offset 0"),
        ];
        for (input, complaint) in table {
            let refusal = parse_v2(input).unwrap_err();
            assert_eq!(refusal.description, format!("Bad Request: can't parse entities: {complaint}"), "{input}");
        }
        assert_eq!(
            parse_legacy("a *b").unwrap_err().description,
            "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 2"
        );
    }
}
