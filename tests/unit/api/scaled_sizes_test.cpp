// SPDX-License-Identifier: Apache-2.0
// Scaling curves as a program sees them that has the public header alone.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast::scaled_sizes_test {
namespace {

using Json = nlohmann::json;
using test::contains_text;

const std::string kTwoNodes =
    "model: llama3.1_8b\n"
    "cluster: {gpu: h100_sxm, nodes: 2}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n"
    "software: megatron\n";

ExperimentSource two_nodes(const std::string& plan) {
  return {.text = kTwoNodes + "plan: " + plan + "\n"};
}

Json curve(const ExperimentSource& source, const ScalingSettings& settings) {
  const Simulator simulator(STEPCAST_DATA_ROOT);
  return Json::parse(simulator.scaling_report(source, settings, ReportFormat::kJson).text);
}

// "fsdp 16" of each size.
std::vector<std::string> sharing(const Json& curve) {
  std::vector<std::string> all;
  for (const Json& size : curve.at("sizes")) {
    const std::string plan = size.at("plan");
    all.push_back(plan.substr(plan.rfind("fsdp")));
  }
  return all;
}

bool notes(const Json& curve, const std::string& what) {
  const std::string all = curve.at("context").at("notes").dump();
  return all.find(what) != std::string::npos;
}

std::vector<Problem> problems_of(const ExperimentSource& source, const ScalingSettings& settings) {
  try {
    (void)curve(source, settings);
  } catch (const InputError& error) {
    return error.problems();
  }
  return {};
}

TEST_CASE("an fsdp of all GPUs of a file grows with them, whatever the first size", "[unit]") {
  for (const std::int64_t from : {8, 16, 32}) {
    const Json grown = curve(two_nodes("{fsdp: 16}"), {.from = from, .to = 32});
    CAPTURE(from);
    CHECK(sharing(grown).front() == "fsdp " + std::to_string(from));
    CHECK(sharing(grown).back() == "fsdp 32");
    CHECK(notes(grown, "fsdp 16 of the experiment grows with the GPUs"));
  }
}

TEST_CASE("an fsdp that is set on top of an experiment stays at every size", "[unit]") {
  const ExperimentSource given = two_nodes("{zero: 3}").with("plan.fsdp", "16");
  const Json stays = curve(given, {.from = 16, .to = 32});
  CHECK(sharing(stays) == std::vector<std::string>{"fsdp 16", "fsdp 16"});
  CHECK(notes(stays, "fsdp 16 stays at every size"));
  const ExperimentSource sized = two_nodes("{fsdp: 16}").with("plan.fsdp", "8");
  CHECK(sharing(curve(sized.with("cluster.nodes", "1"), {.from = 8, .to = 16})) ==
        std::vector<std::string>{"fsdp 8", "fsdp 8"});
  const Json best = curve(given, {.from = 16, .to = 32, .best_plan = true, .threads = 1});
  CHECK(sharing(best) == std::vector<std::string>{"fsdp 16", "fsdp 16"});
  CHECK(notes(best, "fsdp 16 stays at every size"));
}

TEST_CASE("a batch that nobody gave stays at every size and is told", "[unit]") {
  const ExperimentSource bare{
      .text = "model: llama3.1_8b\ncluster: {gpu: h100_sxm}\ntraining: {sequence_length: 4096}\n"};
  for (const bool best : {false, true}) {
    const Json kept = curve(bare, {.from = 8, .to = 16, .best_plan = best});
    CAPTURE(best);
    CHECK(kept.at("scaling") == "strong");
    CHECK(kept.at("sizes")[0].at("global_batch_size") == 2048);
    CHECK(kept.at("sizes")[1].at("global_batch_size") == 2048);
    CHECK(notes(kept, "no batch given: the usual one, 2,048 sequences, stays at every size"));
    CHECK(notes(kept, "global_batch_size 2048"));
    CHECK(notes(kept, "no plan given: the fastest that a quick search found") != best);
  }
}

TEST_CASE("a batch grows unless a setting gives it, in whatever form", "[unit]") {
  const ExperimentSource file = two_nodes("{tp: 2}");
  const ScalingSettings sizes{.from = 16, .to = 32};
  CHECK(curve(file, sizes).at("sizes")[1].at("global_batch_size") == 128);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"training.global_batch_size", "256"},
           {"training", "{global_batch_size: 256, sequence_length: 8192}"}}) {
    const Json strong = curve(file.with(key, value), sizes);
    CHECK(strong.at("scaling") == "strong");
    CHECK(strong.at("sizes")[1].at("global_batch_size") == 256);
  }
}

