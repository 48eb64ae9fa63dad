//! Walks the merged tables: which keys are known, which are missing, which have the wrong type.
//!
//! Every reading function returns `Result<_, Reported>` and goes on with the next key after a failure. A section asks for
//! its keys by name; what was never asked for is unknown and is reported when the section ends.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::path::Path;

use toml::{Table, Value};

use crate::env::Origins;
use crate::nearest::nearest;
use crate::problem::{Findings, Problem, Reported, quoted};
use crate::secret::Secret;

/// What all readers of one load share.
pub(crate) struct Context<'a> {
    /// What was found so far.
    pub(crate) findings: &'a Findings,
    /// The keys that the environment set.
    pub(crate) origins: &'a Origins,
    /// The folder of the configuration file: relative paths start there.
    pub(crate) base: &'a Path,
    /// Reads a secret's file.
    pub(crate) read_file: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// What is wrong with a value, without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) fix: String,
}

impl Flaw {
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// One value and the key it stands at.
pub(crate) struct Item<'a> {
    context: &'a Context<'a>,
    key: String,
    value: Cow<'a, Value>,
}

/// One table and the key it stands at.
pub(crate) struct Section<'a> {
    context: &'a Context<'a>,
    key: String,
    table: Cow<'a, Table>,
    known: RefCell<Vec<Cow<'static, str>>>,
}

impl Context<'_> {
    /// Records a problem, naming the variable if the environment set the key.
    fn report(&self, key: &str, what: &str, fix: &str) -> Reported {
        let below =
            |origin: &str| key.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let variable = self.origins.iter().find(|(origin, _)| below(origin)).map(|(_, variable)| variable);
        let what = match variable {
            Some(variable) => format!("{what} (set by {variable})"),
            None => what.to_owned(),
        };
        self.findings.report(Problem::new(key, what, fix))
    }
}

