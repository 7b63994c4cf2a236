#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An installed stepcast finds its data beside itself, and another CMake project links the library: one
# header, one target, no flags of ours, the versions that it says it takes. The shipped C++ example is
# built on it and says what the program says.
# Usage: install.sh STEPCAST ROOT
set -euo pipefail
build=$(cd "$(dirname "$1")/.." && pwd)
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
prefix=$made/prefix
cmake --install "$build" --prefix "$prefix" >/dev/null
mkdir "$made/elsewhere"
cd "$made/elsewhere"

"$prefix/bin/stepcast" project --model llama3.1_8b --gpu h100_sxm --gbs 64 >installed.txt
"$stepcast" project --model llama3.1_8b --gpu h100_sxm --gbs 64 >built.txt
cmp installed.txt built.txt

headers=$(find "$prefix/include" -type f -printf '%f\n' | sort | xargs)
[ "$headers" = "answers.hpp inputs.hpp stepcast.hpp" ] || fail "other headers than the public ones: $headers"
package=$(dirname "$(find "$prefix" -name stepcastConfig.cmake)")
if grep -hE 'stepcast_options|[";]-W|-ffp|nlohmann|Eigen' "$package"/*.cmake; then
  fail "the package has flags or packages of ours (above)"
fi

compiler=$(grep -E '^CMAKE_CXX_COMPILER:' "$build/CMakeCache.txt" | cut -d= -f2-)
flags=$(grep -E '^CMAKE_CXX_FLAGS:' "$build/CMakeCache.txt" | cut -d= -f2-)
configure() { # source folder, build folder, more
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" "${@:3}"
}
mkdir asks
cat >asks/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(asks LANGUAGES CXX)
find_package(stepcast ${asked} REQUIRED)
if(NOT EXISTS "${stepcast_DATA_DIR}/hardware_profiles/gpus/h100_sxm.yaml")
  message(FATAL_ERROR "stepcast_DATA_DIR is ${stepcast_DATA_DIR}")
endif()
END
version=$("$stepcast" --version | cut -d' ' -f2)
for asked in "" "${version%.*}" "$version"; do
  configure asks "asks/taken$asked" -Dasked="$asked" >log 2>&1 || fail "no package for '$asked': $(cat log)"
done
for asked in 0.1 0.3 1.0; do
  configure asks "asks/refused$asked" -Dasked="$asked" >log 2>&1 && fail "$version is taken for $asked"
done

configure "$root/examples/cpp" plans >/dev/null
cmake --build plans >/dev/null
plans/plans >table.txt
experiment=(--model llama3.1_70b --gpu h100_sxm --nodes 8 --seq 8192 --mbs 1 --gbs 64 --dtype bf16 --zero 1)
lines=0
while read -r tp pp tokens _; do
  [ "$tp" != tp ] || continue
  said=$("$stepcast" project "${experiment[@]}" --tp "$tp" --pp "$pp" |
    sed -n 's/^ *tokens\/s\/GPU *\([0-9.,]*\).*/\1/p' | tr -d ,) || true
  [ "$tokens" = "${said:--}" ] || fail "tp $tp pp $pp: the example has $tokens, the program $said"
  lines=$((lines + 1))
done <table.txt
[ "$lines" -eq 16 ] || fail "a line is missing: $(cat table.txt)"
echo "an installed stepcast: $lines lines of the example are those of the program"
