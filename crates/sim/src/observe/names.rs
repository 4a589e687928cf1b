//! Names of calls in serialised state: written as text, interned on reading.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name; derived implementations may not see that it is a reference.
pub type Name = &'static str;

/// Interned names: a few dozen in any run.
static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

fn known(name: String) -> &'static str {
    let mut all = KNOWN.lock().expect("nobody panics with the names in hand");
    match all.get(name.as_str()) {
        Some(name) => name,
        None => {
            let name: &'static str = name.leak();
            all.insert(name);
            name
        }
    }
}

pub fn serialize<S: Serializer>(names: &[&'static str], to: S) -> Result<S::Ok, S::Error> {
    names.serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'static str>, D::Error> {
    Ok(Vec::<String>::deserialize(from)?.into_iter().map(known).collect())
}

/// Serialisation of a single name.
pub mod one {
    use super::{Deserialize, Deserializer, Serialize, Serializer, known};

    pub fn serialize<S: Serializer>(name: &&'static str, to: S) -> Result<S::Ok, S::Error> {
        name.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
        Ok(known(String::deserialize(from)?))
    }
}
