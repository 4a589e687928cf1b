//! Writes the front for programs that were compiled against MPICH: a function for each of the table, which
//! translates its arguments, calls the standard's function, and translates back.
//!
//! What is translated depends on the type of a parameter and, for integers, on its name: those of the standard's
//! prototypes say what a number means. Both directions of every constant come from `mpich/constants.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Function, rust};

/// Functions that are written by hand in `src/mpich/special.rs`.
const BY_HAND: &[&str] = &[
    "Attr_get",
    "Comm_get_attr",
    "Win_get_attr",
    "Type_get_contents",
    "Type_get_contents_c",
    "Status_c2f",
    "Status_f2c",
    "Status_c2f08",
    "Status_f082c",
    "Status_f2f08",
    "Status_f082f",
];

/// Constants that are bits of a set.
const SETS: &[&str] = &["mode", "assertion"];

/// Meaning of an integer of this name.
const INTEGERS: &[(&str, &[&str])] = &[
    ("rank", &["dest", "source", "root", "rank", "target_rank", "rank_source", "rank_dest", "newrank"]),
    ("rank", &["ranks1", "ranks2"]),
    ("tag", &["tag", "sendtag", "recvtag"]),
    ("keyval", &["keyval", "comm_keyval", "type_keyval", "win_keyval"]),
    ("error", &["errorcode", "errorclass", "error"]),
    ("thread", &["required", "provided"]),
    ("split", &["split_type"]),
    ("order", &["order"]),
    ("whence", &["whence"]),
    ("lock", &["lock_type"]),
    ("typeclass", &["typeclass"]),
    ("mode", &["amode"]),
    ("assertion", &["assert"]),
    ("comparison", &["result"]),
    ("topology", &["status"]),
    ("combiner", &["combiner"]),
    ("distribution", &["array_of_distribs"]),
    ("argument", &["array_of_dargs"]),
    ("verbosity", &["verbosity"]),
    ("binding", &["bind"]),
    ("scope", &["scope"]),
    ("class", &["var_class"]),
];

/// Buffers that may be MPI_IN_PLACE or MPI_BUFFER_AUTOMATIC.
const BUFFERS: &[&str] = &["sendbuf", "recvbuf", "buffer"];

/// The functions of the front.
pub fn functions(list: &[Function]) -> String {
    let mut code = String::new();
    for function in list.iter().filter(|function| !BY_HAND.contains(&function.name)) {
        write(function, &mut code);
    }
    code
}

fn write(function: &Function, code: &mut String) {
    let name = function.name;
    code.push_str("#[unsafe(no_mangle)]\n");
    let is_number = ["_c2f", "_f2c", "_toint", "_fromint"].iter().any(|end| name.ends_with(end));
    if is_number && function.parameters.len() == 1 {
        // The handles of MPICH are the integers of Fortran.
        writeln!(code, "pub extern \"C\" fn hopcast_mpich_{name}(number: usize) -> usize {{ number }}")
            .unwrap();
        return;
    }
    let pieces: Vec<_> = function.parameters.iter().map(|parameter| piece(function, parameter)).collect();
    let list = pieces.iter().map(|piece| format!("{}: {}, ", piece.name, piece.kind)).collect::<String>();
    let before = pieces.iter().map(|piece| piece.before.as_str()).collect::<String>();
    let passed = pieces.iter().map(|piece| format!("{}, ", piece.passed)).collect::<String>();
    let after = pieces.iter().map(|piece| piece.after.as_str()).collect::<String>();
    let (returns, value) = match function.returns {
        "int" => ("c_int", "error_out(answer)"),
        "double" => ("f64", "answer"),
        "MPI_Aint" => ("isize", "answer"),
        other => panic!("MPI_{name}: the front does not know how to return {other}"),
    };
    writeln!(
        code,
        "pub unsafe extern \"C-unwind\" fn hopcast_mpich_{name}({list}) -> {returns} {{ unsafe {{ \
         {before} let answer = generated::MPI_{name}({passed}); {after} {value} }} }}"
    )
    .unwrap();
}

