#!/usr/bin/env bash
# Adds a pipeline schedule to a copy of the tree by the steps of
# simulator/stepcast/parallel/schedules/README.md, builds it and projects with it: GPipe in groups of
# p micro-batches ("gpipe_in_groups"). Only what names a schedule is compiled again; the rest comes
# from the libraries of the build folder.
# Usage: add_schedule.sh STEPCAST ROOT
set -euo pipefail
build=$(cd "$(dirname "$1")/.." && pwd)
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cp -r "$root/simulator" "$root/backends" "$made"
cd "$made/simulator/stepcast/parallel"

# 1. the orders
cat >schedules/gpipe_in_groups.cpp <<'END'
// SPDX-License-Identifier: Apache-2.0
// All forwards of p micro-batches, then all their backwards, then the next p.
#include "stepcast/parallel/schedules/gpipe_in_groups.hpp"

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
cat >schedules/gpipe_in_groups.hpp <<'END'
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stepcast/parallel/pipeline_order.hpp"

namespace stepcast {

std::vector<RankOrder> gpipe_in_groups_orders(const PipelineShape& shape);

}  // namespace stepcast
END
# 2. the value
sed -i 's/^  kDualPipeV,$/&\n  kGpipeInGroups,/' parallel_plan.hpp

compiler=$(grep -E '^CMAKE_CXX_COMPILER:' "$build/CMakeCache.txt" | cut -d= -f2-)
flags=$(grep -E '^CMAKE_CXX_FLAGS:' "$build/CMakeCache.txt" | cut -d= -f2-)
# A value without its row is refused by the compiler.
if "$compiler" -std=c++20 -fsyntax-only -I"$made/simulator" schedules/schedule_info.cpp 2>/dev/null; then
  echo "FAILED: a schedule without a row compiles"
  exit 1
fi
# 3. the row
sed -i 's/^#include "stepcast\/parallel\/schedules\/one_f_one_b.hpp"$/#include "stepcast\/parallel\/schedules\/gpipe_in_groups.hpp"\n&/' \
  schedules/schedule_info.cpp
awk '/^constexpr std::array kInfos/ { inside = 1 }
     inside && /^};/ {
       print "    ScheduleInfo{Schedule::kGpipeInGroups, \"gpipe_in_groups\", StagePlacement::kLoop,"
       print "                 ChunkRule::kOne, PairRule::kNone, gpipe_in_groups_orders,"
       print "                 \"(p-1)(F+B) for each p micro-batches\", \"min(m, p)\", \"v = 1\", \"a test\"},"
       inside = 0
     }
     { print }' schedules/schedule_info.cpp >row && mv row schedules/schedule_info.cpp
# 4. its line
sed -i 's/^  stepcast\/parallel\/schedules\/one_f_one_b.cpp$/  stepcast\/parallel\/schedules\/gpipe_in_groups.cpp\n&/' \
  "$made/simulator/CMakeLists.txt"
touched=$(diff -rq "$root/simulator" "$made/simulator" | wc -l)
[ "$touched" -eq 5 ] || {
  echo "FAILED: $touched files were touched, the README says 5"
  exit 1
}

cat >"$made/main.cpp" <<'END'
#include <cstdio>

#include "stepcast/stepcast.hpp"

int main(int, char** argv) {
  const stepcast::Simulator simulator(argv[1]);
  const stepcast::ExperimentSource job{
      .text = "model: llama3.1_8b\ncluster: {gpu: h100_sxm, nodes: 1}\n"
              "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n"
              "plan: {tp: 2, pp: 4}\n"};
  std::printf("%s", simulator.describe("gpipe_in_groups").c_str());
  for (const char* schedule : {"1f1b", "gpipe_in_groups"}) {
    const stepcast::StepProjection step = simulator.project(job.with("plan.schedule", schedule));
    std::printf("%s %.3f s\n", schedule, step.numbers->step_time_s);
  }
}
END
# The two sources stand before the libraries, which have the table without the row.
cat >"$made/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(add_schedule LANGUAGES CXX)
find_package(stepcast REQUIRED)
set(schedules simulator/stepcast/parallel/schedules)
add_executable(main main.cpp ${schedules}/gpipe_in_groups.cpp ${schedules}/schedule_info.cpp)
target_include_directories(main BEFORE PRIVATE simulator)
target_compile_options(main PRIVATE -O0)
target_link_options(main PRIVATE -Wl,--allow-multiple-definition)
target_link_libraries(main PRIVATE stepcast::stepcast)
END
cmake --install "$build" --prefix "$made/prefix" >/dev/null
cmake -S "$made" -B "$made/build" -G Ninja -DCMAKE_PREFIX_PATH="$made/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$made/build" >/dev/null
"$made/build/main" "$root" >said.txt
cat said.txt
grep -q '^schedule gpipe_in_groups$' said.txt
# 64 micro-batches in 16 groups of 4 wait p - 1 times for each group, 1f1b once a step.
awk '$1 == "1f1b" { one = $2 } $1 == "gpipe_in_groups" { all = $2 }
     END { exit !(all > 1.5 * one && all < 1.9 * one) }' said.txt
