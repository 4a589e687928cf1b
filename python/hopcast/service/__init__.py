"""`hopcast serve`: runs that are submitted, watched, read and shared through a browser or by HTTP.

Patterns, traces and platform files are data; nothing that a user sends is executed, unless an operator has
programs run in a sandbox. Modules, lowest first:

- `settings`: the limits of a run and the place of the data; `config`: the file that says them for a group;
- `store`: runs, users, tokens and uploads in a database;
- `admission`: the check of a request that comes from elsewhere, in particular of the files that it names;
- `confinement`: the kernel's walls around the process of a run;
- `sandbox`: those around programs; `leavings`: files that a hostile one leaves;
- `cgroups`: limits of all processes of a run together;
- `process`: that process; `pool`: the workers that start, limit and end such processes;
- `accounts`, `codes`, `mail`: users of a group, and the codes by which they sign in;
- `proxy`: what a proxy in front says of users and clients;
- `api`, `pages`, `sign_in`: the HTTP interface and what a browser shows; `app`: both together;
- `client`: the other side, for `hopcast submit` and `hopcast fetch`.
"""

from __future__ import annotations

from importlib.util import find_spec

from hopcast.errors import InputError

_NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "multipart")


def check_installed() -> None:
    """Raises `InputError`, which names the command that helps, where libraries of the service are missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"hopcast serve needs {', '.join(missing)}, which is not installed: pip install 'hopcast[serve]'"
        )
