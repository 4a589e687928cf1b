"""The configuration file: each key is read, each wrong one is named with its value and what is allowed."""

from __future__ import annotations

from pathlib import Path

import in_process
import pytest

from hopcast.errors import InputError
from hopcast.service import config
from hopcast.service.settings import Encryption, Limits, Settings, SignIn

DOCS = Path(__file__).resolve().parents[2] / "docs" / "service-groups.md"

GROUP = """
data = "/srv/hopcast"
workers = 3
on = "dask:tcp://scheduler.example.org:8786"
[server]
listen = "127.0.0.1:9000"
public_url = "https://Hopcast.example.org"
trusted_proxies = ["127.0.0.1", "10.1.0.0/24"]
[database]
url = "postgresql://hopcast@db.example.org/runs"
password_env = "HOPCAST_TEST_PASSWORD"
[limits]
queued = 7
cells = 8
cpu = "90 s"
wall = "2 h"
grace = "9 s"
memory = "3 GiB"
disk = "500 MB"
threads = 2
kept = "1 TiB"
upload = "1 GiB"
uploads = "2 GiB"
[retention]
age = "30 d"
size = "50 GiB"
uploads = "12 h"
[programs]
enabled = true
processes = 99
[accounts]
sign_in = "mail"
addresses = ["Ada@example.com"]
domains = ["Example.org"]
operators = ["root@example.org"]
sign_out = "/out"
header = "X-User"
[accounts.smtp]
host = "mail.example.org"
port = 587
sender = "hopcast@example.org"
encryption = "tls"
user = "hopcast"
password_file = "{file}"
"""