/// A parameter of a function of the front.
struct Piece {
    name: String,
    /// Its type in MPICH's interface.
    kind: String,
    /// Code before the call, its arguments, and the code after it; values go back by themselves.
    before: String,
    passed: String,
    after: String,
}

fn piece(function: &Function, parameter: &str) -> Piece {
    let (name, native) = rust(parameter);
    let constant = parameter.starts_with("const ");
    let array = parameter.contains('[') || name.starts_with("array_of_");
    let base = parameter.trim_start_matches("const ").split([' ', '*']).next().unwrap();
    let stars = parameter.matches('*').count() + parameter.matches('[').count();
    let Some((kind, foreign)) = kind_of(base, &name) else {
        let passed = match BUFFERS.contains(&name.as_str()) && base == "void" && stars == 1 {
            true => format!("buffer_in({name} as usize) as {native}"),
            false => name.clone(),
        };
        // Where the address of a buffer is wanted that was attached.
        let after = match name.as_str() {
            "buffer_addr" => "automatic_out(buffer_addr.cast()); ".into(),
            _ => String::new(),
        };
        return Piece { name, kind: native, before: String::new(), passed, after };
    };
    let nothing = String::new();
    if stars == 0 {
        let value = format!("{kind}_in({name})");
        let passed = if base == "int" || base == "MPI_Offset" { value } else { format!("{native}({value})") };
        return Piece { name, kind: foreign.into(), before: nothing, passed, after: String::new() };
    }
    let made = match (kind, array) {
        ("status", _) if function.name.starts_with("Status_") || constant => {
            format!("One::new({name}, status_in, status_out)")
        }
        ("status", false) => format!("One::new(status_place({name}), status_empty, status_out)"),
        ("status", true) => {
            let length = length(function, &name);
            format!("Many::new(status_place({name}), {length}, status_empty, status_out)")
        }
        (_, false) => format!("One::new({name}, {kind}_in, {kind}_out)"),
        (_, true) => {
            let length = length(function, &name);
            format!("Many::new({name}, {length}, {kind}_in, {kind}_out)")
        }
    };
    let pointer = if constant { "*const" } else { "*mut" };
    let made = match constant {
        true => made.replacen(&name, &format!("{name}.cast_mut()"), 1) + ".only_read()",
        false => made,
    };
    Piece {
        kind: format!("{pointer} {foreign}"),
        before: format!("let mut {name}_ = {made}; "),
        passed: format!("{name}_.pass() as {native}"),
        after: String::new(),
        name,
    }
}

/// Kind of value of a parameter, if it is translated, and its type in MPICH's interface.
fn kind_of<'a>(base: &'a str, name: &str) -> Option<(&'a str, &'static str)> {
    let kind = match base {
        "MPI_Comm" => "comm",
        "MPI_Group" => "group",
        "MPI_Datatype" => "datatype",
        "MPI_Op" => "op",
        "MPI_Request" => "request",
        "MPI_Info" => "info",
        "MPI_Errhandler" => "errhandler",
        "MPI_Win" => "win",
        "MPI_Session" => "session",
        "MPI_Message" => "message",
        "MPI_File" => return Some(("file", "usize")),
        "MPI_Status" => return Some(("status", "Foreign")),
        "MPI_Offset" if name == "disp" => return Some(("displacement", "i64")),
        "int" => INTEGERS.iter().find(|row| row.1.contains(&name))?.0,
        _ => return None,
    };
    Some((kind, "c_int"))
}

