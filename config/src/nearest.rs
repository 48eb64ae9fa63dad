//! "Did you mean": the known word that is closest to a mistyped one.

/// Longer words are no typing errors, and comparing them costs time.
const LONGEST: usize = 48;

/// The closest of `known`, if it is close enough to be what was meant.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word: Vec<char> = word.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if word.len() > LONGEST {
        return None;
    }
    let (distance, best) =
        known.into_iter().map(|candidate| (distance(&word, candidate), candidate)).min_by_key(|(d, _)| *d)?;
    let enough = word.len().max(best.len()) / 3;
    (distance <= enough.max(1)).then_some(best)
}

/// Levenshtein's distance, one row at a time.
fn distance(word: &[char], other: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (i, b) in other.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut left = i + 1;
        next.push(left);
        for ((a, diagonal), above) in word.iter().zip(&row).zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(*a != b)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_was_meant_and_nothing_else() {
        let known = ["token", "token_file", "api_url", "mode", "poll_active"];
        for (word, meant) in [
            ("tokn", Some("token")),
            ("Token", Some("token")),
            ("poll-active", Some("poll_active")),
            ("apiurl", Some("api_url")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(nearest(&"t".repeat(10_000), known), None);
        assert_eq!(nearest("x", []), None);
    }
}
