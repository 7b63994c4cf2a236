// SPDX-License-Identifier: Apache-2.0
// Sweeps from texts.
#pragma once

#include <string>
#include <vector>

#include "backends/builtin_backends.hpp"
#include "sample_specs.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast::test {

inline SweepSpace sweep_of(const std::string& text, const std::vector<Override>& overrides = {},
                           const std::string& version = "test") {
  return read_sweep({"sweep.yaml", {}, text, overrides, version}, data_root());
}

// What a sweep is refused with, a problem a line.
inline std::string sweep_error(const std::string& text) {
  return config_error([&] { return sweep_of(text); });
}

inline ChunkResult evaluated(const SweepSpace& space, std::int64_t begin, std::int64_t end) {
  return PlanEvaluator(space, std::vector<CostModel>(space.sites().size(), default_cost_model()),
                       std::make_shared<SolvedPipelines>())
      .evaluate(begin, end);
}
inline ChunkResult evaluated(const SweepSpace& space) { return evaluated(space, 0, space.size()); }

// A model of 8 layers on 8 H100, on which everything is small; `more` follows it.
inline std::string small_sweep(const std::string& training, const std::string& plan,
                               const std::string& more = {}) {
  return "model: {name: small, title: Small, family: test, source: test, hidden_size: 1024, "
         "layers: 8, vocabulary: 32000, attention: {heads: 16, kv_heads: 4, head_dim: 64}, "
         "mlp: {ffn_hidden: 4096}}\n"
         "cluster: {gpu: h100_sxm, nodes: 1}\n"
         "training: {sequence_length: 512" +
         training + "}\nplan: " + plan + "\n" + more;
}

}  // namespace stepcast::test
