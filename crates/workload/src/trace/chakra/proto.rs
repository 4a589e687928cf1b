//! Files of protocol buffers: messages one after the other, each after its length; first the metadata of the whole,
//! then the nodes.
//!
//! A hand-written reader instead of generated code, so that errors name their place in the file, and no more memory
//! is allocated than the file fills. Source: Protocol Buffers, Encoding.

use super::parts::Draft;
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value<'a> {
    Number(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// A message whose fields are consumed from the front.
#[derive(Clone, Copy)]
struct Message<'a> {
    bytes: &'a [u8],
    /// Offset in the file \[bytes\].
    at: u64,
}

/// A field: its number, its value and the offset of the value.
struct Field<'a> {
    number: u64,
    value: Value<'a>,
    at: u64,
}

/// Offset in the file and description of an error.
type Wrong = (u64, String);

impl<'a> Message<'a> {
    fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], Wrong> {
        let left = self.bytes.len() as u64;
        if count > left {
            return Err((self.at, format!("{what} needs {count} bytes, but {left} are left")));
        }
        let (taken, rest) = self.bytes.split_at(count as usize);
        self.bytes = rest;
        self.at += count;
        Ok(taken)
    }

    fn number(&mut self, what: &str) -> Result<u64, Wrong> {
        let (begin, mut number) = (self.at, 0_u64);
        for shift in (0..64).step_by(7) {
            let byte = self.take(1, what)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err((begin, format!("{what} has more than 64 bits")))
    }

    fn next(&mut self) -> Result<Option<Field<'a>>, Wrong> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let begin = self.at;
        let key = self.number("a field")?;
        let mut at = self.at;
        let value = match key & 7 {
            0 => Value::Number(self.number("a number")?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8, "a number")?.try_into().expect("8 bytes"))),
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4, "a number")?.try_into().expect("4 bytes"))),
            2 => {
                let length = self.number("a length")?;
                at = self.at;
                Value::Bytes(self.take(length, "a field")?)
            }
            other => {
                return Err((begin, format!("field {} has wire type {other}; known: 0, 1, 2, 5", key >> 3)));
            }
        };
        Ok(Some(Field { number: key >> 3, value, at }))
    }
}

impl Field<'_> {
    fn wrong(&self, what: &str) -> Wrong {
        (self.at, format!("field {} is no {what}", self.number))
    }

    fn as_number(&self, what: &str) -> Result<u64, Wrong> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => Err(self.wrong(what)),
        }
    }

    fn as_text(&self, what: &str) -> Result<String, Wrong> {
        match self.value {
            Value::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(self.wrong(what)),
        }
    }

    fn as_message(&self, what: &str) -> Result<Message<'_>, Wrong> {
        match self.value {
            Value::Bytes(bytes) => Ok(Message { bytes, at: self.at }),
            _ => Err(self.wrong(what)),
        }
    }

    /// Appends the field's numbers, one or several packed, to `into`.
    fn numbers(&self, into: &mut Vec<u64>) -> Result<(), Wrong> {
        match self.value {
            Value::Number(number) => into.push(number),
            Value::Bytes(bytes) => {
                let mut packed = Message { bytes, at: self.at };
                while !packed.bytes.is_empty() {
                    into.push(packed.number("a node's number")?);
                }
            }
            _ => return Err(self.wrong("list of numbers")),
        }
        Ok(())
    }
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attribute {
    /// A number or a boolean.
    Number(u64),
    /// Text.
    Text(String),
    /// A list of booleans.
    Truths(Vec<bool>),
    /// Something else.
    Other,
}

impl Attribute {
    /// The number of attribute `name`.
    pub(super) fn number(&self, name: &str) -> Result<u64, String> {
        match self {
            Attribute::Number(number) => Ok(*number),
            Attribute::Text(text) => {
                text.parse().map_err(|_| format!("{name} is {text:?}, which is not a number"))
            }
            other => Err(format!("{name} is {other:?}, which is not a number")),
        }
    }

