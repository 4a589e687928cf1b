//! Traffic of links by period, for a reader that follows a run: each period is handed out once, when it has ended.

use std::collections::BTreeSet;

use engine::Time;
use network::LinkId;

use super::LinkNames;
use crate::table::{Column, Table};

/// Row of traffic: begin and end \[s\], link or class of links, bytes.
pub type Row = (f64, f64, u32, u64);

/// Periods that have ended since the reader asked, and the links whose names it has.
#[derive(Debug)]
pub struct LiveLinks {
    by_class: bool,
    rows: Vec<Row>,
    /// End of the last period.
    end: Time,
    named: BTreeSet<u32>,
}

impl LiveLinks {
    /// Begins with the run. `by_class`: traffic is kept by class of link.
    pub fn new(by_class: bool) -> LiveLinks {
        LiveLinks { by_class, rows: Vec::new(), end: Time::ZERO, named: BTreeSet::new() }
    }

    /// Notes the traffic of a period that ends at `now`.
    pub fn close(&mut self, now: Time, cells: &[(u32, u64)]) {
        let (begin, end) = (self.end.seconds(), now.seconds());
        self.end = now;
        self.rows.extend(cells.iter().map(|&(cell, bytes)| (begin, end, cell, bytes)));
    }

    /// Table `links_over_time` of the periods since the last call, which do not overlap with earlier ones; and
    /// `links` with the names of those links that come for the first time.
    pub fn new_rows(&mut self, names: &LinkNames) -> Vec<Table> {
        let rows = std::mem::take(&mut self.rows);
        let mut tables = vec![over_time_table(&rows, self.by_class, names)];
        if !self.by_class {
            let cells: BTreeSet<u32> = rows.iter().map(|row| row.2).collect();
            let new: Vec<_> = cells.difference(&self.named).map(|&link| LinkId(link)).collect();
            self.named.extend(new.iter().map(|link| link.0));
            tables.push(names_table(&new, names));
        }
        tables
    }
}

/// Table `links_over_time` of `rows`.
pub fn over_time_table(rows: &[Row], by_class: bool, names: &LinkNames) -> Table {
    let class = |cell: u32| match by_class {
        true => names.classes[cell as usize].clone(),
        false => names.class(LinkId(cell)),
    };
    let link = |cell: u32| if by_class { u32::MAX } else { cell };
    Table::new(
        "links_over_time",
        vec![
            ("begin_s", Column::F64(rows.iter().map(|row| row.0).collect())),
            ("end_s", Column::F64(rows.iter().map(|row| row.1).collect())),
            ("class", Column::Text(rows.iter().map(|row| class(row.2)).collect())),
            ("link", Column::U32(rows.iter().map(|row| link(row.2)).collect())),
            ("bytes", Column::U64(rows.iter().map(|row| row.3).collect())),
        ],
    )
}

/// Table `links` without their traffic.
fn names_table(links: &[LinkId], names: &LinkNames) -> Table {
    let text = |of: &dyn Fn(LinkId) -> String| Column::Text(links.iter().map(|&link| of(link)).collect());
    let parallel = names.parallel(links.iter().copied());
    Table::new(
        "links",
        vec![
            ("link", Column::U32(links.iter().map(|link| link.0).collect())),
            ("from", text(&|link| names.ends(link).0)),
            ("to", text(&|link| names.ends(link).1)),
            ("class", text(&|link| names.class(link))),
            ("parallel", Column::U32(parallel.iter().map(|place| place.number).collect())),
            ("parallel_of", Column::U32(parallel.iter().map(|place| place.of).collect())),
            ("bandwidth_Bps", Column::F64(links.iter().map(|&link| names.bandwidth(link)).collect())),
        ],
    )
}
