//! Connection to the other processes of a run: a socket to the command line, which talks to them over a real MPI.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, RawFd};

use serde::Deserialize;
use sim::Peers;

/// Place of this process in a run of several.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeersPlace {
    /// The socket.
    socket: RawFd,
    /// Number of this process.
    pub rank: u32,
    /// Number of all.
    count: u32,
}

/// The other processes of a run.
pub struct Talker {
    socket: File,
    place: PeersPlace,
}

/// Exit code of a process that cannot go on.
const INTERNAL: i32 = 70;

/// Kinds of requests to the command line.
const EXCHANGE: u64 = 0;
const SHARE: u64 = 1;

impl Talker {
    /// Takes the socket of the job, once.
    pub fn new(place: PeersPlace) -> Talker {
        // SAFETY: the command line has made it for this, and nobody else here uses it.
        let socket = unsafe { File::from_raw_fd(place.socket) };
        Talker { socket, place }
    }

    fn ask(&mut self, kind: u64, parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let answered = self.send(kind, parts).and_then(|()| self.receive());
        answered.unwrap_or_else(|error| {
            // Another process has ended, and this one's command line says why, or is ended, too.
            eprintln!("hopcast: the other processes of the run have ended: {error}");
            // SAFETY: has no conditions; what the program has registered for its end is not to run.
            unsafe { libc::_exit(INTERNAL) }
        })
    }

    fn send(&mut self, kind: u64, parts: &[Vec<u8>]) -> std::io::Result<()> {
        let lengths = parts.iter().map(|part| part.len() as u64);
        let head: Vec<u8> =
            [kind, parts.len() as u64].into_iter().chain(lengths).flat_map(u64::to_le_bytes).collect();
        self.socket.write_all(&[head, parts.concat()].concat())
    }

    fn receive(&mut self) -> std::io::Result<Vec<Vec<u8>>> {
        let lengths = (0..self.place.count).map(|_| self.word()).collect::<std::io::Result<Vec<_>>>()?;
        let part = |length: u64| {
            let mut part = vec![0; length as usize];
            self.socket.read_exact(&mut part).map(|()| part)
        };
        lengths.into_iter().map(part).collect()
    }

    fn word(&mut self) -> std::io::Result<u64> {
        let mut word = [0; 8];
        self.socket.read_exact(&mut word)?;
        Ok(u64::from_le_bytes(word))
    }
}

impl Peers for Talker {
    fn count(&self) -> u32 {
        self.place.count
    }

    fn rank(&self) -> u32 {
        self.place.rank
    }

    fn exchange(&mut self, to: &[Vec<u8>]) -> Vec<Vec<u8>> {
        self.ask(EXCHANGE, to)
    }

    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        self.ask(SHARE, &[bytes])
    }
}
