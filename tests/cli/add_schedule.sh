#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds a pipeline schedule to a copy of the tree by the steps of
# simulator/stepcast/pipeline/schedules/README.md, builds it and projects with it: GPipe in groups of
# p micro-batches ("gpipe_in_groups").
# Usage: add_schedule.sh STEPCAST ROOT
set -euo pipefail
build=$(cd "$(dirname "$1")/.." && pwd)
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cp -r "$root/simulator" "$root/backends" "$made"
cd "$made/simulator/stepcast/pipeline"

# 1. the orders
cat >schedules/gpipe_in_groups.cpp <<'END'
// SPDX-License-Identifier: Apache-2.0
// All forwards of p micro-batches, then all their backwards, then the next p.
#include "stepcast/pipeline/schedules/schedule_orders.hpp"

#include <algorithm>

namespace stepcast {

std::vector<RankOrder> gpipe_in_groups_orders(const PipelineShape& shape) {
  RankOrder order;
  for (std::int64_t first = 0; first < shape.micro_batches; first += shape.ranks) {
    const std::int64_t end = std::min(first + shape.ranks, shape.micro_batches);
    for (const TaskKind kind : {TaskKind::kForward, TaskKind::kBackward}) {
      for (std::int64_t i = first; i < end; ++i) {
        order.push_back({kind, 0, static_cast<std::int32_t>(i)});
      }
    }
  }
  return std::vector<RankOrder>(static_cast<std::size_t>(shape.ranks), order);
}

}  // namespace stepcast
END
sed -i 's/^\/\/ building_block.cpp$/\/\/ gpipe_in_groups.cpp\nstd::vector<RankOrder> gpipe_in_groups_orders(const PipelineShape\& shape);\n\n&/' \
  schedules/schedule_orders.hpp
# 2. the value
sed -i 's/^  kInterleavedZeroBubble,$/&\n  kGpipeInGroups,/' ../plan/parallel_plan.hpp

compiler=$(grep -E '^CMAKE_CXX_COMPILER:' "$build/CMakeCache.txt" | cut -d= -f2-)
flags=$(grep -E '^CMAKE_CXX_FLAGS:' "$build/CMakeCache.txt" | cut -d= -f2-)
# A value without its row is refused by the compiler.
if "$compiler" -std=c++20 -fsyntax-only -I"$made/simulator" schedules/schedule_info.cpp 2>/dev/null; then
  echo "FAILED: a schedule without a row compiles"
  exit 1
fi
# 3. the row
awk '/^constexpr std::array kInfos/ { inside = 1 }
     inside && /^};/ {
       print "    ScheduleInfo{Schedule::kGpipeInGroups, \"gpipe_in_groups\", StagePlacement::kLoop,"
       print "                 ChunkRule::kOne, PairRule::kNone, BackwardRule::kWhole,"
       print "                 gpipe_in_groups_orders, one_a_rank,"
       print "                 \"(p-1)(F+B) for each p micro-batches\", \"min(m, p)\", \"v = 1\", \"a test\"},"
       inside = 0
     }
     { print }' schedules/schedule_info.cpp >row && mv row schedules/schedule_info.cpp
# 4. its line
sed -i 's/^  stepcast\/pipeline\/schedules\/one_f_one_b.cpp$/  stepcast\/pipeline\/schedules\/gpipe_in_groups.cpp\n&/' \
  "$made/simulator/CMakeLists.txt"
touched=$({ diff -rq "$root/simulator" "$made/simulator" || true; } | wc -l)
[ "$touched" -eq 5 ] || {
  echo "FAILED: $touched files were touched, the README says 5"
  exit 1
}

cp -r "$root"/{CMakeLists.txt,configs,hardware_profiles,examples,scripts,LICENSE} "$made"
launcher=$(grep -E '^CMAKE_CXX_COMPILER_LAUNCHER:' "$build/CMakeCache.txt" | cut -d= -f2- || true)
cmake -S "$made" -B "$made/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DSTEPCAST_TESTS=OFF \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_FLAGS="$flags -O0" >/dev/null
cmake --build "$made/build" >"$made/built.txt" || {
  tail -n 30 "$made/built.txt"
  exit 1
}
stepcast() { "$made/build/bin/stepcast" --data "$root" "$@"; }
stepcast describe gpipe_in_groups >said.txt
cat said.txt
grep -q 'gpipe_in_groups' said.txt
step_of() {
  stepcast project --model llama3.1_8b --gpu h100_sxm --nodes 1 --tp 2 --pp 4 --seq 4096 --mbs 1 --gbs 64 \
    --gpu-clock-mhz 1400 --schedule "$1" --format json | sed -nE 's/.*"step_time_s": *([0-9.e-]+).*/\1/p' | head -n 1
}
# 64 micro-batches in 16 groups of 4 wait p - 1 times for each group, 1f1b once a step: 16 (4 + 3) over 64 + 3 at one
# clock. Left to itself the clock rises where the units wait.
echo "$(step_of 1f1b) $(step_of gpipe_in_groups)" |
  awk '{ print; exit !($2 > 1.5 * $1 && $2 < 1.9 * $1) }'
