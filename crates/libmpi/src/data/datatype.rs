//! Layout of the values of a datatype in memory, and as the contents of a message.
//!
//! The contents of a message are the data of its values in the order of the type map, without what lies between.

use std::ffi::c_void;
use std::rc::Rc;

use super::basic::Basic;
use super::copying::{Packer, Remainder, Strided, Unpacker};
use super::type_map::{Map, Part};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;

/// Layout of values of a datatype in memory.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Bytes of data in one.
    pub size: usize,
    /// Begin of one, from its address \[bytes\].
    pub lower: isize,
    /// From one to the next \[bytes\].
    pub extent: isize,
    /// The predefined datatype that this is, if it is one.
    pub basic: Option<Basic>,
    /// `None` for a predefined datatype whose data is all of its extent.
    map: Option<Rc<Map>>,
}

impl Layout {
    /// That of a predefined datatype.
    #[inline]
    pub fn of_predefined(datatype: Datatype) -> Answer<Layout> {
        Basic::of(datatype).map(Layout::of_basic)
    }

    /// That of a predefined datatype.
    #[inline]
    pub fn of_basic(basic: Basic) -> Layout {
        let (size, extent) = (basic.size(), basic.extent());
        let map = if size == extent { None } else { Some(Map::basic(basic)) };
        Layout { size, lower: 0, extent: extent as isize, basic: Some(basic), map }
    }

    /// That of a datatype that a program makes.
    pub fn derived(map: Rc<Map>, lower: isize, extent: isize) -> Layout {
        Layout { size: map.size, lower, extent, basic: None, map: Some(map) }
    }

    /// The values it holds, and where.
    pub fn map(&self) -> Rc<Map> {
        match (&self.map, self.basic) {
            (Some(map), _) => map.clone(),
            (None, Some(basic)) => Map::basic(basic),
            (None, None) => unreachable!("a layout without a map is of a predefined datatype"),
        }
    }

    /// Begin and end of its data, from the address of the value \[bytes\].
    pub fn true_bounds(&self) -> (isize, isize) {
        match &self.map {
            Some(map) => (map.low, map.high),
            None => (0, self.size as isize),
        }
    }

    /// The memory that `count` values take: its begin, from the address of the first, and its length \[bytes\].
    pub fn span(&self, count: usize) -> (isize, usize) {
        let (low, high) = self.true_bounds();
        let last = (count.max(1) as isize - 1) * self.extent;
        let begin = low + last.min(0);
        (begin, (high + last.max(0) - begin) as usize)
    }

    /// True if it may be used where its neighbours touch: its contents are its memory.
    pub fn is_dense(&self) -> bool {
        match &self.map {
            None => true,
            Some(map) => {
                map.low == 0
                    && self.extent == self.size as isize
                    && map.high == self.extent
                    && matches!(map.plan(), super::copying::Plan::Strided(Strided { count: 1, .. }))
            }
        }
    }

    /// Length of `count` values as a message \[bytes\].
    pub fn bytes(&self, count: i64) -> Answer<u64> {
        match u64::try_from(count) {
            Ok(count) => Ok(count * self.size as u64),
            Err(_) => Err(Error::new(Class::COUNT, format!("a count of 0 or more, not {count}"))),
        }
    }

    /// Length of one value as its contents travel \[bytes\].
    pub fn packed(&self) -> usize {
        self.size
    }

    /// The contents of `count` values at `buffer`, as a message carries them.
    ///
    /// # Safety
    /// There are that many at `buffer`, which the program gives as one to send from.
    #[inline]
    pub unsafe fn pack(&self, buffer: *const c_void, count: i64) -> Box<[u8]> {
        let mut contents = Vec::with_capacity(self.size * count.max(0) as usize);
        // SAFETY: the caller says so.
        unsafe { self.append(buffer, count, &mut contents) };
        contents.into_boxed_slice()
    }

    /// Appends the contents of `count` values at `buffer`.
    ///
    /// # Safety
    /// As for `pack`.
    pub unsafe fn append(&self, buffer: *const c_void, count: i64, contents: &mut Vec<u8>) {
        let bytes = self.size * usize::try_from(count).unwrap_or(0);
        contents.reserve(bytes);
        let end = contents.len();
        // SAFETY: there is room for so many bytes, which are all written; the caller says the rest.
        unsafe {
            self.pack_into(buffer, count, contents.as_mut_ptr().add(end));
            contents.set_len(end + bytes);
        }
    }

