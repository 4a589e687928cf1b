//! The file system that all ranks share: when an access is done.
//!
//! A file is striped over servers; an access that begins at t moves n bytes, of which n_s lie on server s, in r_s
//! requests: what it reads or writes of one stripe in one piece is one. Each server, and the way of each host to them,
//! serves accesses in the order in which they begin:
//!
//! ```text
//! h(host)  <-  max(t, h) + n / B_h                    the host's way to the servers
//! v_s      <-  max(t, v_s) + r_s a + n_s / B_s        each server that has a part of it
//! T        =   max(h, v_s over all s, t + n / B_p) + l - t
//!
//! metadata:    m  <-  max(t, m) + d;   T = m + l - t    opening, closing, deleting, sizes, shared pointers
//! sync:        T  =   max(t, v_s over the file's servers) + l - t
//! ```
//!
//! l: latency there and back; a: time of a request; d: time of a metadata operation; B_s, B_h, B_p: bandwidths of a
//! server, of a host, of one process. Stripe k of the f-th file is on server (f c + k mod c) mod servers, with c
//! servers for each file.
//!
//! Assumptions: data flows through host and servers at once, in small parts; reads take as long as writes; no caches,
//! neither on hosts nor on servers, no locks on ranges of files, no traffic of others; the way to the servers is not
//! that of MPI's messages, and does not slow them.
//!
//! Validity: large accesses to a parallel file system (Lustre, BeeGFS, GPFS) where its servers are the bottleneck, and
//! small ones where the number of requests is. Not what caches of hosts or burst buffers hold.
//!
//! Source: the striping of Lustre (Lustre Software Release 2.x Operations Manual, chapter 19); one metadata server
//! whose operations are one after the other (the same, 1.2.2); servers as queues with a time for each request and a
//! rate: Kunkel, "Simulating parallel programs on application and system level" (CSRD 2013), and the postal model.

use std::sync::Arc;

use engine::{Bandwidth, Bytes, Duration, Time};

/// Parameters of a platform's file system. The default is free: no access takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Storage servers, 1 or more.
    pub servers: u32,
    /// Bandwidth of one server.
    pub bandwidth: Bandwidth,
    /// Time of a server for each request.
    pub request_time: Duration,
    /// Latency of each access, there and back.
    pub latency: Duration,
    /// Striping of files that do not state their own.
    pub striping: Striping,
    /// Bandwidth of one host.
    pub host_bandwidth: Bandwidth,
    /// Bandwidth of one process.
    pub process_bandwidth: Bandwidth,
    /// Time of the metadata server for each operation.
    pub metadata_time: Duration,
}

/// Striping of a file over servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Striping {
    /// Bytes of a stripe, above 0.
    pub size: Bytes,
    /// Servers that share a file, 1 or more; all, where there are fewer.
    pub count: u32,
}

impl Default for FileSystem {
    fn default() -> FileSystem {
        FileSystem {
            servers: 1,
            bandwidth: Bandwidth::INFINITE,
            request_time: Duration::ZERO,
            latency: Duration::ZERO,
            striping: Striping { size: Bytes(1 << 20), count: 1 },
            host_bandwidth: Bandwidth::INFINITE,
            process_bandwidth: Bandwidth::INFINITE,
            metadata_time: Duration::ZERO,
        }
    }
}

impl FileSystem {
    /// Does no access take time?
    pub fn is_free(&self) -> bool {
        let rates = [self.bandwidth, self.host_bandwidth, self.process_bandwidth];
        let times = [self.request_time, self.latency, self.metadata_time];
        rates.iter().all(|rate| *rate == Bandwidth::INFINITE)
            && times.iter().all(|time| *time == Duration::ZERO)
    }
}

/// A file, as far as its place matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Files are numbered in the order in which they were first opened.
    pub number: u32,
    /// Its own striping, if it has one.
    pub striping: Option<Striping>,
}

/// Work on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Reads or writes these parts: where each begins \[bytes\], and how long it is.
    Transfer(File, Arc<[(u64, Bytes)]>),
    /// Asks the metadata server.
    Metadata,
    /// Waits until the servers have what was written to the file.
    Sync(File),
}

