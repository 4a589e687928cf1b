//! Tables as Python takes them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use sim::table::{Column, Table};

/// `{table: [(column, type, bytes or texts)]}`
pub fn tables<'py>(py: Python<'py>, tables: &[Table]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for table in tables {
        all.set_item(table.name, columns(py, table)?)?;
    }
    Ok(all)
}

/// `[(column, type, bytes or texts)]`
pub fn columns<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyList>> {
    let columns = PyList::empty(py);
    for (name, column) in &table.columns {
        let (kind, content) = column_content(py, column)?;
        columns.append((*name, kind, content))?;
    }
    Ok(columns)
}

fn column_content<'py>(py: Python<'py>, column: &Column) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    Ok(match column {
        Column::U32(values) => ("u32", bytes(py, values, |value| value.to_le_bytes())?),
        Column::U64(values) => ("u64", bytes(py, values, |value| value.to_le_bytes())?),
        Column::F64(values) => ("f64", bytes(py, values, |value| value.to_le_bytes())?),
        Column::Text(values) => ("text", PyList::new(py, values)?.into_any()),
    })
}

/// Bytes of the values in memory, little-endian, as NumPy reads them.
fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    write: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyAny>> {
    let filled = PyBytes::new_with(py, values.len() * N, |into| {
        for (place, value) in into.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&write(*value));
        }
        Ok(())
    })?;
    Ok(filled.into_any())
}
