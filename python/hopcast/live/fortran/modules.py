"""The text of mpif.h and of the modules mpi and mpi_f08."""

from __future__ import annotations

from hopcast.live.fortran.table import HANDLES, Constant, Function, Parameter

_KINDS = """integer, parameter :: MPI_ADDRESS_KIND = 8, MPI_OFFSET_KIND = 8
integer, parameter :: MPI_COUNT_KIND = 8, MPI_INTEGER_KIND = 4
integer, parameter :: MPI_STATUS_SIZE = 8
integer, parameter :: MPI_SOURCE = 1, MPI_TAG = 2, MPI_ERROR = 3
logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.
logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.
integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1
"""

_NULL_FUNCTIONS = tuple(
    f"MPI_{kind}{name}"
    for kind in ("", "COMM_", "TYPE_", "WIN_")
    for name in ("NULL_COPY_FN", "DUP_FN", "NULL_DELETE_FN")
)

# Name in Fortran, shape, and the common block that is known by its address.
_PLACES = (
    ("MPI_BOTTOM", "", "hopcast_bottom"),
    ("MPI_IN_PLACE", "", "hopcast_in_place"),
    ("MPI_BUFFER_AUTOMATIC", "", "hopcast_automatic"),
    ("MPI_STATUS_IGNORE", "(MPI_STATUS_SIZE)", "hopcast_status_ignore"),
    ("MPI_STATUSES_IGNORE", "(MPI_STATUS_SIZE,1)", "hopcast_statuses_ignore"),
    ("MPI_ERRCODES_IGNORE", "(1)", "hopcast_errcodes_ignore"),
    ("MPI_UNWEIGHTED", "(1)", "hopcast_unweighted"),
    ("MPI_WEIGHTS_EMPTY", "(1)", "hopcast_weights_empty"),
)
_TEXT_PLACES = (
    ("MPI_ARGV_NULL", "(1)", "hopcast_argv_null"),
    ("MPI_ARGVS_NULL", "(1,1)", "hopcast_argvs_null"),
)


def mpif(constants: list[Constant]) -> str:
    """mpif.h, for fixed and free form: columns 7 to 72, no continued lines."""
    lines = []
    for line in _KINDS.splitlines():
        kind, _, pairs = line.partition(", parameter :: ")
        for pair in pairs.split(", "):
            lines += [f"{kind} {pair.split(' =')[0]}", f"parameter ({pair})"]
    for constant in constants:
        lines += [f"integer {constant.name}", f"parameter ({constant.name}={constant.value})"]
    for name, shape, block in _PLACES:
        lines += [f"integer {name}{shape}", f"common /{block}/ {name}"]
    for name, shape, block in _TEXT_PLACES:
        lines += [f"character*1 {name}{shape}", f"common /{block}/ {name}"]
    lines += [f"external {name}" for name in (*_NULL_FUNCTIONS, "MPI_CONVERSION_FN_NULL")]
    for prefix in ("MPI", "PMPI"):
        for name in ("WTIME", "WTICK"):
            lines += [f"double precision {prefix}_{name}", f"external {prefix}_{name}"]
        for name in ("AINT_ADD", "AINT_DIFF"):
            lines += [f"integer*8 {prefix}_{name}", f"external {prefix}_{name}"]
    assert all(len(line) <= 66 for line in lines), max(lines, key=len)
    return "".join(f"      {line}\n" for line in lines)


def mpi(functions: list[Function], constants: list[Constant]) -> str:
    """The module mpi: what mpif.h has, and an interface of each procedure."""
    lines = ["module mpi", "implicit none", "public", *_KINDS.splitlines()]
    lines += [f"integer, parameter :: {c.name} = {c.value}" for c in constants]
    for name, shape, block in _PLACES:
        lines += [f"integer :: {name}{shape}", f"common /{block}/ {name}"]
    for name, shape, block in _TEXT_PLACES:
        lines += [f"character(len=1) :: {name}{shape}", f"common /{block}/ {name}"]
    lines += [f"external :: {name}" for name in (*_NULL_FUNCTIONS, "MPI_CONVERSION_FN_NULL")]
    lines += ["interface", *_FUNCTIONS]
    for function in functions:
        if function.is_large or function.name in _SHAPED_BY_HAND:
            continue
        for prefix in ("MPI", "PMPI"):
            lines += _procedure(f"{prefix}_{function.name}", function, _Plain())
    lines += [*_BY_HAND, "end interface", *_SIZEOF, "end module mpi"]
    return "\n".join(lines) + "\n"


