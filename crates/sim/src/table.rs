//! Tables of typed columns: what observers leave behind, and what becomes Parquet.

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers below 2³²: ranks, hosts, links.
    U32(Vec<u32>),
    /// Whole numbers: bytes, counts.
    U64(Vec<u64>),
    /// Numbers: seconds, rates.
    F64(Vec<f64>),
    /// Words.
    Text(Vec<String>),
}

impl Column {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U32(values) => values.len(),
            Column::U64(values) => values.len(),
            Column::F64(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }
    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named table; all columns have the same number of rows. Units end the columns' names.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name, and its file's.
    pub name: &'static str,
    /// Its columns by name.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// A table of `columns`.
    pub fn new(name: &'static str, columns: Vec<(&'static str, Column)>) -> Table {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        for (column, values) in &columns {
            assert_eq!(values.len(), rows, "column {column} of table {name} is as long as the others");
        }
        Table { name, columns }
    }
}
