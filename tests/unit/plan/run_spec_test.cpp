// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/run_spec.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast::run_spec_test {
namespace {

using test::config_error;
using test::contains_text;

TrainingSection section(const std::string& keys) {
  const ConfigNode root =
      parse_config("{sequence_length: 4096, global_batch_size: 8, " + keys + "}", "a.yaml");
  Diagnostics diagnostics;
  TrainingSection read = read_training_section(MappingReader(root, "training", diagnostics));
  diagnostics.throw_if_any();
  return read;
}

std::string problems(const std::string& keys) {
  return config_error([&] { section(keys); });
}

TEST_CASE("a run is asked for with its tokens", "[unit]") {
  CHECK_FALSE(section("dtype: bf16").run.has_value());
  const RunSpec run = section("tokens: 15T").run.value();
  CHECK(run.tokens == 15'000'000'000'000);
  CHECK_FALSE(run.interruptions.any());
  CHECK(run.site == SitePower{});
  CHECK(section("tokens: 15000000000000").run == run);
  CHECK(section("tokens: 1.5e13").run == run);
}

TEST_CASE("interruptions and the site are read with their units", "[unit]") {
  const RunSpec run =
      section(
          "tokens: 2T, interruptions: {mtbf_per_gpu: 50000 h, checkpoint: {write: 60 s, "
          "interval: 20 min}, restart: 10 min, stragglers: 0.02}, "
          "energy: {host: 300 W, network: 50 W, pue: 1.1}")
          .run.value();
  CHECK(run.interruptions.mtbf_per_gpu == Seconds(50'000.0 * 3600.0));
  CHECK(run.interruptions.checkpoint == CheckpointSpec{Seconds(60.0), Seconds(1200.0)});
  CHECK(run.interruptions.restart == Seconds(600.0));
  CHECK(run.interruptions.stragglers == 0.02);
  CHECK(run.site == SitePower{Watts(300.0), Watts(50.0), 1.1});
}

TEST_CASE("a run is no part of a step's recipe", "[unit]") {
  CHECK(section("tokens: 2T, energy: {pue: 1.1}").recipe == section("dtype: bf16").recipe);
}

TEST_CASE("what is written of a run reads back to the same", "[unit]") {
  for (const char* keys :
       {"tokens: 15T", "tokens: 7, energy: {pue: 1.1}",
        "tokens: 1, interruptions: {stragglers: 0.1}",
        "tokens: 2T, interruptions: {mtbf_per_gpu: 50000 h, checkpoint: {write: 60 s}, restart: 1 "
        "min}",
        "tokens: 2T, interruptions: {checkpoint: {write: 60 s, interval: 90 min}}"}) {
    CAPTURE(keys);
    const TrainingSection read = section(keys);
    ConfigNode written = written_training(read.recipe);
    write_run(*read.run, written);
    Diagnostics diagnostics;
    const TrainingSection again =
        read_training_section(MappingReader(written, "training", diagnostics));
    diagnostics.throw_if_any();
    CHECK(again.run == read.run);
    CHECK(again.recipe == read.recipe);
  }
}

TEST_CASE("tokens that are none are refused with what to write", "[unit]") {
  for (const char* tokens : {"15t", "15 TB", "-1", "0", "0.5", "[1, 2]", "{a: 1}", "1e30"}) {
    CAPTURE(tokens);
    CHECK_THAT(problems("tokens: " + std::string(tokens)),
               contains_text("a.yaml:1:") && contains_text("write e.g. 15T"));
  }
}

TEST_CASE("interruptions that cannot be are refused with a remedy", "[unit]") {
  const auto given = [](const std::string& keys) {
    return problems("tokens: 2T, interruptions: {" + keys + "}");
  };
  CHECK_THAT(given("mtbf_per_gpu: 50000 h"), contains_text("checkpoint: {write: 60 s}"));
  CHECK_THAT(given("mtbf_per_gpu: 50000"), contains_text("unit"));
  CHECK_THAT(given("mtbf_per_gpu: 0 h, checkpoint: {write: 60 s}"),
             contains_text("'0 h' is out of range"));
  CHECK_THAT(given("mtbf_per_gpu: 50000 h, checkpoint: {write: 1e300 s}"),
             contains_text("'1e300 s' is out of range; give 0 h to 10,000 h"));
  CHECK_THAT(given("checkpoint: {write: 60 s}"), contains_text("interval: 30 min"));
  CHECK_THAT(given("checkpoint: {interval: 60 s}"), contains_text("write"));
  CHECK_THAT(given("restart: 10 min"), contains_text("needs mtbf_per_gpu"));
  CHECK_THAT(given("stragglers: 1.5"), contains_text("stragglers"));
  CHECK_THAT(given("mtbf: 50000 h"), contains_text("mtbf_per_gpu"));
  CHECK_THAT(problems("tokens: 2T, energy: {pue: 0.9}"), contains_text("pue"));
  CHECK_THAT(problems("energy: {pue: 1.1}"), contains_text("--tokens 15T"));
  CHECK_THAT(problems("interruptions: {stragglers: 0.1}"), contains_text("--tokens 15T"));
}

}  // namespace
}  // namespace stepcast::run_spec_test
