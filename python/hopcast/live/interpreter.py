"""The process of a run of an mpi4py program: all its ranks in this interpreter, each on a fiber of its own.

usage: python -m hopcast.live.interpreter JOB RESULT

The program and its modules, `mpi4py`, `sys.argv`, `sys.path` and the standard streams are each rank's own;
all other libraries are shared. mpi4py is the one that the user has installed; it finds hopcast as its MPI.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import site
import sys
import sysconfig
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path

from hopcast import standing
from hopcast.live import codes, generators, library, loggers, process, registries

EXTENSION = "mpi4py.MPI"


def main(job_path: str, result: str) -> None:
    """Runs the job; the process ends in it."""
    job = json.loads(Path(job_path).read_text())
    request = job["request"]
    path, *words = (os.fsdecode(bytes(word)) for word in job["command"])
    try:
        interface = find_interface()
        code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except (OSError, ImportError, SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f"{path}:{line}" if line else path
        Path(result).write_text(json.dumps({"error": f"{place}: {getattr(error, 'msg', error)}"}) + "\n")
        return
    core = load_library(interface)
    process.make_own(core)
    loggers.make_own()
    random_numbers = generators.Generators(core, request.get("seed", 1))
    program = Program(core, path, words, code, random_numbers)
    codes.share(program.libraries)
    Loading(core, program.folder)
    sys.meta_path[:0] = [Extension(core), random_numbers]
    functions = program.run, program.collect, program.place
    core.hopcast_interpreter.argtypes = [ctypes.c_char_p] * 2 + [ctypes.c_size_t] + [ctypes.py_object] * 3
    core.hopcast_interpreter(os.fsencode(job_path), os.fsencode(result), request["ranks"], *functions)


def find_interface() -> str:
    """Interface that the installed mpi4py was built for: "mpiabi" (the standard's), or a file of MPICH's."""
    spec = importlib.util.find_spec("mpi4py")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            "mpi4py is not installed for this Python, and the program imports it: "
            f"{sys.executable} -m pip install mpi4py"
        )
    folder = Path(next(iter(spec.submodule_search_locations)))
    for build in ("mpiabi", "mpich"):
        if list(folder.glob(f"MPI.{build}.*.so")):
            os.environ["MPI4PY_MPIABI"] = build
            return build if build == "mpiabi" else "libmpi.so.12"
    needs = {
        name
        for module in folder.glob("MPI.*.so")
        for name in ("libmpi_abi.so", "libmpich.so.12", "libmpi.so.12", "libmpi.so.40")
        if name.encode() in module.read_bytes()
    }
    for name, interface in (("libmpi_abi.so", "mpiabi"), ("libmpich.so.12", ""), ("libmpi.so.12", "")):
        if name in needs:
            return interface or name
    raise ImportError(
        f"mpi4py in {folder} was built for {', '.join(sorted(needs)) or 'an unknown MPI'}: hopcast runs the "
        "wheel from PyPI, or one that was built with MPICH or for the standard ABI"
    )


def load_library(interface: str) -> ctypes.PyDLL:
    """Makes hopcast's MPI library the one that mpi4py finds."""
    front = library.LIBRARY if interface == "mpiabi" else library.LIBRARIES / interface
    ctypes.CDLL(str(front), ctypes.RTLD_GLOBAL)
    core = ctypes.PyDLL(str(library.LIBRARY))
    if interface != "mpiabi":
        core.hopcast_speak_mpich()
    core.hopcast_raised.argtypes = [ctypes.c_char_p] * 2
    core.hopcast_pause.restype = ctypes.c_void_p
    core.hopcast_go_on.argtypes = [ctypes.c_void_p]
    return core


class Loading:
    """Loading of libraries, which is no computing of a rank: the first one loads them for all."""

    def __init__(self, core: ctypes.PyDLL, folder: str) -> None:
        self.core = core
        self.folder = folder
        self.load = importlib._bootstrap._find_and_load
        importlib._bootstrap._find_and_load = self.find_and_load

    def find_and_load(self, name: str, import_: Callable) -> types.ModuleType:
        """Imports a module that is not loaded yet."""
        main = sys.modules["__main__"]
        if getattr(main, "__loading__", False) or self.is_of_program(name):
            return self.load(name, import_)
        main.__loading__ = True
        paused = self.core.hopcast_pause()
        try:
            return self.load(name, import_)
        finally:
            self.core.hopcast_go_on(paused)
            main.__loading__ = False

    def is_of_program(self, name: str) -> bool:
        """True if a module lies beside the program, whose ranks each run it."""
        top = os.path.join(self.folder, name.partition(".")[0])
        return os.path.exists(f"{top}.py") or os.path.isdir(top)


class Program:
    """A program file, run once for each rank."""

    def __init__(
        self,
        core: ctypes.PyDLL,
        path: str,
        words: list[str],
        code: types.CodeType,
        random_numbers: generators.Generators,
    ) -> None:
        self.core = core
        self.path = path
        self.words = words
        self.code = code
        self.folder = os.path.dirname(os.path.abspath(path))
        self.base_path = [entry for entry in sys.path if entry not in ("", os.getcwd())]
        self.shared = set(sys.modules)
        self.libraries = _library_folders()
        self.random_numbers = random_numbers
        self.at_exit = AtExit()

    def run(self, rank: int, modules: dict[str, types.ModuleType]) -> int:
        """The life of a rank; gives its exit code. `modules` are its own."""
        module = types.ModuleType("__main__")
        module.__dict__.update(__file__=self.path, __builtins__=builtins, __cached__=None)
        modules["__main__"] = sys.modules["__main__"] = module
        sys.argv = [self.path, *self.words]
        sys.path = [self.folder, *self.base_path]
        sys.stdout, sys.stderr = Lines(1), Lines(2)
        sys.excepthook = sys.__excepthook__
        self.random_numbers.begin()
        self.at_exit.begin()
        try:
            exit_code = 0
            try:
                exec(self.code, module.__dict__)
            except SystemExit as end:
                exit_code = _exit_code(end)
            self.at_exit.run()
        except BaseException as error:
            self.raised(rank, error)
        sys.stdout.end()
        sys.stderr.end()
        return exit_code

    def raised(self, rank: int, error: BaseException) -> None:
        """Says what a rank has raised, and ends the run."""
        step = error.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename == __file__:
            step = step.tb_next
        if sys.excepthook is sys.__excepthook__:
            lines = _formatted(error, step)
            sys.stdout.end()
            sys.stderr.write(f"rank {rank}: {''.join(lines)}")
        else:
            sys.excepthook(type(error), error, step)
            sys.stdout.end()
        sys.stderr.end()
        place = ""
        for frame in traceback.extract_tb(step):
            if frame.filename.startswith(self.folder):
                place = f"{frame.filename}:{frame.lineno}"
        said = f": {error}" if str(error) else ""
        self.core.hopcast_raised(f"{type(error).__name__}{said}".encode(errors="replace"), os.fsencode(place))

    def collect(self, modules: dict[str, types.ModuleType]) -> None:
        """Puts the modules that a rank has loaded for itself to its own."""
        for name, module in list(sys.modules.items()):
            if name in self.shared or name in modules:
                continue
            if self.is_own(name, module):
                modules[name] = module
            else:
                self.shared.add(name)

    def place(self) -> str:
        """Line of its program at which the running rank stands."""
        return standing.place_of(sys._getframe(1), *self.libraries) or ""

    def is_own(self, name: str, module: types.ModuleType) -> bool:
        """True if each rank has a copy of a module: those of the program, and mpi4py with its options."""
        top = name.partition(".")[0]
        if top == "mpi4py":
            return name != "mpi4py._mpiabi"
        file = getattr(module, "__file__", None)
        return (
            bool(file) and file.endswith(".py") and top != "hopcast" and not file.startswith(self.libraries)
        )


def _formatted(error: BaseException, step: types.TracebackType | None) -> Iterator[str]:
    """Lines of a traceback, without those of this file."""
    said = traceback.TracebackException(type(error), error, step)
    told: traceback.TracebackException | None = said
    while told is not None:
        told.stack[:] = [frame for frame in told.stack if frame.filename != __file__]
        told = told.__cause__ or told.__context__
    return said.format()


def _library_folders() -> tuple[str, ...]:
    """Folders of modules that ranks share: the standard library and installed packages."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {site.getusersitepackages(), *site.getsitepackages(), os.path.dirname(os.__file__)}
    return tuple(os.path.join(folder, "") for folder in folders)


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


class Lines(io.TextIOBase):
    """A standard stream of a rank: lines go out whole, in the order of simulated time."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.begun: list[str] = []

    @property
    def buffer(self) -> io.FileIO:
        """For bytes, which go out at once."""
        return io.FileIO(self.descriptor, "wb", closefd=False)

    def fileno(self) -> int:
        return self.descriptor

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.begun.append(text)
        if "\n" in text:
            whole, _, rest = "".join(self.begun).rpartition("\n")
            self.begun = [rest] if rest else []
            self._put(whole + "\n")
        return len(text)

    def end(self) -> None:
        """Writes a line that has been begun as well."""
        text, self.begun = "".join(self.begun), []
        self._put(text)

    def _put(self, text: str) -> None:
        rest = text.encode("utf-8", "backslashreplace")
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]


