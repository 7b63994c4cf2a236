#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines of simulator/ and backends/ that the tests run: of each folder, of every file below the share that is
# asked for (90 %), and of all; the exit code is 1 if all are below it. Without the properties' thousands of
# rounds and what needs the release build. Some 25 minutes of one processor the first time.
#   scripts/coverage.sh          builds, runs the tests, reports
#   scripts/coverage.sh --report reports what was run
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wanted=90
source scripts/compiler_cache.sh
if [[ ${1:-} != --report ]]; then
  cmake --preset coverage "${compiler_cache[@]}" >/dev/null
  cmake --build --preset coverage
  find build/coverage -name '*.gcda' -delete
  ctest --preset coverage || echo "coverage.sh: some tests failed; what they ran counts" >&2
fi
gcovr --root . --filter simulator/ --filter backends/ --exclude-directories '.*CompilerId.*' --csv build/coverage/lines.csv \
  build/coverage
python3 - "$wanted" build/coverage/lines.csv <<'PYTHON'
import collections
import csv
import sys

wanted, table = float(sys.argv[1]), sys.argv[2]
folders = collections.defaultdict(lambda: [0, 0])
below = []
for row in csv.DictReader(open(table)):
    lines, run = int(row["line_total"]), int(row["line_covered"])
    if lines == 0:
        continue
    for name in (row["filename"].rsplit("/", 1)[0], "all"):
        folders[name][0] += lines
        folders[name][1] += run
    if 100 * run < wanted * lines:
        below.append((100 * run / lines, lines - run, row["filename"]))
print(f"{'folder':<40} {'lines':>7} {'run':>7}")
for name, (lines, run) in sorted(folders.items(), key=lambda folder: (folder[0] == "all", folder[0])):
    print(f"{name:<40} {lines:>7} {100 * run / lines:>6.1f}%")
print(f"\nfiles below {wanted:.0f} %, and their lines that no test runs")
for share, lines, name in sorted(below):
    print(f"{share:>6.1f}% {lines:>5}  {name}")
lines, run = folders["all"]
sys.exit(0 if 100 * run >= wanted * lines else 1)
PYTHON
