//! What a computation of rates has touched: whose ends are to be found anew.

use super::streams::{NONE, Streams};
use crate::model::rate::Rate;

/// The flows whose rates have changed, and the links whose flows may have another first end.
#[derive(Debug, Default)]
pub(super) struct Affected {
    pub flows: Vec<u32>,
    pub links: Vec<u32>,
}

impl Affected {
    /// Notes link `at`.
    pub fn link(&mut self, at: u32, streams: &mut Streams) {
        let link = &mut streams.links.all[at as usize];
        if !link.noted {
            link.noted = true;
            self.links.push(at);
        }
    }

    /// Gives `flow` another rate; the first time, it is noted with the one that it had.
    pub fn set_rate(&mut self, flow: u32, rate: Rate, streams: &mut Streams) {
        let stream = &mut streams.all[flow as usize];
        if !stream.noted {
            stream.noted = true;
            stream.before = if stream.bottleneck == NONE { Rate(0) } else { stream.rate };
            self.flows.push(flow);
        }
        stream.rate = rate;
    }
}