_FUNCTIONS = [
    line
    for prefix in ("MPI", "PMPI")
    for line in (
        *(f"double precision function {prefix}_{name}()\nend function" for name in ("Wtime", "Wtick")),
        *(
            f"function {prefix}_{name}({a}, {b}) result(sum)\nimport :: MPI_ADDRESS_KIND\n"
            f"integer(kind=MPI_ADDRESS_KIND), intent(in) :: {a}, {b}\n"
            "integer(kind=MPI_ADDRESS_KIND) :: sum\nend function"
            for name, a, b in (("Aint_add", "base", "disp"), ("Aint_diff", "addr1", "addr2"))
        ),
    )
]
_SHAPED_BY_HAND = frozenset(
    (
        "Init",
        "Init_thread",
        "Pcontrol",
        "Wtime",
        "Wtick",
        "Aint_add",
        "Aint_diff",
        "Info_create_env",
        "Comm_spawn",
        "Comm_spawn_multiple",
        "Status_f2f08",
        "Status_f082f",
        "Status_c2f",
        "Status_f2c",
        "Keyval_create",
        "Attr_put",
        "Attr_get",
        "Attr_delete",
        "Keyval_free",
    )
)
_INFO_ENV = "subroutine {0}_Info_create_env(info, ierror)\ninteger :: info, ierror\nend subroutine"
_BY_HAND = [
    text.format(prefix)
    for prefix in ("MPI", "PMPI")
    for text in (
        "subroutine {0}_Init(ierror)\ninteger :: ierror\nend subroutine",
        "subroutine {0}_Init_thread(required, provided, ierror)\n"
        "integer :: required, provided, ierror\nend subroutine",
        "subroutine {0}_Pcontrol(level)\ninteger :: level\nend subroutine",
        _INFO_ENV,
    )
]
_SIZEOF = [
    "interface MPI_Sizeof",
    "subroutine hopcast_sizeof(x, size, ierror) bind(c, name='hopcast_sizeof')",
    "type(*), dimension(..), intent(in) :: x",
    "integer, intent(out) :: size",
    "integer, optional, intent(out) :: ierror",
    "end subroutine",
    "end interface",
]


class _Plain:
    """Declarations of parameters in the module mpi."""

    ierror = "integer :: ierror"

    def imports(self, function: Function) -> str:
        """The names of the module that an interface needs."""
        return "import"

    def declared(self, p: Parameter, function: Function) -> list[str]:
        """The declaration of a parameter."""
        name = p.fortran_name
        match p.kind:
            case "buffer":
                return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"type(*), dimension(*) :: {name}"]
            case "text" | "text_out":
                return [f"character(len=*) :: {name}"]
            case "function":
                return [f"external :: {name}"]
            case "status":
                return [f"integer :: {name}(MPI_STATUS_SIZE)"]
            case "statuses":
                return [f"integer :: {name}(MPI_STATUS_SIZE,*)"]
            case "extra_state" | "attribute":
                return [f"integer(kind=MPI_ADDRESS_KIND) :: {name}"]
        kind = "logical" if p.is_logical else p.fortran_kind
        return [f"{kind} :: {name}{shape(p)}"]


def shape(p: Parameter) -> str:
    """The shape of an array."""
    if p.name == "ranges":
        return "(3,*)"
    is_array = p.array or p.name in ("weights", "sourceweights", "destweights")
    return "(*)" if is_array else ""


