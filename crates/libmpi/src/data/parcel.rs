//! Contents of messages on their way: the simulator carries numbers, the bytes wait here.

use mpi::operation::Data;

/// Contents by number; 0 is none.
#[derive(Default)]
pub struct Parcels {
    held: Vec<Box<[u8]>>,
    free: Vec<Data>,
}

impl Parcels {
    /// Keeps contents until their message has been received.
    pub fn keep(&mut self, contents: Box<[u8]>) -> Data {
        if contents.is_empty() {
            return 0;
        }
        match self.free.pop() {
            Some(number) => {
                self.held[number as usize - 1] = contents;
                number
            }
            None => {
                self.held.push(contents);
                self.held.len() as Data
            }
        }
    }

    /// Hands over the contents of a message that has been received.
    pub fn take(&mut self, number: Data) -> Box<[u8]> {
        if number == 0 {
            return Box::default();
        }
        self.free.push(number);
        std::mem::take(&mut self.held[number as usize - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_nothing_is_number_zero() {
        let mut parcels = Parcels::default();
        let first = parcels.keep(Box::new([1, 2]));
        assert_eq!(parcels.keep(Box::new([])), 0);
        assert_eq!(&*parcels.take(first), [1, 2]);
        assert_eq!(parcels.keep(Box::new([3])), first);
        assert!(parcels.take(0).is_empty());
    }
}
