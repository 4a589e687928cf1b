"""A program file: Python that offers `main(comm)`."""

import contextlib
import runpy
import sys
from pathlib import Path

from hopcast.errors import InputError
from hopcast.program.process import place_of_error


def load(path, name="main"):
    """The rank function of a program file, or another function of it."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such program")
    with _importing_beside(path):
        try:
            names = runpy.run_path(str(path), run_name=path.stem)
        except SyntaxError as error:
            raise InputError(f"{path}:{error.lineno}: {error.msg}") from error
        except (Exception, SystemExit) as error:
            where = place_of_error(error) or path
            said = f": {error}" if str(error) else ""
            raise InputError(f"{where}: reading the program raised {type(error).__name__}{said}") from error
    function = names.get(name)
    if not callable(function):
        raise InputError(
            f"{path}: no function {name}(comm): a program file defines one, which runs once per rank"
        )
    return function


@contextlib.contextmanager
def _importing_beside(path):
    """Lets the program import its neighbours, as `python program.py` does."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextlib.contextmanager
def arguments(path, words):
    """`sys.argv` as the program would see it on a command line."""
    before = sys.argv
    sys.argv = [str(path), *map(str, words)]
    try:
        yield
    finally:
        sys.argv = before
