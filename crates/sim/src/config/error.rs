//! Errors in input files and flags, with their places.

use std::fmt;
use std::sync::Arc;

/// Bad input: names the file, the place, the value and the known choices. The command line exits with 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// File, or flag (`--set topology.kind=toros`).
    pub file: String,
    /// Line from 1; 0 for inputs without lines (a flag, a file that cannot be read).
    pub line: u32,
    /// Column in characters from 1; 0 if `line` is.
    pub column: u32,
    /// Message with the key, the value as written, and the valid values.
    pub message: String,
    /// Further mistakes in the same input.
    pub more: Vec<InputError>,
}

impl InputError {
    /// Error about a whole file or flag.
    pub fn whole(file: impl Into<String>, message: impl Into<String>) -> InputError {
        InputError { file: file.into(), line: 0, column: 0, message: message.into(), more: Vec::new() }
    }

    /// Same error, marked as one of the job `name`.
    pub fn of_job(self, name: &str) -> InputError {
        let more = self.more.into_iter().map(|error| error.of_job(name)).collect();
        InputError { file: format!("job '{name}': {}", self.file), more, ..self }
    }

    /// Joins all `errors` into one, in the order of the file; those of flags come first.
    pub fn all(errors: Vec<InputError>) -> Result<(), InputError> {
        let one_by_one = |error: InputError| {
            let more = error.more.clone();
            std::iter::once(InputError { more: Vec::new(), ..error }).chain(more)
        };
        let mut errors: Vec<_> = errors.into_iter().flat_map(one_by_one).collect();
        errors.sort_by_key(|error| (error.line, error.column));
        errors.dedup();
        if errors.is_empty() {
            return Ok(());
        }
        let first = errors.remove(0);
        Err(InputError { more: errors, ..first })
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}: {}", self.file, self.message),
            (line, 0) => write!(f, "{}:{line}: {}", self.file, self.message),
            (line, column) => write!(f, "{}:{line}:{column}: {}", self.file, self.message),
        }?;
        self.more.iter().try_for_each(|error| write!(f, "\n{error}"))
    }
}
impl std::error::Error for InputError {}

/// Place in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// See [`InputError::file`].
    pub file: Arc<str>,
    /// See [`InputError::line`].
    pub line: u32,
    /// See [`InputError::column`].
    pub column: u32,
}

impl Place {
    /// True for a place in a flag, not in a file.
    pub fn is_flag(&self) -> bool {
        self.line == 0
    }
    /// Error about the text at this place.
    pub fn error(&self, message: impl Into<String>) -> InputError {
        let Place { file, line, column } = self;
        InputError {
            file: file.to_string(),
            line: *line,
            column: *column,
            message: message.into(),
            more: Vec::new(),
        }
    }
}

/// Formats `unknown WHAT 'NAME'; did you mean 'NEAR'? known: A, B, …`.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    unknown_in(what, name, "", known, None)
}

/// Formats a message like [`unknown`] about a name at `place` (" in [link]"). A `hint` replaces the similar name,
/// unless that is one character away.
pub fn unknown_in(what: &str, name: &str, place: &str, known: &[&str], hint: Option<&str>) -> String {
    let near = known
        .iter()
        .map(|choice| (strsim::damerau_levenshtein(choice, name), *choice))
        .filter(|(distance, choice)| *distance <= if hint.is_some() { 1 } else { 1 + choice.len() / 4 })
        .min();
    let hint = match (near, hint) {
        (Some((_, choice)), _) => format!(" did you mean '{choice}'?"),
        (None, Some(hint)) => format!(" {hint};"),
        (None, None) => String::new(),
    };
    format!("unknown {what} '{name}'{place};{hint} {}", listed(known))
}

/// Formats `known: A, B, …`.
fn listed(known: &[&str]) -> String {
    format!("known: {}", if known.is_empty() { "none".to_string() } else { known.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_corrected_and_nonsense_is_not() {
        assert_eq!(
            unknown("topology", "toros", &["torus", "mesh"]),
            "unknown topology 'toros'; did you mean 'torus'? known: torus, mesh"
        );
        assert_eq!(
            unknown("topology", "web", &["torus", "mesh"]),
            "unknown topology 'web'; known: torus, mesh"
        );
    }
}