impl Item<'_> {
    /// Records a problem with this value.
    pub(crate) fn report(&self, what: impl AsRef<str>, fix: impl AsRef<str>) -> Reported {
        self.context.report(&self.key, what.as_ref(), fix.as_ref())
    }

    /// Records a problem with this value.
    pub(crate) fn flawed(&self, flaw: Flaw) -> Reported {
        self.report(flaw.what, flaw.fix)
    }

    /// Records a warning about this value.
    pub(crate) fn warn(&self, what: impl AsRef<str>, fix: impl AsRef<str>) {
        self.context.findings.warn(Problem::new(&self.key, what, fix));
    }

    /// The value as text that is not empty.
    pub(crate) fn text(&self) -> Result<&str, Reported> {
        match self.value.as_ref() {
            Value::String(text) if text.is_empty() => {
                Err(self.report("is empty", "give it a value, or remove the key"))
            }
            Value::String(text) => Ok(text),
            other => Err(self.report(format!("is {}, not text", a_type(other)), "write the value in quotes")),
        }
    }

    /// The value as an unsigned number, which may be written in quotes.
    pub(crate) fn number(&self) -> Option<u64> {
        match self.value.as_ref() {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::String(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// The value as yes or no.
    pub(crate) fn flag(&self) -> Result<bool, Reported> {
        match self.structured().as_ref() {
            Value::Boolean(flag) => Ok(*flag),
            other => Err(self.report(format!("is {}, not true or false", a_type(other)), "write true or false")),
        }
    }

    /// The value through `parse`, or each of them where it is a list.
    pub(crate) fn one_or_each<T>(&self, parse: impl Fn(&Item<'_>) -> Result<T, Reported>) -> Result<Vec<T>, Reported> {
        match self.structured().as_ref() {
            Value::Array(_) => self.each(parse),
            _ => Ok(vec![parse(self)?]),
        }
    }

    /// The list's items, each through `parse`; all of them are read before the first failure is returned.
    pub(crate) fn each<T>(&self, parse: impl Fn(&Item<'_>) -> Result<T, Reported>) -> Result<Vec<T>, Reported> {
        let values: Vec<Cow<'_, Value>> = match self.structured() {
            Cow::Borrowed(Value::Array(list)) => list.iter().map(Cow::Borrowed).collect(),
            Cow::Owned(Value::Array(list)) => list.into_iter().map(Cow::Owned).collect(),
            other => {
                return Err(
                    self.report(format!("is {}, not a list", a_type(&other)), r#"write a list, such as ["..."]"#)
                );
            }
        };
        let parsed: Vec<_> = values
            .into_iter()
            .enumerate()
            .map(|(i, value)| parse(&Item { context: self.context, key: format!("{}[{i}]", self.key), value }))
            .collect();
        parsed.into_iter().collect()
    }

    /// The table's keys and values, each through `parse`; all are read before the first failure is returned.
    pub(crate) fn entries<T>(
        &self,
        parse: impl Fn(&str, &Item<'_>) -> Result<T, Reported>,
    ) -> Result<Vec<T>, Reported> {
        let table = self.table(r#"write a table, such as { name = "value" }"#)?;
        let parsed: Vec<_> = table
            .iter()
            .map(|(name, value)| {
                let key = format!("{}.{name}", self.key);
                parse(name, &Item { context: self.context, key, value: Cow::Borrowed(value) })
            })
            .collect();
        parsed.into_iter().collect()
    }

    /// Reads the value as a section with `validate`, then refuses the keys that it did not ask for.
    fn section<T>(&self, fix: &str, validate: impl FnOnce(&Section<'_>) -> Result<T, Reported>) -> Result<T, Reported> {
        let section = Section::new(self.context, self.key.clone(), self.table(fix)?);
        let result = validate(&section);
        section.refuse_others();
        result
    }

    fn table(&self, fix: &str) -> Result<Cow<'_, Table>, Reported> {
        match self.structured() {
            Cow::Borrowed(Value::Table(table)) => Ok(Cow::Borrowed(table)),
            Cow::Owned(Value::Table(table)) => Ok(Cow::Owned(table)),
            other => Err(self.report(format!("is {}, not a table", a_type(&other)), fix)),
        }
    }

    /// The value, out of its text if the environment gave it.
    fn structured(&self) -> Cow<'_, Value> {
        match self.value.as_ref() {
            Value::String(text) if self.context.origins.contains_key(&self.key) => {
                parse_value(text).map_or(Cow::Borrowed(&self.value), Cow::Owned)
            }
            value => Cow::Borrowed(value),
        }
    }
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(crate) fn root(context: &'a Context<'a>, table: &'a Table) -> Self {
        Self::new(context, String::new(), Cow::Borrowed(table))
    }

    fn new(context: &'a Context<'a>, key: String, table: Cow<'a, Table>) -> Self {
        Self { context, key, table, known: RefCell::default() }
    }

    /// The whole key of `name` in this section.
    pub(crate) fn key_of(&self, name: &str) -> String {
        if self.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.key) }
    }

    /// The folder that relative paths start from.
    pub(crate) fn base(&self) -> &'a Path {
        self.context.base
    }

    /// Whether the key is given, rightly or not.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Records a problem with a key of this section.
    pub(crate) fn report(&self, name: &str, what: impl AsRef<str>, fix: impl AsRef<str>) -> Reported {
        self.context.report(&self.key_of(name), what.as_ref(), fix.as_ref())
    }

    /// Records a warning about a key of this section.
    pub(crate) fn warn(&self, name: &str, what: impl AsRef<str>, fix: impl AsRef<str>) {
        self.context.findings.warn(Problem::new(self.key_of(name), what, fix));
    }

    /// The key's value through `parse`, if it is given.
    pub(crate) fn optional<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&Item<'_>) -> Result<T, Reported>,
    ) -> Result<Option<T>, Reported> {
        self.known.borrow_mut().push(name.into());
        self.item(name).map(|item| parse(&item)).transpose()
    }

    /// The key's value through `parse`, or `default` where the key is not given.
    pub(crate) fn or<T>(
        &self,
        name: &'static str,
        default: T,
        parse: impl FnOnce(&Item<'_>) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        Ok(self.optional(name, parse)?.unwrap_or(default))
    }

    /// The key's value through `parse`; where it is not given, the fix says to add `example`.
    pub(crate) fn required<T>(
        &self,
        name: &'static str,
        example: &str,
        parse: impl FnOnce(&Item<'_>) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        self.optional(name, parse)?.ok_or_else(|| self.report(name, "is missing", format!("add {example}")))
    }

    /// The secret `name`, given as it is or as the file that `name_file` names; `check` looks at its shape.
    pub(crate) fn secret(
        &self,
        name: &'static str,
        check: impl FnOnce(&str) -> Result<(), Flaw>,
    ) -> Result<Option<Secret>, Reported> {
        let name_file = format!("{name}_file");
        self.known.borrow_mut().extend([name.into(), name_file.clone().into()]);
        let (item, secret) = match (self.item(name), self.item(&name_file)) {
            (None, None) => return Ok(None),
            (Some(item), Some(_)) => {
                return Err(item.report(format!("is given twice, also as {name_file}"), "remove one of the two"));
            }
            (Some(item), None) => {
                let secret = Secret::new(item.text()?);
                (item, secret)
            }
            (None, Some(item)) => {
                let secret = self.read_secret(&item)?;
                (item, secret)
            }
        };
        match check(secret.expose()) {
            Ok(()) => Ok(Some(secret)),
            Err(flaw) => Err(item.flawed(flaw)),
        }
    }

    /// Refuses a key that a later version will know.
    pub(crate) fn later(&self, name: &'static str) -> Result<(), Reported> {
        self.optional(name, |item| Err(item.report("is not yet supported", "remove it"))).map(|_: Option<()>| ())
    }

    /// The table `name` through `validate`; a table that is not given counts as an empty one.
    pub(crate) fn section<T>(
        &self,
        name: &'static str,
        validate: impl FnOnce(&Section<'_>) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        self.known.borrow_mut().push(name.into());
        let empty =
            || Item { context: self.context, key: self.key_of(name), value: Cow::Owned(Value::Table(Table::new())) };
        self.item(name).unwrap_or_else(empty).section(&format!("write [{name}]"), validate)
    }

    /// The table `name` through `validate`, if it is given.
    pub(crate) fn optional_section<T>(
        &self,
        name: &'static str,
        validate: impl FnOnce(&Section<'_>) -> Result<T, Reported>,
    ) -> Result<Option<T>, Reported> {
        self.optional(name, |item| item.section(&format!("write [{name}]"), validate))
    }

    /// The tables `[[name]]`, each through `validate`.
    pub(crate) fn sections<T>(
        &self,
        name: &'static str,
        validate: impl Fn(&Section<'_>) -> Result<T, Reported>,
    ) -> Result<Vec<T>, Reported> {
        let brackets = format!("write [[{name}]], with two brackets on each side");
        let each = |item: &Item<'_>| match item.structured().as_ref() {
            Value::Array(_) => item.each(|item| item.section(&brackets, &validate)),
            other => Err(item.report(format!("is {}, not a list of tables", a_type(other)), &brackets)),
        };
        self.or(name, Vec::new(), each)
    }

    /// Refuses entries of `[[section]]` that share the text at `key`, whether they are right otherwise or not.
    pub(crate) fn distinct(&self, section: &str, key: &str) -> Result<(), Reported> {
        let tables = self.table.get(section).and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<_> = tables.map(|table| table.get(key).and_then(Value::as_str)).collect();
        let mut result = Ok(());
        for (i, text) in texts.iter().enumerate() {
            if let Some(text) = text
                && let Some(j) = texts.iter().take(i).position(|earlier| *earlier == Some(text))
            {
                let what = format!("{} is the {key} of {section}[{j}] already", quoted(text));
                result = Err(self.report(&format!("{section}[{i}].{key}"), what, format!("give each its own {key}")));
            }
        }
        result
    }

    /// Reports the keys that were never asked for.
    pub(crate) fn refuse_others(&self) {
        let known = self.known.borrow();
        for name in self.table.keys().filter(|name| known.iter().all(|known| known != *name)) {
            let key = self.key_of(name);
            // A section that only the environment made is known by what is below it.
            let above = |origin: &str| origin.strip_prefix(&key).is_some_and(|rest| rest.starts_with(['.', '[']));
            let variable = self.context.origins.iter().find(|(origin, _)| above(origin)).map(|(_, variable)| variable);
            let what = match variable {
                Some(variable) => format!("is no key that askgate knows (set by {variable})"),
                None => "is no key that askgate knows".to_owned(),
            };
            let fix = match nearest(name, known.iter().map(AsRef::as_ref)) {
                Some(meant) => format!("did you mean {}?", quoted(meant)),
                None => format!("known here: {}", known.join(", ")),
            };
            self.report(name, what, fix);
        }
    }

    fn item(&self, name: &str) -> Option<Item<'_>> {
        let value = self.table.get(name)?;
        Some(Item { context: self.context, key: self.key_of(name), value: Cow::Borrowed(value) })
    }

    fn read_secret(&self, item: &Item<'_>) -> Result<Secret, Reported> {
        let file = self.base().join(item.text()?);
        match (self.context.read_file)(&file) {
            Ok(text) if text.is_empty() => {
                Err(item.report(format!("names an empty file, {}", file.display()), "write the secret into the file"))
            }
            Ok(text) => Ok(Secret::from_file(text, file)),
            Err(error) => {
                let what = format!("cannot be read from {}: {error}", file.display());
                Err(item.report(what, "name a text file that askgate may read"))
            }
        }
    }
}

/// One TOML value out of a text, such as `["a", "b"]`.
pub(crate) fn parse_value(text: &str) -> Option<Value> {
    let mut table: Table = format!("value = {text}").parse().ok()?;
    // More keys than ours mean that the text went on after the value.
    (table.len() == 1).then(|| table.remove("value")).flatten()
}

/// The value's type with its article.
fn a_type(value: &Value) -> String {
    match value.type_str() {
        kind @ ("integer" | "array") => format!("an {kind}"),
        "string" => "text".to_owned(),
        kind => format!("a {kind}"),
    }
}
