//! Operations of reductions: those of the program, and reductions within a rank.
//!
//! A function of the program is called where a rank takes its result, on that rank's stack and with its variables.
//! It gets values that lie in memory as its datatype says, whatever the contents of messages look like.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::collective;
use super::datatype::{Made, truth};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Datatype, Op};
use crate::abi::pointers::{Address, InOutPtr, OutPtr};
use crate::data::datatype::{Layout, Room};
use crate::data::operator::{self, Operator};
use crate::live::process::Process;
use crate::objects::operation::{Function, Long, Operation, Short};
use crate::translation::callbacks;

/// MPI_Op_create
pub unsafe fn op_create(me: &Process, function: *mut c_void, commutes: c_int, op: OutPtr<Op>) -> Answer {
    there(function)?;
    // SAFETY: as the contract of `call` says: it is such a function.
    unsafe { keep(me, Function::Short(std::mem::transmute::<*mut c_void, Short>(function)), commutes, op) }
}

/// MPI_Op_create_c
pub unsafe fn op_create_c(me: &Process, function: *mut c_void, commutes: c_int, op: OutPtr<Op>) -> Answer {
    there(function)?;
    // SAFETY: as the contract of `call` says: it is such a function.
    unsafe { keep(me, Function::Long(std::mem::transmute::<*mut c_void, Long>(function)), commutes, op) }
}

fn there(function: *mut c_void) -> Answer {
    if function.is_null() { Err(Error::new(Class::ARG, "no function")) } else { Ok(()) }
}

fn keep(me: &Process, function: Function, commutes: c_int, op: OutPtr<Op>) -> Answer {
    let place = me.operations.borrow_mut().insert(Operation { function, commutes: commutes != 0 });
    op.set(Op(handle::number(place)));
    Ok(())
}

/// MPI_Op_free: reductions that have been begun with it go on.
pub fn op_free(me: &Process, mut op: InOutPtr<Op>) -> Answer {
    let op = &mut *op;
    if me.operations.borrow_mut().remove(op.0).is_none() {
        return Err(Error::new(Class::OP, format!("{:#x} is not an operation that was made", op.0)));
    }
    *op = Op::NULL;
    Ok(())
}

/// MPI_Op_commutative
pub fn op_commutative(me: &Process, op: Op, commutes: OutPtr<c_int>) -> Answer {
    let answer = match me.operations.borrow().get(op.0) {
        Some(made) => made.commutes,
        None if operator::is_predefined(op) => true,
        None => return Err(Error::new(Class::OP, format!("{:#x} is not an operation", op.0))),
    };
    commutes.set(truth(answer));
    Ok(())
}

/// The operation of a handle on values of a datatype.
pub fn operator(me: &Process, op: Op, datatype: Datatype, layout: &Layout) -> Answer<Operator> {
    let Some(Operation { function, commutes }) = me.operations.borrow().get(op.0).copied() else {
        return Operator::of(op, layout);
    };
    let user = User { function, datatype, made: me.datatypes.find(datatype).ok(), layout: layout.clone() };
    Ok(Operator::User(Rc::new(move |total, next| user.call(total, next)), commutes))
}

/// A function of the program for values of a datatype.
struct User {
    function: Function,
    datatype: Datatype,
    /// Operation of the handle, if it is not a predefined one.
    made: Option<Rc<Made>>,
    layout: Layout,
}

impl User {
    /// total := total ⊕ next.
    fn call(&self, total: &mut [u8], next: &[u8]) {
        let layout = &self.layout;
        let count = total.len().min(next.len()) / layout.size.max(1);
        if count == 0 {
            return;
        }
        let (left, right) = (Room::new(layout, count), Room::new(layout, count));
        let bytes = count * layout.size;
        // SAFETY: there is room for `count` values in both.
        unsafe {
            layout.unpack(&total[..bytes], left.at);
            layout.unpack(&next[..bytes], right.at);
            Process::call_back(|| self.run(left.at, right.at, count));
            layout.pack_into(right.at, count as i64, total.as_mut_ptr());
        }
    }

    /// right := left ⊕ right, for `count` values each.
    unsafe fn run(&self, left: *mut c_void, right: *mut c_void, count: usize) {
        let me = Process::running().expect("a reduction is computed by a rank that runs");
        let mut datatype = self.datatype;
        // The program may have freed its handle since.
        let stale = self
            .made
            .as_ref()
            .filter(|made| !me.datatypes.find(datatype).is_ok_and(|found| Rc::ptr_eq(&found, made)));
        let lent = stale.map(|made| Lent { me, datatype: me.datatypes.keep(made.clone()) });
        if let Some(lent) = &lent {
            datatype = lent.datatype;
        }
        let mut handed = Datatype(callbacks::datatype(datatype));
        match self.function {
            Function::Long(function) => {
                let mut length = count as i64;
                // SAFETY: the caller says so; the program's function keeps to the standard.
                unsafe { function(left, right, &mut length, &mut handed) };
            }
            Function::Short(function) => {
                for first in (0..count).step_by(c_int::MAX as usize) {
                    let mut length = (count - first).min(c_int::MAX as usize) as c_int;
                    let at = first as isize * self.layout.extent;
                    // SAFETY: as above.
                    unsafe {
                        let (left, right) = (left.wrapping_byte_offset(at), right.wrapping_byte_offset(at));
                        function(left, right, &mut length, &mut handed);
                    }
                }
            }
        }
    }
}

/// A handle for as long as a function of the program runs.
struct Lent<'a> {
    me: &'a Process,
    datatype: Datatype,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.me.datatypes.forget(self.datatype);
    }
}

/// MPI_Reduce_local
pub unsafe fn reduce_local(
    me: &Process,
    from: Address,
    into: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
) -> Answer {
    let layout = me.layout(datatype)?;
    collective::not_in_place(from, "the first operand")?;
    collective::not_in_place(into, "the second operand")?;
    collective::distinct(from, into, layout.bytes(count)?)?;
    let operator = operator(me, op, datatype, &layout)?;
    // SAFETY: as the contract of `call` says.
    unsafe {
        let mut total = layout.pack(from.pointer(), count);
        operator.combine(&mut total, &layout.pack(into.pointer(), count));
        layout.unpack(&total, into.pointer());
    }
    Ok(())
}
