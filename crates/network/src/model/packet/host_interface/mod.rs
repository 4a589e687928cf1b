//! Host interfaces: the processes of hosts at their NICs, what waits there to be sent, and copies within hosts.
//!
//! A host interface names the sender that sends next, and the time at which it is ready. Links are the switch's.

mod connections;
mod memory;
mod senders;
mod windows;

use std::borrow::Cow;

use engine::{Bandwidth, Bytes, Duration, Time};

use super::index::{MessageNumber, NicIndex, SenderIndex};
use super::messages::Slot;
use super::transfers::Role;
use super::waits::Resource;
use crate::congestion::Control;
use crate::message::Message;
use crate::model::pages::Pages;
use crate::nics::{Chooser, NicChoice, NicOrder};
use crate::topology::{HostId, Topology};
use crate::{Endpoint, HostParameters};
use connections::Connections;
use memory::MemoryQueues;
use senders::Sender;
use windows::Windows;

/// Processes and NICs of all hosts.
pub(super) struct HostInterface {
    /// Number of processes of each host.
    slots: u32,
    /// Number of NICs of each host.
    nics: u32,
    /// Time that a NIC needs to prepare a message.
    setup: Duration,
    chooser: Chooser,
    /// Processes of the host of each NIC, NIC by NIC; behind them, where NICs send by themselves, the NICs.
    senders: Pages<Sender>,
    /// Number of processes at all NICs.
    processes: u32,
    /// Connections of the processes, if these share their NICs.
    connections: Option<Box<Connections>>,
    /// Windows of the connections, where congestion is controlled.
    windows: Option<Box<Windows>>,
    /// Time at which each NIC has prepared what it has been given so far; only where that takes time.
    prepared: Vec<Time>,
    /// Payload that has not left each NIC \[bytes\]; only where it is asked for.
    waiting: Vec<u64>,
    /// Time at which the path from a NIC to a process has taken in what has come so far; only where it has a rate.
    taken: Vec<Time>,
    memory: MemoryQueues,
    /// Number of the next message of each host over the network.
    numbers: Vec<MessageNumber>,
}

impl HostInterface {
    /// The hosts of `topology`.
    pub fn new(topology: &dyn Topology, hosts: &HostParameters) -> HostInterface {
        let (count, slots) = (topology.hosts(), u32::from(hosts.processes.max(1)));
        let nics = u32::from(hosts.nics.count);
        let processes = count * nics * slots;
        let by_nic = |is_needed: bool| if is_needed { (count * nics) as usize } else { 0 };
        let rated = hosts.regimes.iter().any(|regime| regime.process_rate != Bandwidth::INFINITE);
        let is_asked = hosts.nics.count > 1 && hosts.nics.choice == NicChoice::LeastLoaded;
        HostInterface {
            slots,
            nics,
            setup: hosts.nics.setup,
            chooser: Chooser::new(hosts.nics, count),
            senders: Pages::new(Sender::IDLE),
            processes,
            connections: (hosts.nics.order != Some(NicOrder::InTurn)).then(Box::default),
            windows: None,
            prepared: vec![Time::ZERO; by_nic(hosts.nics.setup > Duration::ZERO)],
            waiting: vec![0; by_nic(is_asked)],
            taken: if rated { vec![Time::ZERO; processes as usize] } else { Vec::new() },
            memory: MemoryQueues::new(count as usize, slots as usize, hosts.memory.groups() as usize),
            numbers: vec![MessageNumber(0); count as usize],
        }
    }

    /// Gives each connection a controller from now on.
    pub fn control_windows(&mut self, control: Control) {
        assert!(self.connections.is_some(), "connections hear of what has come");
        self.windows = Some(Box::new(Windows::new(control)));
    }

    /// A NIC of `host` among all.
    #[inline]
    fn nic(&self, host: HostId, nic: u8) -> NicIndex {
        NicIndex(host.0 * self.nics + u32::from(nic))
    }

    /// A process at `nic` of its host.
    #[inline]
    pub fn process(&self, end: Endpoint, nic: u8) -> SenderIndex {
        SenderIndex(self.nic(end.host, nic).0 * self.slots + u32::from(end.process))
    }

    /// A NIC that sends by itself.
    pub fn sending_nic(&self, host: HostId, nic: u8) -> SenderIndex {
        SenderIndex(self.processes + self.nic(host, nic).0)
    }

    /// True if a sender is a process, and no NIC that sends by itself.
    #[inline]
    pub fn is_process(&self, sender: SenderIndex) -> bool {
        sender.0 < self.processes
    }

    /// `message` with its NICs.
    pub fn choose_nics<'a>(&mut self, message: &'a Message) -> Cow<'a, Message> {
        let (waiting, first) = (&self.waiting, message.from.host.0 * self.nics);
        self.chooser.settle(message, |nic| waiting[(first + u32::from(nic)) as usize])
    }

    /// Number of the next message of `host`.
    pub fn next_number(&mut self, host: HostId) -> MessageNumber {
        let number = &mut self.numbers[host.0 as usize];
        std::mem::replace(number, number.next())
    }

    /// Gives a message to its NIC, which prepares it. Gives the process at that NIC.
    pub fn prepare(&mut self, now: Time, slot: &mut Slot) -> SenderIndex {
        let (from, own) = (slot.ends().0, slot.nics().from);
        let nic = self.nic(from.host, own).at();
        if let Some(prepared) = self.prepared.get_mut(nic) {
            slot.waits.add(Resource::NIC, (*prepared).max(now).since(now));
            *prepared = now.max(*prepared) + self.setup;
            (slot.prepared, slot.since) = (*prepared, *prepared);
        }
        if let Some(waiting) = self.waiting.get_mut(nic) {
            *waiting += slot.carried(slot.left).0;
        }
        self.process(from, own)
    }

    /// Cuts a packet of at most so many bytes of payload off a message, whose slot is held for it if it is a transfer's.
    pub fn cut_packet(&mut self, slot: &mut Slot, most: Bytes) {
        let payload = slot.left.min(most);
        if !self.waiting.is_empty() {
            let nic = self.nic(slot.ends().0.host, slot.nics().from);
            self.waiting[nic.at()] -= slot.carried(payload).0;
        }
        slot.left = Bytes(slot.left.0 - payload.0);
        slot.number.0 += 1;
        if slot.transfer.role != Role::Plain {
            slot.holds += 1;
        }
    }

    /// True if the paths from NICs to processes have a rate.
    #[inline]
    pub fn takes_time(&self) -> bool {
        !self.taken.is_empty()
    }

    /// The path from its NIC takes in a packet for `process`, which takes it `transfer`: the time at which all of it is there,
    /// if the path has a rate.
    #[inline]
    pub fn take_in(
        &mut self,
        now: Time,
        process: SenderIndex,
        transfer: impl FnOnce() -> Duration,
    ) -> Option<Time> {
        let taken = self.taken.get_mut(process.at())?;
        *taken = now.max(*taken + transfer());
        Some(*taken)
    }
}
