//! Memory that the next events need, asked for before they come: many ranks do not fit into a core's own caches, and a
//! message touches a dozen lines of them.

use engine::{Token, prefetch_start};
use network::Cargo;

use crate::operation::Rank;
use crate::world::process::Process;
use crate::world::protocol_message::Ends;
use crate::world::{Wake, World};

/// Ranks above which their states leave little room in a core's own caches.
const MANY: usize = 1000;

impl World {
    /// True if there are so many ranks that it pays to prefetch.
    pub fn is_large(&self) -> bool {
        self.processes.len() > MANY
    }

    /// Asks for the memory that an event of this world will need.
    pub fn prefetch(&self, token: Token) {
        match Wake::decode(token) {
            Wake::Return(rank) => self.prefetch_process(rank),
            Wake::Inject(index) | Wake::InjectAndReturn(index) => {
                let message = self.traffic.held(index);
                prefetch_start(message, size_of_val(message));
            }
            _ => {}
        }
    }

    /// Asks for the receiver of a message.
    pub fn prefetch_receiver(&self, cargo: &Cargo) {
        self.prefetch_process(Ends::of(cargo).dest);
    }

    /// Asks for the collectives of the receiver of a message.
    pub fn prefetch_collectives(&self, cargo: &Cargo) {
        let Some(process) = self.processes.get(Ends::of(cargo).dest) else { return };
        process.rounds.prefetch();
    }

    fn prefetch_process(&self, rank: Rank) {
        if let Some(process) = self.processes.get(rank) {
            prefetch_start(process, Process::HOT);
        }
    }
}