def _procedure(name: str, function: Function, style: _Plain) -> list[str]:
    """The interface of a subroutine."""
    names = ", ".join([*(p.fortran_name for p in function.parameters), "ierror"])
    lines = [f"subroutine {name}({names})", style.imports(function)]
    for p in function.parameters:
        lines += style.declared(p, function)
    return [*lines, style.ierror, "end subroutine"]


# The module mpi_f08.

_CALLBACKS = """
abstract interface
subroutine MPI_User_function(invec, inoutvec, len, datatype)
import
type(c_ptr), value :: invec, inoutvec
integer :: len
type(MPI_Datatype) :: datatype
end subroutine
subroutine MPI_User_function_c(invec, inoutvec, len, datatype)
import
type(c_ptr), value :: invec, inoutvec
integer(kind=MPI_COUNT_KIND) :: len
type(MPI_Datatype) :: datatype
end subroutine
subroutine MPI_Grequest_query_function(extra_state, status, ierror)
import
integer(kind=MPI_ADDRESS_KIND) :: extra_state
type(MPI_Status) :: status
integer :: ierror
end subroutine
subroutine MPI_Grequest_free_function(extra_state, ierror)
import
integer(kind=MPI_ADDRESS_KIND) :: extra_state
integer :: ierror
end subroutine
subroutine MPI_Grequest_cancel_function(extra_state, complete, ierror)
import
integer(kind=MPI_ADDRESS_KIND) :: extra_state
logical :: complete
integer :: ierror
end subroutine
subroutine MPI_Datarep_extent_function(datatype, extent, extra_state, ierror)
import
type(MPI_Datatype) :: datatype
integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
integer :: ierror
end subroutine
subroutine MPI_Datarep_conversion_function(userbuf, datatype, count, filebuf, position, extra_state, ierror)
import
type(c_ptr), value :: userbuf, filebuf
type(MPI_Datatype) :: datatype
integer :: count, ierror
integer(kind=MPI_OFFSET_KIND) :: position
integer(kind=MPI_ADDRESS_KIND) :: extra_state
end subroutine
"""
_ATTRIBUTE_CALLBACKS = """
subroutine MPI_{0}_copy_attr_function({1}, keyval, extra_state, attribute_val_in, &
attribute_val_out, flag, ierror)
import
type(MPI_{2}) :: {1}
integer :: keyval, ierror
integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
logical :: flag
end subroutine
subroutine MPI_{0}_delete_attr_function({1}, keyval, attribute_val, extra_state, ierror)
import
type(MPI_{2}) :: {1}
integer :: keyval, ierror
integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
end subroutine
"""
_ERROR_CALLBACK = """
subroutine MPI_{0}_errhandler_function({1}, error_code)
import
type(MPI_{0}) :: {1}
integer :: error_code
end subroutine
"""
_NULL_INTERFACE = """
subroutine MPI_{0}_NULL_COPY_FN({1}, keyval, extra_state, attribute_val_in, &
attribute_val_out, flag, ierror)
import
type(MPI_{2}) :: {1}
integer :: keyval, ierror
integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
logical :: flag
end subroutine
subroutine MPI_{0}_DUP_FN({1}, keyval, extra_state, attribute_val_in, &
attribute_val_out, flag, ierror)
import
type(MPI_{2}) :: {1}
integer :: keyval, ierror
integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
logical :: flag
end subroutine
subroutine MPI_{0}_NULL_DELETE_FN({1}, keyval, attribute_val, extra_state, ierror)
import
type(MPI_{2}) :: {1}
integer :: keyval, ierror
integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
end subroutine
"""
_CONVERSION_NULL = """
subroutine MPI_CONVERSION_FN_NULL(userbuf, datatype, count, filebuf, position, extra_state, ierror)
import
type(c_ptr), value :: userbuf, filebuf
type(MPI_Datatype) :: datatype
integer :: count, ierror
integer(kind=MPI_OFFSET_KIND) :: position
integer(kind=MPI_ADDRESS_KIND) :: extra_state
end subroutine
"""
_WITH_ATTRIBUTES = (("Comm", "comm", "Comm"), ("Type", "datatype", "Datatype"), ("Win", "win", "Win"))
_WITH_ERRORS = (("Comm", "comm"), ("File", "file"), ("Win", "win"), ("Session", "session"))