impl Work {
    /// Bytes that it reads or writes.
    pub fn bytes(&self) -> Bytes {
        match self {
            Work::Transfer(_, parts) => Bytes(parts.iter().map(|part| part.1.0).sum()),
            Work::Metadata | Work::Sync(_) => Bytes(0),
        }
    }
}

/// A call that accesses a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The MPI function, for reports.
    pub name: &'static str,
    /// Work of the access.
    pub work: Work,
}

/// The file system at work.
#[derive(Debug)]
pub struct Storage {
    of: FileSystem,
    /// Until when each server has work; by number, as many as were used.
    servers: Vec<Time>,
    /// Until when the way of each host is taken.
    hosts: Vec<Time>,
    /// Until when the metadata server has work.
    metadata: Time,
    /// Requests and bytes of an access for each server of its file.
    shares: Vec<(u64, u64)>,
}

impl Storage {
    /// With nothing to do.
    pub fn new(of: FileSystem) -> Storage {
        Storage { of, servers: Vec::new(), hosts: Vec::new(), metadata: Time::ZERO, shares: Vec::new() }
    }

    /// Parameters of the file system.
    pub fn parameters(&self) -> &FileSystem {
        &self.of
    }

    /// End of work that a process of `host` begins now.
    pub fn done(&mut self, now: Time, host: u32, work: &Work) -> Time {
        if self.of.is_free() {
            return now;
        }
        let done = match work {
            Work::Metadata => {
                self.metadata = self.metadata.max(now) + self.of.metadata_time;
                self.metadata
            }
            Work::Sync(file) => {
                let striping = self.striping(*file);
                let busy = (0..striping.count).map(|index| *self.server(*file, striping, index));
                busy.fold(now, Time::max)
            }
            Work::Transfer(file, parts) => self.transfer(now, host, *file, parts),
        };
        done + self.of.latency
    }

    fn transfer(&mut self, now: Time, host: u32, file: File, parts: &[(u64, Bytes)]) -> Time {
        let bytes = Bytes(parts.iter().map(|part| part.1.0).sum());
        let way = place(&mut self.hosts, host as usize);
        *way = (*way).max(now) + self.of.host_bandwidth.transfer(bytes);
        let mut done = (*way).max(now + self.of.process_bandwidth.transfer(bytes));
        let striping = self.striping(file);
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        shares.resize(striping.count as usize, (0, 0));
        parts.iter().for_each(|(begin, bytes)| share(&mut shares, striping.size.0, *begin, bytes.0));
        for (index, (requests, bytes)) in (0..).zip(&shares).filter(|(_, share)| share.0 > 0) {
            let time = self.of.request_time * *requests + self.of.bandwidth.transfer(Bytes(*bytes));
            let server = self.server(file, striping, index);
            *server = (*server).max(now) + time;
            done = done.max(*server);
        }
        self.shares = shares;
        done
    }

    /// Striping of a file over the servers that exist.
    fn striping(&self, file: File) -> Striping {
        let striping = file.striping.unwrap_or(self.of.striping);
        Striping { count: striping.count.min(self.of.servers), ..striping }
    }

    /// Until when one of the servers of a file has work.
    fn server(&mut self, file: File, striping: Striping, index: u32) -> &mut Time {
        let number = u64::from(file.number) * u64::from(striping.count) + u64::from(index);
        place(&mut self.servers, (number % u64::from(self.of.servers)) as usize)
    }
}

fn place(times: &mut Vec<Time>, index: usize) -> &mut Time {
    if index >= times.len() {
        times.resize(index + 1, Time::ZERO);
    }
    &mut times[index]
}