class AtExit:
    """`atexit` for each rank: what a rank registers is run when it ends."""

    def __init__(self) -> None:
        atexit.register, atexit.unregister = self.register, self.unregister

    def begin(self) -> None:
        """A rank begins: its list is kept with its other variables, in its main module."""
        sys.modules["__main__"].__atexit__ = []

    def register(self, function, /, *args, **kwargs):
        """As `atexit.register`."""
        sys.modules["__main__"].__atexit__.append((function, args, kwargs))
        return function

    def unregister(self, function) -> None:
        """As `atexit.unregister`."""
        kept = sys.modules["__main__"].__atexit__
        kept[:] = [entry for entry in kept if entry[0] != function]

    def run(self) -> None:
        """Runs what the rank has registered, last first."""
        kept = sys.modules["__main__"].__atexit__
        while kept:
            function, args, kwargs = kept.pop()
            function(*args, **kwargs)


class Extension(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds mpi4py's extension module: loaded once, begun by each rank as mpi4py begins a process."""

    def __init__(self, core: ctypes.PyDLL) -> None:
        self.core = core
        self.module: types.ModuleType | None = None
        self.original: importlib.abc.Loader | None = None

    def find_spec(self, name, path=None, target=None):
        """The specification of the module, by this loader."""
        if name != EXTENSION:
            return None
        if self.module is not None:
            return importlib.machinery.ModuleSpec(name, self)
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self.original, spec.loader = spec.loader, self
                return spec
        return None

    def create_module(self, spec):
        """The module: of the first rank's import, for all."""
        return self.original.create_module(spec) if self.module is None else self.module

    def exec_module(self, module) -> None:
        """Runs its beginning for this rank."""
        if self.module is None:
            self.original.exec_module(module)
            self.module = module
            registries.make_own(self.core, module)
        else:
            _begin(module)


def _begin(MPI: types.ModuleType) -> None:
    """Initialises MPI as mpi4py does when a process imports it, by the options in the rank's `mpi4py.rc`."""
    rc = sys.modules["mpi4py"].rc

    def option(name: str, default):
        value = os.environ.get(f"MPI4PY_RC_{name.upper()}")
        if value is None:
            return getattr(rc, name, default)
        return {"0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}.get(
            value.lower(), value.lower()
        )

    if not MPI.Is_initialized() and option("initialize", True) in (True, "yes"):
        if option("threads", True) in (True, "yes"):
            level = option("thread_level", "multiple")
            MPI.Init_thread(getattr(MPI, f"THREAD_{level.upper()}"))
        else:
            MPI.Init()
    if not MPI.Is_initialized() or MPI.Is_finalized():
        return
    handlers = {"exception": MPI.ERRORS_RETURN, "abort": MPI.ERRORS_ABORT, "fatal": MPI.ERRORS_ARE_FATAL}
    handler = handlers.get(option("errors", "exception"))
    if handler is not None:
        MPI.COMM_SELF.Set_errhandler(handler)
        MPI.COMM_WORLD.Set_errhandler(handler)


if __name__ == "__main__":
    main(*sys.argv[1:])
