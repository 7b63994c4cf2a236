#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds a backend by steps 1 to 4 of backends/README.md in a copy of the source tree, builds the program and prices with
# it: memory-bound operators as their forward tensors over the peak rate of HBM, and nothing else.
# Usage: add_backend.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/run_checks.sh"
source "$here/scratch_tree.sh"
cd "$copy"

# 1. The file with its equation and its factory.
cat >backends/memory_bound/peak_rate.cpp <<'END'
// SPDX-License-Identifier: Apache-2.0
// time = rows cols 2 B * 2 / peak HBM rate: a 16-bit tensor read and one written.
#include "backends/builtin_backends.hpp"

namespace stepcast {
namespace {

class PeakRateModel final : public MemoryBoundModel {
 public:
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    const Bytes moved(4.0 * static_cast<double>(op.rows) * static_cast<double>(op.cols));
    OpCost cost;
    cost.duration = moved / context.device.hbm.peak;
    cost.bound = Bound::kMemory;
    cost.launches = 1;
    if (context.detail == Detail::kTerms) {
      cost.terms = {{"memory", cost.duration}};
    }
    return cost;
  }
};

}  // namespace

std::shared_ptr<const MemoryBoundModel> make_peak_rate_memory_bound() {
  return std::make_shared<PeakRateModel>();
}

}  // namespace stepcast
END
# 2. Its factory's declaration.
sed -i 's/^std::shared_ptr<const MemoryBoundModel> make_passes_memory_bound();$/&\nstd::shared_ptr<const MemoryBoundModel> make_peak_rate_memory_bound();/' \
  backends/builtin_backends.hpp
# 3. Its row.
sed -i 's/^    BackendInfo{BackendRole::kMemoryBound, "measured", .*$/    BackendInfo{BackendRole::kMemoryBound, "peak_rate", "bytes \/ peak HBM rate", "two 16-bit tensors", "a test",\n                \&make_peak_rate_memory_bound},\n&/' \
  backends/builtin_backends.cpp
# 4. Its line.
sed -i 's/^  memory_bound\/passes.cpp$/&\n  memory_bound\/peak_rate.cpp/' backends/CMakeLists.txt

changed=$({ diff -rq "$root/backends" backends || true; } | wc -l)
[ "$changed" -eq 4 ] || complain "$changed files were touched, the README says 4 and itself"
diff -rq "$root/simulator" simulator >"$made/out" || complain "the simulator was touched: $(head -n 3 "$made/out")"

build_copy
stepcast=$copy/build/bin/stepcast

# It is listed and described, and takes 8192 x 8192 x 4 B at 4.8 TB/s: 55.9 us.
exits 0 "${own[@]}" list backends
says 'peak_rate'
exits 0 "${own[@]}" describe memory_bound=peak_rate
says 'bytes / peak HBM rate'
echo '{"kind": "memory_bound", "op": "copy", "rows": 8192, "cols": 8192, "launch": "none"}' >"$made/op.jsonl"
exits 0 "${own[@]}" cost --gpu h200_sxm --backend memory_bound=peak_rate "$made/op.jsonl"
seconds=$(sed -nE 's/.*"predicted_s": *([0-9.e-]+).*/\1/p' "$made/out" | head -n 1)
awk -v s="${seconds:-0}" 'BEGIN { exit !(s > 5.58e-5 && s < 5.61e-5) }' || complain "the copy takes '$seconds'"
# A step is priced with it.
exits 0 "${own[@]}" project --model llama3.1_8b --gpu h200_sxm --nodes 1 --zero 3 --gbs 64 --seq 4096 \
  --backend memory_bound=peak_rate
says 'step time'
exit $failed
