//! A TOML document whose every key and value has its place in the file, with `--set` laid over it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{InputError, Place};

/// A value that a flag lays over a platform file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Key of the value: `section.key`.
    pub key: String,
    /// Value as TOML; anything else is taken as text.
    pub value: String,
    /// Flag as the user wrote it, for errors: `--ppn 4`.
    pub flag: String,
}

impl Override {
    /// Override of `--set key=value`; a key may write `list[0]` for `list.0`.
    pub fn set(key: &str, value: &str) -> Override {
        Override { key: dotted(key), value: value.to_string(), flag: format!("--set {key}={value}") }
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Place of the value.
    pub at: Place,
    /// Place of the key; within a list, of the value itself.
    pub key_at: Place,
    /// Value as written, in TOML.
    pub text: String,
    /// Value.
    pub item: Item,
}

/// Value of a node.
#[derive(Debug, Clone)]
pub enum Item {
    /// `"…"`
    Text(String),
    /// `1`
    Integer(i64),
    /// `1.5`
    Number(f64),
    /// `true`
    Flag(bool),
    /// A date or time, which no parameter takes.
    Date,
    /// `[…]`, and `[[…]]`
    List(Vec<Node>),
    /// `[section]`, and `{…}`
    Table(BTreeMap<String, Node>),
}

/// Reads a TOML file whose name is `file`.
pub fn parse(file: &str, text: &str) -> Result<Node, InputError> {
    let reader = Reader::new(file, text);
    let root = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let advice = bare_text(text, offset)
            .map_or(String::new(), |bare| format!("; text needs quotes: write {}", quoted(bare)));
        reader.place(offset).error(format!("not TOML: {}{advice}", error.message().trim_end()))
    })?;
    let start = reader.place(0);
    let item = reader.table(root.into_inner())?;
    Ok(Node { at: start.clone(), key_at: start, text: String::new(), item })
}

/// Value without quotes in which an error at `offset` lies: `fat-tree` of `kind = fat-tree`.
fn bare_text(text: &str, offset: usize) -> Option<&str> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next()?;
    // The value that the error lies in, or at whose end it is.
    let mut values = line.match_indices('=').map(|(at, _)| at + 1);
    let from = values.rfind(|at| start + at <= offset)?;
    let rest = &line[from..];
    let value = rest[..rest.find([',', '}', ']', '#']).unwrap_or(rest.len())].trim();
    let is_text = value.starts_with(|c: char| c.is_alphanumeric()) && value.contains(char::is_alphabetic);
    (is_text && !value.contains(['"', '\''])).then_some(value)
}

