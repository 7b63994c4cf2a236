#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package, installed by pip into an environment of its own, against the program.
# Usage: run.sh STEPCAST ROOT BUILD_DIR PYTHON
set -euo pipefail
stepcast=$1 root=$2 build=$3 python=$4
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# pip builds where the sources are; the tree stays as it is.
mkdir -p "$made/tree/simulator"
cp -r "$root/CMakeLists.txt" "$root/pyproject.toml" "$root/configs" "$root/hardware_profiles" "$made/tree/"
cp -r "$root/simulator/python" "$made/tree/simulator/"
"$python" -m venv --system-site-packages "$made/venv"
STEPCAST_BUILD_DIR=$build "$made/venv/bin/pip" install --quiet --no-index --no-build-isolation --no-deps "$made/tree"
cd "$made"
STEPCAST=$stepcast STEPCAST_ROOT=$root "$made/venv/bin/python" "$root/tests/python/test_stepcast.py"
for example in "$root"/examples/python/*.py; do
  MPLBACKEND=agg MPLCONFIGDIR=$made "$made/venv/bin/python" "$example" "$made/plot.png" >"$made/said"
  [ -s "$made/plot.png" ] && [ -s "$made/said" ] || { echo "FAILED: $example draws nothing"; exit 1; }
done
