//! Tables of typed columns: the results of observers, which are written as Parquet.

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers below 2³²: ranks, hosts, links.
    U32(Vec<u32>),
    /// Whole numbers: bytes, counts.
    U64(Vec<u64>),
    /// Numbers: seconds, rates.
    F64(Vec<f64>),
    /// Texts.
    Text(Vec<String>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U32(values) => values.len(),
            Column::U64(values) => values.len(),
            Column::F64(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }
    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named table; all columns have the same number of rows. Units end the columns' names.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name of the table and its file.
    pub name: &'static str,
    /// Columns by name.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Makes a table of `columns`.
    pub fn new(name: &'static str, columns: Vec<(&'static str, Column)>) -> Table {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        for (column, values) in &columns {
            assert_eq!(values.len(), rows, "column {column} of table {name} is as long as the others");
        }
        Table { name, columns }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.columns.first().is_none_or(|(_, column)| column.is_empty())
    }
}