def read(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "service.toml"
    file.write_text(text)
    return config.read(file)


def problem(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    return str(raised.value)


def test_every_key_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPCAST_TEST_PASSWORD", "of the database")
    (tmp_path / "password").write_text("of the mail server\n")
    found = read(tmp_path, GROUP.replace("{file}", str(tmp_path / "password")))
    assert (found.data, found.workers, found.listen) == (Path("/srv/hopcast"), 3, ("127.0.0.1", 9000))
    assert found.public_url == "https://hopcast.example.org" and found.is_encrypted
    assert "hopcast.example.org" in found.hosts and found.cookie == "__Host-hopcast"
    assert found.proxies == ("127.0.0.1", "10.1.0.0/24")
    shown = "postgresql+psycopg://hopcast:of the database@db.example.org/runs"
    assert (
        found.database.render_as_string(hide_password=False).replace("%20", " ").replace("+the", " the")
        == shown
    )
    assert found.limits == Limits(
        cpu_s=90,
        wall_s=7200.0,
        grace_s=9.0,
        memory_B=3 << 30,
        disk_B=500_000_000,
        threads=2,
        processes=99,
        waiting=7,
        cells=8,
        kept_B=1 << 40,
        upload_B=1 << 30,
        uploads_B=2 << 30,
    )
    assert (found.keep_s, found.keep_B, found.keep_uploads_s) == (30 * 86400.0, 50 << 30, 43200.0)
    assert found.programs and found.scheduler == "tcp://scheduler.example.org:8786"
    accounts = found.accounts
    assert accounts.sign_in is SignIn.MAIL and accounts.sign_out == "/out" and accounts.header == "x-user"
    assert accounts.addresses == {"ada@example.com"} and accounts.domains == {"example.org"}
    assert accounts.operators == {"root@example.org"}
    smtp = accounts.smtp
    assert smtp is not None and smtp.encryption is Encryption.TLS and smtp.password == "of the mail server"
    assert (smtp.host, smtp.port, smtp.user) == ("mail.example.org", 587, "hopcast")
    assert "password" not in repr(smtp) and "of the database" not in repr(found)


def test_what_is_left_out_is_as_without_a_file(tmp_path: Path) -> None:
    assert read(tmp_path, 'data = "/srv/hopcast"') == Settings(Path("/srv/hopcast"))


def test_every_key_has_a_value_above_and_stands_in_the_guide() -> None:
    from hopcast.toml import tomllib

    def names(content: dict, before: str = "") -> list[str]:
        return [
            full
            for key, value in content.items()
            for full in (names(value, f"{before}{key}.") if isinstance(value, dict) else [f"{before}{key}"])
        ]

    missing = {"database.password_file", "accounts.smtp.password_env"}
    assert set(names(tomllib.loads(GROUP))) == set(config.KEYS) - missing
    text = DOCS.read_text()
    assert not [key for key in config.KEYS if f"`{key}`" not in text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dta = 1", "unknown key dta; known of the file: accounts, data, database, limits, on, programs"),
        (
            "[limits]\nmemroy = '1 GiB'",
            "unknown key limits.memroy; known in [limits]: cells, cpu, disk, grace, kept, memory",
        ),
        (
            "[accounts.smtp]\nhots = 1",
            "unknown key accounts.smtp.hots; known in [accounts.smtp]: encryption, host",
        ),
        ("limits = 3", "limits = 3 is a section: [limits]"),
        ("workers = '2'", "workers = '2' is not allowed; allowed: a whole number from 1 to 256"),
        ("workers = true", "workers = True is not allowed"),
        ("workers = 0", "workers = 0 is not allowed"),
        ("on = 'dask'", 'on = \'dask\' is not allowed; allowed: "local", or "dask:ADDRESS"'),
        ("on = 'slurm:x'", "on = 'slurm:x' is not allowed"),
        ("data = 'here'", "data = 'here' is not allowed; allowed: an absolute path"),
        ("[limits]\nmemory = 8", 'limits.memory = 8 is not allowed; allowed: a size with its unit: "8 GiB"'),
        ("[limits]\nmemory = '8'", "limits.memory = '8' is not allowed"),
        ("[limits]\nmemory = '-8 GiB'", "limits.memory = '-8 GiB' is not allowed"),
        ("[limits]\nwall = '6'", "limits.wall = '6' is not allowed; allowed: a time with its unit: \"90 s\""),
        ("[limits]\nwall = '0 s'", "limits.wall = '0 s' is not allowed"),
        ("[retention]\nage = 'nan d'", "retention.age = 'nan d' is not allowed"),
        ("[server]\nlisten = 'example.org:1'", "server.listen = 'example.org:1' is not allowed"),
        (
            "[server]\nlisten = '127.0.0.1'",
            "server.listen = '127.0.0.1' is not allowed; allowed: an address and",
        ),
        ("[server]\nlisten = '127.0.0.1:70000'", "server.listen = '127.0.0.1:70000' is not allowed"),
        ("[server]\npublic_url = 'example.org'", "server.public_url = 'example.org' is not allowed"),
        ("[server]\npublic_url = 'https://a.b/c'", "server.public_url = 'https://a.b/c' is not allowed"),
        ("[server]\ntrusted_proxies = ['proxy']", "server.trusted_proxies = ['proxy'] is not allowed"),
        (
            "[server]\ntrusted_proxies = '::1'",
            "server.trusted_proxies = '::1' is not allowed; allowed: a list",
        ),
        ("[database]\nurl = 'mysql://a@b/c'", "database.url = 'mysql://a@b/c' is not allowed"),
        ("[database]\nurl = 'postgresql://a:secret@b/c'", "with the password elsewhere"),
        (
            "[accounts]\nsign_in = 'password'",
            "accounts.sign_in = 'password' is not allowed; allowed: \"local\"",
        ),
        ("[accounts]\ndomains = ['a b']", "accounts.domains = ['a b'] is not allowed"),
        ("[accounts]\nheader = 'X User'", "accounts.header = 'X User' is not allowed"),
        ("[accounts.smtp]\nport = 0", "accounts.smtp.port = 0 is not allowed"),
        ("[accounts.smtp]\nsender = 'me'", "accounts.smtp.sender = 'me' is not allowed"),
        ("[accounts.smtp]\nencryption = 'ssl'", "accounts.smtp.encryption = 'ssl' is not allowed"),
        ("workers = 1", "data is missing: an absolute path"),
        ("[server]\nlisten = '0.0.0.0:80'", "is open to others, but accounts.sign_in = 'local' has one user"),
        ("[accounts]\nsign_in = 'proxy'", "server.trusted_proxies is missing"),
        ("[accounts]\nsign_in = 'mail'", "accounts.smtp.host is missing"),
        ("[accounts]\nsign_in = 'mail'", "operators are empty: nobody could sign in"),
        ("[accounts]\nsign_in = 'mail'", "server.public_url is missing"),
        ("[accounts]\nsign_in = 'mail'\naddresses = ['ada']", "'ada' is no address of e-mail"),
        ("[database]\npassword_env = 'A'\npassword_file = '/a'", "are both given; allowed: one of them"),
        ("data = ", "Invalid value (at end of document)"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str, tmp_path: Path) -> None:
    told = problem(tmp_path, text)
    assert words in told and told.startswith(str(tmp_path / "service.toml"))


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    told = problem(tmp_path, "workers = 0\nx = 1\n[limits]\ncpu = 1").splitlines()
    assert len(told) == 3


def test_a_password_that_is_not_there(tmp_path: Path) -> None:
    head = 'data = "/srv"\n[database]\nurl = "postgresql://a@b/c"\n'
    told = problem(tmp_path, head + f'password_file = "{tmp_path}/none"')
    assert "database.password_file" in told and "No such file" in told
    told = problem(tmp_path, head + 'password_env = "HOPCAST_NONE"')
    assert "database.password_env = 'HOPCAST_NONE': there is no such variable" in told
    with pytest.raises(InputError, match=r"none\.toml: No such file"):
        config.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--port", "1"], "--port and --config are both given; leave one out: the file has server.listen"),
        (["--workers", "2"], "--workers and --config are both given"),
        (["--no-browser"], "--no-browser and --config are both given"),
    ],
)
def test_options_beside_a_file_are_refused(flags: list[str], words: str, tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(f'data = "{tmp_path}/data"')
    done = in_process.hopcast("serve", "--config", str(file), *flags)
    assert done.returncode == 2 and words in done.stderr


def test_a_wrong_file_ends_with_2(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text("workers = 0")
    done = in_process.hopcast("serve", "--config", str(file))
    assert done.returncode == 2 and "workers = 0 is not allowed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_that_does_not_answer_ends_with_2(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    file = tmp_path / "service.toml"
    url = "postgresql://nobody@127.0.0.1:1/none"
    file.write_text(f'data = "{tmp_path}/data"\n[server]\nlisten = "127.0.0.1:0"\n[database]\nurl = "{url}"')
    done = in_process.hopcast("serve", "--config", str(file))
    assert done.returncode == 2 and "database" in done.stderr and "refused" in done.stderr
    assert "Traceback" not in done.stderr
