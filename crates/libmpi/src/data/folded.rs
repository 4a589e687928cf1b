//! Messages from and to folded memory: they carry what is kept of it.
//!
//! A parcel of such a message is a list of pieces. Source: Cornebize's thesis, 3.2.
//!
//! ```text
//!   count of pieces │ where in the message, length │ … │ bytes of the first piece │ …
//! ```

use std::ffi::c_void;
use std::ops::Range;

use super::copying::Mover;
use super::datatype::Layout;
use crate::fold;

/// Kept part of `count` values at `buffer`, if any of it is folded; nothing where nothing is kept.
///
/// # Safety
/// As for [`Layout::pack`].
pub unsafe fn pack(layout: &Layout, buffer: *const c_void, count: i64) -> Option<Box<[u8]>> {
    let spans = spans(layout, buffer as usize, usize::try_from(count).unwrap_or(0))?;
    let mut pieces: Vec<(usize, Range<usize>)> = Vec::new();
    for (at, bytes) in spans {
        let start = bytes.start;
        fold::kept(bytes, &mut |part| pieces.push((at + part.start - start, part)));
    }
    if pieces.is_empty() {
        return Some(Box::default());
    }
    let mut parcel = Vec::new();
    parcel.extend((pieces.len() as u64).to_ne_bytes());
    for (at, bytes) in &pieces {
        parcel.extend((*at as u64).to_ne_bytes());
        parcel.extend((bytes.len() as u64).to_ne_bytes());
    }
    for (_, bytes) in pieces {
        // SAFETY: part of the buffer, as the caller says.
        parcel.extend(unsafe { std::slice::from_raw_parts(bytes.start as *const u8, bytes.len()) });
    }
    Some(parcel.into())
}

/// Puts the pieces of a parcel where they belong in values at `buffer`.
///
/// # Safety
/// As for [`Layout::unpack`]; there is room for the whole message, of `bytes`.
pub unsafe fn unpack(layout: &Layout, parcel: &[u8], buffer: *mut c_void, bytes: u64) {
    let word = |at: usize| u64::from_ne_bytes(parcel[at..at + 8].try_into().expect("eight bytes")) as usize;
    let count = (bytes as usize).div_ceil(layout.packed().max(1));
    let spans = all_spans(layout, buffer as usize, count);
    let mut content = 8 + 16 * word(0);
    let mut spans = spans.iter().peekable();
    for piece in 0..word(0) {
        let (mut at, mut left) = (word(8 + 16 * piece), word(16 + 16 * piece));
        while left > 0 {
            while spans.next_if(|(first, span)| first + span.len() <= at).is_some() {}
            let Some((first, span)) = spans.peek() else { return };
            let now = left.min(first + span.len() - at);
            let target = (span.start + at - first) as *mut u8;
            // SAFETY: within the buffer, as the caller says; the program may have sent from the same memory.
            unsafe { std::ptr::copy(parcel[content..content + now].as_ptr(), target, now) };
            (at, left, content) = (at + now, left - now, content + now);
        }
    }
}

/// True if a message into these values need not be put there: all of them are shared.
pub fn is_lost(layout: &Layout, buffer: *const c_void, count: i64) -> bool {
    let Some(spans) = spans(layout, buffer as usize, usize::try_from(count).unwrap_or(0)) else {
        return false;
    };
    spans.into_iter().all(|(_, bytes)| fold::is_shared(bytes.start))
}

/// Places of the values, those that lie together as one, with their places in the message; `None` if none of them
/// is folded.
fn spans(layout: &Layout, buffer: usize, count: usize) -> Option<Vec<(usize, Range<usize>)>> {
    if !fold::active() {
        return None;
    }
    let (low, bytes) = layout.span(count);
    let start = buffer.wrapping_add_signed(low);
    (count > 0 && fold::touches(start..start.saturating_add(bytes))).then(|| all_spans(layout, buffer, count))
}

fn all_spans(layout: &Layout, buffer: usize, count: usize) -> Vec<(usize, Range<usize>)> {
    let mut spans = Spans { buffer, at: 0, found: Vec::new() };
    layout.walk(count, &mut spans);
    spans.found
}

/// Collects runs of bytes, neighbours joined.
struct Spans {
    buffer: usize,
    /// Bytes of the message that have been told.
    at: usize,
    found: Vec<(usize, Range<usize>)>,
}

impl Mover for Spans {
    fn run(&mut self, at: isize, bytes: usize) {
        let start = self.buffer.wrapping_add_signed(at);
        match self.found.last_mut() {
            Some((_, last)) if last.end == start => last.end += bytes,
            _ => self.found.push((self.at, start..start + bytes)),
        }
        self.at += bytes;
    }
}
