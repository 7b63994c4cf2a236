// SPDX-License-Identifier: Apache-2.0
// What frameworks call the keys of an experiment: one table, from which importers, exporters, the
// reference page and "did you mean" follow.
//
//   plan.tp    tensor_model_parallel_size        parallelism.tensor_parallel_degree    ...
//
// A name stands in a row where it means the same quantity as our key, in the same unit; where a
// framework spreads a fact over several keys, or means another quantity, the name has a row with
// Meaning::kRelated and the code of that framework's reader says how it follows.
//
// Sources: Megatron-LM (megatron/training/arguments.py, core/model_parallel_config.py,
// core/transformer/transformer_config.py), whose fields Megatron Bridge and Primus share;
// torchtitan's TOML keys (torchtitan/config/job_config.py up to 2025); MaxText
// (src/MaxText/configs/base.yml); MLPerf Training submissions of NVIDIA (config_*.sh).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepcast {

enum class FrameworkVocabulary { kMegatron, kTorchtitan, kMaxText, kMlperf };
inline constexpr std::size_t kFrameworkVocabularies = 4;

// Whether a framework's key holds the same quantity as ours.
enum class KeyMeaning { kSame, kRelated };

struct FrameworkKey {
  std::string_view ours;  // "plan.tp"
  std::string_view meaning;
  std::string_view megatron{};    // a field; the argument is --field-name
  std::string_view torchtitan{};  // section.key
  std::string_view maxtext{};
  std::string_view mlperf{};  // a variable of the shell
  KeyMeaning relation = KeyMeaning::kSame;

  [[nodiscard]] std::string_view name(FrameworkVocabulary vocabulary) const;
};

std::span<const FrameworkKey> framework_keys();

// The name of our key in a vocabulary; a fault of the program if it has none there.
std::string_view framework_name(FrameworkVocabulary vocabulary, std::string_view ours);

// Our key for any framework's spelling of it ("tensor_model_parallel_size", also as an argument
// "--tensor-model-parallel-size" or the last part of a dotted key), or an empty text.
std::string_view our_key_of(std::string_view framework_name);
// "; did you mean 'tp'?" for a framework's word in the mapping `path` ("plan"), or an empty text.
std::string did_you_mean_ours(std::string_view word, std::string_view path);

}  // namespace stepcast
