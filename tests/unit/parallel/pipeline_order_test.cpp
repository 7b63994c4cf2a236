// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/pipeline_order.hpp"

#include <map>
#include <string>
#include <tuple>

#include "catch.hpp"

namespace stepcast {
namespace {

std::string text(const std::vector<PipelineTask>& tasks) {
  std::string letters;
  for (const PipelineTask& task : tasks) {
    letters += (letters.empty() ? "" : " ");
    letters += task.kind == TaskKind::kForward ? 'F' : 'B';
    letters += std::to_string(task.micro_batch);
    letters += task.chunk > 0 ? std::string(static_cast<std::size_t>(task.chunk), '\'') : "";
  }
  return letters;
}

TEST_CASE("1F1B warms up with p - 1 - rank forwards, alternates and drains", "[unit]") {
  const PipelineShape shape{3, 1, 4};
  CHECK(text(pipeline_order(Schedule::kOneFOneB, shape, 0)) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(text(pipeline_order(Schedule::kOneFOneB, shape, 1)) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(text(pipeline_order(Schedule::kOneFOneB, shape, 2)) == "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST_CASE("1F1B with fewer micro-batches than ranks runs all forwards first", "[unit]") {
  CHECK(text(pipeline_order(Schedule::kOneFOneB, {4, 1, 2}, 0)) == "F0 F1 B0 B1");
  CHECK(text(pipeline_order(Schedule::kOneFOneB, {4, 1, 2}, 2)) == "F0 F1 B0 B1");
}

// Narayanan et al., figure 4: p = 2, v = 2, m = 4. An apostrophe is the second chunk.
TEST_CASE("the interleaved schedule takes groups of p micro-batches through all chunks", "[unit]") {
  // Warm-up of rank 0: 2 (p - 1) + (v - 1) p = 4 forwards; of rank 1: 2.
  CHECK(text(pipeline_order(Schedule::kInterleaved, {2, 2, 4}, 0)) ==
        "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
  CHECK(text(pipeline_order(Schedule::kInterleaved, {2, 2, 4}, 1)) ==
        "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}

// Every task once, and every backward after the forward of the same chunk and micro-batch.
std::string fault_of(Schedule schedule, const PipelineShape& shape, std::int64_t rank) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> seen;  // 1: forward done, 2: both
  for (const PipelineTask& task : pipeline_order(schedule, shape, rank)) {
    int& state = seen[{task.chunk, task.micro_batch}];
    if (state != (task.kind == TaskKind::kForward ? 0 : 1)) {
      return "a task runs twice, or its backward before its forward";
    }
    ++state;
    if (task.chunk < 0 || task.chunk >= shape.chunks || task.micro_batch < 0 ||
        task.micro_batch >= shape.micro_batches) {
      return "a task does not exist";
    }
  }
  const auto wanted = static_cast<std::size_t>(shape.chunks * shape.micro_batches);
  for (const auto& [task, state] : seen) {
    if (state != 2) {
      return "a backward is missing";
    }
  }
  return seen.size() == wanted ? "" : "a task is missing";
}

TEST_CASE("every rank runs every task exactly once, a forward before its backward", "[property]") {
  for (std::int64_t p = 1; p <= 8; ++p) {
    for (std::int64_t v = 1; v <= 4; ++v) {
      for (std::int64_t m = 1; m <= 20; ++m) {
        for (std::int64_t rank = 0; rank < p; ++rank) {
          const Schedule schedule = v == 1 ? Schedule::kOneFOneB : Schedule::kInterleaved;
          const std::string fault = fault_of(schedule, {p, v, m}, rank);
          if (!fault.empty()) {
            CAPTURE(p, v, m, rank);
            CHECK(fault == "");
          }
        }
      }
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace stepcast
