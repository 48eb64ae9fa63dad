//! What a person sent with a form.

/// Everything of one form, in the order in which it came. All of it is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posted {
    texts: Vec<(String, String)>,
    /// The files that were chosen; an empty file field sends none.
    pub files: Vec<PostedFile>,
}

/// One chosen file.
#[derive(Clone, PartialEq, Eq)]
pub struct PostedFile {
    /// What the person's device calls it; untrusted.
    pub filename: String,
    /// What the browser says it is, mostly by its name's end.
    pub mime_type: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for PostedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostedFile")
            .field("mime_type", &self.mime_type)
            .field("size", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Posted {
    /// Adds a text field. Browsers send a line's end as two characters; everybody else means one.
    pub fn push(&mut self, name: impl Into<String>, text: &str) {
        self.texts.push((name.into(), text.replace("\r\n", "\n")));
    }

    /// The first text of that name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// Every text of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.texts.iter().filter(move |(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// Whether a text field of that name has that value.
    #[must_use]
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|text| text == value)
    }
}

impl<N: Into<String>, T: AsRef<str>> FromIterator<(N, T)> for Posted {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(fields: I) -> Self {
        let mut posted = Self::default();
        for (name, text) in fields {
            posted.push(name, text.as_ref());
        }
        posted
    }
}
