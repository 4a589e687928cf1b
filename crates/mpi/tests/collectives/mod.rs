//! Properties of every collective algorithm in the registry: it delivers the right data, sends match
//! receives, and its time on an idle network is what its formula says.

mod case;
mod clock;
mod data;
mod driven;
mod properties;
mod selection;
