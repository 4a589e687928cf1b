//! The Python module `hopcast._core`: conversion between Python and `sim`, and nothing else.

mod catalogue;
mod codes;
mod decode;
mod errors;
mod live;
mod payloads;
mod peers;
mod run;
mod source;
mod tables;

use pyo3::prelude::*;

/// The compiled part of hopcast.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    /// The version of hopcast.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// The profile of Cargo that built this module, as `make` names it: "release", or "fast" with link-time optimisation.
    #[pymodule_export]
    const PROFILE: Option<&str> = option_env!("HOPCAST_PROFILE");

    #[pymodule_export]
    use super::catalogue::{
        catalogue, kernel_times, platform_of, platform_reference, platform_schema, platform_text, seconds,
        topology_picture, topology_survey, trace_convert, trace_dump, trace_files, trace_lint,
        trace_recorded, trace_scale, trace_slice, trace_summary,
    };
    #[pymodule_export]
    use super::run::{check_request, recorded_calls, request_schema, run, run_options};
    #[pymodule_export]
    use super::source::Clock;

    /// Adds the numbers that Python and this crate agree on: codes of operations, answers of a monitor.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::run::add_to(module)?;
        super::codes::add_to(module)
    }
}
