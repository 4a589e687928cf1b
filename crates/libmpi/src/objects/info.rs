//! Keys and values of infos, in the order in which they were set.

/// Keys and values.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Pairs(pub Vec<(Vec<u8>, Vec<u8>)>);

impl Pairs {
    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.0.iter().find(|pair| pair.0 == key).map(|pair| &*pair.1)
    }

    /// Sets a value.
    pub fn set(&mut self, key: &[u8], value: &[u8]) {
        match self.0.iter_mut().find(|pair| pair.0 == key) {
            Some(pair) => pair.1 = value.into(),
            None => self.0.push((key.into(), value.into())),
        }
    }
}
