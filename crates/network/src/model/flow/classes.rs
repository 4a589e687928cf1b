//! Classes of links: what a flow of each regime takes of a link, and what it could have of it alone.
//!
//! A link of the fabric carries the bytes of all regimes alike. A NIC, and a process's path to it, may
//! be slower for some: there a flow at rate x takes the fraction `x / R` of the link's time, with R
//! that of its regime.

use crate::model::rate::{Rate, Weight};

/// Capacities of the links of each class, for each regime.
pub(super) struct Classes {
    regimes: usize,
    /// `[class][regime]`
    weights: Vec<Weight>,
    /// `[class][regime]`
    alone: Vec<Rate>,
    /// `[class]`; what a flow of weight one gets alone.
    capacity: Vec<u64>,
}

/// Links that carry the bytes of all regimes alike, each with its own capacity.
pub(super) const UNIFORM: u16 = 0;

/// Capacity of a link without limit: above every real one, with room to add to it.
pub(super) const UNLIMITED: u64 = 1 << 62;

impl Classes {
    pub fn new(regimes: usize) -> Classes {
        let mut classes = Classes { regimes, weights: Vec::new(), alone: Vec::new(), capacity: Vec::new() };
        classes.add(&vec![Rate::INFINITE; regimes]);
        classes.weights.fill(Weight::ONE);
        classes
    }

    /// The class of a link that carries a lone flow of each regime at these rates; flows of further regimes never pass
    /// it.
    pub fn add(&mut self, alone: &[Rate]) -> u16 {
        let slowest = *alone.iter().min().expect("there is a regime");
        let none = std::iter::repeat_n(slowest, self.regimes - alone.len());
        let alone = alone.iter().copied().chain(none);
        self.weights.extend(alone.clone().map(|rate| Weight::of(slowest, rate)));
        self.alone.extend(alone);
        self.capacity.push(slowest.0.min(UNLIMITED));
        u16::try_from(self.capacity.len() - 1).expect("fewer than 65,536 classes of links")
    }

    /// Do flows of all regimes take the same of every link?
    pub fn are_equal(&self) -> bool {
        self.weights.iter().all(|weight| *weight == Weight::ONE)
    }

    /// The capacity of a link of `class`, which is not [`UNIFORM`].
    pub fn capacity(&self, class: u16) -> u64 {
        self.capacity[usize::from(class)]
    }

    /// Weight of a flow of `regime` on a link of `class`.
    pub fn weight(&self, class: u16, regime: u8) -> Weight {
        self.weights().of(class, regime)
    }

    /// All weights, for a loop over many flows.
    pub fn weights(&self) -> Weights<'_> {
        Weights { all: &self.weights, regimes: self.regimes }
    }

    /// [`Classes::alone`] of `class`, by regime.
    pub fn rates_alone(&self, class: u16) -> &[Rate] {
        &self.alone[usize::from(class) * self.regimes..][..self.regimes]
    }

    /// The most that a flow of `regime` gets of a link of `class`: exactly what the share of a lone
    /// flow is up to the rounding of weights.
    pub fn alone(&self, class: u16, regime: u8) -> Rate {
        self.alone[usize::from(class) * self.regimes + usize::from(regime)]
    }
}

/// Weights of flows by class and regime.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    all: &'a [Weight],
    regimes: usize,
}

impl Weights<'_> {
    /// See [`Classes::weight`].
    #[inline]
    pub fn of(self, class: u16, regime: u8) -> Weight {
        self.all[usize::from(class) * self.regimes + usize::from(regime)]
    }
}
