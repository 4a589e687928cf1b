//! One-sided operations where each rank is a process: what an operation needs of its origin travels with it, and the
//! memory of its target is read and written by the simulator's process (process_vm_readv(2)), whose children they are.
//!
//! Between the first and the last byte of the target's values all are read, changed here, and written back: nobody else
//! works meanwhile, unless the target has threads of its own, which the standard forbids to touch that memory.

use std::cell::RefCell;
use std::ffi::c_void;
use std::io;
use std::rc::Rc;

use super::datatype::Room;
use super::operator::Accumulation;
use super::parcel::Place;

/// Change of the target's values.
#[derive(Debug)]
pub enum Change {
    /// Replaced by these.
    Put(Box<[u8]>),
    /// Read.
    Get,
    /// These are combined with them.
    Update(Box<[u8]>, Accumulation),
    /// Replaced by the first where they equal the second.
    Swap(Box<[u8]>, Box<[u8]>),
}

/// Outcome of an operation: the old values, until their rank takes them.
pub type Old = Rc<RefCell<io::Result<Box<[u8]>>>>;

/// An operation on the memory of another process.
#[derive(Debug)]
pub struct Far {
    /// Change.
    pub change: Change,
    /// Address in that process.
    pub target: Place,
    /// Number of the process.
    pub process: libc::pid_t,
    /// For whoever has begun it.
    pub old: Old,
}

impl Far {
    /// Does it.
    pub fn run(self) {
        let done = self.change();
        *self.old.borrow_mut() = done;
    }

    fn change(&self) -> io::Result<Box<[u8]>> {
        let Place { at, count, layout } = &self.target;
        let values = usize::try_from(*count).unwrap_or(0);
        if values == 0 || layout.size == 0 {
            return Ok(Box::default());
        }
        let (begin, bytes) = layout.span(values);
        let room = Room::new(layout, values);
        let there = at.pointer().wrapping_byte_offset(begin);
        let here = room.at.wrapping_byte_offset(begin);
        // SAFETY: the room is as long as what the values span, and they are all in it.
        unsafe {
            if !(matches!(self.change, Change::Put(_)) && layout.is_dense()) {
                transfer(libc::process_vm_readv, self.process, here, there, bytes)?;
            }
            let old = layout.pack(room.at, *count);
            match &self.change {
                Change::Get => return Ok(old),
                Change::Put(new) => layout.unpack(new, room.at),
                Change::Update(given, how) => how.apply(given, room.at, layout, *count),
                Change::Swap(_, compare) if *compare != old => return Ok(old),
                Change::Swap(new, _) => layout.unpack(new, room.at),
            }
            transfer(libc::process_vm_writev, self.process, here, there, bytes)?;
            Ok(old)
        }
    }
}

/// process_vm_readv(2) or process_vm_writev(2).
type Call = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// # Safety
/// There are so many bytes at `here`.
unsafe fn transfer(
    call: Call,
    process: libc::pid_t,
    here: *mut c_void,
    there: *mut c_void,
    bytes: usize,
) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let part =
            |at: *mut c_void| libc::iovec { iov_base: at.wrapping_byte_add(done), iov_len: bytes - done };
        let (local, remote) = (part(here), part(there));
        // SAFETY: the caller says so; the kernel checks the other process's addresses.
        match unsafe { call(process, &raw const local, 1, &raw const remote, 1, 0) } {
            -1 => return Err(io::Error::last_os_error()),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            moved => done += moved as usize,
        }
    }
    Ok(())
}
