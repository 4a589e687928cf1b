"""One experiment file on the testbed of two hosts and simulated: the whole path, and the comparison."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from made_up_experiments import TIMED
from real_mpi import ENVIRONMENT, works
from test_benchmarks import HPL
from test_experiments import HOPCAST, contents, experiment, results

TESTBED = Path(__file__).resolve().parents[1] / "testbed"
sys.path.insert(0, str(TESTBED))
import testbed  # noqa: E402


def refused() -> str:
    try:
        testbed.check()
    except testbed.CannotRun as reason:
        return str(reason)
    return "" if works("mpich") else "MPICH is not installed"


pytestmark = pytest.mark.skipif(bool(refused()), reason=refused() or "runs")

PIECES = "size,repetition\n" + "".join(f"{size},{turn}\n" for turn in range(3) for size in (1000, 300_000))


def test_the_same_file_on_two_hosts_and_simulated(tmp_path: Path) -> None:
    (tmp_path / "trips.py").write_text(TIMED)
    (tmp_path / "pieces.csv").write_text(PIECES)
    (tmp_path / "install.yaml").write_text(
        "launcher: mpiexec.mpich -n {ranks}\ncompiler: mpicc.mpich\nmonitoring: 500 ms\n"
    )
    run = ["experiment", "run", "trips.py", "--pieces", "pieces.csv"]
    hosts = ",".join(testbed.address(host) for host in range(2))
    words = [*HOPCAST, *run, "--install", "install.yaml", "-o", "real.zip", "--on", f"agent:agent:{hosts}"]
    bed = [sys.executable, TESTBED / "testbed.py", "star", "--hosts", "2", "--rate", "100mbit", "--"]
    done = subprocess.run(
        [*bed, *words], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    wired = "simulated:crossbar --compute none --ppn 1 --set 'nic.bandwidth=12.5 MB/s'"
    done = subprocess.run(
        [*HOPCAST, *run, "-o", "simulated.zip", "--on", wired], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    times = {}
    for name in ("real", "simulated"):
        rows = results(tmp_path / f"{name}.zip")
        assert [row["state"] for row in rows] == ["done"] * 6
        times[name] = [float(row["time_s"]) for row in rows if row["size"] == "300000"]
    # 300 kB there and back at 12.5 MB/s take 48 ms and headers; the bucket of the testbed lets 2 kB through.
    assert all(0.046 < time < 0.3 for time in times["real"])
    assert all(0.046 < time < 0.06 for time in times["simulated"])
    compared = experiment(tmp_path, "compare", "real.zip", "simulated.zip")
    assert compared.returncode == 0 and "size=300000" in compared.stdout, compared.stderr
    real = contents(tmp_path / "real.zip")
    info = yaml.safe_load(real["info.yaml"])
    assert len(info["nodes"]) == 2 and info["versions"][testbed.address(1)]["kernel"]
    assert set(contents(tmp_path / "simulated.zip")) - set(real) <= {
        name for name in contents(tmp_path / "simulated.zip") if name.startswith("information/")
    }
    assert real["experiment.py"] == TIMED and real["pieces.csv"] == PIECES


def test_hpl_runs_on_two_hosts(tmp_path: Path) -> None:
    (tmp_path / "xhpl.c").write_text(HPL)
    subprocess.run(["mpicc.mpich", "xhpl.c", "-o", "xhpl"], cwd=tmp_path, check=True)
    (tmp_path / "pieces.csv").write_text("matrix_size,proc_p,proc_q,process_per_node\n20000,1,2,1\n")
    (tmp_path / "install.yaml").write_text(
        "program: xhpl\nlauncher: mpiexec.mpich -n {ranks} -ppn {per_node}\n"
    )
    hosts = ",".join(testbed.address(host) for host in range(2))
    words = [
        "experiment",
        "run",
        "hpl",
        "--pieces",
        "pieces.csv",
        "--install",
        "install.yaml",
        "-o",
        "hpl.zip",
    ]
    bed = [sys.executable, TESTBED / "testbed.py", "star", "--hosts", "2", "--rate", "100mbit", "--"]
    done = subprocess.run(
        [*bed, *HOPCAST, *words, "--on", f"agent:agent:{hosts}"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = results(tmp_path / "hpl.zip")
    # Twenty columns of 160 kB, one after the other or both ways at once, over 12.5 MB/s.
    assert 0.12 < float(row["time_s"]) < 2 and row["check"] == "passed"
