//! Numbers of messages that ranks send in a collective: to count them takes a look at all rounds, so they are kept.

/// Messages that each place of the communicator sends in the call that was prepared last: callers repeat calls.
#[derive(Debug, Default)]
pub(super) struct Sends {
    by_place: Vec<u32>,
    /// False where it is not the call alone that decides.
    kept: bool,
}

impl Sends {
    const UNKNOWN: u32 = u32::MAX;

    /// Another call is prepared.
    pub fn forget(&mut self, kept: bool) {
        self.by_place.clear();
        self.kept = kept;
    }

    pub fn known(&self, place: u32) -> Option<u64> {
        let sends = *self.by_place.get(place as usize)?;
        (sends != Self::UNKNOWN).then_some(u64::from(sends))
    }

    /// Keeps the number of `place`, and gives it back.
    pub fn note(&mut self, place: u32, sends: u64) -> u64 {
        if self.kept {
            let place = place as usize;
            if place >= self.by_place.len() {
                self.by_place.resize(place + 1, Self::UNKNOWN);
            }
            self.by_place[place] = u32::try_from(sends).unwrap_or(Self::UNKNOWN);
        }
        sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_until_another_call_is_prepared() {
        let mut sends = Sends::default();
        sends.forget(true);
        assert_eq!(sends.known(3), None);
        assert_eq!(sends.note(3, 7), 7);
        assert_eq!((sends.known(2), sends.known(3)), (None, Some(7)));
        sends.forget(false);
        assert_eq!(sends.note(3, 8), 8);
        assert_eq!(sends.known(3), None);
    }
}
