// SPDX-License-Identifier: Apache-2.0
// Small inputs with round numbers, complete, for tests to change field by field; and the shipped
// files.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast::test {

inline const DataRoot& data_root() {
  static const DataRoot root{STEPCAST_DATA_ROOT};
  return root;
}

inline ModelSpec shipped_model(const std::string& name) {
  return load_named_model(name, data_root(), {"test", 1, 1});
}
inline DeviceSpec shipped_gpu(const std::string& name) {
  return load_gpu(name, data_root(), {"test", 1, 1});
}
inline Architecture shipped_architecture(const std::string& name) {
  SourceTable sources = load_shared_sources(data_root());
  std::vector<Provenance> provenance;
  Diagnostics diagnostics;
  Architecture architecture =
      read_architecture(load_config(data_root().architectures() / (name + ".yaml")), sources,
                        provenance, diagnostics);
  diagnostics.throw_if_any();
  return architecture;
}

// Of the examples and of configs/experiments, sorted.
inline std::vector<std::filesystem::path> shipped_experiments() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root = data_root().folder;
  for (const auto& entry : std::filesystem::directory_iterator(root / "examples")) {
    if (std::filesystem::exists(entry.path() / "experiment.yaml")) {
      files.push_back(entry.path() / "experiment.yaml");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(root / "configs/experiments")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What `run` throws as a ConfigError, one problem a line; "no error" if it throws nothing.
template <typename Run>
std::string config_error(const Run& run) {
  try {
    run();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// Everything that an expansion reads.
struct Sample {
  ModelSpec model;
  ParallelPlan plan;
  TrainingRecipe training;
  SoftwareSpec software;

  [[nodiscard]] ExpansionContext context() const { return {model, plan, training, software}; }
};

// H = 1024, L = 8, V = 32,000, 16 heads and 4 key/value heads of 64, gated F = 4096;
// one GPU, sequences of 512, micro-batches of 2.
inline Sample dense_sample() {
  Sample sample;
  sample.model.name = "sample";
  sample.model.hidden = 1024;
  sample.model.layers = 8;
  sample.model.vocabulary = 32'000;
  sample.model.attention.heads = 16;
  sample.model.attention.kv_heads = 4;
  sample.model.attention.qk_head_dim = 64;
  sample.model.attention.v_head_dim = 64;
  sample.model.mlp.ffn_hidden = 4096;
  sample.training.sequence_length = 512;
  sample.training.micro_batch_size = 2;
  sample.training.global_batch_size = 16;
  sample.plan.stages = {{.layers = 8, .embedding = true, .loss = true}};
  sample.plan.micro_batches = 8;
  return sample;
}

inline MoeSpec experts(std::int64_t count, std::int64_t a_token, std::int64_t ffn_hidden) {
  MoeSpec moe;
  moe.experts = count;
  moe.experts_per_token = a_token;
  moe.expert_ffn_hidden = ffn_hidden;
  return moe;
}

// The same with 16 experts of 512 in every layer, 2 a token.
inline Sample moe_sample() {
  Sample sample = dense_sample();
  sample.model.moe = experts(16, 2, 512);
  return sample;
}

// 1024 tokens of 1024 values, 2 of 16 experts, over 4 ranks.
inline Sample exchanging_sample(Dispatcher dispatcher) {
  Sample sample = moe_sample();
  sample.plan.dp = 4;
  sample.plan.ep = 4;
  sample.plan.exchange.dispatcher = dispatcher;
  return sample;
}

// Splits the layers of `sample` evenly over pp * vpp stages.
inline void set_pipeline(Sample& sample, std::int64_t pp, std::int64_t vpp) {
  sample.plan.pp = pp;
  sample.plan.vpp = vpp;
  sample.plan.schedule = vpp > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB;
  const auto stages = static_cast<std::size_t>(pp * vpp);
  sample.plan.stages.assign(stages, StageContent{.layers = sample.model.layers / (pp * vpp)});
  sample.plan.stages.front().embedding = true;
  sample.plan.stages.back().loss = true;
}

// Nodes of 8 GPUs without latencies but 0.3 us for each message to another node: 100 GB/s a GPU
// inside a node, 10 GB/s outside.
inline ClusterSpec round_cluster(std::int64_t nodes) {
  ClusterSpec cluster;
  cluster.name = "round";
  cluster.nodes = nodes;
  cluster.gpus_per_node = 8;
  ScaleUpSpec& inside = cluster.device.scale_up;
  inside.topology = ScaleUpTopology::kSwitch;
  inside.domain_size = 8;
  inside.links = 1;
  inside.link_rate = BytesPerSecond(100e9);
  cluster.device.scale_out.nic_rate = BytesPerSecond(10e9);
  cluster.device.collectives.message.issue = Seconds(0.3e-6);
  return cluster;
}

}  // namespace stepcast::test
