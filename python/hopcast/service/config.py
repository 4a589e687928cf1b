"""Configuration file of a service for a group: TOML, of which every key and value is checked."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ByteSize, TypeAdapter
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from hopcast import core, text_file
from hopcast.errors import InputError
from hopcast.service import exposure
from hopcast.service.accounts import address_of, name_of
from hopcast.service.places import scheduler_of
from hopcast.service.settings import Accounts, Encryption, Limits, Settings, SignIn, Smtp
from hopcast.toml import tomllib

_DAY_S = 24 * 3600.0
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Key:
    """A key of the file."""

    read: Callable[[Any], Any]
    """Value of what the file says; raises `ValueError` for what is not allowed."""
    allowed: str
    """Words for all that is allowed."""
    default: Any = None
    """Value where the file says nothing."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError
    return value.strip()


def _folder(value: Any) -> Path:
    if not os.path.isabs(_text(value)):
        raise ValueError
    return Path(value)


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    return read


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _one_of(*names: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError
        return value

    return read


def _list_of(read_one: Callable[[Any], Any]) -> Callable[[Any], tuple]:
    def read(value: Any) -> tuple:
        if not isinstance(value, list):
            raise ValueError
        return tuple(read_one(one) for one in value)

    return read


def _seconds(value: Any) -> float:
    days = re.fullmatch(r"(\d+(?:\.\d+)?) ?d", _text(value))
    try:
        seconds = float(days[1]) * _DAY_S if days else core.seconds("", _text(value))
    except InputError:
        raise ValueError from None
    if not 0 < seconds < 10**10:
        raise ValueError
    return seconds


def _bytes(value: Any) -> int:
    # A number without a unit is an error, as everywhere in hopcast's files.
    if not re.fullmatch(r"[0-9.]+ ?[kMGTP]i?B", _text(value)):
        raise ValueError
    size = int(TypeAdapter(ByteSize).validate_python(value))
    if not 0 < size < 2**60:
        raise ValueError
    return size


def _listen(value: Any) -> tuple[str, int]:
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:]+)\]|([^:\[\]]+)):(\d{1,5})", _text(value))
    if found is None or int(found[3]) >= 2**16:
        raise ValueError
    host = "127.0.0.1" if found[2] == "localhost" else found[1] or found[2]
    return str(ipaddress.ip_address(host)), int(found[3])


def _public_url(value: Any) -> str:
    parts = urlsplit(_text(value))
    is_bare = parts.path in ("", "/") and not parts.query and not parts.fragment and "@" not in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_bare:
        raise ValueError
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _network(value: Any) -> str:
    text = _text(value)
    return str(ipaddress.ip_network(text)) if "/" in text else str(ipaddress.ip_address(text))


def _database(value: Any) -> URL:
    try:
        url = make_url(_text(value))
    except ArgumentError:
        raise ValueError from None
    if url.drivername not in _DRIVERS or url.password is not None:
        raise ValueError
    return url.set(drivername=_DRIVERS[url.drivername])


def _address(value: Any) -> str:
    address = address_of(_text(value))
    if address is None:
        raise ValueError
    return address


def _name(value: Any) -> str:
    if len(_text(value)) > 200:
        raise ValueError
    return name_of(_text(value))


