#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cppcheck and clang's analyzer, whose findings are errors, over the product's sources in the batches that CMake
# compiles. What is no fault is named here, with the reason. Some 15 minutes of one processor.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset clang -DSTEPCAST_TESTS=OFF >/dev/null

# nullPointer: what has just been told is thrown; cppcheck does not know that throw_if_any() does.
# passedByValue: clang-tidy knows how large a value is, and finds those that are.
# uninitDerivedMemberVar: a base that is initialised as an aggregate is initialised.
allowed=(--suppress=nullPointer:simulator/frameworks/primus_import.cpp --suppress=passedByValue
  --suppress=uninitDerivedMemberVar)
cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
  --library=std --std=c++20 -j "$(nproc)" "${allowed[@]}" -I simulator -I . simulator backends
echo "cppcheck: ok"

# Padding: members stand in the order of what they mean. FloatLoopCounter: draws are counted in whole numbers,
# which a double holds exactly.
not_faults='-clang-analyzer-optin.performance.Padding,-clang-analyzer-security.FloatLoopCounter'
sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json |
  while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
  xargs -r -P "$(nproc)" -n 1 clang-tidy --quiet --warnings-as-errors='*' -p build/clang \
    --checks="-*,clang-analyzer-*,$not_faults" 2> >(grep -v "warnings generated" >&2)
echo "clang's analyzer: ok"
