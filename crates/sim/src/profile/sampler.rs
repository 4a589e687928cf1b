//! Thread that samples in which layers the threads of a run are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Layer, LayerCost, Marker, SimulatorProfile, resident};

/// Time between two samples.
const EVERY: Duration = Duration::from_millis(1);
/// Samples between two looks at the memory.
const MEMORY_EVERY: u64 = 10;
const LAYERS: usize = Layer::ALL.len();

/// Samples of the threads of a run, until they are asked for.
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Samples>>,
}

/// Samples, summed over threads.
#[derive(Debug, Default)]
struct Samples {
    /// Times that they were taken.
    taken: u64,
    by_layer: [u64; LAYERS],
    /// Samples since the last look at the memory.
    fresh: [u64; LAYERS],
    /// Memory at that look, and its growth by layer \[bytes\].
    memory: i64,
    growth: [i64; LAYERS],
}

impl Sampler {
    /// Begins to sample the threads with these markers; `None` if the system has no thread for it.
    pub fn start(markers: Vec<Marker>) -> Option<Sampler> {
        let over = Arc::new(AtomicBool::new(false));
        let asked = over.clone();
        let sample = move || {
            let mut samples = Samples { memory: resident(), ..Samples::default() };
            while !asked.load(Ordering::Relaxed) {
                std::thread::sleep(EVERY);
                samples.take(&markers);
            }
            samples.look();
            samples
        };
        let builder = std::thread::Builder::new().name("hopcast-profile".into()).stack_size(1 << 16);
        builder.spawn(sample).ok().map(|thread| Sampler { over, thread: Some(thread) })
    }

    /// Ends the sampling, and reports the layers of a run that took `wall_s` on each of its threads. Its source of
    /// operations is called `source`.
    pub fn finish(mut self, source: &'static str, wall_s: f64) -> SimulatorProfile {
        self.over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it is joined once");
        let samples = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let layers = Layer::ALL.iter().map(|layer| {
            let (number, taken) = (*layer as usize, samples.taken.max(1) as f64);
            LayerCost {
                phase: "run",
                layer: layer.name(source),
                time_s: wall_s * samples.by_layer[number] as f64 / taken,
                memory_bytes: samples.growth[number],
            }
        });
        SimulatorProfile {
            every_s: EVERY.as_secs_f64(),
            samples: samples.taken,
            layers: layers.filter(|cost| cost.time_s > 0.0 || cost.memory_bytes != 0).collect(),
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Samples {
    /// Takes one sample of each thread.
    fn take(&mut self, markers: &[Marker]) {
        self.taken += 1;
        for marker in markers {
            let layer = marker.now();
            self.by_layer[layer] += 1;
            self.fresh[layer] += 1;
        }
        if self.taken % MEMORY_EVERY == 0 {
            self.look();
        }
    }

    /// Divides what the process has grown since the last look among the layers sampled since.
    fn look(&mut self) {
        let (memory, all) = (resident(), self.fresh.iter().sum::<u64>());
        if all == 0 {
            return;
        }
        let grown = memory - self.memory;
        for (growth, fresh) in self.growth.iter_mut().zip(self.fresh) {
            *growth += (grown as f64 * fresh as f64 / all as f64) as i64;
        }
        (self.memory, self.fresh) = (memory, [0; LAYERS]);
    }
}
