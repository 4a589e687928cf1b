"""The stub of the compiled part says what the compiled part has, name by name and parameter by parameter."""

from __future__ import annotations

import ast
import inspect
from importlib import resources

import hopcast
from hopcast import _core

STUB = ast.parse(resources.files(hopcast).joinpath("_core.pyi").read_text())


def declared(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Public names of a module or class of the stub."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return {name: node for name, node in found.items() if not name.startswith("_")}


def parameters(function: ast.FunctionDef) -> list[str]:
    own = function.args
    return [each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)]


def test_the_stub_names_what_the_module_has() -> None:
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert set(declared(STUB.body)) == there


def test_functions_and_classes_have_the_parameters_and_members_of_the_stub() -> None:
    seen = 0
    for name, node in declared(STUB.body).items():
        value = getattr(_core, name)
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == list(inspect.signature(value).parameters), name
            seen += 1
        elif isinstance(node, ast.ClassDef):
            members = {member for member in vars(value) if not member.startswith("_")}
            assert set(declared(node.body)) == members, name
            seen += 1
        else:
            assert isinstance(value, (int, str, list, tuple, dict, type(None))), name
    assert seen > 10


def test_the_package_says_that_it_has_types() -> None:
    assert resources.files(hopcast).joinpath("py.typed").is_file()
