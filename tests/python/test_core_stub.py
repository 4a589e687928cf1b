"""The stub of the compiled part says what the compiled part has, name by name and parameter by parameter."""

from __future__ import annotations

import ast
import inspect
from importlib import resources
from typing import Any

import hopcast
from hopcast import _core

TYPES = {"int": ["int"], "str": ["str"], "str | None": ["str", "NoneType"]}
"""Types that the values of the module's constants may have, by annotation."""
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


def signature(function: ast.FunctionDef) -> inspect.Signature:
    """Signature of a function of the stub, without types: names, order, kinds and defaults."""
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    of_positional = [*[None] * (len(positional) - len(own.defaults)), *own.defaults]
    found = [
        parameter(argument, kind, default)
        for arguments, kind, defaults in (
            (own.posonlyargs, inspect.Parameter.POSITIONAL_ONLY, of_positional),
            (own.args, inspect.Parameter.POSITIONAL_OR_KEYWORD, of_positional[len(own.posonlyargs) :]),
            ([own.vararg] if own.vararg else [], inspect.Parameter.VAR_POSITIONAL, [None]),
            (own.kwonlyargs, inspect.Parameter.KEYWORD_ONLY, own.kw_defaults),
            ([own.kwarg] if own.kwarg else [], inspect.Parameter.VAR_KEYWORD, [None]),
        )
        for argument, default in zip(arguments, defaults, strict=False)
    ]
    return inspect.Signature(found)


def parameter(argument: ast.arg, kind: Any, default: ast.expr | None) -> inspect.Parameter:
    value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
    return inspect.Parameter(argument.arg, kind, default=value)


def test_the_stub_names_what_the_module_has() -> None:
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert set(declared(STUB.body)) == there


def test_functions_and_classes_have_the_parameters_and_members_of_the_stub() -> None:
    seen = 0
    for name, node in declared(STUB.body).items():
        value = getattr(_core, name)
        if isinstance(node, ast.FunctionDef):
            assert signature(node) == inspect.signature(value), name
            seen += 1
        elif isinstance(node, ast.ClassDef):
            members = {member for member in vars(value) if not member.startswith("_")}
            assert set(declared(node.body)) == members, name
            seen += 1
        else:
            assert isinstance(node, ast.AnnAssign)
            assert type(value).__name__ in TYPES[ast.unparse(node.annotation)], name
    assert seen > 10


def test_the_package_says_that_it_has_types() -> None:
    assert resources.files(hopcast).joinpath("py.typed").is_file()
