//! Handles: predefined ones are small constants of the standard, ours are places in a rank's tables.
//!
//! All handles are pointers in C. A predefined one is below 4096, the first page, which holds nothing. Ours
//! is `4096 + 16 × place`, which no address of the program is mistaken for by MPI, and which fits into the
//! integer of Fortran up to 2²⁷ objects of a kind.

/// A handle of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub usize);

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident { $($(#[$constant:meta])* $value:ident = $number:expr;)* })*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub usize);

        impl $name {
            $($(#[$constant])* pub const $value: $name = $name($number);)*
        }

        impl From<usize> for $name {
            fn from(value: usize) -> $name {
                $name(value)
            }
        }

        impl From<$name> for Handle {
            fn from(handle: $name) -> Handle {
                Handle(handle.0)
            }
        }
    )*};
}

handles! {
    /// MPI_Comm
    Comm {
        /// MPI_COMM_NULL
        NULL = 0x100;
        /// MPI_COMM_WORLD
        WORLD = 0x101;
        /// MPI_COMM_SELF
        SELF = 0x102;
    }
    /// MPI_Request
    Request {
        /// MPI_REQUEST_NULL
        NULL = 0x180;
    }
    /// MPI_Datatype; `data::datatype` knows the predefined ones.
    Datatype {
        /// MPI_DATATYPE_NULL
        NULL = 0x200;
        /// MPI_BYTE
        BYTE = 0x247;
        /// MPI_LB
        LB = 0x2fe;
        /// MPI_UB
        UB = 0x2ff;
    }
    /// MPI_Op; `data::operator` knows the predefined ones.
    Op {
        /// MPI_OP_NULL
        NULL = 0x20;
    }
    /// MPI_Errhandler
    Errhandler {
        /// MPI_ERRHANDLER_NULL
        NULL = 0x140;
        /// MPI_ERRORS_ARE_FATAL
        ARE_FATAL = 0x141;
        /// MPI_ERRORS_ABORT
        ABORT = 0x142;
        /// MPI_ERRORS_RETURN
        RETURN = 0x143;
    }
    /// MPI_Info
    Info {
        /// MPI_INFO_NULL
        NULL = 0x130;
        /// MPI_INFO_ENV
        ENV = 0x131;
    }
    /// MPI_Group
    Group {
        /// MPI_GROUP_NULL
        NULL = 0x108;
        /// MPI_GROUP_EMPTY
        EMPTY = 0x109;
    }
    /// MPI_Win
    Win {
        /// MPI_WIN_NULL
        NULL = 0x110;
    }
    /// MPI_File
    File {
        /// MPI_FILE_NULL
        NULL = 0x118;
    }
    /// MPI_Session
    Session {
        /// MPI_SESSION_NULL
        NULL = 0x120;
    }
    /// MPI_Message
    Message {
        /// MPI_MESSAGE_NULL
        NULL = 0x128;
        /// MPI_MESSAGE_NO_PROC
        NO_PROC = 0x129;
    }
}

/// Object on which attributes, error handlers, infos and names hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// A communicator.
    Comm(Comm),
    /// A datatype.
    Datatype(Datatype),
    /// A window.
    Win(Win),
    /// A file; MPI_FILE_NULL has the error handler of those that are not open yet.
    File(File),
    /// A session.
    Session(Session),
}

impl Object {
    /// The number of its handle.
    pub fn number(self) -> usize {
        match self {
            Object::Comm(Comm(number))
            | Object::Datatype(Datatype(number))
            | Object::Win(Win(number))
            | Object::File(File(number))
            | Object::Session(Session(number)) => number,
        }
    }
}

macro_rules! objects {
    ($($kind:ident)*) => {$(
        impl From<$kind> for Object {
            fn from(handle: $kind) -> Object {
                Object::$kind(handle)
            }
        }
    )*};
}

objects! { Comm Datatype Win File Session }

/// Below this, handles are the standard's.
const FIRST: usize = 4096;
const STRIDE: usize = 16;

/// Objects of one kind of one rank. Places are small and dense, and used again.
#[derive(Debug)]
pub struct Table<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Takes in an object; gives its place.
    pub fn insert(&mut self, object: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(object);
                place
            }
            None => {
                self.places.push(Some(object));
                self.places.len() as u32 - 1
            }
        }
    }

    /// The object at a handle's number.
    pub fn get(&self, number: usize) -> Option<&T> {
        self.places.get(place(number)? as usize)?.as_ref()
    }

    /// The object at a handle's number, to be changed.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.places.get_mut(place(number)? as usize)?.as_mut()
    }

    /// Number of objects.
    pub fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Takes out the object at a handle's number.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        let place = place(number)?;
        let object = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(object)
    }
}

/// The number of the handle for a place.
pub fn number(place: u32) -> usize {
    FIRST + STRIDE * place as usize
}

/// The place of a handle's number, if it is one of ours.
pub fn place(number: usize) -> Option<u32> {
    let distance = number.checked_sub(FIRST)?;
    (distance % STRIDE == 0).then_some(())?;
    u32::try_from(distance / STRIDE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_and_a_stale_handle_finds_nothing() {
        let mut table = Table::default();
        let first = number(table.insert('a'));
        let second = number(table.insert('b'));
        assert_eq!(table.get(second), Some(&'b'));
        assert_eq!(table.remove(first), Some('a'));
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(number(table.insert('c')), first);
    }

    #[test]
    fn what_is_no_handle_of_ours_finds_nothing() {
        let mut table = Table::default();
        table.insert(1);
        for number in [0, Comm::WORLD.0, FIRST + 1, FIRST + STRIDE, usize::MAX] {
            assert_eq!(table.get(number), None, "{number}");
        }
    }
}
