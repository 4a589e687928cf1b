//! `[power]`: power of hosts, routers and links, and energy of bytes.

use engine::registry::{Kind, Parameter};
use engine::{EnergyPerByte, Power};

use super::error::InputError;
use super::read::Checked;
use super::sections::optional;

pub(super) const POWER: &[Parameter] = &[
    optional(
        "host_idle",
        Kind::Power,
        "",
        "Power of a host, its NICs included, while none of its processes is busy: what a node takes at least. Counts for \
         hosts with a rank, all the time. Default: not counted",
    ),
    optional(
        "host_busy",
        Kind::Power,
        "",
        "Power of a host while processes compute in all of its slots; each computing process adds its slot's share of what \
         this is above host_idle. Default: not counted",
    ),
    optional("process_busy", Kind::Power, "", "Instead of host_busy: power that each computing process adds"),
    optional(
        "host_waiting",
        Kind::Power,
        "",
        "The same as host_busy for processes in MPI calls. Default: as busy as computing, since MPI libraries poll while they wait",
    ),
    optional(
        "process_waiting",
        Kind::Power,
        "",
        "Instead of host_waiting: power that each process in an MPI call adds",
    ),
    optional(
        "router",
        Kind::Power,
        "",
        "Power of a router without its ports, whatever passes: all routers of the network count, all the time. \
         Default: not counted",
    ),
    optional(
        "router_port",
        Kind::Power,
        "",
        "Power of a port of a router, whatever passes: a cable between routers has one at each end, that of a host one. \
         Default: not counted",
    ),
    optional(
        "link_energy_per_byte",
        Kind::EnergyPerByte,
        "",
        "Energy of a byte on a link, headers included: for each link that it crosses, those of hosts included. \
         Default: not counted",
    ),
    optional(
        "router_energy_per_byte",
        Kind::EnergyPerByte,
        "",
        "Energy of a byte in a router: for each router that it passes. Default: not counted",
    ),
    optional(
        "nic_energy_per_byte",
        Kind::EnergyPerByte,
        "",
        "Energy of a byte in a NIC: at the sender and at the receiver. Default: not counted",
    ),
];

/// Powers of a platform; what it does not name is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Powers {
    /// Power of a host without busy processes.
    pub host_idle: Option<Power>,
    /// Power that a computing process adds.
    pub computing: Option<Added>,
    /// Power that a process in an MPI call adds.
    pub waiting: Option<Added>,
    /// Power of a router.
    pub router: Option<Power>,
    /// Power of a port of a router.
    pub router_port: Option<Power>,
    /// Energy of a byte on each link.
    pub link_byte: Option<EnergyPerByte>,
    /// Energy of a byte in each router.
    pub router_byte: Option<EnergyPerByte>,
    /// Energy of a byte in each NIC.
    pub nic_byte: Option<EnergyPerByte>,
}

impl Powers {
    /// True if bytes that move take energy.
    pub fn count_bytes(&self) -> bool {
        [self.link_byte, self.router_byte, self.nic_byte].iter().any(Option::is_some)
    }
}

/// Power that a busy process adds to that of its host: one of `of` equal parts of `power`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Power of all parts.
    pub power: Power,
    /// Number of parts.
    pub of: u64,
}

/// Powers that `[power]` names; `None` without the section. `slots` are the process slots of a host.
pub(super) fn powers(read: &[Checked], slots: u16) -> Result<Option<Powers>, InputError> {
    let Some(section) = read.iter().find(|checked| checked.name == "power") else { return Ok(None) };
    let keys = &section.arguments;
    if keys.0.is_empty() {
        let names: Vec<_> = POWER.iter().map(|key| key.name).collect();
        return Err(section.at.error(format!("[power] names no power; known: {}", names.join(", "))));
    }
    let computing = added(section, ["host_busy", "process_busy"], slots)?;
    let waiting = added(section, ["host_waiting", "process_waiting"], slots)?;
    Ok(Some(Powers {
        host_idle: keys.power("host_idle"),
        computing,
        waiting: waiting.or(computing),
        router: keys.power("router"),
        router_port: keys.power("router_port"),
        link_byte: keys.energy_per_byte("link_energy_per_byte"),
        router_byte: keys.energy_per_byte("router_energy_per_byte"),
        nic_byte: keys.energy_per_byte("nic_energy_per_byte"),
    }))
}

/// Power that a busy process adds, by the power of a whole host or by that of one process.
fn added(section: &Checked, [host, process]: [&str; 2], slots: u16) -> Result<Option<Added>, InputError> {
    let keys = &section.arguments;
    let (whole, one) = (keys.power(host), keys.power(process));
    let Some(whole) = whole else { return Ok(one.map(|power| Added { power, of: 1 })) };
    if one.is_some() {
        return Err(section.error(process, format!("{host} says this, too: only one of them can")));
    }
    let Some(idle) = keys.power("host_idle") else {
        let reason = "is the power of a whole host, of which host_idle is a part: name that, too";
        return Err(section.error(host, reason));
    };
    if whole < idle {
        return Err(section.error(host, format!("{whole} is below host_idle, {idle}")));
    }
    Ok(Some(Added { power: whole.saturating_sub(idle), of: slots.into() }))
}