TEST_CASE("both ends of a curve are checked at once, and sizes between them by themselves",
          "[unit]") {
  const ExperimentSource file = two_nodes("{tp: 1}").with("training.global_batch_size", "48");
  const std::vector<Problem> ends = problems_of(file, {.from = 60, .to = 130});
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].file == "from 60");
  CHECK(ends[1].file == "to 130");
  CHECK_THAT(ends[1].message, contains_text("are no whole nodes of 8; give 128 or 136"));
  const Json between = curve(file, {.from = 6, .to = 24});
  REQUIRE(between.at("sizes").size() == 3);
  CHECK(between.at("sizes")[1].at("gpus") == 12);
  CHECK_FALSE(between.at("sizes")[1].at("feasible").get<bool>());
  CHECK(between.at("sizes")[2].at("feasible").get<bool>());
}

TEST_CASE("an end with no whole number of sequences is told under its setting", "[unit]") {
  ExperimentSource file = two_nodes("{tp: 1}");
  file.text.replace(file.text.find("size: 64"), 8, "size: 24");
  const std::vector<Problem> told = problems_of(file, {.from = 1, .to = 5});
  REQUIRE(told.size() == 2);
  CHECK(told[0].file == "from 1");
  CHECK(told[1].file == "to 5");
  CHECK_THAT(told[1].message, contains_text("is no whole number"));
}

TEST_CASE("threads without a search are refused", "[unit]") {
  const std::vector<Problem> told =
      problems_of(two_nodes("{tp: 2}"), {.from = 16, .to = 32, .threads = 2});
  REQUIRE(told.size() == 1);
  CHECK(told[0].file == "threads");
}

TEST_CASE("a curve of best plans says what each size runs, as that size alone does", "[unit]") {
  const ExperimentSource file = two_nodes("{tp: 2}");
  const Simulator simulator(STEPCAST_DATA_ROOT);
  const ScalingSettings sizes{.from = 8, .to = 16, .best_plan = true, .threads = 1};
  const Json best = curve(file, sizes);
  for (const Json& size : best.at("sizes")) {
    ExperimentSource alone =
        file.with("cluster.nodes", "null")
            .with("cluster.gpus", size.at("gpus").dump())
            .with("training.global_batch_size", size.at("global_batch_size").dump());
    for (const auto& [key, value] : size.at("searched").at("settings").items()) {
      alone = alone.with(key, value.get<std::string>());
    }
    CHECK(simulator.project(alone).numbers->tokens_per_second_per_gpu ==
          size.at("tokens_per_second_per_gpu").get<double>());
  }
  const std::string text = simulator.scaling_report(file, sizes, ReportFormat::kText).text;
  CHECK_THAT(text, contains_text("GPUs  micro-batch  recompute  schedule"));
}

TEST_CASE("the title of a curve's page begins at the first size that runs", "[unit]") {
  const Simulator simulator(STEPCAST_DATA_ROOT);
  ReportForm form(ReportFormat::kJson);
  form.page = "stepcast";
  const std::string page =
      simulator
          .scaling_report(two_nodes("{zero: 3}").with("training.global_batch_size", "2048"),
                          {.from = 1, .to = 1024}, form)
          .page;
  CHECK_THAT(page, contains_text("<title>llama3.1_8b on 2 to 1,024 x h100_sxm"));
}

}  // namespace
}  // namespace stepcast::scaled_sizes_test
