#!/usr/bin/env bash
# clang-tidy over every source file of the product, warnings are errors. Files are looked at in the
# batches that CMake compiles them in, so that the headers of a batch are read once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset clang -DSTEPCAST_TESTS=OFF >/dev/null
sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet --checks=-bugprone-suspicious-include -p build/clang \
    2> >(grep -v "warnings generated" >&2)
echo "clang-tidy: ok"