    /// The text of attribute `name`.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        match self {
            Attribute::Number(number) => Ok(number.to_string()),
            Attribute::Text(text) => Ok(text.clone()),
            other => Err(format!("{name} is {other:?}, which is no text")),
        }
    }

    /// True if attribute `name`, a boolean or a list of booleans, contains false.
    pub(super) fn any_false(&self, name: &str) -> Result<bool, String> {
        match self {
            Attribute::Truths(truths) => Ok(truths.contains(&false)),
            other => Err(format!("{name} is {other:?}, which is no list of truths")),
        }
    }

    fn read(mut message: Message<'_>) -> Result<(String, Attribute), Wrong> {
        let (mut name, mut value) = (String::new(), Attribute::Other);
        while let Some(field) = message.next()? {
            match (field.number, field.value) {
                (1, _) => name = field.as_text("name of an attribute")?,
                // Integers and booleans; fields 15 and 17 are zigzag-encoded.
                (7 | 9 | 11 | 13 | 27, Value::Number(number)) => value = Attribute::Number(number),
                (15 | 17, Value::Number(zigzag)) => {
                    value = Attribute::Number(zigzag >> 1 ^ 0_u64.wrapping_sub(zigzag & 1));
                }
                (19 | 23, Value::Fixed32(number)) => value = Attribute::Number(number.into()),
                (21 | 25, Value::Fixed64(number)) => value = Attribute::Number(number),
                (28, _) => {
                    let (mut list, mut truths) = (field.as_message("list")?, Vec::new());
                    while let Some(one) = list.next()? {
                        one.numbers(&mut truths)?;
                    }
                    value = Attribute::Truths(truths.into_iter().map(|truth| truth != 0).collect());
                }
                (29, _) => value = Attribute::Text(field.as_text("text")?),
                _ => {}
            }
        }
        Ok((name, value))
    }
}

/// True if `file` begins like a trace: its first message holds only a version and attributes.
pub(super) fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    let begin = file.peek(0, 64 << 10)?;
    let mut message = Message { bytes: &begin, at: 0 };
    let Ok(length) = message.number("a length") else { return Ok(false) };
    let Some(rest) = begin.len().checked_sub(message.at as usize) else { return Ok(false) };
    if length == 0 || length > file.bytes.size() || length as usize > rest {
        // A first message that is longer than the buffer is checked up to its first field.
        let long = length as usize > rest && length < file.bytes.size();
        return Ok(long
            && message.bytes.first() == Some(&0x12)
            && begin.windows(6).take(16).any(|w| w == b"schema"));
    }
    message.bytes = &message.bytes[..length as usize];
    let mut known = false;
    while let Ok(field) = message.next() {
        let Some(field) = field else { return Ok(known) };
        match field.number {
            1 => {
                let version = field.as_text("version").unwrap_or_default();
                known |= version.starts_with(|letter: char| letter.is_ascii_digit());
            }
            2 => {
                let attribute = field.as_message("attribute").and_then(Attribute::read);
                known |= attribute.is_ok_and(|(name, _)| name == "schema");
            }
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// Reads the nodes of `file` and passes each to `take`, with its offset.
pub(super) fn read(
    file: &TraceFile,
    mut take: impl FnMut(u64, Draft) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let content = file.peek(0, usize::try_from(file.bytes.size()).unwrap_or(usize::MAX))?;
    let error = |(at, reason): Wrong| TraceError::at(&*file.name, at, reason);
    let mut all = Message { bytes: &content, at: 0 };
    let mut is_head = true;
    while !all.bytes.is_empty() {
        let length = all.number("the length of a node").map_err(error)?;
        let at = all.at;
        let bytes = all.take(length, "a node").map_err(error)?;
        if !std::mem::take(&mut is_head) {
            take(at, node(Message { bytes, at }).map_err(error)?)?;
        }
    }
    Ok(())
}

fn node(mut message: Message<'_>) -> Result<Draft, Wrong> {
    let mut draft = Draft::default();
    while let Some(field) = message.next()? {
        match field.number {
            1 => draft.id = field.as_number("number of a node")?,
            3 => draft.node_type = field.as_number("type of a node")?,
            4 | 5 => field.numbers(&mut draft.after)?,
            7 => draft.duration_us = field.as_number("duration")?,
            8 => {
                let mut inputs = field.as_message("input")?;
                while let Some(input) = inputs.next()? {
                    if input.number == 1 {
                        draft.inputs = input.as_text("value of an input")?;
                    }
                }
            }
            10 => {
                let (name, value) = Attribute::read(field.as_message("attribute")?)?;
                draft.attribute(&name, value).map_err(|reason| (field.at, reason))?;
            }
            _ => {}
        }
    }
    Ok(draft)
}