_F08_BY_HAND = {
    "Init": "subroutine {0}(ierror)\ninteger, optional :: ierror\nend subroutine",
    "Init_thread": "subroutine {0}(required, provided, ierror)\ninteger, intent(in) :: required\n"
    "integer :: provided\ninteger, optional :: ierror\nend subroutine",
    "Pcontrol": "subroutine {0}(level)\ninteger, intent(in) :: level\nend subroutine",
    "Info_create_env": "subroutine {0}(info, ierror)\nimport\ntype(MPI_Info) :: info\n"
    "integer, optional :: ierror\nend subroutine",
    "Status_f2f08": "subroutine {0}(f_status, f08_status, ierror)\nimport\n"
    "integer, intent(in) :: f_status(MPI_STATUS_SIZE)\ntype(MPI_Status) :: f08_status\n"
    "integer, optional :: ierror\nend subroutine",
    "Status_f082f": "subroutine {0}(f08_status, f_status, ierror)\nimport\n"
    "type(MPI_Status), intent(in) :: f08_status\ninteger :: f_status(MPI_STATUS_SIZE)\n"
    "integer, optional :: ierror\nend subroutine",
    "Comm_spawn": "subroutine {0}(command, argv, maxprocs, info, root, comm, intercomm, "
    "array_of_errcodes, ierror)\n"
    "import\ncharacter(len=*), intent(in) :: command, argv(*)\ninteger, intent(in) :: maxprocs, root\n"
    "type(MPI_Info), intent(in) :: info\ntype(MPI_Comm), intent(in) :: comm\ntype(MPI_Comm) :: intercomm\n"
    "integer :: array_of_errcodes(*)\ninteger, optional :: ierror\nend subroutine",
}
_NOT_IN_F08 = frozenset(
    (
        "Keyval_create",
        "Keyval_free",
        "Attr_put",
        "Attr_get",
        "Attr_delete",
        "Comm_spawn_multiple",
    )
) | frozenset(("Status_c2f", "Status_f2c", "Wtime", "Wtick", "Aint_add", "Aint_diff"))


class _F08(_Plain):
    """Declarations of parameters in the module mpi_f08."""

    ierror = "integer, optional :: ierror"

    def declared(self, p: Parameter, function: Function) -> list[str]:
        """The declaration of a parameter."""
        name = p.fortran_name
        given = ", intent(in)" if p.constant or p.stars == 0 else ""
        match p.kind:
            case "buffer" if name in ("baseptr", "buffer_addr"):
                return [f"type(c_ptr) :: {name}"]
            case "buffer":
                return super().declared(p, function)
            case "handle" | "handle_out" | "handles":
                return [f"type({p.base}){given} :: {name}{shape(p)}"]
            case "status":
                return [f"type(MPI_Status){given} :: {name}"]
            case "statuses":
                return [f"type(MPI_Status) :: {name}(*)"]
            case "function":
                return [f"procedure({_callback(p.base)}) :: {name}"]
            case "text":
                return [f"character(len=*), intent(in) :: {name}"]
        if p.kind in ("extra_state", "attribute", "text_out"):
            return super().declared(p, function)
        kind = "logical" if p.is_logical else p.fortran_kind
        return [f"{kind}{given} :: {name}{shape(p)}"]


def _callback(base: str) -> str:
    """Its abstract interface."""
    return base.removesuffix("_c") if base == "MPI_Datarep_conversion_function_c" else base


