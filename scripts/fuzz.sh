#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every reader, and projections of drawn experiments, for a share of the seconds given (default 60). A
# crash is written to tests/fuzz/regressions/TARGET, which the tests replay.
#   scripts/fuzz.sh [SECONDS [TARGET...]]        stops at the first find
#   scripts/fuzz.sh --log [SECONDS [TARGET...]]  a slice of a long run: what it finds does not end it, inputs
#                                    that reach new code are kept in build/fuzz_long/found for the next slice,
#                                    and each target adds a row to tests/fuzz/slices.csv. Its commit is what
#                                    was run, so nothing may be changed since. The program is an optimized
#                                    one, minutes to build and several times as fast. The first slice begins
#                                    with the inputs of tests/fuzz/found.tar.xz.
#   scripts/fuzz.sh --keep           writes that archive: of all inputs that slices found, those that reach
#                                    code which no smaller ones reach
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
archive=tests/fuzz/found.tar.xz
found=build/fuzz_long/found

# The same inputs make the same bytes.
keep() {
  local target
  kept=$(mktemp -d)
  trap 'rm -rf "$kept"' EXIT
  for target in "$found"/*; do
    mkdir "$kept/${target##*/}"
    "build/fuzz_long/tests/fuzz_${target##*/}" -merge=1 "$kept/${target##*/}" "$target" >/dev/null 2>&1
    echo "fuzz_${target##*/}: $(find "$kept/${target##*/}" -type f | wc -l) inputs kept"
  done
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$kept" -cJf "$archive" .
}

log=false
preset=fuzz
case ${1:-} in
  --keep) keep; exit ;;
  --log)
    log=true
    preset=fuzz_long
    shift
    ;;
esac
seconds=${1:-60}
slices=tests/fuzz/slices.csv
targets=("${@:2}")
if ((${#targets[@]} == 0)); then
  mapfile -t targets < <(basename -s _fuzz.cpp tests/fuzz/*_fuzz.cpp)
fi
if $log && [[ -n $(git status --porcelain --untracked-files=no -- . ":!$slices") ]]; then
  echo "fuzz.sh: --log: the tree differs from its commit; commit first" >&2
  exit 2
fi
if $log && [[ ! -e $found && -e $archive ]]; then
  mkdir -p "$found"
  tar -C "$found" -xJf "$archive"
fi
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target stepcast_fuzz | tail -n 1
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
output=$(mktemp)
scratch=$(mktemp -d)
trap 'rm -rf "$output" "$scratch"' EXIT
export TIMEFORMAT='%U %S'

# What an input may take at most. A projection may take 2 s and 1 GiB: ten times that long where every access
# is checked, and half as much memory again for what is freed and held back (ASan's quarantine). libFuzzer
# counts wall time, of which a slice may get a tenth where others work too.
limits() {
  local busy=1
  if $log; then busy=10; fi
  case $1 in
    project) echo "-timeout=$((20 * busy)) -rss_limit_mb=1536" ;;
    *) echo "-timeout=$((10 * busy)) -rss_limit_mb=4096" ;;
  esac
}

# Runs a target from a seed; prints the user's and the system's seconds of CPU.
fuzz() {
  local target=$1 seed=$2 reached=$3 settings
  read -ra settings < <(limits "$target")
  { time "build/$preset/tests/fuzz_$target" -seed="$seed" -max_total_time="$share" "${settings[@]}" \
    -artifact_prefix="tests/fuzz/regressions/$target/" -print_final_stats=1 -print_funcs=0 \
    "$reached" "tests/fuzz/corpus/$target" >"$output" 2>&1; } 2>&1
}

for target in "${targets[@]}"; do
  seed=$(($(date +%s) % 1000000 + 1))
  reached=$scratch/$target
  if $log; then reached=$found/$target; fi
  mkdir -p "$reached" "tests/fuzz/regressions/$target"
  finds=0
  cpu=$(fuzz "$target" "$seed" "$reached") || finds=1
  inputs=$(grep number_of_executed_units "$output" | tr -s ' ' | cut -d' ' -f2 || true)
  inputs=${inputs:-0}
  if $log; then
    row=$(date -u +%Y-%m-%d),$(git rev-parse --short=10 HEAD),$target,$seed
    echo "$row,$(awk '{printf "%.0f", $1 + $2}' <<<"$cpu"),$inputs,$finds" >>"$slices"
  fi
  rm -f tests/fuzz/regressions/"$target"/slow-unit-*  # slow, within the limit
  if ((finds > 0)); then
    tail -n 60 "$output"
    echo "fuzz_$target: failed with seed $seed; the input is in tests/fuzz/regressions/$target"
    if ! $log; then exit 1; fi
  fi
  echo "fuzz_$target: $inputs inputs"
done
find tests/fuzz/regressions -type d -empty -delete
