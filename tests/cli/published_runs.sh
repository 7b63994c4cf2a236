#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of published totals in tests/validation/published_runs/README.md is what the program says of the experiments
# beside it. Usage: published_runs.sh STEPCAST ROOT, or published_runs.sh --fix STEPCAST ROOT to write the table.
set -euo pipefail
fix=no
[ "$1" != --fix ] || { fix=yes; shift; }
stepcast=$1
folder="$2/tests/validation/published_runs"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# The value of a column of a CSV of two lines without quotes.
column() { # name, file
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) at = i } NR == 2 { print $at }' "$2"
}
# A line of totals.csv as four lines: fields may be quoted.
fields() { sed -E ':a; s/^(([^"]*"[^"]*")*[^"]*),/\1\n/; ta; s/"//g' <<<"$1"; }
row() { # file, GPU-hours, configuration, source
  "$stepcast" project "$folder/$1.yaml" --format csv >"$made/csv" || [ $? -eq 4 ]
  awk -v file="$1" -v published="$2" -v configuration="$3" -v source="$4" \
    -v hours="$(column gpu_hours "$made/csv")" -v days="$(column days "$made/csv")" \
    -v low="$(column days_80_low "$made/csv")" -v high="$(column days_80_high "$made/csv")" \
    -v goodput="$(column goodput "$made/csv")" 'BEGIN {
      printf "| `%s` | %.2f M | %.2f M | %.2f to %.2f M | %+.0f %% | %s | %s | %s |\n", file, published / 1e6,
        hours / 1e6, hours * low / days / 1e6, hours * high / days / 1e6, 100 * (hours / published - 1),
        (goodput == 1 ? "none lost" : sprintf("%.1f %%", 100 * goodput)), configuration, source }'
}
table() {
  sed 1d "$folder/totals.csv" | while IFS= read -r line; do
    mapfile -t of < <(fields "$line")
    [ "${#of[@]}" -eq 4 ] || { echo "totals.csv: $line has ${#of[@]} fields" >&2; exit 1; }
    row "${of[@]}"
  done
}
table >"$made/rows"
awk -v rows="$made/rows" '
  /^<!-- end -->/ { inside = 0 }
  !inside { print }
  /^\|---/ { inside = 1; while ((getline line < rows) > 0) print line }' "$folder/README.md" >"$made/readme"
if [ $fix = yes ]; then
  cp "$made/readme" "$folder/README.md"
elif ! diff -u "$folder/README.md" "$made/readme"; then
  echo "FAILED: the table is not what the program says (now above with -, says with +); $0 --fix writes it"
  exit 1
fi
