//! A link as the computation of shares sees it, and its entries: the bundles or streams on it.

use std::ops::Range;

use crate::model::rate::Work;

/// One link and the flows on it: one cache line.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub(super) struct Link {
    /// max-min: what the flows leave of the capacity; while rates are computed, it may be overdrawn. Of a bounded link: no
    /// more than they leave.
    pub spare: i64,
    /// The rate of the flows that it holds back, in rate steps. Equal share: the share of each flow.
    pub level: u64,
    /// max-min: no flow that others hold back is faster, if it holds some itself.
    pub top: u64,
    /// By so much the flows may take less or more of it than it has, see `slack.rs`; below zero where rates are exact.
    pub slack: i64,
    /// Flows that it holds back.
    pub keeps: u32,
    /// Bundles that it holds back.
    pub held: u32,
    /// Flows on it.
    pub load: u32,
    /// Flows on it that have no rate yet.
    pub fresh: u32,
    /// Changes of rates since it was looked at whether it need be tracked; with a lone flow, its stream.
    pub touched: u32,
    /// Its number among all that there are.
    pub id: u32,
    pub class: u16,
    /// Is its use bounded, not tracked? See `bounds.rs`.
    pub is_bounded: bool,
    /// Is its only flow a lone one? See `lone.rs`.
    pub is_lone: bool,
    /// Binary logarithm of the changes of rates for each flow before it is looked at whether it need be tracked.
    pub patience: u8,
    /// Is it to be looked at when rates are computed?
    pub dirty: bool,
    /// Are the ends of its flows to be looked at?
    pub noted: bool,
    /// Has it been crowded? See `slack.rs`.
    pub was_crowded: bool,
}

const _: () = assert!(size_of::<Link>() == 64, "one cache line");

impl Link {
    /// The stream of its lone flow, if it has one.
    pub fn lone(&self) -> Option<u32> {
        self.is_lone.then_some(self.touched)
    }
}

/// A bundle on a tracked link, or a stream on a bounded one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// If the link holds it back: when the link's clock shows this, its first flow ends.
    pub due: Work,
    /// The bundle or the stream.
    pub number: u32,
    /// Its hops: where they begin,
    pub path: u32,
    /// how many,
    pub length: u16,
    /// and which of them stands on this link.
    pub hop: u16,
    pub regime: u8,
}

impl Entry {
    /// Its hops, as a range of [`super::streams::Streams::hops`].
    pub fn hops(&self) -> Range<usize> {
        self.path as usize..self.path as usize + usize::from(self.length)
    }

    /// The hop on this link, as an index into the same.
    pub fn place(&self) -> usize {
        self.path as usize + usize::from(self.hop)
    }
}
