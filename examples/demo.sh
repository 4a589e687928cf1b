#!/usr/bin/env bash
# The demonstration: a compiled program as it is, two predictions of one algorithm side by side, and the replay of a
# real recording.
# usage: examples/demo.sh [DIRECTORY OF THE COMMAND hopcast]
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$(realpath "${1:-.venv/bin}"):$PATH"
data=${HOPCAST_DATA:-../shared/data}
out=out/demo
mkdir -p "$out"

heading() { printf '\n== %s\n\n' "$*"; }

heading "A program in C as it is: heat in a plate of 2,048 x 2,048 points, 256 ranks, its computing measured and scaled"
hopcast cc -O2 examples/heat.c -o "$out/heat" -lm
hopcast run hopper -n 256 --compute measured=2 --out "$out/heat-hopper" "$out/heat" 2048 50

heading "Cannon's algorithm, matrices of 32,768 x 32,768, 1,024 ranks on Hopper (a Gemini torus)"
hopcast run hopper -n 1024 --ppn 16 --out "$out/cannon-hopper" examples/cannon.py 32768

heading "The same program and processors on a fat tree of those years (mustang: InfiniBand, 40 Gbit/s)"
hopcast run mustang -n 1024 --ppn 16 --set compute.flop_rate="8.4 Gflop/s" --out "$out/cannon-fat-tree" \
  examples/cannon.py 32768

heading "Side by side"
hopcast compare "$out/cannon-hopper" "$out/cannon-fat-tree" --out "$out/cannon.html"

recording="$data/dumpi/LULESH-64ranks-hopper.tar.xz"
if [ -f "$recording" ]; then
  heading "LULESH, recorded on 64 ranks of Hopper, replayed where its ranks were"
  hopcast trace info "$recording"
  echo
  hopcast run hopper --placement recorded --out "$out/lulesh-hopper" "$recording"
else
  heading "No recording at $recording (\$HOPCAST_DATA names another place): LULESH is left out"
fi

heading "The reports"
ls -1 "$out"/*/report.html "$out/cannon.html"
