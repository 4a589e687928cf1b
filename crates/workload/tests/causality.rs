//! The check of a replay against the logical clocks of the recorded run.

use crate::common;

use std::sync::Arc;

use common::drive;
use common::writer::{Value, Writer, set, status};
use workload::trace::causality::{Check, Logical};
use workload::trace::{self, Mode, ReplayOptions};

const WORLD: i64 = 2;

fn n(number: i64) -> Value {
    Value::Number(number)
}

/// The file of a rank that makes these calls.
fn file(calls: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.call("MPI_Init", 0, 10, &[]);
    calls(&mut writer);
    writer.call("MPI_Finalize", 900, 950, &[]);
    writer.finish("nid00001")
}

#[test]
fn the_order_of_the_run_is_looked_for_when_a_receive_takes_whatever_comes() {
    let has_looked = |mode, is_known: bool| {
        let receives = |writer: &mut Writer| {
            let mut receive = vec![("source", n(-1)), ("tag", n(-1)), ("comm", n(WORLD))];
            receive.push(match is_known {
                true => ("status", Value::Statuses(vec![status(1, 7)])),
                false => ("request", n(5)),
            });
            writer.call(if is_known { "MPI_Recv" } else { "MPI_Irecv" }, 20, 21, &receive);
        };
        let files = set(vec![file(receives), file(|_| {})]);
        let order = Arc::new(Logical::default());
        let options = ReplayOptions { mode, check: Check::Short(order.clone()), ..ReplayOptions::default() };
        let mut source = trace::replay(trace::recognise(files).unwrap(), options).unwrap();
        drive::run(&mut source, 2);
        assert_eq!(source.take_error(), None);
        order.is_looked_for()
    };
    assert!(!has_looked(Mode::Dependencies, true));
    assert!(has_looked(Mode::Dependencies, false));
    assert!(has_looked(Mode::Timestamps, true), "times that contradict the order are told");
}