def _matching(pattern: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not re.fullmatch(pattern, _text(value)):
            raise ValueError
        return value

    return read


_COUNT = "a whole number from 1 to 1000000"
_TIME = 'a time with its unit: "90 s", "6 h", "30 d"'
_SIZE = 'a size with its unit: "8 GiB", "500 MB"'
_NAMES = "a list of addresses of e-mail, or of names that the proxy sends"


def _scheduler(value: Any) -> str | None:
    try:
        return scheduler_of(_text(value))
    except InputError:
        raise ValueError from None


KEYS = {
    "data": Key(_folder, "an absolute path"),
    "on": Key(_scheduler, '"local", or "dask:ADDRESS" with the address of a scheduler'),
    "workers": Key(_whole(1, 256), "a whole number from 1 to 256", 2),
    "server.listen": Key(
        _listen, 'an address and a port: "127.0.0.1:8421", "[::]:8421"', ("127.0.0.1", 8421)
    ),
    "server.public_url": Key(_public_url, '"https://HOST" or "https://HOST:PORT"; http, too'),
    "server.trusted_proxies": Key(
        _list_of(_network), 'a list of addresses and networks: ["127.0.0.1", "10.1.0.0/24"]', ()
    ),
    "database.url": Key(
        _database, '"postgresql://USER@HOST/NAME" or "sqlite:////PATH", with the password elsewhere'
    ),
    "database.password_file": Key(_folder, "an absolute path"),
    "database.password_env": Key(_text, "the name of a variable"),
    "limits.queued": Key(_whole(1, 10**6), _COUNT, Limits.waiting),
    "limits.cells": Key(_whole(1, 10**4), "a whole number from 1 to 10000", Limits.cells),
    "limits.cpu": Key(_seconds, _TIME, Limits.cpu_s),
    "limits.wall": Key(_seconds, _TIME, Limits.wall_s),
    "limits.grace": Key(_seconds, _TIME, Limits.grace_s),
    "limits.memory": Key(_bytes, _SIZE, Limits.memory_B),
    "limits.disk": Key(_bytes, _SIZE, Limits.disk_B),
    "limits.threads": Key(_whole(1, 1024), "a whole number from 1 to 1024", Limits.threads),
    "limits.kept": Key(_bytes, _SIZE),
    "limits.upload": Key(_bytes, _SIZE, Limits.upload_B),
    "limits.uploads": Key(_bytes, _SIZE, Limits.uploads_B),
    "retention.age": Key(_seconds, _TIME),
    "retention.size": Key(_bytes, _SIZE),
    "retention.uploads": Key(_seconds, _TIME, Settings.keep_uploads_s),
    "programs.enabled": Key(_switch, "true, false", False),
    "programs.processes": Key(_whole(16, 10**5), "a whole number from 16 to 100000", Limits.processes),
    "accounts.sign_in": Key(_one_of("local", "mail", "proxy"), '"local", "mail", "proxy"', "local"),
    "accounts.addresses": Key(_list_of(_name), _NAMES, ()),
    "accounts.domains": Key(
        _list_of(_matching(r"\*|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")),
        'a list of domains: ["example.org"]; ["*"] stands for all',
        (),
    ),
    "accounts.operators": Key(_list_of(_name), _NAMES, ()),
    "accounts.header": Key(_matching("[A-Za-z][A-Za-z0-9-]{0,99}"), "the name of a header", Accounts.header),
    "accounts.sign_out": Key(_matching("/.*|https?://.+"), 'a path or an address: "/oauth2/sign_out"'),
    "accounts.smtp.host": Key(_text, "the name or the address of a host"),
    "accounts.smtp.port": Key(_whole(1, 65535), "a whole number from 1 to 65535"),
    "accounts.smtp.encryption": Key(
        _one_of("starttls", "tls", "none"), '"starttls", "tls", "none"', "starttls"
    ),
    "accounts.smtp.sender": Key(_address, 'an address of e-mail: "hopcast@example.org"'),
    "accounts.smtp.user": Key(_text, "a name"),
    "accounts.smtp.password_file": Key(_folder, "an absolute path"),
    "accounts.smtp.password_env": Key(_text, "the name of a variable"),
}
"""All keys of the file."""


def read(file: Path) -> Settings:
    """Settings of a file. Raises `InputError`, which names the key, its value and what is allowed."""
    try:
        content = tomllib.loads(text_file.read(file))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file}: {error}") from error
    problems: list[str] = []
    values = {name: key.default for name, key in KEYS.items()} | dict(_values(content, "", problems))
    if not problems:
        problems = list(_contradictions(values))
    if problems:
        raise InputError("\n".join(f"{file}: {problem}" for problem in problems))
    try:
        return _settings(values)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _values(content: Mapping[str, Any], before: str, problems: list[str]) -> Any:
    """Full names and values of the keys of a section; what is wrong goes to `problems`."""
    for name, value in content.items():
        full = f"{before}{name}"
        is_section = any(key.startswith(f"{full}.") for key in KEYS)
        if full in KEYS:
            try:
                yield full, KEYS[full].read(value)
            except ValueError:
                problems.append(f"{full} = {value!r} is not allowed; allowed: {KEYS[full].allowed}")
        elif is_section and isinstance(value, dict):
            yield from _values(value, f"{full}.", problems)
        elif is_section:
            problems.append(f"{full} = {value!r} is a section: [{full}]")
        else:
            known = sorted({_next(key, before) for key in KEYS if key.startswith(before)})
            place = f"in [{before[:-1]}]" if before else "of the file"
            problems.append(f"unknown key {full}; known {place}: {', '.join(known)}")


def _next(key: str, before: str) -> str:
    """Name of a key, or of the section that holds it, in the section with this prefix."""
    return key[len(before) :].partition(".")[0]


