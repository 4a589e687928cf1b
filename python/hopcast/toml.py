"""TOML of the standard library, or of the library that it comes from where Python is older than 3.11."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["tomllib"]
