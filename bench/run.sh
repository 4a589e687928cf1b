#!/usr/bin/env bash
# Every benchmark, one after the other; BIN is the folder of the built package's commands.
# usage: bench/run.sh BIN
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:?usage: bench/run.sh BIN}

cargo bench --package bench
cargo bench --package network --bench routes
cargo bench --package workload --bench dumpi
"$bin/python" bench/matrix.py
"$bin/python" bench/speed.py
"$bin/python" bench/replay.py
"$bin/python" bench/python_calls.py
"$bin/python" bench/live.py
"$bin/python" bench/mpi4py_calls.py
"$bin/python" bench/recorder.py
"$bin/python" bench/calibrate_fit.py
"$bin/python" bench/noise.py
# The rates of this machine, watched: see docs/regress.md.
"$bin/hopcast" regress add out/bench/*.csv --cluster "bench on $(hostname)" --database out/regress.sqlite
"$bin/hopcast" regress test --cluster "bench on $(hostname)" --database out/regress.sqlite
