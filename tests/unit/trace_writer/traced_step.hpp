// SPDX-License-Identifier: Apache-2.0
// The trace of an experiment that is written out in a test, read back as JSON.
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/builtin_backends.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/trace_writer/step_trace.hpp"

namespace stepcast::test {

struct TracedStep {
  Experiment experiment;
  CostModel cost;
  Projection projection;
  std::string text;

  explicit TracedStep(const std::string& yaml, std::int64_t rank = 0)
      : experiment(read_experiment(parse_config(yaml, "test.yaml"), {}, data_root())),
        cost(default_cost_model()),
        projection(project(experiment, cost)) {
    write_step_trace(experiment, projection, cost, rank,
                     [this](std::string_view piece) { text += piece; });
  }
};

using Json = nlohmann::json;

inline std::vector<Json> events_of(const std::string& text) {
  return Json::parse(text).at("traceEvents").get<std::vector<Json>>();
}

// The same step and its events for every test: they are long.
inline const TracedStep& traced(const std::string& yaml) {
  static std::map<std::string, TracedStep> known;
  return known.try_emplace(yaml, yaml).first->second;
}
inline const std::vector<Json>& traced_events(const std::string& yaml) {
  static std::map<std::string, std::vector<Json>> known;
  const auto [entry, added] = known.try_emplace(yaml);
  if (added) {
    entry->second = events_of(traced(yaml).text);
  }
  return entry->second;
}

inline std::string category_of_event(const Json& event) { return event.value("cat", ""); }

inline std::int64_t nanoseconds_of(const Json& time) {
  return std::llround(1000.0 * time.get<double>());
}

// One of each kind of plan that a step's timeline has a rule for.
inline const std::string kFsdp =
    "model: llama3.2_1b\ncluster: {gpu: h200_sxm, nodes: 1}\n"
    "training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 16, dtype: bf16}\n"
    "plan: {zero: 3}\nsoftware: pytorch_compiled\n";
inline const std::string kTensorAndPipeline =
    "model: llama3.1_8b\ncluster: {gpu: h200_sxm, nodes: 4}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 16, dtype: bf16}\n"
    "plan: {tp: 4, pp: 4}\nsoftware: megatron\n";
inline const std::string kExperts =
    "model: mixtral_8x7b\ncluster: {gpu: mi300x, nodes: 4}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 32, dtype: bf16}\n"
    "plan: {pp: 2, ep: 8, dispatcher: deepep}\nsoftware: primus_turbo\n";
inline const std::string kFp8 =
    "model: llama3.2_1b\ncluster: {gpu: h200_sxm, nodes: 1}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 16, dtype: fp8}\n"
    "plan: {zero: 1}\nsoftware: megatron\n";
inline const std::string kAmd =
    "model: llama3.2_1b\ncluster: {gpu: mi300x, nodes: 1}\n"
    "training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 16, dtype: bf16}\n"
    "plan: {zero: 1}\nsoftware: primus_turbo\n";
inline const std::string kZeroBubble =
    "model: llama3.1_8b\ncluster: {gpu: h200_sxm, nodes: 4}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 16, dtype: bf16}\n"
    "plan: {tp: 4, pp: 4, schedule: zb_h1}\nsoftware: megatron\n";
inline const std::string kDualPipe =
    "model: mixtral_8x7b\ncluster: {gpu: mi300x, nodes: 4}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64, dtype: bf16}\n"
    "plan: {pp: 4, ep: 8, schedule: dualpipe}\nsoftware: primus_turbo\n";
inline const std::string kUniform =
    "model: llama3.2_1b\ncluster: {gpu: h200_sxm, nodes: 1}\n"
    "training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 16, dtype: bf16}\n"
    "plan: {tp: 2, zero: 1, overlap: uniform}\nsoftware: megatron\n";
inline const std::string kFullRecompute =
    "model: llama3.2_1b\ncluster: {gpu: h200_sxm, nodes: 1}\n"
    "training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 16, dtype: bf16, "
    "recompute: full}\n"
    "plan: {zero: 3}\nsoftware: pytorch_compiled\n";
inline const std::string kSelectiveRecompute =
    "model: llama3.1_8b\ncluster: {gpu: h200_sxm, nodes: 4}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 16, dtype: bf16, "
    "recompute: selective}\n"
    "plan: {tp: 4, pp: 4, schedule: zb_h1}\nsoftware: megatron\n";

}  // namespace stepcast::test
