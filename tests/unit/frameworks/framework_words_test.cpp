// SPDX-License-Identifier: Apache-2.0
#include "frameworks/framework_words.hpp"

#include <set>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::framework_words_test {
namespace {

using namespace stepcast::test;

FrameworkWords words_of(const std::string& rows) {
  return FrameworkWords(parse_config(
      "name: mine\nread_from: [{repository: a/b, commit: abc, date: 2026-01-01}]\nwords:\n" + rows,
      "mine.yaml"));
}

std::string problems_of_table(const std::string& rows) {
  try {
    (void)words_of(rows);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

std::vector<Setting> given(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<Setting> all;
  for (const auto& [name, value] : settings) {
    all.push_back(text_setting(name, value, {"run.sh", 1, 1}));
  }
  return all;
}

std::string text_of(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    text += (text.empty() ? "" : " ") + setting.name + "=" + setting.value.text;
  }
  return text;
}

TEST_CASE("an argument that turns a field off is that field, and its own way back", "[unit]") {
  const FrameworkWords words = words_of("  - {theirs: no_rope_fusion, not: apply_rope_fusion}\n");
  CHECK(text_of(words.as_fields(given({{"no_rope_fusion", "true"}}))) == "apply_rope_fusion=false");
  CHECK(text_of(words.as_fields(given({{"no_rope_fusion", "false"}}))) == "apply_rope_fusion=true");
  const auto back = words.as_argument(given({{"apply_rope_fusion", "false"}}).front());
  REQUIRE(back);
  CHECK(text_of({*back}) == "no_rope_fusion=true");
  CHECK(text_of({*words.as_argument(given({{"apply_rope_fusion", "true"}}).front())}) ==
        "apply_rope_fusion=true");
  CHECK_FALSE(words.as_argument(given({{"swiglu", "false"}}).front()));
}

TEST_CASE("an older name counts where the field itself is not given, and is never written",
          "[unit]") {
  const FrameworkWords words = words_of(
      "  - {theirs: model_parallel_size, is: tensor_model_parallel_size, until: "
      "2020-12-19}\n");
  CHECK(text_of(words.as_fields(given({{"model_parallel_size", "2"}}))) ==
        "tensor_model_parallel_size=2");
  CHECK(text_of(words.as_fields(
            given({{"model_parallel_size", "2"}, {"tensor_model_parallel_size", "4"}}))) ==
        "model_parallel_size=2 tensor_model_parallel_size=4");
  CHECK(text_of({*words.as_argument(given({{"tensor_model_parallel_size", "2"}}).front())}) ==
        "tensor_model_parallel_size=2");
}

TEST_CASE("what a name says besides counts where nothing else says it", "[unit]") {
  const FrameworkWords words = words_of(
      "  - {theirs: checkpoint_method, is: recompute_method, of: old, implies: "
      "{recompute_granularity: full}}\n");
  CHECK(text_of(words.as_fields(given({{"checkpoint_method", "block"}}))) ==
        "recompute_method=block recompute_granularity=full");
  CHECK(text_of(words.as_fields(
            given({{"checkpoint_method", "block"}, {"recompute_granularity", "selective"}}))) ==
        "recompute_method=block recompute_granularity=selective");
}

TEST_CASE("a value is read and written by one row, the first of several words", "[unit]") {
  const FrameworkWords words = words_of(
      "  - {theirs: cp_comm_type, ours: plan.cp_algorithm, values: {allgather: "
      "all_gather, all_gather: all_gather}}\n");
  CHECK(words.ours_of("cp_comm_type", "all_gather") == "all_gather");
  CHECK_FALSE(words.ours_of("cp_comm_type", "carrier_pigeon"));
  CHECK(words.theirs_of("cp_comm_type", "all_gather") == "allgather");
  CHECK(words.theirs_of("cp_comm_type", "ring").empty());
}

TEST_CASE("keys that nobody asked for are listed, named or refused by their rows", "[unit]") {
  const FrameworkWords words = words_of(
      "  - {theirs: [lr, lr_*], else: no effect}\n"
      "  - {theirs: fused_ce_chunks, default: 1, else: \"changes the result: the loss in parts\"}\n"
      "  - {theirs: [bert_*, sop], else: \"refused: is of BERT\"}\n");
  Diagnostics diagnostics;
  FrameworkReader settings(given({{"lr_decay", "1"},
                                  {"fused_ce_chunks", "8"},
                                  {"bert_head", "true"},
                                  {"sop", "true"},
                                  {"bert_load", "None"}}),
                           diagnostics);
  words.read_rest(settings);
  const std::vector<ImportRemark> remarks = settings.take_remarks();
  CHECK(count_of(remarks, ImportOutcome::kWithoutEffect) == 2);
  CHECK(count_of(remarks, ImportOutcome::kNotCarried) == 1);
  try {
    diagnostics.throw_if_any();
    FAIL("nothing is refused");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()) == "run.sh:1:1: error: 'bert_head' is of BERT");
  }
}

TEST_CASE("a row that says nothing, or not what, is refused at its line", "[unit]") {
  CHECK_THAT(problems_of_table("  - {theirs: lr}\n"), contains_text("needs 'is', 'not', 'ours'"));
  CHECK_THAT(problems_of_table("  - {theirs: lr, else: maybe}\n"),
             contains_text("mine.yaml:4:24: error: 'words.else' must be 'no effect'"));
  CHECK_THAT(problems_of_table("  - {theirs: lr_*, else: \"changes the result: all\"}\n"),
             contains_text("must be whole names"));
  CHECK_THAT(problems_of_table("  - {their: lr, else: no effect}\n"), contains_text("their"));
}

TEST_CASE("no name of a shipped table stands in two rows", "[unit]") {
  for (const auto& entry :
       std::filesystem::directory_iterator(data_root().folder / "configs/frameworks")) {
    if (entry.path().extension() != ".yaml" || entry.path().stem() == "formats") {
      continue;
    }
    INFO(entry.path().string());
    const FrameworkWords words = load_framework_words(data_root(), entry.path().stem().string());
    std::set<std::string> names;
    for (const FrameworkWord& row : words.words()) {
      for (const std::string& name : row.theirs) {
        INFO(name);
        CHECK(names.insert(name).second);
      }
    }
    CHECK(names.size() > 30);
  }
}

}  // namespace
}  // namespace stepcast::framework_words_test
