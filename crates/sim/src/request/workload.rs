//! Workload of a request, and the overrides of its platform.

use std::fmt;
use std::sync::Arc;

use mpi::Source;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::WorkloadKind;
use crate::config::PlacementChoice;
use crate::trace::Flags;

/// Values of a platform by `section.key`, in the order in which they apply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides(pub Vec<(String, String)>);

impl Serialize for Overrides {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Overrides {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Overrides, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Overrides;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("values by section.key")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Overrides, A::Error> {
                let mut all = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    let text = if let Value::String(text) = value { text } else { toml_text(&value) };
                    all.push((key, text));
                }
                Ok(Overrides(all))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A value as a platform file writes it.
fn toml_text(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(toml_text).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), toml_text(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Workload to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Workload {
    /// Synthetic pattern with its arguments as written.
    Pattern {
        /// Name in the registry.
        name: String,
        /// Values by parameter, such as `"bytes": "64KiB"`.
        #[serde(default)]
        arguments: Overrides,
    },
    /// Recorded run.
    Trace {
        /// Folder of the run, one of its files, or an archive, which the starter of the run unpacks.
        path: String,
    },
    /// Several jobs at the same time, on disjoint hosts.
    Jobs {
        /// File of jobs, which the starter of the run reads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Jobs in the order of their ranks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        jobs: Vec<Job>,
    },
    /// Rank function in Python; the caller provides its operations. Each process runs its ranks on one thread.
    Function {
        /// File that defines it, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Name in that file.
        name: String,
        /// Words of the command line of a program file; absent for a function that was passed as such.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<Vec<String>>,
        /// Positional arguments after the communicator.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<Value>,
        /// Arguments by name.
        #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
        keywords: serde_json::Map<String, Value>,
    },
    /// Compiled MPI program.
    Compiled {
        /// File of the program.
        path: String,
        /// Words of its command line after the name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
    },
    /// Program in Python that imports mpi4py.
    Mpi4py {
        /// File of the program.
        path: String,
        /// Words of its command line after the name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
    },
    /// Program with this name, of which each thread gets its own source.
    #[serde(skip)]
    Sources {
        /// Name.
        name: String,
        /// Makes the sources.
        make: Sources,
    },
}

impl Default for Workload {
    fn default() -> Workload {
        Workload::Jobs { path: None, jobs: Vec::new() }
    }
}

impl Workload {
    /// Makes the workload of a pattern with its arguments.
    pub fn pattern(name: impl Into<String>, arguments: Vec<(String, String)>) -> Workload {
        Workload::Pattern { name: name.into(), arguments: Overrides(arguments) }
    }

    /// Name in reports.
    pub fn title(&self) -> String {
        let line = |first: &str, words: &[String]| [&[first.to_string()], words].concat().join(" ");
        match self {
            Workload::Sources { name, .. } => name.clone(),
            Workload::Trace { path } => path.clone(),
            Workload::Compiled { path, arguments } | Workload::Mpi4py { path, arguments } => {
                line(path, arguments)
            }
            Workload::Function { file: Some(file), words: Some(words), .. } => {
                line(file.rsplit('/').next().unwrap_or(file), words)
            }
            Workload::Function { name, .. } => name.clone(),
            Workload::Pattern { name, arguments } => {
                let arguments = arguments.0.iter().map(|(key, value)| format!(" --{key} {value}"));
                format!("{name}{}", arguments.collect::<String>())
            }
            Workload::Jobs { jobs, .. } => {
                jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(" + ")
            }
        }
    }

    /// Kind of the workload; `None` for one that only Rust can make.
    pub fn kind(&self) -> Option<WorkloadKind> {
        Some(match self {
            Workload::Pattern { .. } => WorkloadKind::Pattern,
            Workload::Trace { .. } => WorkloadKind::Trace,
            Workload::Jobs { .. } => WorkloadKind::Jobs,
            Workload::Function { .. } => WorkloadKind::Function,
            Workload::Compiled { .. } => WorkloadKind::Compiled,
            Workload::Mpi4py { .. } => WorkloadKind::Mpi4py,
            Workload::Sources { .. } => return None,
        })
    }
}

/// One of several jobs, as a user requests it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name, unique among the jobs of the run.
    pub name: String,
    /// Pattern or recording.
    pub workload: Workload,
    /// Number of ranks; not needed for a recording.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// Start of its ranks, such as "1 ms"; 0 s by default.
    #[serde(default)]
    pub start: Option<String>,
    /// Placement of its ranks; the platform's by default.
    #[serde(default)]
    pub placement: Option<PlacementChoice>,
    /// Hosts that it may use, such as `0-15,32,64-127:4`; those of no other job if `None`.
    #[serde(default)]
    pub hosts: Option<String>,
    /// Processes per host; the platform's number if `None`.
    #[serde(default)]
    pub ppn: Option<u16>,
    /// Options of its replay, if it replays a recording.
    #[serde(default)]
    pub replay: Flags,
}

/// Makes a source that can answer for any rank, any number of times.
#[derive(Clone)]
pub struct Sources(pub Arc<dyn Fn() -> Box<dyn Source + Send> + Send + Sync>);

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}

impl PartialEq for Sources {
    fn eq(&self, other: &Sources) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
