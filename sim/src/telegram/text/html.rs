//! `parse_mode` HTML, with the platform's complaints.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::Value;

use super::writer::{Writer, link};
use crate::telegram::model::Entity;
use crate::telegram::refusal::Refusal;

type Symbols<'a> = Peekable<CharIndices<'a>>;

struct Open {
    tag: String,
    start: usize,
    kind: &'static str,
    more: BTreeMap<String, Value>,
}

/// Reads HTML into plain text and entities.
///
/// # Errors
///
/// 400 `can't parse entities: ...` at the first tag that is unknown, unclosed or closed in the wrong order.
pub(super) fn parse(input: &str) -> Result<(String, Vec<Entity>), Refusal> {
    let mut symbols = input.char_indices().peekable();
    let mut writer = Writer::default();
    let mut open: Vec<Open> = Vec::new();
    while let Some((at, symbol)) = symbols.next() {
        match symbol {
            '&' => reference(&mut symbols, &mut writer),
            '<' if symbols.next_if(|(_, next)| *next == '/').is_some() => {
                close(&mut symbols, &mut writer, &mut open, at)?;
            }
            '<' => open.push(start(&mut symbols, writer.at(), at)?),
            other => writer.push(other),
        }
    }
    match open.pop() {
        Some(last) => Err(unreadable(&format!("Can't find end tag corresponding to start tag \"{}\"", last.tag))),
        None => Ok(writer.finish()),
    }
}

fn unreadable(what: &str) -> Refusal {
    Refusal::bad(format!("can't parse entities: {what}"))
}

fn word(symbols: &mut Symbols<'_>, part: impl Fn(char) -> bool) -> String {
    let mut word = String::new();
    while let Some((_, symbol)) = symbols.next_if(|(_, symbol)| part(*symbol)) {
        word.push(symbol);
    }
    word
}

/// A character reference; what is none stays as written.
fn reference(symbols: &mut Symbols<'_>, writer: &mut Writer) {
    let mut ahead = symbols.clone();
    let name = word(&mut ahead, |symbol| symbol.is_ascii_alphanumeric() || symbol == '#');
    let meant = match name.as_str() {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        _ => name.strip_prefix('#').and_then(|number| {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            code.ok().and_then(char::from_u32).filter(|symbol| *symbol != '\0')
        }),
    };
    let Some(symbol) = meant else { return writer.push('&') };
    ahead.next_if(|(_, next)| *next == ';');
    *symbols = ahead;
    writer.push(symbol);
}

