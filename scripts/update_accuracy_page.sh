#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites tests/validation/accuracy.html, measured runs beside their projections by source, GPU, family, software,
# format and population. With --check it only says whether the page is up to date, and whether a group has become
# worse by two points since the last release, tests/validation/last_release.json, that
# tests/validation/worse_groups.txt does not name. With --release it rewrites what the next release is held against.
# Usage: update_accuracy_page.sh [--check | --release] [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/measured_runs.sh
source "$root/scripts/measured_runs.sh"
task=write
case "${1:-}" in
  --check | --release) task=${1#--}; shift ;;
esac
stepcast=${1:-$root/build/release/bin/stepcast}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
copy_measured_runs "$root" "$folder"
cp "$root/tests/validation/last_release.json" "$folder"
cd "$folder"
if [ "$task" = release ]; then
  "$stepcast" validate "${measured_runs[@]}" --groups --format json |
    python3 -c 'import json, sys
groups = [{key: group[key] for key in ("axis", "name", "runs", "median_abs_error") if key in group} for group in json.load(sys.stdin)["groups"]]
print("{\"groups\": [\n" + ",\n".join(json.dumps(group) for group in groups) + "\n]}")' >"$root/tests/validation/last_release.json"
  exit 0
fi
"$stepcast" validate "${measured_runs[@]}" --groups --against last_release.json --html accuracy.html --format json >groups.json
worse=$(python3 -c 'import json
for group in json.load(open("groups.json"))["worse"]:
    print(group["axis"], group["name"] + ":", "median %.1f %%, %.1f in the last release" % (100 * group["median_abs_error"], 100 * group["median_before"]))')
unnamed=$(grep -vFf <(sed -n 's/^\([^#].*: \).*/\1/p' "$root/tests/validation/worse_groups.txt") <<<"$worse" || true)
if [ -n "${worse//[[:space:]]/}" ] && [ -n "${unnamed//[[:space:]]/}" ]; then
  printf 'worse than in the last release by two points or more, and not named in tests/validation/worse_groups.txt:\n%s\n' "$unnamed" >&2
  [ "$task" = check ] && exit 1
fi
if [ "$task" = check ]; then
  cmp "$root/tests/validation/accuracy.html" accuracy.html ||
    { echo "tests/validation/accuracy.html is out of date: run scripts/update_accuracy_page.sh" >&2; exit 1; }
else
  cat accuracy.html >"$root/tests/validation/accuracy.html"
fi
