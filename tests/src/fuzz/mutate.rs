//! Changes of an example: of its JSON where it is some, of its text, or of its bytes.

use serde_json::{Map, Value, json};

use crate::crash::dice::Dice;

/// Texts that readers stumble over.
const HARD: [&str; 34] = [
    "",
    " ",
    "\n",
    "\0",
    "\r\n",
    "\t\t\t\t\t\t\t\t\t\t",
    "🎉",
    "👩\u{200d}👧",
    "\u{200d}",
    "\u{202e}",
    "\u{feff}",
    "\u{85}",
    "\u{200b}",
    "e\u{301}\u{301}\u{301}",
    "\u{e0061}\u{e0062}",
    "🏴\u{e0067}\u{e007f}",
    "\u{61c}",
    "ب\u{200c}ب",
    "…",
    "\\u{d800}",
    "\\ud800",
    "0",
    "-1",
    "18446744073709551616",
    "9007199254740993",
    "1e308",
    "NaN",
    "inf",
    "https://example.com/\u{202e}",
    "javascript:0",
    "data:,x",
    "<!doctype html>",
    "null",
    "{}",
];
/// The largest input.
const MOST: usize = 64 * 1024;

/// An input made of one of the examples, or now and then of nothing.
pub(super) fn mutated(dice: &mut Dice, examples: &[Vec<u8>]) -> Vec<u8> {
    if dice.chance(3) {
        let len = dice.below(200);
        return (0..len).map(|_| byte(dice)).collect();
    }
    let mut bytes = dice.pick(examples).cloned().unwrap_or_default();
    for _ in 0..=dice.below(4) {
        bytes = changed(dice, bytes, examples);
    }
    bytes.truncate(MOST);
    bytes
}

fn changed(dice: &mut Dice, bytes: Vec<u8>, examples: &[Vec<u8>]) -> Vec<u8> {
    // What stands before the first brace is a status line, or nothing.
    let at = bytes.iter().position(|byte| matches!(byte, b'{' | b'[')).unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(at);
    if dice.chance(70)
        && let Ok(mut json) = serde_json::from_slice::<Value>(body)
    {
        let other = dice.pick(examples).and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or(Value::Null);
        let places = count(&json);
        let at = dice.below(places);
        alter(dice, &mut json, at, &other);
        let head = if dice.chance(20) { text(dice, head) } else { head.to_vec() };
        return [head, json.to_string().into_bytes()].concat();
    }
    if dice.chance(50) { text(dice, &bytes) } else { raw(dice, bytes) }
}

/// Changes a text between its characters, or a number in it.
fn text(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    let mut chars: Vec<char> = String::from_utf8_lossy(bytes).chars().collect();
    let at = index(dice, chars.len() + 1);
    let end = (at + index(dice, 12)).min(chars.len());
    if dice.chance(60) {
        let put = if dice.chance(50) { hard(dice) } else { dice.below(700).to_string() };
        let end = if dice.chance(50) { end } else { at };
        chars.splice(at..end, put.chars());
    } else {
        chars.drain(at..end);
    }
    chars.into_iter().collect::<String>().into_bytes()
}

fn raw(dice: &mut Dice, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = index(dice, bytes.len() + 1);
    match dice.below(4) {
        0 => bytes.truncate(at),
        1 => {
            let put = byte(dice);
            bytes.insert(at, put);
        }
        2 => {
            let end = (at + index(dice, 64)).min(bytes.len());
            let twice: Vec<u8> = bytes.get(at..end).unwrap_or_default().to_vec();
            bytes.splice(at..at, twice);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
    }
    bytes
}

fn alter(dice: &mut Dice, value: &mut Value, at: u64, other: &Value) {
    let mut left = at;
    let mut with = Some(match dice.below(6) {
        0 | 1 => Value::from(hard(dice)),
        2 => Value::from(hard(dice).repeat(index(dice, 900))),
        3 => number(dice),
        4 => dice.pick(&[Value::Null, json!(true), json!(false), json!([]), json!({})]).cloned().unwrap_or_default(),
        _ => {
            let at = dice.below(count(other));
            nth(other, at).cloned().unwrap_or_default()
        }
    });
    let how = dice.below(5);
    change(value, &mut left, &mut |node| {
        let Some(with) = with.take() else { return };
        match (how, node) {
            (0, Value::Object(map)) => drop(map.insert(hard(dice), with)),
            (1, Value::Object(map)) => {
                let at = index(dice, map.len());
                *map = map
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != at)
                    .map(|(_, (k, v))| (k.clone(), v.clone()))
                    .collect::<Map<_, _>>();
            }
            (0, Value::Array(items)) => {
                let again = items.first().cloned().unwrap_or(with);
                let times = index(dice, 60);
                items.extend(std::iter::repeat_n(again, times));
            }
            (1, Value::Array(items)) => drop(items.pop()),
            (2..=3, Value::String(text)) => {
                let put = hard(dice);
                let places = text.chars().count() + 1;
                let at = index(dice, places);
                *text = text.chars().take(at).chain(put.chars()).chain(text.chars().skip(at)).collect();
            }
            (_, node) => *node = with,
        }
    });
}

fn count(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

fn nth(value: &Value, at: u64) -> Option<&Value> {
    fn walk<'a>(value: &'a Value, left: &mut u64) -> Option<&'a Value> {
        if *left == 0 {
            return Some(value);
        }
        *left -= 1;
        match value {
            Value::Array(items) => items.iter().find_map(|item| walk(item, left)),
            Value::Object(map) => map.values().find_map(|item| walk(item, left)),
            _ => None,
        }
    }
    walk(value, &mut { at })
}

fn change(value: &mut Value, left: &mut u64, with: &mut dyn FnMut(&mut Value)) -> bool {
    if *left == 0 {
        with(value);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, left, with)),
        Value::Object(map) => map.values_mut().any(|item| change(item, left, with)),
        _ => false,
    }
}

fn number(dice: &mut Dice) -> Value {
    let some = [
        json!(0),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1.5),
        json!(1e300),
        json!(-0.0),
        json!(9_007_199_254_740_993_u64),
    ];
    if dice.chance(50) { json!(dice.below(600)) } else { dice.pick(&some).cloned().unwrap_or_default() }
}

fn hard(dice: &mut Dice) -> String {
    (0..=dice.below(3)).filter_map(|_| dice.pick(&HARD)).copied().collect()
}

fn byte(dice: &mut Dice) -> u8 {
    u8::try_from(dice.below(256)).unwrap_or_default()
}

fn index(dice: &mut Dice, bound: usize) -> usize {
    usize::try_from(dice.below(bound as u64)).unwrap_or_default()
}
