#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds a kind of memory-bound operator by steps 1 to 3 of simulator/README.md in a copy of the source tree: a row of the
# kinds, a row of its kernels, a row of the operators of a step with the call that runs it. Builds the program, prices
# the operator and explains a step with it: a feed-forward whose activation reads what a kernel has capped, c tanh(x / c).
# Usage: add_operator.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/run_checks.sh"
source "$here/scratch_tree.sh"
cd "$copy"

# 1. The kind: x and y forward; dy, x and dx backward.
sed -i 's/^  ROW(kOptimizer, .*)$/& \\\n  ROW(kSoftCap, soft_cap, 2, 3, kElementwise)/' simulator/stepcast/model/memory_bound_kind.hpp

# A kind without its kernels is refused by the compiler.
if "${CXX:-c++}" -std=c++20 -fsyntax-only -Isimulator -I. backends/memory_bound/memory_kernels.cpp 2>"$made/out"; then
  complain "a kind without kernels compiles"
else
  says 'needs its row, in its place'
fi

# 2. Its kernels: one, whatever the implementation.
sed -i 's/^    {Kind::kOptimizer, .*$/&\n    any(Kind::kSoftCap, {list(stream(2)), list(stream(3))}),/' \
  backends/memory_bound/memory_kernels.cpp

# 3. The operator of a step, and where a dense feed-forward runs it.
sed -i 's/^  ROW(kMlpActivation, .*$/&\n  ROW(kMlpSoftCap, "mlp.soft_cap") \\/' simulator/stepcast/model/op_id.hpp
sed -i 's/^    build_.activation(OpId::kMlpActivation, .*$/    build_.memory_bound(OpId::kMlpSoftCap, Kind::kSoftCap, rows, width, Implementation::kFused);\n&/' \
  simulator/stepcast/layer/layer_expansion.cpp

# Nothing else was touched.
changed=$({ diff -rq "$root/simulator" simulator || true; diff -rq "$root/backends" backends || true; } |
  sed 's/.*\/\([a-z_]*\.[a-z]*\) differ/\1/' | sort | tr '\n' ' ')
[ "$changed" = 'layer_expansion.cpp memory_bound_kind.hpp memory_kernels.cpp op_id.hpp ' ] ||
  complain "the recipe touched $changed"

build_copy

# A cap moves as much as a copy and costs the same; its backward half as much again.
seconds() { sed -nE 's/.*"predicted_s": *([0-9.e-]+).*/\1/p' "$made/out" | head -n 1; }
priced() { # program, operator, pass
  echo "{\"kind\": \"memory_bound\", \"op\": \"$2\", \"rows\": 65536, \"cols\": 8192, \"pass\": \"$3\"}" >"$made/op.jsonl"
  stepcast=$1 exits 0 "${own[@]}" cost --gpu h200_sxm "$made/op.jsonl"
  seconds
}
new=$copy/build/bin/stepcast
capped=$(priced "$new" soft_cap fwd)
copied=$(priced "$stepcast" copy fwd)
back=$(priced "$new" soft_cap bwd)
[ -n "$capped" ] && [ "$capped" = "$copied" ] || complain "a cap takes '$capped', a copy '$copied'"
awk -v f="$capped" -v b="$back" 'BEGIN { exit !(b > 1.45 * f && b < 1.55 * f) }' ||
  complain "backward takes '$back', forward '$capped'"

# A step runs it in each layer, and is longer than without.
dense=(--model llama3.1_8b --gpu h200_sxm --nodes 1 --zero 3 --gbs 64 --seq 4096)
stepcast=$new exits 0 "${own[@]}" explain "${dense[@]}" --format json
says 'mlp.soft_cap'
step() {
  stepcast=$1 exits 0 "${own[@]}" project "${dense[@]}" --format json
  sed -nE 's/.*"step_time_s": *([0-9.e-]+).*/\1/p' "$made/out" | head -n 1
}
awk -v with="$(step "$new")" -v without="$(step "$stepcast")" 'BEGIN { exit !(with > 1.001 * without && with < 1.1 * without) }' ||
  complain "the step does not take longer with the cap"
exit $failed
