//! Interned names of functions, which live as long as the process.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The name of a function: "MPI_Isend".
#[derive(Debug, Clone, Copy, Eq, PartialOrd, Ord)]
pub struct Name(pub &'static str);

/// Compares addresses first: equal names are mostly one text at one place.
impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        std::ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Longest name \[bytes\], and largest number of names, so that a damaged file cannot use up memory.
const LONGEST: usize = 64;
const MOST: usize = 4096;

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Name {
    /// Looks up a name as it stands in a file.
    fn read(name: &str) -> Result<Name, String> {
        let mut names = NAMES.lock().expect("nothing fails while it is held");
        if let Some(known) = names.get(name) {
            return Ok(Name(known));
        }
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty() || name.len() > LONGEST || !letters {
            return Err(format!(
                "{name:?} is no name of a function: 1 to {LONGEST} letters, digits and underscores"
            ));
        }
        if names.len() == MOST {
            return Err(format!("{name:?} would be one of more than {MOST} different functions"));
        }
        let kept: &'static str = name.to_string().leak();
        names.insert(kept);
        Ok(Name(kept))
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        struct AsText;
        impl Visitor<'_> for AsText {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a function")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
                Name::read(name).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(AsText)
    }
}
