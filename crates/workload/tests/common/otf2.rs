//! Writes small OTF2 archives, in the format that the reader documents.

use workload::trace::TraceFile;

/// Ticks of the clock per second: one is a microsecond.
pub const RESOLUTION: u64 = 1_000_000;

/// MPI functions, by the numbers of their regions.
pub const FUNCTIONS: &[&str] = &[
    "MPI_Init",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Waitall",
    "MPI_Allreduce",
    "MPI_Allgatherv",
    "MPI_Alltoallv",
    "MPI_Comm_dup",
    "MPI_Sendrecv",
    "MPI_Iallreduce",
    "MPI_Startall",
    "MPI_Finalize",
    "main",
    "MPI_Scan",
    "MPI_Gatherv",
    "MPI_Reduce_scatter",
];

/// A file under construction, in chunks that are never filled.
#[derive(Clone)]
pub struct Writer {
    bytes: Vec<u8>,
    big: bool,
}

impl Writer {
    pub fn new(big: bool) -> Writer {
        let mut writer = Writer { bytes: vec![3, if big { 0x23 } else { 0x42 }], big };
        writer.fixed(1, 8);
        writer.fixed(1, 8);
        writer
    }

    fn order(&self, number: u64, width: usize) -> Vec<u8> {
        if self.big {
            number.to_be_bytes()[8 - width..].to_vec()
        } else {
            number.to_le_bytes()[..width].to_vec()
        }
    }

    fn fixed(&mut self, number: u64, width: usize) {
        let bytes = self.order(number, width);
        self.bytes.extend(bytes);
    }

    /// Encodes a compressed number: zero, and the largest number (255), take one byte.
    pub fn number(&self, number: u64) -> Vec<u8> {
        let width = (8 - number.leading_zeros() as usize / 8).min(8);
        match number {
            0 => vec![0],
            _ if number == u64::MAX || number == u64::from(u32::MAX) => vec![0xff],
            _ => [vec![width as u8], self.order(number, width)].concat(),
        }
    }

    /// Writes a record with a length.
    pub fn record(&mut self, id: u8, body: &[Vec<u8>]) {
        let body = body.concat();
        self.bytes.push(id);
        if body.len() < 255 {
            self.bytes.push(body.len() as u8);
        } else {
            self.bytes.push(255);
            self.fixed(body.len() as u64, 8);
        }
        self.bytes.extend(body);
    }

    /// Writes a record of compressed numbers.
    pub fn numbers(&mut self, id: u8, numbers: &[u64]) {
        let body: Vec<_> = numbers.iter().map(|&number| self.number(number)).collect();
        self.record(id, &body);
    }

    /// Writes an event of one number.
    pub fn single(&mut self, id: u8, number: u64) {
        let number = self.number(number);
        self.bytes.push(id);
        self.bytes.extend(number);
    }

    pub fn time(&mut self, ticks: u64) {
        self.bytes.push(5);
        self.fixed(ticks, 8);
    }

    /// Writes a call of the function that is entered at `begin` and left at `end`, around its `events`.
    pub fn call(&mut self, name: &str, begin: u64, end: u64, events: impl FnOnce(&mut Writer)) {
        let region = FUNCTIONS.iter().position(|known| *known == name).unwrap() as u64;
        self.time(begin);
        self.single(12, region);
        events(self);
        self.time(end);
        self.single(13, region);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(2);
        self.bytes
    }
}

/// An archive called `NAME.otf2` whose ranks have these events; host h0 has the even ranks. Communicator 0 is the
/// world, 1 each process alone, 2 the world in reverse order.
pub fn archive(big: bool, events: Vec<Vec<u8>>) -> Vec<TraceFile> {
    let ranks = events.len() as u64;
    let mut anchor = Writer { bytes: vec![3, if big { 0x23 } else { 0x42 }], big };
    anchor.bytes.extend(b"OTF2\0\x03\x02\x02\x00\x00");
    anchor.fixed(1 << 20, 8);
    anchor.fixed(1 << 18, 8);
    anchor.bytes.extend([1, 1]);
    anchor.fixed(ranks, 8);
    anchor.fixed(9, 8);
    anchor.bytes.extend(b"machine\0hopcast\0\0");
    anchor.fixed(1, 4);
    anchor.bytes.extend(b"OTF2::MPI_COMMUNICATION_COMPLETE\0true\0");
    let mut files = vec![
        TraceFile::new("run/made.otf2", anchor.bytes.clone()),
        TraceFile::new("run/made.def", definitions(big, ranks)),
    ];
    for (rank, events) in events.into_iter().enumerate() {
        let mut local = Writer::new(big);
        // The location's own numbers of communicators are those of the archive plus 10.
        let map = [vec![6], local.number(3), vec![1]].concat();
        let pairs: Vec<u8> =
            (0..3).flat_map(|comm| [local.number(10 + comm), local.number(comm)].concat()).collect();
        local.record(5, &[map, pairs]);
        // Clocks of odd ranks are 1000 ticks behind, at two comparisons.
        let behind = if rank % 2 == 1 { 1000_u64 } else { 0 };
        for time in [0_u64, 1_000_000] {
            let body = [local.order(time, 8), local.number(behind), vec![0; 8]];
            local.record(6, &body);
        }
        files.push(TraceFile::new(format!("run/made/{rank}.def"), local.finish()));
        files.push(TraceFile::new(format!("run/made/{rank}.evt"), events));
    }
    files
}

fn definitions(big: bool, ranks: u64) -> Vec<u8> {
    let mut w = Writer::new(big);
    w.numbers(5, &[RESOLUTION, 0, 1_000_000]);
    let text = |w: &mut Writer, number: u64, text: &str| {
        let body = [w.number(number), text.bytes().chain([0]).collect()];
        w.record(10, &body);
    };
    text(&mut w, 0, "");
    text(&mut w, 1, "h0");
    text(&mut w, 2, "h1");
    text(&mut w, 3, "MPI_COMM_WORLD");
    for (n, name) in FUNCTIONS.iter().enumerate() {
        text(&mut w, 10 + n as u64, name);
        let body = [w.number(n as u64), w.number(10 + n as u64), w.number(0), vec![0]];
        w.record(15, &body);
    }
    w.numbers(12, &[1, 1, 0, u64::MAX]);
    w.numbers(12, &[2, 2, 0, u64::MAX]);
    for rank in 0..ranks {
        let process = [w.number(rank), w.number(0), vec![1], w.number(1 + rank % 2)];
        w.record(13, &process);
        let location = [w.number(rank), w.number(0), vec![1], w.number(1), w.number(rank)];
        w.record(14, &location);
    }
    let group = |w: &mut Writer, number: u64, kind: u8, members: Vec<u64>| {
        let list: Vec<u8> = members.iter().flat_map(|&member| w.number(member)).collect();
        let head = [w.number(number), w.number(0), vec![kind], w.number(members.len() as u64)];
        w.record(18, &[head.concat(), list, vec![kind, 4], w.number(0)]);
    };
    group(&mut w, 0, 4, (0..ranks).collect());
    group(&mut w, 1, 5, (0..ranks).collect());
    group(&mut w, 2, 6, vec![]);
    group(&mut w, 3, 5, (0..ranks).rev().collect());
    w.numbers(22, &[0, 3, 1, u64::MAX, 0]);
    w.numbers(22, &[1, 0, 2, u64::MAX, 0]);
    w.numbers(22, &[2, 0, 3, 0, 0]);
    w.finish()
}
