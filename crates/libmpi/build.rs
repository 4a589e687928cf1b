//! Writes the exported functions from the headers in `include/mpi`.
//!
//! A line of a header is one function: its prototype, and in a comment the Rust function that does its work:
//!
//! `int MPI_FN(Send)(const void *buf, int count, …); /* point_to_point::send */`

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

#[path = "build/front.rs"]
mod front;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for input in ["include/mpi", "include/mpi.h", "mpich", "build"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let mut files: Vec<_> = fs::read_dir("include/mpi")
        .expect("the headers are beside this file")
        .map(|entry| entry.expect("a folder can be read").path())
        .collect();
    files.sort();
    let texts: Vec<_> =
        files.iter().map(|file| fs::read_to_string(file).expect("a header is text")).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| line.contains("MPI_FN("));
    let functions: Vec<_> =
        lines.map(|line| Function::read(line).unwrap_or_else(|| panic!("include/mpi: {line}"))).collect();
    let mut code = String::new();
    for function in &functions {
        function.write("MPI_", &mut code);
        function.write("PMPI_", &mut code);
    }
    let write = |name, code| fs::write(out.join(name), code).expect("the output folder can be written");
    write("exports.rs", code);
    write("front.rs", front::functions(&functions));
    let text = |path| fs::read_to_string(path).expect("it is beside this file");
    write("constants.rs", front::constants(&text("mpich/constants.txt"), &text("include/mpi.h")));
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // The front has the same names, and comes first: this library means its own.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}

/// One function of the binary interface.
struct Function<'a> {
    returns: &'a str,
    name: &'a str,
    /// Type and name, as in C.
    parameters: Vec<&'a str>,
    /// `module::function` below `crate::call`.
    does: &'a str,
}

impl<'a> Function<'a> {
    fn read(line: &'a str) -> Option<Function<'a>> {
        let (returns, rest) = line.split_once(" MPI_FN(")?;
        let (name, rest) = rest.split_once(")(")?;
        let (parameters, rest) = rest.rsplit_once(");")?;
        let does = rest.trim().strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
        let does = does.unwrap_or_else(|| panic!("MPI_{name}: no function is named that does it")).trim();
        let parameters = match parameters {
            "void" => Vec::new(),
            // Arguments that no name is given for are for tools.
            list => list.split(',').map(str::trim).filter(|parameter| *parameter != "...").collect(),
        };
        Some(Function { returns, name, parameters, does })
    }

    fn write(&self, prefix: &str, code: &mut String) {
        let name = format!("{prefix}{}", self.name);
        code.push_str("#[unsafe(no_mangle)]\n");
        let does = self.does;
        let arguments: Vec<_> = self.parameters.iter().map(|parameter| rust(parameter)).collect();
        let list = arguments.iter().map(|(name, kind)| format!("{name}: {kind}, ")).collect::<String>();
        let passed = arguments
            .iter()
            .map(|(name, _)| format!(", FromProgram::from_program({name})"))
            .collect::<String>();
        let returns = rust(&format!("{} value", self.returns)).1;
        let checks = self.parameters.iter().filter(|parameter| self.wants_place(parameter));
        let checks = checks.map(|parameter| {
            let name = rust(parameter).0;
            format!("if {name}.is_null() {{ return Err(no_place(\"{name}\")); }}\n")
        });
        let checks = checks.collect::<String>();
        let enter = if self.is_for_any_time() { "enter_at_any_time" } else { "enter" };
        writeln!(
            code,
            "pub unsafe extern \"C-unwind\" fn {name}({list}) -> {returns} {{ \
             {enter}(\"MPI_{}\", |me| unsafe {{ {checks}call::{does}(me{passed}) }}).into() }}",
            self.name
        )
        .unwrap();
    }
}

impl Function<'_> {
    /// True if a program may call it before MPI_Init and after MPI_Finalize.
    fn is_for_any_time(&self) -> bool {
        let word = |pattern: &str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => self.name.ends_with(end),
            (_, Some(start)) => self.name.starts_with(start),
            _ => self.name == pattern,
        };
        AT_ANY_TIME.iter().any(|pattern| word(pattern))
    }

    /// True if a parameter is a place for one number or handle, which the program must give. Tools may leave some
    /// out, and MPI_Init's command line may be none.
    fn wants_place(&self, parameter: &str) -> bool {
        let one = parameter.matches('*').count() == 1 && !parameter.contains('[');
        let base = parameter.split([' ', '*']).next().unwrap();
        let tool = self.name.starts_with("T_") || parameter.contains("weights") || parameter.contains("argc");
        one && !tool && base != "MPI_Status" && (KNOWN.contains(&base) || PLAIN.contains(&base))
    }
}