/// Converts spans to places.
struct Reader<'a> {
    file: Arc<str>,
    text: &'a str,
    /// Byte offset of the start of each line.
    lines: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn new(file: &str, text: &'a str) -> Reader<'a> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Reader { file: file.into(), text, lines }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.lines[line]..offset).unwrap_or_default();
        let column = before.chars().count() as u32 + 1;
        Place { file: self.file.clone(), line: line as u32 + 1, column }
    }

    fn table(&self, table: DeTable) -> Result<Item, InputError> {
        let mut fields = BTreeMap::new();
        for (key, value) in table {
            let key_at = self.place(key.span().start);
            let mut node = self.node(value)?;
            node.key_at = key_at;
            fields.insert(key.into_inner().into_owned(), node);
        }
        Ok(Item::Table(fields))
    }

    fn node(&self, value: Spanned<DeValue>) -> Result<Node, InputError> {
        let Range { start, end } = value.span();
        let at = self.place(start);
        let text = self.text.get(start..end).unwrap_or_default().to_string();
        let item = match value.into_inner() {
            DeValue::String(text) => Item::Text(text.into_owned()),
            DeValue::Boolean(flag) => Item::Flag(flag),
            DeValue::Datetime(_) => Item::Date,
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .map(Item::Integer)
                .map_err(|_| at.error(format!("'{text}' is too large for a whole number")))?,
            DeValue::Float(float) => float
                .as_str()
                .parse()
                .map(Item::Number)
                .map_err(|_| at.error(format!("'{text}' is not a number")))?,
            DeValue::Array(values) => {
                Item::List(values.into_iter().map(|value| self.node(value)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => self.table(table)?,
        };
        let text = inline(&item, &text).unwrap_or(text);
        Ok(Node { at: at.clone(), key_at: at, text, item })
    }
}

/// Tables that stand under headers, such as `[[mpi.regimes.send_modes]]`, as a value; `None` for what is one as written.
fn inline(item: &Item, written: &str) -> Option<String> {
    match item {
        Item::Table(fields) if written.starts_with('[') => {
            let pairs: Vec<_> = fields.iter().map(|(key, node)| format!("{key} = {}", node.text)).collect();
            Some(format!("{{ {} }}", pairs.join(", ")))
        }
        Item::List(nodes)
            if written.starts_with("[[") && nodes.iter().all(|node| matches!(node.item, Item::Table(_))) =>
        {
            let texts: Vec<_> = nodes.iter().map(|node| &node.text[..]).collect();
            Some(format!("[{}]", texts.join(", ")))
        }
        _ => None,
    }
}

/// Parses a value that stands alone: TOML, or else a bare string (`--set link.latency=635 ns`).
///
/// `origin` stands for the file in errors about it.
pub fn value(origin: &str, text: &str) -> Node {
    let place = Place { file: origin.into(), line: 0, column: 0 };
    let parsed = DeValue::parse(text).ok().and_then(|value| Reader::new(origin, text).node(value).ok());
    let mut node = parsed.unwrap_or_else(|| Node {
        at: place.clone(),
        key_at: place.clone(),
        text: quoted(text),
        item: Item::Text(text.to_string()),
    });
    node.move_to(&place);
    node
}

/// A key whose entries of lists are written as steps of their own: `a.0.b` for `a[0].b`.
fn dotted(key: &str) -> String {
    let mut found = String::new();
    for step in key.split('.') {
        let number = step.strip_suffix(']').and_then(|step| step.split_once('['));
        let entry =
            number.filter(|(_, number)| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()));
        let written = entry.map_or(step.to_string(), |(list, number)| format!("{list}.{number}"));
        if !found.is_empty() {
            found.push('.');
        }
        found.push_str(&written);
    }
    found
}

/// Quotes `text` as a TOML string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

impl Node {
    fn move_to(&mut self, place: &Place) {
        self.at = place.clone();
        self.key_at = place.clone();
        match &mut self.item {
            Item::List(nodes) => nodes.iter_mut().for_each(|node| node.move_to(place)),
            Item::Table(fields) => fields.values_mut().for_each(|node| node.move_to(place)),
            _ => {}
        }
    }

    /// Lays an override over this document. Its key is `section.key`; an entry of a list of tables is named by its
    /// number from 0 or its `name` (`mpi.regimes.0.up_to`, `mpi.regimes.eager.up_to`).
    pub fn set(&mut self, by: &Override) -> Result<(), InputError> {
        let (key, origin) = (&by.key, by.flag.clone());
        let new = value(&origin, &by.value);
        let mut node = self;
        let mut path = String::new();
        let mut steps = key.split('.').peekable();
        while let Some(step) = steps.next() {
            if step.is_empty() {
                return Err(InputError::whole(
                    origin,
                    format!("'{key}' is not a key; write section.key=value"),
                ));
            }
            let place = new.at.clone();
            let empty = Item::Table(BTreeMap::new());
            let missing = Node { at: place.clone(), key_at: place, text: String::new(), item: empty };
            node = match &mut node.item {
                Item::Table(fields) => fields.entry(step.to_string()).or_insert(missing),
                Item::List(nodes) => {
                    let index =
                        step.parse().ok().or_else(|| nodes.iter().position(|node| node.is_called(step)));
                    let known: Vec<String> = (0..nodes.len()).map(|index| index.to_string()).collect();
                    index.and_then(|index: usize| nodes.get_mut(index)).ok_or_else(|| {
                        let known = known.join(", ");
                        InputError::whole(
                            origin.clone(),
                            format!("'{path}' has no entry '{step}'; known: its names, and {known}"),
                        )
                    })?
                }
                _ => return Err(InputError::whole(origin, format!("'{path}' is a value, not a section"))),
            };
            path = if path.is_empty() { step.to_string() } else { format!("{path}.{step}") };
            if steps.peek().is_none() {
                *node = new;
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_called(&self, name: &str) -> bool {
        let Item::Table(fields) = &self.item else { return false };
        matches!(fields.get("name").map(|node| &node.item), Some(Item::Text(text)) if text == name)
    }
}