    /// Writes the contents of `count` values at `buffer` to `into`.
    ///
    /// # Safety
    /// As for `pack`; there is room for them at `into`.
    pub unsafe fn pack_into(&self, buffer: *const c_void, count: i64, into: *mut u8) {
        let count = usize::try_from(count).unwrap_or(0);
        if self.size * count == 0 {
            return;
        }
        let mut packer = Packer { from: buffer.cast(), into };
        match &self.map {
            None => super::copying::Mover::run(&mut packer, 0, self.size * count),
            Some(map) => map.walk_many(0, count, self.extent, &mut packer),
        }
    }

    /// Puts the contents of a message into values at `buffer`.
    ///
    /// # Safety
    /// There is room for them at `buffer`, which the program gives as one to receive into.
    pub unsafe fn unpack(&self, contents: &[u8], buffer: *mut c_void) {
        if contents.is_empty() || self.size == 0 {
            return;
        }
        let mut unpacker = Unpacker { from: contents.as_ptr(), into: buffer.cast() };
        let Some(map) = &self.map else {
            return super::copying::Mover::run(&mut unpacker, 0, contents.len());
        };
        let whole = contents.len() / self.size;
        if whole > 0 {
            map.walk_many(0, whole, self.extent, &mut unpacker);
        }
        let rest = &contents[whole * self.size..];
        if !rest.is_empty() {
            let mut remainder = Remainder { contents: rest, into: buffer.cast() };
            map.walk(whole as isize * self.extent, &mut remainder);
        }
    }

    /// Tells `mover` of every run of bytes of `count` values, from the address of the first.
    pub fn walk<M: super::copying::Mover>(&self, count: usize, mover: &mut M) {
        match &self.map {
            None if self.size * count > 0 => mover.run(0, self.size * count),
            None => {}
            Some(map) => map.walk_many(0, count, self.extent, mover),
        }
    }

    /// Copies values that lie as these do from one buffer to another.
    ///
    /// # Safety
    /// As for `pack` and `unpack`.
    pub unsafe fn copy(&self, from: *const c_void, into: *mut c_void, count: i64) {
        // SAFETY: the caller says so.
        unsafe {
            if self.is_dense() {
                std::ptr::copy(from.cast::<u8>(), into.cast(), self.size * count.max(0) as usize);
            } else {
                self.unpack(&self.pack(from, count), into);
            }
        }
    }

    /// Number of predefined values in `bytes` bytes of values; `None` if they end within one.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        let size = self.size as u64;
        if size == 0 {
            return (bytes == 0).then_some(0);
        }
        let map = self.map();
        Some(bytes / size * map.elements as u64 + map.elements_in((bytes % size) as usize)? as u64)
    }

    /// Bytes of the first `elements` predefined values of values.
    pub fn bytes_of(&self, elements: u64) -> u64 {
        let map = self.map();
        match map.elements as u64 {
            0 => 0,
            each => elements / each * self.size as u64 + map.bytes_of((elements % each) as usize) as u64,
        }
    }

    /// Such values one after the other, at equal distances \[bytes\].
    pub fn part(&self, at: isize, count: usize, stride: isize) -> Part {
        Part { at, count, stride, of: self.map() }
    }
}

/// Memory for some values, aligned as strictly as any.
pub struct Room {
    _memory: Vec<u128>,
    /// The address of the first value.
    pub at: *mut c_void,
}

impl Room {
    /// For `count` values, zero at first.
    pub fn new(layout: &Layout, count: usize) -> Room {
        let (begin, bytes) = layout.span(count);
        let before = begin.rem_euclid(16);
        let mut memory = vec![0_u128; (bytes + before as usize).div_ceil(16)];
        let at = memory.as_mut_ptr().cast::<c_void>().wrapping_byte_offset(before - begin);
        Room { _memory: memory, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_count_is_refused() {
        let error = Layout::of_predefined(Datatype::BYTE).unwrap().bytes(-1).unwrap_err();
        assert_eq!(error.class, Class::COUNT);
    }

    #[test]
    fn a_pair_travels_without_its_padding() {
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq)]
        struct Pair(f64, i32);
        let (pairs, mut got) = ([Pair(1.5, 7), Pair(-2.0, 9)], [Pair(0.0, 0); 2]);
        let layout = Layout::of_predefined(Datatype(0x229)).unwrap();
        // SAFETY: two pairs each.
        let contents = unsafe { layout.pack(pairs.as_ptr().cast(), 2) };
        assert_eq!(contents.len(), 24);
        assert_eq!(contents[12..20], (-2.0_f64).to_le_bytes());
        // SAFETY: as above.
        unsafe { layout.unpack(&contents, got.as_mut_ptr().cast()) };
        assert_eq!(got, pairs);
        assert_eq!(
            (layout.elements_in(24), layout.elements_in(20), layout.elements_in(9)),
            (Some(4), Some(3), None)
        );
    }
}