/// Functions that a program may call at any time (MPI 5.0, 11.4.1, and what is said of each function): of the names that begin or end
/// so, all. Clocks, sums of addresses and conversions only compute; MPI_Init and MPI_Finalize check it themselves.
const AT_ANY_TIME: &[&str] = &[
    "Init",
    "Init_thread",
    "Initialized",
    "Finalize",
    "Finalized",
    "Abort",
    "Get_version",
    "Get_library_version",
    "Get_hw_resource_info",
    "Pcontrol",
    "Wtime",
    "Wtick",
    "Aint_add",
    "Aint_diff",
    "Abi_*",
    "Session_*",
    "Info_*",
    "T_*",
    "Error_*",
    "Errhandler_*",
    "*_create_errhandler",
    "Add_error_*",
    "Remove_error_*",
    "*_c2f",
    "*_f2c",
    "*_toint",
    "*_fromint",
    "Status_c2f08",
    "Status_f082c",
    "Status_f082f",
    "Status_f2f08",
];

/// Numbers.
const PLAIN: &[&str] = &["int", "MPI_Aint", "MPI_Count", "MPI_Offset"];

/// Name and Rust type of a parameter of C.
fn rust(parameter: &str) -> (String, String) {
    let constant = parameter.starts_with("const ");
    let array = parameter.matches('[').count();
    let plain = parameter.trim_start_matches("const ").split('[').next().unwrap().trim();
    let at = plain.rfind([' ', '*']).map_or(0, |at| at + 1);
    let (kind, name) = plain.split_at(at);
    let stars = kind.matches('*').count() + array;
    let base = match kind.replace('*', "").trim() {
        "int" | "MPI_Fint" => "c_int".to_string(),
        "char" => "c_char".to_string(),
        "void" => "c_void".to_string(),
        "double" => "f64".to_string(),
        "MPI_Count" | "MPI_Offset" => "i64".to_string(),
        "MPI_Aint" => "isize".to_string(),
        // Of the interface for tools: a number behind a pointer.
        function if function.starts_with("MPI_T_") && function.ends_with("_function") => {
            "*mut c_void".to_string()
        }
        tool if tool.starts_with("MPI_T_") => TOOL_NUMBERS
            .iter()
            .find(|(name, _)| *name == tool)
            .map_or("usize".to_string(), |(_, kind)| kind.to_string()),
        handle if stars == 0 || KNOWN.contains(&handle) => handle.trim_start_matches("MPI_").to_string(),
        _ => "c_void".to_string(),
    };
    let pointer = if constant { "*const " } else { "*mut " };
    let outer = "*mut ".repeat(stars.saturating_sub(1));
    let kind = if stars == 0 { base } else { format!("{outer}{pointer}{base}") };
    // A word of Rust gets a letter more.
    (if name == "type" { "type_".into() } else { name.to_string() }, kind)
}

/// Types of the interface for tools that are not handles.
const TOOL_NUMBERS: &[(&str, &str)] = &[("MPI_T_cb_safety", "c_int"), ("MPI_T_source_order", "c_int")];

/// Types behind pointers that the functions know; any other is a `void`.
const KNOWN: &[&str] = &[
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Status",
    "MPI_Win",
];