fn start(symbols: &mut Symbols<'_>, start: usize, at: usize) -> Result<Open, Refusal> {
    let unclosed = || unreadable(&format!("Unclosed start tag at byte offset {at}"));
    let tag = word(symbols, |symbol| !symbol.is_whitespace() && symbol != '>').to_ascii_lowercase();
    let mut attributes = BTreeMap::new();
    loop {
        word(symbols, char::is_whitespace);
        match symbols.peek().copied() {
            None => return Err(unclosed()),
            Some((_, '>')) => break,
            Some((place, _)) => {
                let name = word(symbols, |symbol| !symbol.is_whitespace() && symbol != '=' && symbol != '>');
                if name.is_empty() {
                    return Err(unreadable(&format!(
                        "Empty attribute name in the tag \"{tag}\" at byte offset {place}"
                    )));
                }
                word(symbols, char::is_whitespace);
                let value = if symbols.next_if(|(_, next)| *next == '=').is_some() {
                    attribute(symbols).ok_or_else(unclosed)?
                } else {
                    String::new()
                };
                attributes.insert(name.to_ascii_lowercase(), value);
            }
        }
    }
    symbols.next();
    let value = |name: &str| attributes.get(name).map_or("", String::as_str);
    let mut more = BTreeMap::new();
    let kind = match tag.as_str() {
        "b" | "strong" => "bold",
        "i" | "em" => "italic",
        "u" | "ins" => "underline",
        "s" | "strike" | "del" => "strikethrough",
        "tg-spoiler" => "spoiler",
        "span" if value("class") == "tg-spoiler" => "spoiler",
        "span" => {
            return Err(unreadable(&format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {at}")));
        }
        "code" => "code",
        "pre" => "pre",
        "a" => {
            more = link(value("href"));
            "text_link"
        }
        "blockquote" if attributes.contains_key("expandable") => "expandable_blockquote",
        "blockquote" => "blockquote",
        "tg-emoji" => {
            more.insert("custom_emoji_id".to_owned(), Value::String(value("emoji-id").to_owned()));
            "custom_emoji"
        }
        _ => return Err(unreadable(&format!("Unsupported start tag \"{tag}\" at byte offset {at}"))),
    };
    Ok(Open { tag, start, kind, more })
}

fn attribute(symbols: &mut Symbols<'_>) -> Option<String> {
    word(symbols, char::is_whitespace);
    let quote = symbols.next_if(|(_, next)| matches!(next, '"' | '\''));
    let mut written = Writer::default();
    while let Some((_, symbol)) = symbols.peek().copied() {
        match quote {
            Some((_, end)) if symbol == end => {
                symbols.next();
                return Some(written.finish().0);
            }
            None if symbol.is_whitespace() || symbol == '>' => return Some(written.finish().0),
            _ => {}
        }
        symbols.next();
        if symbol == '&' { reference(symbols, &mut written) } else { written.push(symbol) }
    }
    None
}

fn close(symbols: &mut Symbols<'_>, writer: &mut Writer, open: &mut Vec<Open>, at: usize) -> Result<(), Refusal> {
    let tag = word(symbols, |symbol| !symbol.is_whitespace() && symbol != '>').to_ascii_lowercase();
    word(symbols, char::is_whitespace);
    if symbols.next().is_none_or(|(_, symbol)| symbol != '>') {
        return Err(unreadable(&format!("Unclosed end tag at byte offset {at}")));
    }
    let Some(last) = open.pop() else {
        return Err(unreadable(&format!("Unexpected end tag at byte offset {at}")));
    };
    if !tag.is_empty() && tag != last.tag {
        return Err(unreadable(&format!(
            "Unmatched end tag at byte offset {at}, expected \"</{}>\", found \"</{tag}>\"",
            last.tag
        )));
    }
    // A link without an address is its text, if that is one; else it is no link at all.
    let address = last.more.get("url").and_then(Value::as_str).map(str::to_owned);
    match address {
        Some(address) if address.is_empty() => {
            let text = writer.since(last.start);
            if crate::telegram::urls::check(&text).is_ok() {
                writer.mark("text_link", last.start, link(&text));
            }
        }
        _ => writer.mark(last.kind, last.start, last.more),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_is_read_and_text_is_plain() {
        let (text, entities) =
            parse("<b>🎻 a</b> &lt;x&gt; &nosuch; <a href=\"http://e.org/?a=1&amp;b\">l</a>").unwrap();
        assert_eq!(text, "🎻 a <x> &nosuch; l");
        assert_eq!((entities[0].kind.as_str(), entities[0].offset, entities[0].length), ("bold", 0, 4));
        assert_eq!(entities[1].more["url"], "http://e.org/?a=1&b");
    }

    #[test]
    fn complaints_are_the_platforms() {
        let table = [
            ("<b>unclosed", "Can't find end tag corresponding to start tag \"b\""),
            ("a <now>", "Unsupported start tag \"now\" at byte offset 2"),
            ("a </b>", "Unexpected end tag at byte offset 2"),
            ("<b><i>x</b></i>", "Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\""),
            ("1 < 2", "Unclosed start tag at byte offset 2"),
        ];
        for (input, complaint) in table {
            let refusal = parse(input).unwrap_err();
            assert_eq!(refusal.description, format!("Bad Request: can't parse entities: {complaint}"), "{input}");
        }
    }
}
