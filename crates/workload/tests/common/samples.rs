//! A small run in each format except DUMPI: two ranks that exchange a few messages.

use workload::trace::TraceFile;

/// Files of a sample: names and contents.
pub type Sample = Vec<(&'static str, Vec<u8>)>;

/// Files of a sample, as a reader gets them.
pub fn files(sample: &Sample) -> Vec<TraceFile> {
    sample.iter().map(|(name, content)| TraceFile::new(format!("run/{name}"), content.clone())).collect()
}

/// All samples, with the names of their formats.
pub fn all() -> Vec<(&'static str, Sample)> {
    vec![
        ("simgrid", simgrid()),
        ("simgrid", simgrid_untagged()),
        ("goal", vec![("made.goal", GOAL.as_bytes().to_vec())]),
        ("goal", vec![("made.bin", goal_binary())]),
        ("allprof", allprof()),
        ("bigsim", bigsim()),
        ("scalatrace", scalatrace()),
    ]
}

/// Every action that takes arguments.
pub fn simgrid() -> Sample {
    let rank = |rank: u32| {
        let other = 1 - rank;
        let (first, second) =
            if rank == 0 { ("send 1 5 1e3", "recv 1 6 2e3") } else { ("recv 0 5 1e3", "send 0 6 2e3") };
        let mut text =
            format!("{rank} init\n\n{rank} {first}\n{rank} {second}\n# the same without waiting\n");
        let lines = [
            format!("isend {other} 7 10 1"),
            format!("irecv {other} 7 10 1"),
            format!("test {other} {rank} 7"),
            format!("wait {other} {rank} 7"),
            "waitall".into(),
            "compute 1e6".into(),
            "sleep 0.001".into(),
            "location app.c 17".into(),
            "barrier".into(),
            "bcast 100 1 0".into(),
            "reduce 10 5e3 0 0".into(),
            "allreduce 10 0 0".into(),
            "alltoall 8 8".into(),
            "alltoallv 30 10 20 30 10 20"
                .replace("10 20 30 10 20", if rank == 0 { "10 20 30 10 5" } else { "5 20 30 20 20" }),
            "gather 4 4 0 0 0".into(),
            "scatter 4 4 0 0 0".into(),
            "allgather 4 4 0 0".into(),
            "gatherv 4 4 4 0 0 0".into(),
            "scatterv 4 4 4 0 0 0".into(),
            "allgatherv 4 4 6 0".into(),
            "reducescatter 4 6 1e3 0".into(),
            "scan 4 0".into(),
            "comm_size 2".into(),
            "finalize".into(),
        ];
        lines.iter().for_each(|line| text += &format!("{rank} {line}\n"));
        text.into_bytes()
    };
    vec![("made0.txt", rank(0)), ("made1.txt", rank(1))]
}

/// A trace as written before 3.22: no tags, capitals, waits for the last request, one file.
pub fn simgrid_untagged() -> Sample {
    let text = "0 init 1\n1 init 1\n0 Isend 1 1e3\n0 wait\n1 Irecv 0 1e3\n1 wait\n0 allReduce 10 1e6\n1 allReduce 10 1e6\n\
                0 Irecv 1 5\n1 send 0 5 1\n0 waitAll\n0 finalize\n1 finalize\n";
    vec![("old.txt", text.as_bytes().to_vec())]
}

/// Each kind of node and of edge, a wildcard, comments, a second processor.
pub const GOAL: &str = "/* two
ranks */ num_ranks 2
rank 0 {
first: calc 1000 // a microsecond
s: send 100b to 1 tag 3 cpu 0 nic 0
s requires first
side: calc 5000 cpu 1
side irequires s
answer: recv 8 b from -1 tag -1
last: calc 2000
last requires answer
last requires side
}

rank 1 {
r: recv 100b from 0 tag 3
think: calc 3000
think requires r
send 8b to 0 tag 9
tell: calc 0
tell requires think
}
";

/// GOAL sample in the binary form, without the second processor and the labels.
pub fn goal_binary() -> Vec<u8> {
    // Kind, peer, size, tag; then the nodes that wait for its end, and for its begin.
    type Node = (u8, u32, u64, u32, &'static [u32], &'static [u32]);
    let zero: [Node; 5] = [
        (3, 0, 1000, 0, &[1], &[]),
        (1, 1, 100, 3, &[], &[2]),
        (3, 0, 5000, 0, &[4], &[]),
        (2, u32::MAX, 8, u32::MAX, &[4], &[]),
        (3, 0, 2000, 0, &[], &[]),
    ];
    let one: [Node; 3] = [(2, 0, 100, 3, &[1], &[]), (3, 0, 3000, 0, &[], &[]), (1, 0, 8, 9, &[], &[])];
    let rank = |nodes: &[Node]| {
        let before =
            |node: u32| nodes.iter().flat_map(|n| n.4.iter().chain(n.5)).filter(|to| **to == node).count();
        let roots: Vec<u32> = (0..nodes.len() as u32).filter(|node| before(*node) == 0).collect();
        let mut out = Vec::new();
        out.extend((nodes.len() as u32).to_le_bytes());
        out.extend((roots.len() as u32).to_le_bytes());
        roots.iter().for_each(|root| out.extend(root.to_le_bytes()));
        let (mut list, mut place) = (Vec::new(), 0_u32);
        for (number, (kind, peer, size, tag, ends, begins)) in nodes.iter().enumerate() {
            out.extend((before(number as u32) as u32).to_le_bytes());
            out.push(*kind);
            out.extend(peer.to_le_bytes());
            out.extend(size.to_le_bytes());
            out.extend(tag.to_le_bytes());
            out.extend([0, 0]);
            for waiting in [ends, begins] {
                out.extend((waiting.len() as u32).to_le_bytes());
                out.extend(place.to_le_bytes());
                place += waiting.len() as u32;
                waiting.iter().for_each(|node| list.extend(node.to_le_bytes()));
            }
        }
        out.extend(list);
        out
    };
    let ranks = [rank(&zero), rank(&one)];
    let mut out = 4223_u64.to_le_bytes().to_vec();
    out.extend(2_u32.to_le_bytes());
    out.extend([0, 0]);
    let mut at = 6 + 32_u64;
    for rank in &ranks {
        out.extend(at.to_le_bytes());
        at += rank.len() as u64;
        out.extend(at.to_le_bytes());
    }
    ranks.iter().for_each(|rank| out.extend(rank));
    out
}

/// Two hosts whose clocks differ by a second.
pub fn allprof() -> Sample {
    let rank = |rank: i64| {
        let (other, clock) = (1 - rank, 1_000_000_000_000_000 + 1_000_000 * rank);
        let mut text = format!("# allprof 1.0 output file\n# host: node{rank}\n# Init clockdiff: 0.0\n\n");
        let mut call = |begin: i64, name: &str, arguments: &str, end: i64| {
            text += &format!("{name}:{}.000000:{arguments}:{}.500000\n", clock + begin, clock + end);
        };
        let world = format!("0,{rank},2");
        call(10, "MPI_Comm_rank", &format!("{world}:77"), 11);
        call(20, "MPI_Barrier", &world, 100);
        let message = |tag: i64| format!("4096:25:11,8,8:{other}:{tag}:{world}");
        call(150, "MPI_Irecv", &format!("{}:8000", message(3)), 151);
        call(160, "MPI_Isend", &format!("{}:8008", message(3)), 161);
        call(170, "MPI_Waitall", "2:8000:0", 180);
        match rank {
            0 => call(200, "MPI_Send", &message(4), 210),
            _ => call(200, "MPI_Recv", &format!("{}:0", message(4)), 210),
        }
        call(220, "MPI_Sendrecv", &format!("1:2:1,4,4:{other}:0:2:2:1,4,4:{other}:0:{world}:0"), 230);
        call(231, "MPI_Irecv", &format!("{}:8000", message(5)), 232);
        call(233, "MPI_Rsend", &message(5), 234);
        call(235, "MPI_Test", "8000:1:0", 236);
        call(237, "MPI_Wait", "8000:0", 238);
        call(240, "MPI_Bcast", &format!("1:12:13,1,1:1:{world}"), 250);
        call(260, "MPI_Allreduce", &format!("1:2:1:2,4,4294967300:3:{world}"), 270);
        call(280, "MPI_Reduce", &format!("1:2:1:2,4,4:3:0:{world}"), 290);
        call(300, "MPI_Alltoall", &format!("1:1:2,4,4:2:1:2,4,4:{world}"), 310);
        call(320, "MPI_Gather", &format!("1:1:2,4,4:2:1:2,4,4:0:{world}"), 330);
        text += &format!("MPI_Finalize:{}:-\n", clock + 400);
        text.into_bytes()
    };
    vec![("made-rank-0.txt", rank(0)), ("made-rank-1.txt", rank(1))]
}

/// Processor 0 starts with a broadcast, processor 1 answers, and both go on.
pub fn bigsim() -> Sample {
    const MACHINE: [u8; 16] = [0x10, 0xea, 0xbd, 0xf9, 1, 1, 2, 4, 8, 16, 1, 4, 8, 1, 1, 8];
    // Message, length, messages sent (number, to, time, bytes), dependencies.
    type Made<'a> = ((i32, i32), f64, &'a [(i32, i32, f64, i32)], &'a [i32]);
    let log = |events: &[Made]| {
        let mut out = (events.len() as u32).to_le_bytes().to_vec();
        for (number, (message, length, sends, before)) in events.iter().enumerate() {
            let begin = number as f64;
            [7, number as i32, message.0, message.1].iter().for_each(|n: &i32| out.extend(n.to_le_bytes()));
            out.extend([0; 6]);
            out.extend((-1_i16).to_le_bytes());
            [begin, begin, begin, *length, begin + length].iter().for_each(|t| out.extend(t.to_le_bytes()));
            out.push(0);
            out.extend(*b"user_code\0\0\0\0\0\0\0\0\0\0\0");
            out.extend([0; 16]);
            out.extend((sends.len() as u32).to_le_bytes());
            for (number, to, at, bytes) in *sends {
                out.extend(number.to_le_bytes());
                out.extend(to.to_le_bytes());
                out.extend((begin + at).to_le_bytes());
                out.extend((begin + at).to_le_bytes());
                out.extend(0_i16.to_le_bytes());
                out.extend(bytes.to_le_bytes());
                out.extend(1_i32.to_le_bytes());
            }
            // One mark, with a text.
            out.extend(1_u32.to_le_bytes());
            out.push(2);
            out.extend(0.5_f64.to_le_bytes());
            out.extend(3_u32.to_le_bytes());
            out.extend(*b"ok\0");
            out.extend((before.len() as u32).to_le_bytes());
            before.iter().for_each(|n| out.extend(n.to_le_bytes()));
            out.extend(0_u32.to_le_bytes());
        }
        out
    };
    let file = |log: Vec<u8>| {
        let mut out = MACHINE.to_vec();
        out.extend(1_u32.to_le_bytes());
        out.extend(24_u32.to_le_bytes());
        out.extend(log);
        out
    };
    let none = (-1, -1);
    let zero = log(&[
        (none, 0.25, &[(0, -1, 0.125, 80), (1, 1, 0.25, 304)], &[]),
        ((0, 0), 0.0, &[], &[]),
        (none, 0.5, &[], &[0, 1]),
        ((1, 0), 0.125, &[(2, -100, 0.0, 16)], &[2]),
    ]);
    let one =
        log(&[((0, 0), 0.0, &[], &[]), ((0, 1), 1.0, &[(0, 0, 0.5, 304)], &[0]), ((0, 2), 0.0, &[], &[1])]);
    let mut overview = MACHINE.to_vec();
    [2, 2, 1, 1, 1, 1, 0, 2, 2, 6, 1].iter().for_each(|n: &i32| overview.extend(n.to_le_bytes()));
    vec![("bgTrace", overview), ("bgTrace0", file(zero)), ("bgTrace1", file(one))]
}

/// Stack that calls a function of ScalaTrace.
pub fn stack(function: u32) -> String {
    format!("45b8ad_{function:x}")
}

/// Both ranks in one file, and three messages in a loop.
pub fn scalatrace() -> Sample {
    let (mut text, mut number) = (String::new(), 0);
    let both = "1 -1 0 2 1";
    let mut event = |ranks: &str, function: u32, more: &str| {
        let stack = stack(function);
        text += &format!("RANKS: {ranks}\nEVENT{number}: {function} {stack}\n{more}\n");
        number += 1;
    };
    let three = |rank: u32| format!("LOOP0: iter: ( 3 )[ 1 -1 {rank} 1 0 ] mem: ( 1 )[ 1 -1 {rank} 1 0 ]\n");
    let comp = |after: u32, us: &str| {
        let stack = stack(after);
        format!("COMP 4b-0: {stack} (1 {us} 0 {us} 0 {us}){{0.00 {us} {us} {us} 90.00 1}}\n")
    };
    event(both, 1084, "33 2 \n22 0 \n");
    let times = comp(1084, "10.00") + &comp(1113, "5.00");
    event("1 -1 0 1 0", 1113, &format!("{times}{}10 2 \n12 100 200 100 \n14 12 \n1a 1 \n1b 0 \n", three(0)));
    event("1 -1 1 1 0", 1102, &format!("{}10 2 \n12 200 \n14 12 \n1b 0 \n2b 1 \n", three(1)));
    event(both, 1090, "10 2 \n12 25 \n14 10 \n1b 0 \n2b ( 1 )[ 1 -1 0 1 0 ]\n2b ( 1 )[ 1 -1 1 1 0 ]\n");
    event(both, 1092, "10 2 \n12 25 \n14 10 \n1a 1 \n1b 0 \n");
    event(both, 1149, "c 9998 9999 \n12 2 \n");
    event(both, 1004, "10 2 \n12 1 \n14 3 \n18 3 \n");
    event(both, 1027, "10 2 \n");
    event(both, 1010, "10 1000 \n");
    event(both, 1045, "");
    vec![("0", text.into_bytes())]
}
