//! `[compute]`: the processor of one process and the model of its computing.

use engine::Bandwidth;
use engine::registry::{Entry, Kind, Parameter, names};
use mpi::compute::{COMPUTE_MODELS, ComputeModel, Processor, SocketOrder, Sockets};

use super::error::InputError;
use super::platform::Platform;
use super::sections::{optional, required, section};

const COMPUTE_NAMES: [&str; COMPUTE_MODELS.len()] = names(COMPUTE_MODELS);

pub(super) const COMPUTE: &[Parameter] = &[
    optional(
        "model",
        Kind::Choice(&COMPUTE_NAMES),
        COMPUTE_NAMES[0],
        "How long work takes on a process by itself, with the parameters of the section of that name",
    ),
    required("flop_rate", Kind::FlopRate, "Rate of one process"),
    optional(
        "memory_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "The most that one process moves, for compute work that states the bytes it moves",
    ),
    optional(
        "socket_memory_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "Bandwidth of the memory of a socket, shared by those of its processes that compute at the same time and state the bytes \
         that they move. Default: they do not slow each other",
    ),
];

impl Platform {
    /// Processor of one process.
    pub fn processor(&self) -> Processor {
        let (compute, host) = (&self.of("compute").arguments, &self.of("host").arguments);
        let order = host.text("socket_order").and_then(|name| SocketOrder::named(&name));
        Processor {
            flop_rate: compute.flop_rate("flop_rate").expect("required"),
            memory_bandwidth: compute.bandwidth("memory_bandwidth").expect("has a default"),
            sockets: Sockets {
                count: host.integer("sockets").expect("has a default") as u16,
                memory_bandwidth: compute.bandwidth("socket_memory_bandwidth").expect("has a default"),
                order: order.expect("a known choice"),
            },
        }
    }

    /// The compute model that `[compute]` names, with the parameters of `[compute.NAME]`; `seed` is that of all random streams.
    pub(super) fn compute_model(&self, seed: u64) -> Result<Box<dyn ComputeModel>, InputError> {
        let name = self.of("compute").arguments.text("model").expect("has a default");
        let entry = COMPUTE_MODELS.iter().find(|entry| entry.name == name).expect("a known choice");
        let section = section(&format!("compute.{name}"));
        let silent = self.of("compute").silent(&section.name);
        let checked = self.find(&section.name).unwrap_or(&silent);
        let mut arguments = checked.arguments.clone();
        super::value::fill(entry.parameters, &mut arguments).map_err(|parameter| {
            let what = super::value::describe(&parameter.kind);
            checked.error(parameter.name, format!("is missing ({}): {what}", parameter.summary))
        })?;
        (entry.build)(&arguments, self.processor(), seed).map_err(|error| checked.build_error(&error))
    }

    /// Warnings about parameters of compute models that the platform does not name.
    pub(super) fn unheard_compute(&self) -> Vec<String> {
        let name = self.of("compute").arguments.text("model").expect("has a default");
        let others = COMPUTE_MODELS.iter().filter(|entry| entry.name != name);
        let written = others.filter(|entry| {
            let checked = self.find(&format!("compute.{}", entry.name));
            checked.is_some_and(|checked| !checked.written.is_empty())
        });
        let warning = |entry: &Entry<_>| {
            format!("[compute.{0}] is not heard: compute.model is \"{name}\", not \"{0}\"", entry.name)
        };
        written.map(warning).collect()
    }

    /// Warning for runs whose work states memory traffic, if the processes of this platform do not share memory.
    pub fn unshared_memory(&self) -> Option<String> {
        let processor = self.processor();
        let each = match processor.memory_bandwidth {
            Bandwidth::INFINITE => "it costs nothing".to_string(),
            bandwidth => {
                format!("each has {bandwidth} (compute.memory_bandwidth), independent of the others")
            }
        };
        (!processor.sockets.share()).then(|| {
            format!(
                "memory: the work names the bytes that it moves, but the platform states no \
                 compute.socket_memory_bandwidth, so that processes of a socket do not slow each other; {each}"
            )
        })
    }
}
