#!/usr/bin/env bash
# An installed stepcast finds its data beside itself, and another CMake project can link the library.
# Usage: install.sh STEPCAST ROOT
set -euo pipefail
build=$(cd "$(dirname "$1")/.." && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cmake --install "$build" --prefix "$made/prefix" >/dev/null
mkdir "$made/elsewhere"
cd "$made/elsewhere"
"$made/prefix/bin/stepcast" project --model llama3.1_8b --gpu h100_sxm --gbs 64 >installed.txt
"$1" project --model llama3.1_8b --gpu h100_sxm --gbs 64 >built.txt
cmp installed.txt built.txt
mkdir consumer
cp "$2/tests/cli/consumer/"* consumer/
compiler=$(grep -E '^CMAKE_CXX_COMPILER:' "$build/CMakeCache.txt" | cut -d= -f2-)
flags=$(grep -E '^CMAKE_CXX_FLAGS:' "$build/CMakeCache.txt" | cut -d= -f2-)
cmake -S consumer -B consumer/build -G Ninja -DCMAKE_PREFIX_PATH="$made/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build consumer/build >/dev/null
consumer/build/consumer "$made/prefix/share/stepcast"