/// Number of values of the list `name`.
fn length(function: &Function, name: &str) -> String {
    let has =
        |parameter: &str| function.parameters.iter().any(|known| known.ends_with(&format!(" {parameter}")));
    match name {
        "sendtypes" | "recvtypes" => {
            let sends = name == "sendtypes";
            let unused = if sends { "sendbuf as usize == IN_PLACE" } else { "false" };
            let neighbors = function.name.contains("eighbor");
            format!("if {unused} {{ 0 }} else {{ peers(comm, {neighbors}, {sends}) }}")
        }
        // There are no events, so it is not written.
        "array_of_datatypes" if function.name == "T_event_get_info" => "0".into(),
        "array_of_datatypes" => "max_datatypes".into(),
        "array_of_distribs" | "array_of_dargs" => "ndims".into(),
        "ranks1" | "ranks2" => "n".into(),
        _ if has("incount") => "incount".into(),
        _ if has("count") => "count".into(),
        _ => panic!("MPI_{}: nothing says how long {name} is", function.name),
    }
}

/// Both directions of the constants in `text`; their values in the standard's interface are in `header`.
pub fn constants(text: &str, header: &str) -> String {
    let mut kinds: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<_> = line.split(' ').collect();
        let [kind, name, value] = words[..] else { panic!("mpich/constants.txt: {line}") };
        let ours = standard(header, name).unwrap_or_else(|| panic!("{name} is not in mpi.h"));
        kinds.entry(kind).or_default().push((number(value), ours));
    }
    let mut code = String::new();
    for (kind, values) in kinds {
        // The type in MPICH's interface and ours, and both as numbers that a match can name.
        let (foreign, ours, word, own_word) = match kind {
            "file" => ("usize", "usize", "usize", "usize"),
            "displacement" => ("i64", "i64", "i64", "i64"),
            "comm" | "group" | "datatype" | "op" | "request" | "info" | "errhandler" | "win" | "session"
            | "message" => ("c_int", "usize", "u32", "usize"),
            _ => ("c_int", "c_int", "i32", "i32"),
        };
        if SETS.contains(&kind) {
            writeln!(code, "pub const {}: &[(c_int, c_int)] = &{values:?};", kind.to_uppercase()).unwrap();
            writeln!(
                code,
                "pub fn {kind}_in(value: c_int) -> c_int {{ set_in({}, value) }}",
                kind.to_uppercase()
            )
            .unwrap();
            writeln!(
                code,
                "pub fn {kind}_out(value: c_int) -> c_int {{ set_out({}, value) }}",
                kind.to_uppercase()
            )
            .unwrap();
            continue;
        }
        let arms = |swap: bool| {
            let arm = |&(theirs, ours): &(i64, i64)| match swap {
                true => format!("{ours} => {theirs}, "),
                false => format!("{theirs} => {ours}, "),
            };
            values.iter().map(arm).collect::<String>()
        };
        let (other_in, other_out) = match kind {
            "error" => ("other_error_in(other)".into(), "other_error_out(other)".into()),
            _ => (format!("other as {ours}"), format!("other as {word}")),
        };
        writeln!(
            code,
            "#[inline] pub fn {kind}_in(value: {foreign}) -> {ours} {{ match value as {word} {{ {} other => {other_in} }} }}\n\
             #[inline] pub fn {kind}_out(value: {ours}) -> {foreign} {{ (match value as {own_word} {{ {} other => {other_out} }}) as {word} as {foreign} }}",
            arms(false),
            arms(true),
        )
        .unwrap();
    }
    code
}

/// The value of a constant of `mpi.h`.
fn standard(header: &str, name: &str) -> Option<i64> {
    let line = header.lines().find(|line| {
        let words: Vec<_> = line.split_whitespace().take(2).collect();
        words[..] == ["#define", name] || words.first() == Some(&name)
    })?;
    let value = line
        .rsplit([' ', ')'])
        .find(|word| word.trim_end_matches([',', ')']).ends_with(char::is_alphanumeric))?;
    Some(number(value.trim_end_matches([',', ')'])))
}

fn number(text: &str) -> i64 {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .unwrap_or_else(|_| panic!("not a number: {text}"))
}
