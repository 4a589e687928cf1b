//! Numbers of what a rank has under way, each with a type of its own, and the slabs that give them.

use std::marker::PhantomData;
use std::ops;

use slab::Slab;

/// A number that a [`Numbered`] gives.
pub(crate) trait Number: Copy {
    /// The number of a place in a slab.
    fn of_place(place: usize) -> Self;
    /// The place in a slab.
    fn place(self) -> usize;
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(pub u32);

        impl Number for $name {
            #[inline]
            fn of_place(place: usize) -> $name {
                $name(place as u32)
            }

            #[inline]
            fn place(self) -> usize {
                self.0 as usize
            }
        }
    };
}

number! {
    /// A rendezvous send of a rank.
    SendHandle
}

number! {
    /// A rendezvous receive of a rank.
    ReceiveHandle
}

number! {
    /// A one-sided operation of a rank.
    AccessHandle
}

number! {
    /// A collective under way on a rank.
    CollectiveHandle
}

number! {
    /// A message that noise holds back.
    LateIndex
}

number! {
    /// A message that waits for the end of its sender's overhead.
    OutboxIndex
}

number! {
    /// An access to a file that is under way for a request.
    FileAccessIndex
}

number! {
    /// A socket on which ranks compute.
    SocketIndex
}

/// A slab whose places have numbers of the type `N`.
#[derive(Debug)]
pub(crate) struct Numbered<N, T> {
    slab: Slab<T>,
    number: PhantomData<N>,
}

impl<N, T> Default for Numbered<N, T> {
    fn default() -> Numbered<N, T> {
        Numbered { slab: Slab::new(), number: PhantomData }
    }
}

impl<N: Number, T> Numbered<N, T> {
    /// Keeps `value`. Most ranks have one at a time: the first memory is for one, not for several.
    #[inline]
    pub fn insert_alone(&mut self, value: T) -> N {
        if self.slab.capacity() == 0 {
            self.slab.reserve_exact(1);
        }
        self.insert(value)
    }

    /// Keeps `value`.
    #[inline]
    pub fn insert(&mut self, value: T) -> N {
        N::of_place(self.slab.insert(value))
    }

    /// Takes out what `number` stands for; it must be there.
    #[inline]
    pub fn remove(&mut self, number: N) -> T {
        self.slab.remove(number.place())
    }

    /// The value of `number`, if it is there.
    #[inline]
    pub fn get(&self, number: N) -> Option<&T> {
        self.slab.get(number.place())
    }

    /// Visits all, by number.
    pub fn iter(&self) -> impl Iterator<Item = (N, &T)> {
        self.slab.iter().map(|(place, value)| (N::of_place(place), value))
    }

    /// Visits all values to change them, by number.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slab.iter_mut().map(|(_, value)| value)
    }
}

impl<N: Number, T> ops::Index<N> for Numbered<N, T> {
    type Output = T;
    #[inline]
    fn index(&self, number: N) -> &T {
        &self.slab[number.place()]
    }
}

impl<N: Number, T> ops::IndexMut<N> for Numbered<N, T> {
    #[inline]
    fn index_mut(&mut self, number: N) -> &mut T {
        &mut self.slab[number.place()]
    }
}
