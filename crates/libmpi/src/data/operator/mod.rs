//! Operations of reductions: a ⊕ b, value by value, on contents as messages carry them.
//!
//! Source: MPI 5.0, 6.9.2 (which operation is for which datatype) and 6.9.4 (MINLOC, MAXLOC: of equal values
//! the lower place).

mod arithmetic;
mod number;
mod wide;

use std::ffi::c_void;
use std::rc::Rc;

use super::basic::{Basic, Element};
use super::datatype::Layout;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Op;

/// A predefined operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Sum,
    Min,
    Max,
    Product,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Xor,
    MinPlace,
    MaxPlace,
    /// The second; of one-sided communication.
    Replace,
    /// The first; of one-sided communication.
    Nothing,
}

use Operation::*;

const PREDEFINED: &[(usize, &str, Operation)] = &[
    (0x21, "MPI_SUM", Sum),
    (0x22, "MPI_MIN", Min),
    (0x23, "MPI_MAX", Max),
    (0x24, "MPI_PROD", Product),
    (0x28, "MPI_BAND", BitAnd),
    (0x29, "MPI_BOR", BitOr),
    (0x2a, "MPI_BXOR", BitXor),
    (0x30, "MPI_LAND", And),
    (0x31, "MPI_LOR", Or),
    (0x32, "MPI_LXOR", Xor),
    (0x38, "MPI_MINLOC", MinPlace),
    (0x39, "MPI_MAXLOC", MaxPlace),
    (0x3c, "MPI_REPLACE", Replace),
    (0x3d, "MPI_NO_OP", Nothing),
];

/// Handle and name of each predefined operation.
pub fn predefined() -> impl Iterator<Item = (usize, &'static str)> {
    PREDEFINED.iter().map(|row| (row.0, row.1))
}

/// True if the handle is a predefined operation's.
pub fn is_predefined(op: Op) -> bool {
    PREDEFINED.iter().any(|row| row.0 == op.0)
}

fn find(op: Op) -> Answer<(&'static str, Operation)> {
    match PREDEFINED.iter().find(|row| row.0 == op.0) {
        Some(&(_, name, operation)) => Ok((name, operation)),
        None if op == Op::NULL => Err(Error::new(Class::OP, "MPI_OP_NULL")),
        None => Err(Error::new(Class::OP, format!("{:#x} is not an operation", op.0))),
    }
}

/// A function of a program: total := total ⊕ next, on contents.
pub type Function = dyn Fn(&mut [u8], &[u8]);

/// An operation on values of a known kind.
#[derive(Clone)]
pub enum Operator {
    /// An operation of the standard.
    Predefined(Operation, Element),
    /// An operation of the program, and true if it is commutative.
    User(Rc<Function>, bool),
}

impl Operator {
    /// The predefined operation of a handle for reductions of values of `layout`.
    pub fn of(op: Op, layout: &Layout) -> Answer<Operator> {
        let (name, operation) = find(op)?;
        if matches!(operation, Replace | Nothing) {
            return Err(Error::new(Class::OP, format!("{name} is not an operation for a reduction")));
        }
        match layout.basic {
            Some(basic) => for_values(name, operation, basic),
            None => {
                Err(Error::new(Class::OP, format!("{name} is not for a datatype that a program has made")))
            }
        }
    }

    /// True if a ⊕ b = b ⊕ a.
    pub fn commutes(&self) -> bool {
        !matches!(self, Operator::User(_, false))
    }

    /// total := total ⊕ next, value by value, on contents.
    pub fn combine(&self, total: &mut [u8], next: &[u8]) {
        match self {
            Operator::Predefined(operation, element) => {
                arithmetic::combine(*operation, *element, total, next);
            }
            Operator::User(function, _) => function(total, next),
        }
    }
}

fn for_values(name: &str, operation: Operation, basic: Basic) -> Answer<Operator> {
    let element = basic.element();
    if fits(operation, element) {
        return Ok(Operator::Predefined(operation, element));
    }
    Err(Error::new(Class::OP, format!("{name} is not for {}", basic.name())))
}

/// True if the standard has the operation for such elements.
fn fits(operation: Operation, element: Element) -> bool {
    match (operation, element) {
        (Replace | Nothing, _) => true,
        (_, Element::Signed(_) | Element::Unsigned(_)) => !matches!(operation, MinPlace | MaxPlace),
        (_, Element::Float(_)) => matches!(operation, Sum | Min | Max | Product),
        (_, Element::Complex(_)) => matches!(operation, Sum | Product),
        (_, Element::Logical(_)) => matches!(operation, And | Or | Xor),
        (_, Element::Byte) => matches!(operation, BitAnd | BitOr | BitXor),
        (_, Element::Pair(..)) => matches!(operation, MinPlace | MaxPlace),
        (_, Element::Character(_) | Element::Packed | Element::Marker) => false,
    }
}

/// Effect of one-sided communication on values of a window. The values may be of a derived datatype whose predefined
/// parts are all of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Accumulation {
    operation: Operation,
    element: Element,
}

impl Accumulation {
    /// The operation of a handle for values of `layout`.
    pub fn of(op: Op, layout: &Layout) -> Answer<Accumulation> {
        let (name, operation) = find(op)?;
        let uniform = layout.basic.or_else(|| layout.map().uniform);
        match uniform {
            Some(basic) => match for_values(name, operation, basic)? {
                Operator::Predefined(operation, element) => Ok(Accumulation { operation, element }),
                Operator::User(..) => unreachable!("it is predefined"),
            },
            // Whole values are moved as they are, whatever they are made of; of none there is nothing to do.
            None if matches!(operation, Replace | Nothing) || layout.size == 0 => Ok(Accumulation {
                operation: if layout.size == 0 { Nothing } else { operation },
                element: Element::Byte,
            }),
            None => Err(Error::new(Class::TYPE, format!("{name} needs values of one predefined datatype"))),
        }
    }

    /// target := target ⊕ contents, for `count` values at `target`.
    ///
    /// # Safety
    /// There are that many at `target`.
    pub unsafe fn apply(self, contents: &[u8], target: *mut c_void, layout: &Layout, count: i64) {
        match self.operation {
            Nothing => {}
            // SAFETY: the caller says so.
            Replace => unsafe { layout.unpack(contents, target) },
            operation => {
                // SAFETY: the caller says so.
                let mut total = unsafe { layout.pack(target, count) };
                arithmetic::combine(operation, self.element, &mut total, contents);
                // SAFETY: as above.
                unsafe { layout.unpack(&total, target) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
