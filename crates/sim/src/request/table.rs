//! Table of the options of a run: each entry makes a flag of the command line, a keyword of Python, a key of request files
//! with its part of the JSON schema, and a row of the reference page.

use serde_json::{Value, json};

/// One option of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunOption {
    /// Key in a request, and keyword in Python; the command line writes it with dashes.
    pub name: &'static str,
    /// Meaning, in sentences.
    pub text: &'static str,
    /// Kind of its values.
    pub takes: Takes,
    /// Default value, as Rust writes it.
    pub default: Option<&'static str>,
    /// Description of the default, if it is not a fixed value.
    pub otherwise: Option<&'static str>,
    /// Short flag of the command line.
    pub short: Option<&'static str>,
    /// Name of its value in the help of the command line.
    pub metavar: &'static str,
    /// Registry of its valid names, for completion.
    pub registry: Option<&'static str>,
    /// Kinds of workload that take it.
    pub workloads: &'static [WorkloadKind],
    /// True if each of several jobs may have its own value.
    pub of_jobs: bool,
}

impl RunOption {
    /// Entry with the values that most entries have.
    pub(super) const PLAIN: RunOption = RunOption {
        name: "",
        text: "",
        takes: Takes::Text,
        default: None,
        otherwise: None,
        short: None,
        metavar: "",
        registry: None,
        workloads: ANY,
        of_jobs: false,
    };

    /// The default as text.
    pub fn default_text(&self) -> Option<&'static str> {
        self.default.map(|default| default.trim_matches('"'))
    }

    /// Entry as JSON, for the command line, Python and the reference page.
    pub fn to_json(&self) -> Value {
        let default = self.default_text().map(|text| match self.takes {
            Takes::Whole { .. } | Takes::Number { .. } => text.parse().expect("a default is JSON"),
            _ => json!(text),
        });
        let workloads: Vec<_> = self.workloads.iter().map(|kind| kind.name()).collect();
        json!({
            "name": self.name,
            "text": self.text.trim(),
            "takes": self.takes.to_json(),
            "default": default,
            "otherwise": self.otherwise,
            "short": self.short,
            "metavar": self.metavar,
            "registry": self.registry,
            "workloads": workloads,
            "of_jobs": self.of_jobs,
        })
    }
}

/// Kind of an option's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Takes {
    /// A whole number in a closed range.
    Whole {
        /// Smallest.
        least: u64,
        /// Largest.
        most: u64,
    },
    /// A finite number from here on.
    Number {
        /// Smallest.
        least: f64,
    },
    /// Any text.
    Text,
    /// A time with its unit.
    Time,
    /// A size with its unit.
    Size,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// True; the command line has a flag.
    Switch,
    /// True or false; the command line has a flag and its negation.
    OnOff,
    /// A list of names; the command line takes them with commas.
    Names,
    /// A placement's name or file, or a list with the host of each rank.
    Placement,
    /// Values of a platform by `section.key`.
    Overrides,
    /// A folder.
    Folder,
}

impl Takes {
    fn to_json(self) -> Value {
        match self {
            Takes::Whole { least, most } => json!({"kind": "whole", "least": least, "most": most}),
            Takes::Number { least } => json!({"kind": "number", "least": least}),
            Takes::Text => json!({"kind": "text"}),
            Takes::Time => json!({"kind": "time"}),
            Takes::Size => json!({"kind": "size"}),
            Takes::Choice(choices) => json!({"kind": "choice", "choices": choices}),
            Takes::Switch => json!({"kind": "switch"}),
            Takes::OnOff => json!({"kind": "on-off"}),
            Takes::Names => json!({"kind": "names"}),
            Takes::Placement => json!({"kind": "placement"}),
            Takes::Overrides => json!({"kind": "overrides"}),
            Takes::Folder => json!({"kind": "folder"}),
        }
    }
}

/// Kind of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadKind {
    /// Synthetic pattern.
    Pattern,
    /// Recorded run.
    Trace,
    /// Several jobs.
    Jobs,
    /// Rank function in Python.
    Function,
    /// Compiled MPI program.
    Compiled,
    /// MPI program in Python, which imports mpi4py.
    Mpi4py,
}

/// All kinds.
pub(super) const ANY: &[WorkloadKind] = &[
    WorkloadKind::Pattern,
    WorkloadKind::Trace,
    WorkloadKind::Jobs,
    WorkloadKind::Function,
    WorkloadKind::Compiled,
    WorkloadKind::Mpi4py,
];
pub(super) const TRACES: &[WorkloadKind] = &[WorkloadKind::Trace];
pub(super) const JOBS: &[WorkloadKind] = &[WorkloadKind::Jobs];
pub(super) const COMPILED: &[WorkloadKind] = &[WorkloadKind::Compiled];
pub(super) const PROGRAMS: &[WorkloadKind] = &[WorkloadKind::Compiled, WorkloadKind::Mpi4py];
pub(super) const TRACES_AND_PROGRAMS: &[WorkloadKind] =
    &[WorkloadKind::Trace, WorkloadKind::Compiled, WorkloadKind::Mpi4py];

impl WorkloadKind {
    /// Word of request files.
    pub fn name(self) -> &'static str {
        match self {
            WorkloadKind::Pattern => "pattern",
            WorkloadKind::Trace => "trace",
            WorkloadKind::Jobs => "jobs",
            WorkloadKind::Function => "function",
            WorkloadKind::Compiled => "compiled",
            WorkloadKind::Mpi4py => "mpi4py",
        }
    }

    /// Words of one, for errors.
    pub(super) fn one(self) -> &'static str {
        match self {
            WorkloadKind::Pattern => "a pattern",
            WorkloadKind::Trace => "a recorded trace",
            WorkloadKind::Jobs => "a file of several jobs",
            WorkloadKind::Function => "a rank function in Python",
            WorkloadKind::Compiled => "a compiled program",
            WorkloadKind::Mpi4py => "an mpi4py program",
        }
    }

    /// The kind with this name.
    pub(super) fn named(name: &str) -> Option<WorkloadKind> {
        ANY.iter().copied().find(|kind| kind.name() == name)
    }
}

/// Declares the struct of a request and the table of its options from the same lines: the comment of an option is its
/// text, its type is that of its value.
macro_rules! run_request {
    (
        $(#[$meta:meta])* pub struct $request:ident { $($(#[$field_meta:meta])* pub $field:ident: $field_type:ty,)* }
        $(
            $(#[doc = $text:literal])+
            $name:ident: $type:ty $(= $default:literal)? => $takes:expr $(, $key:ident: $value:expr)*;
        )*
    ) => {
        $(#[$meta])*
        pub struct $request {
            $($(#[$field_meta])* pub $field: $field_type,)*
            $(
                $(#[doc = $text])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )*
        }

        /// All options of a run.
        pub const OPTIONS: &[RunOption] = &[$(RunOption {
            name: stringify!($name),
            text: concat!($($text),+),
            takes: $takes,
            default: run_request!(@default $($default)?),
            $($key: $value,)*
            ..RunOption::PLAIN
        }),*];

        impl $request {
            $($(
                #[doc = concat!("Value of `", stringify!($name), "`, or its default.")]
                pub fn $name(&self) -> $type {
                    let default = || stringify!($default).trim_matches('"').parse();
                    self.$name.clone().unwrap_or_else(|| default().expect("a default of the option's type"))
                }
            )?)*
        }
    };
    (@default) => { None };
    (@default $default:literal) => { Some(stringify!($default)) };
}
pub(super) use run_request;
