//! Profile of the simulator itself: its time and memory by layer.
//!
//! Layers read no clock. Where one calls another, the caller's thread notes in a word of its own which layer it is in; a
//! thread aside reads those words once a millisecond. A layer's time is its share of the samples. Memory is what the
//! process has more at the end of a layer's stretch of set-up, or from one look to the next, divided by the samples
//! between.

mod marked;
mod phases;
mod sampler;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::Serialize;

pub use marked::{MarkedNetwork, MarkedSource};
pub use phases::Phases;
pub use sampler::Sampler;

/// Layer in which a thread of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Events are taken out of the queue; placing them belongs to the layer that does it.
    Queue,
    /// The network model.
    Network,
    /// Matching, protocols, collectives.
    Mpi,
    /// The source of operations, or the program.
    Source,
    /// Observers of ranks and links.
    Observers,
    /// Exchange between domains, and waiting for the others.
    Windows,
    /// Progress that is shown, and requests to stop.
    Monitor,
}

impl Layer {
    /// All layers, in the order of their numbers.
    pub const ALL: [Layer; 7] = [
        Layer::Queue,
        Layer::Network,
        Layer::Mpi,
        Layer::Source,
        Layer::Observers,
        Layer::Windows,
        Layer::Monitor,
    ];

    /// Name in the report; the source of operations is called `source`.
    fn name(self, source: &'static str) -> &'static str {
        match self {
            Layer::Queue => "event queue",
            Layer::Network => "network model",
            Layer::Mpi => "MPI",
            Layer::Source => source,
            Layer::Observers => "observers",
            Layer::Windows => "windows of domains",
            Layer::Monitor => "progress",
        }
    }
}

/// Layer in which one thread is; marks nothing in a run without a profile.
#[derive(Debug, Clone, Default)]
pub struct Marker(Option<Arc<Padded>>);

/// A word in a cache line of its own, so that threads do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU8);

impl Marker {
    /// Makes a marker that marks.
    pub fn new() -> Marker {
        Marker(Some(Arc::default()))
    }

    /// The thread is in `layer` from now on.
    #[inline]
    pub fn set(&self, layer: Layer) {
        if let Some(word) = &self.0 {
            word.0.store(layer as u8, Ordering::Relaxed);
        }
    }

    /// The thread is in `layer` until it leaves; returns what [`Marker::leave`] takes.
    #[inline]
    pub fn enter(&self, layer: Layer) -> u8 {
        let Some(word) = &self.0 else { return 0 };
        let before = word.0.load(Ordering::Relaxed);
        word.0.store(layer as u8, Ordering::Relaxed);
        before
    }

    /// The thread is back in the layer `before` it entered the present one.
    #[inline]
    pub fn leave(&self, before: u8) {
        if let Some(word) = &self.0 {
            word.0.store(before, Ordering::Relaxed);
        }
    }

    /// Runs `work` in `layer`, and returns to the layer before.
    // One place of `work`, which two would not be inlined into.
    #[inline]
    pub fn inside<R>(&self, layer: Layer, work: impl FnOnce() -> R) -> R {
        let before = self.enter(layer);
        let result = work();
        self.leave(before);
        result
    }

    /// Number of the present layer.
    fn now(&self) -> usize {
        self.0.as_ref().map_or(0, |word| word.0.load(Ordering::Relaxed).into())
    }
}

/// Time and memory of the simulator, for `report.json`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SimulatorProfile {
    /// Time between two samples \[s\].
    pub every_s: f64,
    /// Samples that were taken of each thread.
    pub samples: u64,
    /// Layers in the order of a run.
    pub layers: Vec<LayerCost>,
}

/// Cost of one layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerCost {
    /// Part of the run: "set-up", "run" or "report".
    pub phase: &'static str,
    /// Layer.
    pub layer: &'static str,
    /// Real time, summed over threads \[s\].
    pub time_s: f64,
    /// Memory that the process has more since; negative if it has less \[bytes\].
    #[serde(rename = "memory_B")]
    pub memory_bytes: i64,
}

/// Memory of this process that is resident \[bytes\]; 0 if the system does not tell. Allocates nothing, since other
/// threads may be about to fork.
fn resident() -> i64 {
    use std::io::Read;
    let mut text = [0; 4096];
    let read = std::fs::File::open("/proc/self/status").and_then(|mut file| file.read(&mut text));
    let text = std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<i64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_returns_to_the_layer_before() {
        let marker = Marker::new();
        marker.set(Layer::Mpi);
        let inner = marker.inside(Layer::Network, || marker.now());
        assert_eq!((inner, marker.now()), (Layer::Network as usize, Layer::Mpi as usize));
        assert!(Layer::ALL.iter().enumerate().all(|(number, layer)| *layer as usize == number));
    }

    #[test]
    fn memory_that_is_touched_is_seen() {
        let before = resident();
        let held = vec![1u8; 64 << 20];
        let grown = resident() - before;
        assert!(held[12345] == 1 && grown > 32 << 20, "64 MiB more are resident, not {grown} B");
    }
}