/// Adds the requests and bytes of one part to those of each server of its file.
fn share(shares: &mut [(u64, u64)], size: u64, begin: u64, bytes: u64) {
    if bytes == 0 {
        return;
    }
    let (servers, end) = (shares.len() as u64, begin.saturating_add(bytes));
    let (first, last) = (begin / size, (end - 1) / size);
    // A round over all servers at a time: each has as many stripes of it as there are rounds, or one less.
    for stripe in first..=last.min(first + servers - 1) {
        let stripes = (last - stripe) / servers + 1;
        let share = &mut shares[(stripe % servers) as usize];
        share.0 += stripes;
        share.1 += stripes * size;
    }
    // What the first and the last stripe have beside it.
    shares[(first % servers) as usize].1 -= begin - first * size;
    shares[(last % servers) as usize].1 -= (last + 1) * size - end;
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn shares(servers: usize, size: u64, parts: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut shares = vec![(0, 0); servers];
        parts.iter().for_each(|(begin, bytes)| share(&mut shares, size, *begin, *bytes));
        shares
    }

    /// By the definition, byte for byte: each server's bytes, and a request for each stripe.
    #[test]
    fn parts_are_shared_as_stripes_are() {
        for (servers, size, begin, bytes) in
            [(1, 10, 0, 10), (1, 10, 5, 10), (3, 10, 7, 1), (3, 10, 7, 95), (4, 8, 30, 2), (5, 7, 0, 700)]
        {
            let mut expected = vec![(0, 0); servers];
            for at in begin..begin + bytes {
                let share: &mut (u64, u64) = &mut expected[(at / size) as usize % servers];
                share.0 += u64::from(at == begin || at % size == 0);
                share.1 += 1;
            }
            assert_eq!(
                shares(servers, size, &[(begin, bytes)]),
                expected,
                "{servers} {size} {begin} {bytes}"
            );
        }
        assert_eq!(shares(2, MIB, &[(0, 0), (3, 1), (MIB, 2)]), [(1, 1), (1, 2)]);
    }

    fn seconds(value: f64) -> Duration {
        Duration::from_seconds(value)
    }

    fn file(number: u32) -> File {
        File { number, striping: None }
    }

    fn whole(file: File, bytes: u64) -> Work {
        Work::Transfer(file, Arc::new([(0, Bytes(bytes))]))
    }

    /// Without parameters no access takes time, whatever was before.
    #[test]
    fn the_default_is_free() {
        let mut storage = Storage::new(FileSystem::default());
        for work in [whole(file(0), 1 << 50), Work::Metadata, Work::Sync(file(0))] {
            assert_eq!(storage.done(Time(7), 3, &work), Time(7));
        }
    }

    /// Files take servers in turns: two files of two servers do not meet on four, the third is behind the first.
    #[test]
    fn files_are_on_servers_in_turns() {
        let striping = Striping { size: Bytes(MIB), count: 2 };
        let of = FileSystem { servers: 4, bandwidth: Bandwidth(MIB), striping, ..FileSystem::default() };
        let mut storage = Storage::new(of);
        let mut done = |number| storage.done(Time::ZERO, 0, &whole(file(number), 2 * MIB)).seconds();
        assert_eq!([done(0), done(1), done(2)], [1.0, 1.0, 2.0]);
        // A file of its own striping: all on one server, the fourth.
        let one = File { number: 3, striping: Some(Striping { size: Bytes(MIB), count: 1 }) };
        assert_eq!(storage.done(Time::ZERO, 0, &whole(one, 2 * MIB)).seconds(), 3.0);
    }

    /// Metadata operations are one after the other; a sync waits for the servers of its file only.
    #[test]
    fn metadata_is_served_one_by_one() {
        let (latency, metadata_time) = (seconds(0.25), seconds(1.0));
        let of = FileSystem {
            servers: 2,
            bandwidth: Bandwidth(MIB),
            latency,
            metadata_time,
            ..Default::default()
        };
        let mut storage = Storage::new(of);
        let mut done = |work| storage.done(Time::ZERO, 0, &work).seconds();
        assert_eq!([done(Work::Metadata), done(Work::Metadata)], [1.25, 2.25]);
        assert_eq!(done(whole(file(0), 4 * MIB)), 4.25);
        assert_eq!([done(Work::Sync(file(1))), done(Work::Sync(file(0)))], [0.25, 4.25]);
    }
}
