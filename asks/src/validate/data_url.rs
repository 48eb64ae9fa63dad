//! Base64 `data:` URLs, by the narrow rules of a file answer.

/// A base64 `data:` URL, taken apart.
pub(super) struct DataUrl {
    /// The media type, trimmed and in lower case; never empty.
    pub(super) media_type: String,
    /// How many bytes the payload stands for.
    pub(super) size: u64,
}

impl DataUrl {
    /// Takes a URL apart; `None` when it is not a base64 `data:` URL. An empty payload is fine.
    pub(super) fn read(url: &str) -> Option<Self> {
        let (header, payload) = url.strip_prefix("data:")?.split_once(',')?;
        let (parameters, encoding) = header.rsplit_once(';')?;
        if !encoding.eq_ignore_ascii_case("base64") {
            return None;
        }
        let media_type = crate::text::trim(parameters.split(';').next()?).to_lowercase();
        if media_type.is_empty() {
            return None;
        }
        Some(Self { media_type, size: decoded_size(payload)? })
    }
}

fn decoded_size(payload: &str) -> Option<u64> {
    let digits = payload.trim_end_matches('=');
    let padding = payload.len() - digits.len();
    let clean = digits.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
    if !clean || padding > 2 || !payload.len().is_multiple_of(4) {
        return None;
    }
    u64::try_from(payload.len() / 4 * 3 - padding).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base64_data_urls_are_taken() {
        let size = |url: &str| DataUrl::read(url).map(|read| (read.media_type, read.size));
        assert_eq!(size("data: Image/PNG ;x=y;BASE64,QUI="), Some(("image/png".to_owned(), 2)));
        assert_eq!(size("data:text/csv;base64,"), Some(("text/csv".to_owned(), 0)));
        for url in [
            "data:base64,QUJD",
            "data:;base64,QUJD",
            "data:a/b,QUJD",
            "data:a/b;base64,====",
            "data:a/b;base64,QUJ",
            "x",
        ] {
            assert_eq!(size(url), None, "{url}");
        }
    }
}
