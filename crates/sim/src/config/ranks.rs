//! Places of ranks on a platform, by `[placement]`.

use network::{Endpoint, Topology};

use super::error::InputError;
use super::platform::{Platform, entry};
use crate::placement::{PLACEMENTS, RANKS, Request};

impl Platform {
    /// Name of the placement's kind.
    pub fn placement_kind(&self) -> &'static str {
        self.of("placement").kind.expect("a placement has a kind")
    }

    /// Place of each rank, by `[placement]`. `recorded` names each rank's host, if a trace does.
    pub fn place(
        &self,
        topology: &dyn Topology,
        ranks: u32,
        seed: u64,
        recorded: Option<&[String]>,
    ) -> Result<Vec<Endpoint>, InputError> {
        let asked = if recorded.is_some() { "the trace".to_string() } else { format!("-n {ranks}") };
        self.place_among(topology, ranks, seed, recorded, None, &asked)
    }

    /// Place of each rank on the hosts `among`, ascending; errors name the source of the number of ranks as `asked`.
    pub fn place_among(
        &self,
        topology: &dyn Topology,
        ranks: u32,
        seed: u64,
        recorded: Option<&[String]>,
        among: Option<&[u32]>,
        asked: &str,
    ) -> Result<Vec<Endpoint>, InputError> {
        let checked = self.of("placement");
        let names = &self.host_names(topology)?;
        let (hosts, processes) = (topology.hosts(), self.hosts.processes);
        let grid = topology.cartesian();
        let request = Request { ranks, hosts, grid, processes, seed, names, recorded, among };
        (entry(PLACEMENTS, checked).build)(&checked.arguments, &request).map_err(|error| {
            if error.parameter != RANKS {
                return checked.build_error(&error);
            }
            InputError::whole(asked, error.reason)
        })
    }
}
