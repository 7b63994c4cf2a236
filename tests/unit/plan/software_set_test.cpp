// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "text_file.hpp"

namespace stepcast::software_set_test {
namespace {

using test::config_error;
using test::contains_text;

// A folder of sets, removed again.
class Sets {
 public:
  Sets() : path_(test::scratch_path("software_set")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Sets(const Sets&) = delete;
  Sets& operator=(const Sets&) = delete;
  ~Sets() { std::filesystem::remove_all(path_); }

  void add(const std::string& name, const std::string& keys) const {
    std::ofstream file(path_ / (name + ".yaml"));
    file << "name: " << name << "\ntitle: t\nsource: s\n" << keys;
  }
  [[nodiscard]] SoftwareSpec load(const std::string& name) const {
    return load_software(path_ / (name + ".yaml"), path_);
  }

 private:
  std::filesystem::path path_;
};

TEST_CASE("A set on top of another keeps what it does not say itself", "[unit]") {
  const Sets sets;
  sets.add("ground", "date: 2025-01\nfused_qkv: false\nhost: {layers: eager, calls: 2}\n");
  sets.add("middle", "base: ground\nhost: {calls: 3}\n");
  sets.add("top", "base: middle\ndate: 2026-01\ncuda_graph: true\n");
  const SoftwareSpec top = sets.load("top");
  CHECK(top.name == "top");
  CHECK(top.date == "2026-01");
  CHECK_FALSE(top.fused_qkv);
  CHECK(top.host.layers == LaunchMode::kEager);
  CHECK(top.host.calls == 3.0);
  CHECK(top.cuda_graph);
}

TEST_CASE("A base that is not there, and bases in a circle, are told with a remedy", "[unit]") {
  const Sets sets;
  sets.add("orphan", "base: nobody\n");
  CHECK_THAT(config_error([&] { (void)sets.load("orphan"); }),
             contains_text("unknown software set 'nobody'; 'stepcast list software' shows"));
  sets.add("a", "base: b\n");
  sets.add("b", "base: a\n");
  CHECK_THAT(config_error([&] { (void)sets.load("a"); }), contains_text("go in a circle"));
}

TEST_CASE("A recipe holds for its models, GPUs and number formats alone", "[unit]") {
  const Sets sets;
  sets.add("recipes",
           "recipes:\n"
           "  - {gpus: [b200], set: {dispatcher: hybridep}}\n"
           "  - {models: [small], gpus: [b200], dtypes: [fp8], set: {cuda_graph: true, host: "
           "{calls: 4}}}\n");
  const auto followed = [&](const RecipeSubject& subject) {
    SoftwareSpec software = sets.load("recipes");
    follow_recipes(subject, software);
    CHECK(software.recipes.empty());
    return software;
  };
  CHECK(followed({"small", "h100", Dtype::kFp8}).exchange.dispatcher == Dispatcher::kAllToAll);
  const SoftwareSpec bf16 = followed({"small", "b200", Dtype::kBf16});
  CHECK(bf16.exchange.dispatcher == Dispatcher::kHybridEp);
  CHECK_FALSE(bf16.cuda_graph);
  const SoftwareSpec fp8 = followed({"small", "b200", Dtype::kFp8});
  CHECK(fp8.cuda_graph);
  CHECK(fp8.host.calls == 4.0);
  CHECK_FALSE(followed({"large", "b200", Dtype::kFp8}).cuda_graph);
}

TEST_CASE("A recipe with a key that no set has is refused when the set is read", "[unit]") {
  const Sets sets;
  sets.add("wrong", "recipes:\n  - {gpus: [b200], set: {dispacher: deepep}}\n");
  CHECK_THAT(config_error([&] { (void)sets.load("wrong"); }), contains_text("dispacher"));
  sets.add("format", "recipes:\n  - {dtypes: [fp7], set: {cuda_graph: true}}\n");
  CHECK_THAT(config_error([&] { (void)sets.load("format"); }),
             contains_text("has no number format of training 'fp7'"));
}

TEST_CASE("What a set offers is read as the switches that it would be", "[unit]") {
  const Sets sets;
  sets.add("ground", "offers: {async_tp: [false, true], dispatcher: [alltoall, deepep]}\n");
  sets.add("above", "base: ground\ncuda_graph: true\n");
  const std::vector<SoftwareOffer> offers = sets.load("above").offers;
  REQUIRE(offers.size() == 2);
  CHECK(offers[0].key == "async_tp");
  CHECK(offers[0].values == std::vector<std::string>{"false", "true"});
  CHECK(offers[1].values == std::vector<std::string>{"alltoall", "deepep"});
  CHECK_FALSE(sets.load("above").async_tp);

  sets.add("wrong", "offers: {async_pt: [true], dispatcher: [deep]}\n");
  const std::string error = config_error([&] { (void)sets.load("wrong"); });
  CHECK_THAT(error, contains_text("unknown key 'async_pt' in 'offers'; did you mean 'async_tp'?"));
  CHECK_THAT(error, contains_text("'offers.dispatcher': unknown value 'deep'"));
  sets.add("list", "offers: [async_tp]\n");
  CHECK_THAT(config_error([&] { (void)sets.load("list"); }),
             contains_text("must be a mapping of switches to lists of values"));
}

}  // namespace
}  // namespace stepcast::software_set_test
