//! What hopcast knows without running anything: registries, platforms and the format of their files.

use pyo3::prelude::*;
use sim::config::{self, Disk, Override};

/// Every registry, as JSON: see `sim::catalogue`.
#[pyfunction]
pub fn catalogue() -> String {
    sim::catalogue().to_string()
}

/// The JSON schema of platform files.
#[pyfunction]
pub fn platform_schema() -> String {
    format!("{:#}", config::schema())
}

/// The reference page of platform files, in Markdown.
#[pyfunction]
pub fn platform_reference() -> String {
    config::reference()
}

/// The platform file `name` as written, or in full: overrides applied, defaults filled in.
#[pyfunction]
pub fn platform_text(name: &str, overrides: Vec<(String, String)>, resolved: bool) -> PyResult<String> {
    let platform = load(name, &overrides)?;
    Ok(if resolved { platform.to_toml() } else { platform.text().to_string() })
}

/// What can be said of a platform's network without simulating it, as JSON: see `sim::survey`.
#[pyfunction]
pub fn topology_survey(
    py: Python<'_>,
    name: &str,
    overrides: Vec<(String, String)>,
    seed: u64,
) -> PyResult<String> {
    let platform = load(name, &overrides)?;
    let survey = py.detach(|| sim::survey(&platform, seed));
    Ok(survey.map_err(crate::errors::input_error)?.to_string())
}

/// A picture of a platform's network, as SVG.
#[pyfunction]
pub fn topology_picture(name: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    sim::picture(&load(name, &overrides)?).map_err(crate::errors::input_error)
}

/// What a recorded run holds, as JSON: see `sim::trace::summary`.
#[pyfunction]
pub fn trace_summary(py: Python<'_>, path: &str) -> PyResult<String> {
    let summary = py.detach(|| sim::trace::summary(path));
    Ok(summary.map_err(crate::errors::input_error)?.to_string())
}

/// Loads a platform from the working directory, or a preset.
pub fn load(name: &str, overrides: &[(String, String)]) -> PyResult<sim::Platform> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| Override::set(key, value)).collect();
    config::load(name, &overrides, &Disk::new("")).map_err(crate::errors::input_error)
}
