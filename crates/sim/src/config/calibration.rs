//! `[calibration]`: the day on which a platform was fitted to its machine, and its errors beside measurements.

use engine::registry::{Kind, Parameter};
use serde::Serialize;

use super::error::InputError;
use super::read::Checked;
use super::sections::{optional, required};

pub(super) const CALIBRATION: &[Parameter] = &[
    optional(
        "date",
        Kind::Text,
        "",
        "Day of the measurements, such as \"2026-11-20\". Default: not calibrated",
    ),
    optional("load", Kind::Text, "", "Load of the machine while it was measured, such as \"idle\""),
];

pub(super) const CHECKS: &[Parameter] = &[
    required("what", Kind::Text, "Measured times, such as \"ping-pong\" or \"dgemm\""),
    required("median", Kind::Number(0.0, 1e9), "Median of the relative errors without their sign"),
    required("p90", Kind::Number(0.0, 1e9), "Relative error that 90 of 100 measurements do not exceed"),
    required("worst", Kind::Number(0.0, 1e9), "Largest relative error"),
    optional("note", Kind::Text, "", "What was compared, such as \"sizes that the fit did not see\""),
    optional(
        "rms",
        Kind::Number(0.0, 1e9),
        "",
        "Root of the mean square of ln(predicted / measured), of whole programs: prediction intervals draw the error of the model from it",
    ),
    optional("count", Kind::Integer(1, 1 << 32), "", "Programs and sizes that `rms` was taken of"),
];

/// Sections whose values a calibration gives: a run that changes one is not of the calibrated machine.
const CALIBRATED: [&str; 5] = ["topology", "host", "nic", "mpi", "compute"];

/// Calibration of a platform, as reports have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Day of the measurements.
    pub date: String,
    /// Load of the machine while it was measured.
    pub load: Option<String>,
    /// Errors beside measurements.
    pub checks: Vec<Check>,
    /// Keys of the calibrated sections that this run sets otherwise.
    pub changed: Vec<String>,
}

/// Relative errors beside measurements of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Measured times.
    pub what: String,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Largest.
    pub worst: f64,
    /// Basis of the comparison.
    pub note: Option<String>,
    /// Errors of whole programs; `None` for a check of single measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Programs>,
}

/// Errors of whole programs, which tell what the model itself misses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Programs {
    /// Root of the mean square of ln(predicted / measured).
    pub rms: f64,
    /// Programs and sizes.
    pub count: u64,
}

/// Calibration that the sections describe; `None` without a date.
pub(super) fn calibration(sections: &[Checked]) -> Result<Option<Calibration>, InputError> {
    let named = |name: &'static str| sections.iter().filter(move |section| section.name == name);
    let dated = named("calibration").find_map(|own| Some((own, own.arguments.text("date")?)));
    let Some((own, date)) = dated else {
        let undated = named("calibration.checks").next();
        let reason = "errors belong to a calibration; set calibration.date, the day of the measurements";
        return undated.map_or(Ok(None), |check| Err(check.error("what", reason)));
    };
    Ok(Some(Calibration {
        date,
        load: own.arguments.text("load"),
        checks: named("calibration.checks").map(check).collect::<Result<_, _>>()?,
        changed: sections.iter().filter(|section| is_calibrated(section)).flat_map(changed).collect(),
    }))
}

fn check(section: &Checked) -> Result<Check, InputError> {
    let text = |key| section.arguments.text(key);
    let number = |key| section.arguments.number(key).expect("required");
    let programs = match (section.arguments.number("rms"), section.arguments.integer("count")) {
        (Some(rms), Some(count)) => Some(Programs { rms, count: count.unsigned_abs() }),
        (None, None) => None,
        (rms, _) => {
            let given = if rms.is_some() { "rms" } else { "count" };
            return Err(section.error(given, "rms and count belong together; set both, or none"));
        }
    };
    Ok(Check {
        what: text("what").expect("required"),
        median: number("median"),
        p90: number("p90"),
        worst: number("worst"),
        note: text("note"),
        programs,
    })
}

fn is_calibrated(section: &Checked) -> bool {
    CALIBRATED.contains(&section.name.split('.').next().unwrap_or_default())
}

/// Keys of the section that a flag sets.
fn changed(section: &Checked) -> Vec<String> {
    let set = section.written.iter().filter(|(_, (_, at))| at.is_flag());
    set.map(|(key, _)| format!("{}.{key}", section.name)).collect()
}
