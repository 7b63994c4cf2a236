// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/framework_keys.hpp"

#include <set>

#include "catch.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast::framework_keys_test {
namespace {

TEST_CASE("a framework's word leads to ours, as an argument, a field or the end of a dotted key",
          "[unit]") {
  CHECK(our_key_of("tensor_model_parallel_size") == "plan.tp");
  CHECK(our_key_of("--tensor-model-parallel-size") == "plan.tp");
  CHECK(our_key_of("tensor_parallel_degree") == "plan.tp");
  CHECK(our_key_of("parallelism.tensor_parallel_degree") == "plan.tp");
  CHECK(our_key_of("TENSOR_MODEL_PARALLEL") == "plan.tp");
  CHECK(our_key_of("seq_len") == "training.sequence_length");
  CHECK(our_key_of("colour").empty());
  CHECK(did_you_mean_ours("tensor_model_parallel_size", "plan") == "; did you mean 'tp'?");
  CHECK(did_you_mean_ours("seq_len", "plan") == "; did you mean 'training.sequence_length'?");
  CHECK(did_you_mean_ours("colour", "plan").empty());
}

TEST_CASE("every key of the plan and the training that the table names is one of ours", "[unit]") {
  for (const FrameworkKey& key : framework_keys()) {
    CAPTURE(key.ours);
    const std::string_view name = key.ours.substr(key.ours.find('.') + 1);
    if (key.ours.starts_with("plan.")) {
      CHECK(plan_key(name) != nullptr);
    } else if (key.ours.starts_with("training.")) {
      CHECK(training_key(name) != nullptr);
    }
  }
}

TEST_CASE("no two keys of ours have one word of a framework", "[unit]") {
  for (std::size_t i = 0; i < kFrameworkVocabularies; ++i) {
    std::set<std::string_view> words;
    for (const FrameworkKey& key : framework_keys()) {
      const std::string_view word = key.name(static_cast<FrameworkVocabulary>(i));
      CAPTURE(word);
      CHECK((word.empty() || words.insert(word).second));
    }
  }
}

}  // namespace
}  // namespace stepcast::framework_keys_test
