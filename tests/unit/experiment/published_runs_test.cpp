// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/published_runs.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/report/published_runs_report.hpp"

namespace stepcast::published_runs_test {
namespace {

using test::config_error;
using test::contains_text;

PublishedRun run(const std::string& id, double parameters, const std::string& gpu,
                 std::int64_t gpus) {
  PublishedRun made;
  made.id = id;
  made.model = "m";
  made.parameters = parameters;
  made.gpu = gpu;
  made.gpus = gpus;
  made.software = "megatron";
  made.tokens_per_second_per_gpu = 100.0;
  made.model_rate_per_gpu = FlopsPerSecond(4e14);
  made.source = "a paper";
  return made;
}

Projection projection() {
  Projection p;
  p.parameters = 8e9;
  p.gpu = "h100_sxm";
  p.gpus = 16;
  return p;
}

std::vector<std::string> nearest(const std::vector<PublishedRun>& known, std::size_t most) {
  return each_of(nearest_runs(known, projection(), AccuracyFamily::kDense, most),
                 [](const PublishedRun& one) { return one.id; });
}

TEST_CASE("runs of the same model on the same GPU stand nearest", "[unit]") {
  const std::vector<PublishedRun> known = {
      run("like", 6e9, "h100_sxm", 16), run("larger", 13e9, "h100_sxm", 16),
      run("elsewhere", 8e9, "mi300x", 16), run("many", 8.01e9, "h100_sxm", 512),
      run("few", 8e9, "h100_sxm", 8)};
  CHECK(nearest(known, 9) == std::vector<std::string>{"few", "many", "elsewhere", "like"});
  CHECK(nearest(known, 1) == std::vector<std::string>{"few"});
}

TEST_CASE("a model with experts is none of a dense one's size", "[unit]") {
  std::vector<PublishedRun> known = {run("experts", 8e9, "h100_sxm", 16)};
  known.front().family = AccuracyFamily::kMoe;
  CHECK(nearest(known, 9).empty());
}

TEST_CASE("of as many GPUs the run in the same format goes first", "[unit]") {
  std::vector<PublishedRun> known = {run("fp8", 8e9, "h100_sxm", 16),
                                     run("bf16", 8e9, "h100_sxm", 16)};
  known.front().dtype = Dtype::kFp8;
  CHECK(nearest(known, 9) == std::vector<std::string>{"bf16", "fp8"});
}

TEST_CASE("the runs that ship have a figure and a source each", "[unit]") {
  const std::vector<PublishedRun> known = load_published_runs(test::data_root());
  CHECK(known.size() > 500);
  for (const PublishedRun& one : known) {
    INFO(one.id);
    CHECK(one.tokens_per_second_per_gpu > 0.0);
    CHECK(one.model_rate_per_gpu > FlopsPerSecond{});
    CHECK_FALSE(one.source.empty());
  }
}

// A data folder with the file alone.
class Folder {
 public:
  explicit Folder(const std::string& text)
      : root_{std::filesystem::temp_directory_path() / "stepcast_published_runs_test"} {
    std::filesystem::create_directories(root_.profiles());
    std::ofstream(root_.published_runs()) << text;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() { std::filesystem::remove_all(root_.folder); }

  [[nodiscard]] const DataRoot& root() const { return root_; }

 private:
  DataRoot root_;
};

TEST_CASE("what validation writes of measured runs is read back", "[unit]") {
  ValidationRow row;
  row.file = "runs.jsonl";
  row.id = "a";
  row.predicted = 1.0;
  row.traits.emplace();
  row.published = run("a", 8e9, "h100_sxm", 16);
  row.published->tokens_per_second_per_gpu = 12345.6;
  const Folder folder(validation_to_published({row}));
  const std::vector<PublishedRun> known = load_published_runs(folder.root());
  REQUIRE(known.size() == 1);
  CHECK(known.front().id == "a");
  CHECK(known.front().gpus == 16);
  CHECK(known.front().tokens_per_second_per_gpu == 12350.0);  // four digits
  CHECK(known.front().model_rate_per_gpu.value() == Approx(4e14));
  CHECK(known.front().source == "a paper");
}

TEST_CASE("a run that does not say where its figure stands is not published", "[unit]") {
  ValidationRow row;
  row.id = "a";
  row.predicted = 1.0;
  row.traits.emplace();
  row.published = run("a", 8e9, "h100_sxm", 16);
  row.published->source.clear();
  CHECK_THAT(validation_to_published({row}), contains_text("\"runs\": [\n  ]"));
}

TEST_CASE("a file of published runs is refused with all of its problems", "[unit]") {
  const Folder folder(
      "{\"source\": \"s\", \"runs\": [{\"id\": \"a\", \"dtype\": \"bf17\", \"gpus\": 0}]}");
  const std::string error = config_error([&] { load_published_runs(folder.root()); });
  CHECK_THAT(error, contains_text("has no number format 'bf17'"));
  CHECK_THAT(error, contains_text("'model'"));
  CHECK_THAT(error, contains_text("gpus"));
}

}  // namespace
}  // namespace stepcast::published_runs_test
