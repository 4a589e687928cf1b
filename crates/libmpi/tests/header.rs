//! The header that programs are compiled with, and the library that they find, say the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mpi_abi::abi::{self, handle};
use mpi_abi::data::{basic, operator};
use object::{Object, ObjectSymbol};

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Every constant of `mpi.h` that is a number: `#define NAME ((TYPE)VALUE)`, `#define NAME VALUE`, `NAME = VALUE`.
fn constants() -> BTreeMap<String, i64> {
    let text = fs::read_to_string(include().join("mpi.h")).unwrap();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let words = match line.strip_prefix("#define ") {
            Some(rest) => rest.split_once(' '),
            None => line.trim().trim_end_matches(',').split_once(" = "),
        };
        let Some((name, value)) = words else { continue };
        let value = value.trim_end_matches(')').rsplit(')').next().unwrap().trim();
        let number = match value.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        if let Ok(number) = number {
            found.insert(name.to_string(), number);
        }
    }
    found
}

#[test]
fn constants_are_those_of_the_header() {
    let header = constants();
    let own = [
        (abi::ANY_SOURCE.into(), "MPI_ANY_SOURCE"),
        (abi::ANY_TAG.into(), "MPI_ANY_TAG"),
        (abi::PROC_NULL.into(), "MPI_PROC_NULL"),
        (abi::ROOT.into(), "MPI_ROOT"),
        (abi::UNDEFINED.into(), "MPI_UNDEFINED"),
        (abi::IN_PLACE as i64, "MPI_IN_PLACE"),
        (abi::THREAD[0].into(), "MPI_THREAD_SINGLE"),
        (abi::THREAD[1].into(), "MPI_THREAD_FUNNELED"),
        (abi::THREAD[2].into(), "MPI_THREAD_SERIALIZED"),
        (abi::THREAD[3].into(), "MPI_THREAD_MULTIPLE"),
        (abi::MAX_ERROR_STRING as i64, "MPI_MAX_ERROR_STRING"),
        (abi::MAX_PROCESSOR_NAME as i64, "MPI_MAX_PROCESSOR_NAME"),
        (abi::MAX_LIBRARY_VERSION_STRING as i64, "MPI_MAX_LIBRARY_VERSION_STRING"),
        (abi::MAX_INFO_KEY as i64, "MPI_MAX_INFO_KEY"),
        (abi::MAX_INFO_VAL as i64, "MPI_MAX_INFO_VAL"),
        (abi::MAX_OBJECT_NAME as i64, "MPI_MAX_OBJECT_NAME"),
        (abi::MAX_PSET_NAME as i64, "MPI_MAX_PSET_NAME_LEN"),
        (abi::LAST_CODE.into(), "MPI_ERR_LASTCODE"),
        (abi::IDENT.into(), "MPI_IDENT"),
        (abi::CONGRUENT.into(), "MPI_CONGRUENT"),
        (abi::SIMILAR.into(), "MPI_SIMILAR"),
        (abi::UNEQUAL.into(), "MPI_UNEQUAL"),
        (abi::COMM_TYPE[0].into(), "MPI_COMM_TYPE_SHARED"),
        (abi::COMM_TYPE[1].into(), "MPI_COMM_TYPE_HW_UNGUIDED"),
        (abi::COMM_TYPE[2].into(), "MPI_COMM_TYPE_HW_GUIDED"),
        (abi::COMM_TYPE[3].into(), "MPI_COMM_TYPE_RESOURCE_GUIDED"),
        (handle::Group::NULL.0 as i64, "MPI_GROUP_NULL"),
        (handle::Group::EMPTY.0 as i64, "MPI_GROUP_EMPTY"),
        (handle::Win::NULL.0 as i64, "MPI_WIN_NULL"),
        (handle::File::NULL.0 as i64, "MPI_FILE_NULL"),
        (handle::Session::NULL.0 as i64, "MPI_SESSION_NULL"),
        (handle::Message::NULL.0 as i64, "MPI_MESSAGE_NULL"),
        (handle::Message::NO_PROC.0 as i64, "MPI_MESSAGE_NO_PROC"),
        (handle::Info::ENV.0 as i64, "MPI_INFO_ENV"),
        (handle::Comm::NULL.0 as i64, "MPI_COMM_NULL"),
        (handle::Comm::WORLD.0 as i64, "MPI_COMM_WORLD"),
        (handle::Comm::SELF.0 as i64, "MPI_COMM_SELF"),
        (handle::Request::NULL.0 as i64, "MPI_REQUEST_NULL"),
        (handle::Datatype::NULL.0 as i64, "MPI_DATATYPE_NULL"),
        (handle::Op::NULL.0 as i64, "MPI_OP_NULL"),
        (handle::Info::NULL.0 as i64, "MPI_INFO_NULL"),
        (handle::Errhandler::NULL.0 as i64, "MPI_ERRHANDLER_NULL"),
        (handle::Errhandler::ARE_FATAL.0 as i64, "MPI_ERRORS_ARE_FATAL"),
        (handle::Errhandler::RETURN.0 as i64, "MPI_ERRORS_RETURN"),
        (handle::Errhandler::ABORT.0 as i64, "MPI_ERRORS_ABORT"),
    ];
    let tables = basic::predefined().chain(operator::predefined()).chain(abi::error::classes());
    let all = own.into_iter().chain(tables.map(|(number, name)| (number as i64, name)));
    let wrong: Vec<_> = all.filter(|(number, name)| header.get(*name) != Some(number)).collect();
    assert_eq!(wrong, []);
}

/// The functions of the headers in `include/mpi`, without their prefix.
fn functions() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(include().join("mpi")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let lines = text.lines().filter_map(|line| line.split_once("MPI_FN(")?.1.split_once(')'));
        names.extend(lines.map(|(name, _)| name.to_string()));
    }
    names
}

#[test]
fn every_function_of_the_header_is_in_the_library_under_both_names() {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let places = [folder.join("libmpi_abi.so"), folder.join("../libmpi_abi.so")];
    let library = places.iter().find(|path| path.exists()).expect("cargo builds the library for its tests");
    let bytes = fs::read(library).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported: std::collections::BTreeSet<_> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    let functions = functions();
    assert!(functions.len() > 600, "{} functions", functions.len());
    for name in functions {
        for prefix in ["MPI_", "PMPI_"] {
            assert!(exported.contains(&*format!("{prefix}{name}")), "{prefix}{name} is missing");
        }
    }
}

/// Platform files name functions by the names of the headers.
#[test]
fn functions_that_platforms_can_name_are_those_of_the_headers() {
    let folder = fs::read_dir(include().join("mpi")).unwrap();
    let texts = folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let mut names: Vec<_> = texts
        .flat_map(|text| {
            let functions = text.split("MPI_FN(").skip(1).filter_map(|rest| rest.split_once(")("));
            functions.map(|(name, _)| format!("MPI_{name}")).collect::<Vec<_>>()
        })
        .collect();
    names.sort();
    assert_eq!(names, mpi::function_times::known().collect::<Vec<_>>());
}
