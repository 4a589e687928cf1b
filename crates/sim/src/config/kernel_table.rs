//! Table of a kernel's coefficients, one row for each processor, as CSV:
//!
//! ```csv
//! # dgemm, fitted on 2026-11-20
//! host,socket,1,M*N*K,deviation 1,deviation M*N*K
//! ,,2.56e-6,70.0e-12,0.4e-6,0.8e-12
//! dahu-1,0,2.56e-6,73.2e-12,0.4e-6,0.6e-12
//! ```
//!
//! A row without host or socket holds for all; of several that fit, the last one holds.

use std::fmt::Write as _;

/// One row: a place and two formulas.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    /// Host by name or number; `None` for all.
    pub(super) host: Option<String>,
    /// Socket of the host; `None` for all.
    pub(super) socket: Option<u16>,
    /// Formula of the mean time.
    pub(super) time: String,
    /// Formula of its standard deviation.
    pub(super) deviation: Option<String>,
}

/// Column of a table.
enum Column {
    Host,
    Socket,
    Time(String),
    Deviation(String),
}

/// Rows of the table, in order; the error names the line.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let columns: Vec<Column> =
        reader.headers().map_err(|error| error.to_string())?.iter().map(column).collect();
    if !columns.iter().any(|column| matches!(column, Column::Time(_))) {
        return Err("has no column of a term, such as M*N*K or 1".to_string());
    }
    let rows = reader.records().map(|record| row(&columns, &record.map_err(|error| error.to_string())?));
    let rows = rows.collect::<Result<Vec<_>, String>>()?;
    if rows.is_empty() {
        return Err("has no row below its header".to_string());
    }
    Ok(rows)
}

fn column(name: &str) -> Column {
    match name {
        "host" => Column::Host,
        "socket" => Column::Socket,
        _ => match name.strip_prefix("deviation ") {
            Some(term) => Column::Deviation(term.trim().to_string()),
            None => Column::Time(name.to_string()),
        },
    }
}

fn row(columns: &[Column], record: &csv::StringRecord) -> Result<Row, String> {
    let line = record.position().map_or(0, csv::Position::line);
    let (mut row, mut deviation) = (Row::default(), String::new());
    for (column, cell) in columns.iter().zip(record) {
        let number = || match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(format!("line {line}: '{cell}' is not a number of seconds such as 7.0e-11")),
        };
        match column {
            Column::Host if cell.is_empty() => {}
            Column::Host => row.host = Some(cell.to_string()),
            Column::Socket if cell.is_empty() => {}
            Column::Socket => {
                let socket =
                    cell.parse().map_err(|_| format!("line {line}: '{cell}' is no number of a socket"));
                row.socket = Some(socket?);
            }
            Column::Time(term) => add(&mut row.time, number()?, term),
            Column::Deviation(term) => add(&mut deviation, number()?, term),
        }
    }
    row.deviation = (!deviation.is_empty()).then_some(deviation);
    Ok(row)
}

/// Adds `coefficient * term` to a formula.
fn add(formula: &mut String, coefficient: f64, term: &str) {
    let sign = match (formula.is_empty(), coefficient < 0.0) {
        (true, false) => "",
        (true, true) => "0 s - ",
        (false, false) => " + ",
        (false, true) => " - ",
    };
    write!(formula, "{sign}{:e} s*({term})", coefficient.abs()).expect("text takes what is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_places_and_formulas() {
        let text =
            "# fitted\nhost,socket,1,M*N,deviation M*N\n,,2.5e-6,-1e-10,1e-12\ndahu-1, 0 ,1e-6,0,2e-12\n";
        let found = rows(text).unwrap();
        assert_eq!((found[0].host.as_deref(), found[0].socket), (None, None));
        assert_eq!(found[0].time, "2.5e-6 s*(1) - 1e-10 s*(M*N)");
        assert_eq!(found[0].deviation.as_deref(), Some("1e-12 s*(M*N)"));
        assert_eq!((found[1].host.as_deref(), found[1].socket), (Some("dahu-1"), Some(0)));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, why) in [
            ("", "no column"),
            ("host,socket\n1,2\n", "no column"),
            ("1\n", "no row"),
            ("1,M\n1e-6\n", "line: 2"),
            ("1\ntwo\n", "line 2: 'two'"),
            ("1\ninf\n", "line 2: 'inf'"),
            ("socket,1\nA,1e-6\n", "line 2: 'A'"),
        ] {
            let said = rows(text).unwrap_err();
            assert!(said.contains(why), "{text:?}: {said}");
        }
    }
}