def mpi_f08(functions: list[Function], constants: list[Constant]) -> str:
    """The module mpi_f08."""
    lines = [
        "module mpi_f08",
        "use, intrinsic :: iso_c_binding, only: c_ptr, c_int",
        "implicit none",
        "public",
    ]
    lines += ["private :: c_int", *_KINDS.splitlines()]
    lines += _types()
    for c in constants:
        value = f"{c.handle}({c.value})" if c.handle else c.value
        lines.append(f"{f'type({c.handle})' if c.handle else 'integer'}, parameter :: {c.name} = {value}")
    for name, dimensions, block in _PLACES:
        if "STATUS" in name:
            array = "(1)" if name == "MPI_STATUSES_IGNORE" else ""
            lines += [f"type(MPI_Status) :: {name}{array}", f"common /{block}/ {name}"]
        else:
            lines += [f"integer :: {name}{dimensions}", f"common /{block}/ {name}"]
    for name, dimensions, block in _TEXT_PLACES:
        lines += [f"character(len=1) :: {name}{dimensions}", f"common /{block}/ {name}"]
    lines += [_CALLBACKS, *(_ATTRIBUTE_CALLBACKS.format(*words) for words in _WITH_ATTRIBUTES)]
    lines += [*(_ERROR_CALLBACK.format(*words) for words in _WITH_ERRORS), "end interface", "interface"]
    lines += [_NULL_INTERFACE.format(name.upper(), *rest) for name, *rest in _WITH_ATTRIBUTES]
    lines += [_CONVERSION_NULL, *_FUNCTIONS, "end interface", *_SIZEOF]
    lines += _generics(functions)
    return "\n".join([*lines, *_comparisons(), "end module mpi_f08"]) + "\n"


def _types() -> list[str]:
    """Handles and the status, as they lie in memory."""
    lines = []
    for handle in HANDLES:
        lines += [f"type, bind(c) :: {handle}", "integer(c_int) :: MPI_VAL", "end type"]
    fields = "integer(c_int) :: MPI_SOURCE, MPI_TAG, MPI_ERROR"
    return [
        *lines,
        "type, bind(c) :: MPI_Status",
        fields,
        "integer(c_int), private :: internal(5)",
        "end type",
    ]


def _generics(functions: list[Function]) -> list[str]:
    """Each name with the procedures of it: with counts of default integers, and of MPI_COUNT_KIND."""
    by_name = {function.name: function for function in functions}
    lines = []
    for function in functions:
        if function.is_large or function.name in _NOT_IN_F08:
            continue
        large = by_name.get(f"{function.name}_c")
        members = [function, large] if large and _differ(function, large) else [function]
        for prefix in ("MPI", "PMPI"):
            lines.append(f"interface {prefix}_{function.name}")
            for member in members:
                name = f"{prefix}_{member.name}_f08"
                if text := _F08_BY_HAND.get(member.name):
                    lines.append(text.format(name))
                else:
                    lines += _procedure(name, member, _F08())
            lines.append("end interface")
    return lines


def _differ(function: Function, large: Function) -> bool:
    """True if a compiler can tell the two apart, by the kind of a number or by the number of arguments."""
    kinds = [
        [p.fortran_kind == "integer" for p in f.parameters if p.kind in _NUMBERS] for f in (function, large)
    ]
    return kinds[0] != kinds[1]


_NUMBERS = ("value", "numbers", "number_out")


def _comparisons() -> list[str]:
    """Handles are equal where their integers are."""
    lines = []
    for operator, name in (("==", "equal"), ("/=", "differ")):
        lines.append(f"interface operator({operator})")
        lines += [f"module procedure {name}_{handle[4:].lower()}" for handle in HANDLES]
        lines.append("end interface")
    lines += [f"private :: {name}_{handle[4:].lower()}" for name in ("equal", "differ") for handle in HANDLES]
    lines.append("contains")
    for operator, name in (("==", "equal"), ("/=", "differ")):
        for handle in HANDLES:
            function = f"{name}_{handle[4:].lower()}"
            lines += [
                f"elemental logical function {function}(a, b)",
                f"type({handle}), intent(in) :: a, b",
                f"{function} = a%MPI_VAL {operator} b%MPI_VAL",
                "end function",
            ]
    return lines