def _contradictions(values: Mapping[str, Any]) -> Any:
    """Sentences about values that are allowed alone, but not together."""
    sign_in, (host, _) = values["accounts.sign_in"], values["server.listen"]
    if values["data"] is None:
        yield f"data is missing: {KEYS['data'].allowed}"
    if sign_in == "local" and not ipaddress.ip_address(host).is_loopback:
        yield (
            f"server.listen = '{host}' is open to others, but accounts.sign_in = 'local' has one user; "
            'allowed: an address of the loopback interface, or accounts.sign_in = "mail" or "proxy"'
        )
    if sign_in != "local" and values["server.public_url"] is None:
        yield f"server.public_url is missing: {KEYS['server.public_url'].allowed}"
    if sign_in == "mail":
        needed = ("accounts.smtp.host", "accounts.smtp.port", "accounts.smtp.sender")
        yield from (f"{key} is missing: {KEYS[key].allowed}" for key in needed if values[key] is None)
        if not (values["accounts.addresses"] or values["accounts.domains"] or values["accounts.operators"]):
            yield "accounts.domains, addresses and operators are empty: nobody could sign in"
        wrong = [*values["accounts.addresses"], *values["accounts.operators"]]
        yield from (
            f"accounts: '{name}' is no address of e-mail" for name in wrong if address_of(name) is None
        )
    if sign_in == "proxy" and not values["server.trusted_proxies"]:
        yield f"server.trusted_proxies is missing: {KEYS['server.trusted_proxies'].allowed}"
    for section in ("database", "accounts.smtp"):
        if values[f"{section}.password_file"] and values[f"{section}.password_env"]:
            yield f"{section}.password_file and {section}.password_env are both given; allowed: one of them"
    for key in ("database.password_file", "accounts.smtp.password_file"):
        file = values[key]
        if file is not None and (place := exposure.exposed(file)) is not None:
            yield f"{key} = '{file}' {exposure.words(file, place)}"
    if values["database.password_file"] and values["database.url"] is None:
        yield f"database.url is missing: {KEYS['database.url'].allowed}"


def _password(values: Mapping[str, Any], section: str) -> str | None:
    file, variable = values[f"{section}.password_file"], values[f"{section}.password_env"]
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{section}.password_file = '{file}': {error}") from error
    if variable is not None and variable not in os.environ:
        raise InputError(f"{section}.password_env = '{variable}': there is no such variable")
    return None if variable is None else os.environ[variable]


def _settings(values: Mapping[str, Any]) -> Settings:
    url, password = values["database.url"], _password(values, "database")
    if url is not None and password is not None:
        url = url.set(password=password)
    public = values["server.public_url"]
    hosts = (*_LOOPBACK, *([] if public is None else [str(urlsplit(public).hostname)]))
    return Settings(
        values["data"],
        values["workers"],
        _limits(values),
        keep_s=values["retention.age"],
        keep_B=values["retention.size"],
        hosts=hosts,
        cookie="__Host-hopcast" if (public or "").startswith("https:") else "hopcast",
        keep_uploads_s=values["retention.uploads"],
        database_url=url,
        listen=values["server.listen"],
        public_url=public,
        proxies=values["server.trusted_proxies"],
        accounts=_accounts(values),
        programs=values["programs.enabled"],
        scheduler=values["on"],
    )


def _limits(values: Mapping[str, Any]) -> Limits:
    return Limits(
        cpu_s=max(1, round(values["limits.cpu"])),
        wall_s=values["limits.wall"],
        grace_s=values["limits.grace"],
        memory_B=values["limits.memory"],
        disk_B=values["limits.disk"],
        threads=values["limits.threads"],
        processes=values["programs.processes"],
        waiting=values["limits.queued"],
        cells=values["limits.cells"],
        kept_B=values["limits.kept"],
        upload_B=values["limits.upload"],
        uploads_B=values["limits.uploads"],
    )


def _accounts(values: Mapping[str, Any]) -> Accounts:
    smtp = None
    if values["accounts.smtp.host"] is not None:
        smtp = Smtp(
            values["accounts.smtp.host"],
            values["accounts.smtp.port"],
            Encryption(values["accounts.smtp.encryption"]),
            values["accounts.smtp.sender"],
            values["accounts.smtp.user"],
            _password(values, "accounts.smtp"),
        )
    return Accounts(
        SignIn(values["accounts.sign_in"]),
        frozenset(values["accounts.addresses"]),
        frozenset(domain.lower() for domain in values["accounts.domains"]),
        frozenset(values["accounts.operators"]),
        values["accounts.header"].lower(),
        values["accounts.sign_out"],
        smtp,
    )
