// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/sweep_report.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "catch.hpp"
#include "sweep_text.hpp"

namespace stepcast::plans_table_test {
namespace {

using test::contains_text;

std::vector<std::string> words_of_line(const std::string& text, const std::string& with) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(with) != std::string::npos) {
      std::istringstream words(line);
      return {std::istream_iterator<std::string>(words), {}};
    }
  }
  return {};
}

SweepSpace switches() {
  return test::sweep_of(test::small_sweep(
      ", global_batch_size: [16, 32], micro_batch_size: 1, dtype: [bf16, fp16]",
      "{tp: [2, 4], sequence_parallel: [true, false], schedule: [1f1b, {schedule: "
      "interleaved_1f1b, pp: 2, vpp: 2}]}",
      "software: {base: megatron, cuda_graph: [true, false]}\n"));
}

PlanNumbers at(std::int64_t index) {
  PlanNumbers numbers;
  numbers.plan = index;
  return numbers;
}

}  // namespace

TEST_CASE("What all plans have in common stands once above the table", "[unit]") {
  const SweepSpace space = switches();
  // Neighbours differ in the innermost axis alone, the batch.
  const std::string table = plans_table(space, {at(0), at(1)});
  CHECK(words_of_line(table, "rank") == std::vector<std::string>{"rank", "index", "gbs",
                                                                 "tokens/s/GPU", "step", "MFU", "%",
                                                                 "memory", "GiB"});
  CHECK_THAT(table, contains_text("all of these have: cuda_graph on, dtype bf16, tp 2"));
  CHECK_THAT(table, contains_text("schedule 1f1b"));
  // The first value of the schedule sets no pp.
  CHECK(table.find("vpp") == std::string::npos);
}

TEST_CASE("Switches have their initials for titles, which are explained", "[unit]") {
  const SweepSpace space = switches();
  const std::string table = plans_table(space, {at(0), at(space.size() - 1)});
  const std::vector<std::string> titles = words_of_line(table, "rank");
  for (const char* title : {"cg", "sp", "tp", "schedule", "vpp", "gbs", "dtype"}) {
    INFO(title);
    CHECK(std::find(titles.begin(), titles.end(), title) != titles.end());
  }
  CHECK_THAT(table, contains_text("cg cuda_graph, sp sequence_parallel"));
  CHECK_THAT(table, !contains_text("all of these"));
}

TEST_CASE("A key keeps its section where another ends alike", "[unit]") {
  const SweepSpace space = test::sweep_of(test::small_sweep(
      ", global_batch_size: 16", "{overlap: {rule: uniform, tp: [0.5, 1]}, tp: [2, 4]}"));
  const std::vector<std::string> titles =
      words_of_line(plans_table(space, {at(0), at(space.size() - 1)}), "rank");
  CHECK(std::find(titles.begin(), titles.end(), "plan.tp") != titles.end());
  CHECK(std::find(titles.begin(), titles.end(), "plan.overlap.tp") != titles.end());
}

TEST_CASE("A table of no plans is empty", "[unit]") { CHECK(plans_table(switches(), {}).empty()); }

}  // namespace stepcast::plans_table_test
