//! The routines of BLAS and LAPACK as programs call them: names and arguments.
//!
//! One line each: its name without the letter of its precision, its level (C's interface of levels 2 and 3
//! begins with the layout), and its arguments. What an argument is, its name says, as in the routines' own
//! documentation. Source: Dongarra, Du Croz, Hammarling, Duff, "A set of level 3 Basic Linear Algebra
//! Subprograms" (ACM TOMS 16(1), 1990) and its sisters for levels 1 and 2; the BLAS Technical Forum's standard
//! (2001), appendix B, for the C interface; LAPACK Users' Guide (1999).

use super::kernel::{Argument, Style, Symbol, Type};

const ROUTINES: &[(&str, u8, &str)] = &[
    ("swap", 1, "N X incX Y incY"),
    ("scal", 1, "N alpha X incX"),
    ("copy", 1, "N X incX Y incY"),
    ("axpy", 1, "N alpha X incX Y incY"),
    ("dot", 1, "N X incX Y incY"),
    ("nrm2", 1, "N X incX"),
    ("asum", 1, "N X incX"),
    ("amax", 1, "N X incX"),
    ("rot", 1, "N X incX Y incY alpha beta"),
    ("gemv", 2, "trans M N alpha A lda X incX beta Y incY"),
    ("ger", 2, "M N alpha X incX Y incY A lda"),
    ("symv", 2, "uplo N alpha A lda X incX beta Y incY"),
    ("syr", 2, "uplo N alpha X incX A lda"),
    ("trmv", 2, "uplo trans diag N A lda X incX"),
    ("trsv", 2, "uplo trans diag N A lda X incX"),
    ("gemm", 3, "transA transB M N K alpha A lda B ldb beta C ldc"),
    ("symm", 3, "side uplo M N alpha A lda B ldb beta C ldc"),
    ("syrk", 3, "uplo trans N K alpha A lda beta C ldc"),
    ("syr2k", 3, "uplo trans N K alpha A lda B ldb beta C ldc"),
    ("trmm", 3, "side uplo trans diag M N alpha A lda B ldb"),
    ("trsm", 3, "side uplo trans diag M N alpha A lda B ldb"),
    ("lacpy", 0, "uplo M N A lda B ldb"),
    ("laswp", 0, "N A lda K1 K2 ipiv incX"),
    ("getrf", 0, "M N A lda ipiv info"),
    ("getrs", 0, "trans N nrhs A lda ipiv B ldb info"),
    ("potrf", 0, "uplo N A lda info"),
    ("potrs", 0, "uplo N nrhs A lda B ldb info"),
    ("trtri", 0, "uplo diag N A lda info"),
    ("geqrf", 0, "M N A lda tau work lwork info"),
];

/// The names under which programs call `routine` (such as "dgemm"), with their arguments; `None` if it is none
/// of these.
pub fn symbols(routine: &str) -> Option<Vec<Symbol>> {
    let (base, precision) = match routine.strip_prefix('i') {
        Some(rest) if rest.ends_with("amax") && rest.len() == 5 => ("amax", rest.chars().next()?),
        Some(_) => return None,
        None => (routine.get(1..)?, routine.chars().next()?),
    };
    let (_, level, arguments) = ROUTINES.iter().find(|known| known.0 == base)?;
    if !"sdcz".contains(precision) || (base == "amax") != routine.starts_with('i') {
        return None;
    }
    let fortran: Vec<_> = arguments.split(' ').map(|name| fortran(name, precision)).collect();
    let named = |name: String| Symbol { name, style: Style::Fortran, arguments: fortran.clone() };
    let upper = routine.to_uppercase();
    let mut symbols: Vec<_> =
        [format!("{routine}_"), format!("{routine}__"), routine.to_string(), upper].map(named).into();
    if *level > 0 {
        let layout = (*level > 1).then(|| Argument { name: "layout".into(), of: Type::Int32 });
        let c = arguments.split(' ').map(|name| c(name, precision));
        let arguments = layout.into_iter().chain(c).collect();
        symbols.push(Symbol { name: format!("cblas_{routine}"), style: Style::C, arguments });
    }
    Some(symbols)
}

/// Everything is passed by reference.
fn fortran(name: &str, precision: char) -> Argument {
    let of = match sort(name) {
        Sort::Flag => Type::CharAt,
        Sort::Count => Type::Int32At,
        Sort::Scalar if precision == 'd' => Type::DoubleAt,
        Sort::Scalar if precision == 's' => Type::FloatAt,
        Sort::Scalar | Sort::Array => Type::Pointer,
    };
    Argument { name: name.into(), of }
}

/// Arrays and complex numbers are passed by reference.
fn c(name: &str, precision: char) -> Argument {
    let of = match sort(name) {
        Sort::Flag | Sort::Count => Type::Int32,
        Sort::Scalar if precision == 'd' => Type::Double,
        Sort::Scalar if precision == 's' => Type::Float,
        Sort::Scalar | Sort::Array => Type::Pointer,
    };
    Argument { name: name.into(), of }
}

enum Sort {
    Flag,
    Count,
    Scalar,
    Array,
}

fn sort(name: &str) -> Sort {
    match name {
        "trans" | "transA" | "transB" | "uplo" | "side" | "diag" => Sort::Flag,
        "alpha" | "beta" => Sort::Scalar,
        "M" | "N" | "K" | "K1" | "K2" | "nrhs" | "lwork" => Sort::Count,
        _ if name.starts_with("ld") || name.starts_with("inc") => Sort::Count,
        _ => Sort::Array,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routine_has_its_names_and_arguments() {
        let found = symbols("dgemm").unwrap();
        let names: Vec<_> = found.iter().map(|symbol| &symbol.name[..]).collect();
        assert_eq!(names, ["dgemm_", "dgemm__", "dgemm", "DGEMM", "cblas_dgemm"]);
        let cblas = &found[4].arguments;
        assert_eq!((&cblas[0].name[..], &cblas[6].name[..], cblas[6].of), ("layout", "alpha", Type::Double));
        assert_eq!(found[0].arguments[2], Argument { name: "M".into(), of: Type::Int32At });
        assert_eq!(symbols("idamax").unwrap()[4].name, "cblas_idamax");
        assert_eq!(symbols("dlacpy").unwrap().len(), 4);
        for none in ["damax", "iamax", "xgemm", "gemm", "", "d", "idgemm", "é"] {
            assert!(symbols(none).is_none(), "{none}");
        }
    }
}
