// SPDX-License-Identifier: Apache-2.0
#include "importers/vtrain_runs.hpp"

#include <algorithm>

#include "importers/degree_range.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kVocabulary = 50'257;  // GPT-2's
constexpr std::int64_t kGpusPerNode = 8;
constexpr BytesPerSecond kNodeNetwork{800e9 / 8.0};

ModelSpec model_from(JsonFields& fields, std::int64_t positions) {
  ModelSpec model;
  model.name = "gpt";
  model.hidden = fields.required_count("hidden size", kWidth);
  model.layers = fields.required_count("# layers", kMeasuredDegree);
  model.vocabulary = kVocabulary;
  model.positions = Positions::kLearned;
  model.max_positions = positions;
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = true;
  model.tied_embeddings = true;
  AttentionSpec& attention = model.attention;
  attention.heads = fields.required_count("attention heads", kMeasuredDegree);
  attention.kv_heads = attention.heads;
  attention.qk_head_dim = std::max<std::int64_t>(1, model.hidden / attention.heads);
  attention.v_head_dim = attention.qk_head_dim;
  attention.qkv_bias = true;
  attention.output_bias = true;
  model.mlp = {.ffn_hidden = 4 * model.hidden, .gated = false, .bias = true};
  return model;
}

PlanRequest plan_from(JsonFields& fields) {
  PlanRequest plan;
  plan.given = true;
  plan.tp = fields.required_count("tensor parallelism", kMeasuredDegree);
  plan.dp = fields.required_count("data parallelism", kMeasuredDegree);
  plan.pp = fields.required_count("pipeline parallelism", kMeasuredDegree);
  plan.zero = 0;
  plan.sequence_parallel = false;
  plan.layout = "balanced";
  plan.overlap.hidden[static_cast<std::size_t>(Axis::kData)] = 0.0;
  return plan;
}

ClusterSpec cluster_from(std::int64_t gpus, const DeviceSpec& device) {
  const std::int64_t in_node = std::min(gpus, kGpusPerNode);
  ClusterSpec cluster = cluster_of(device, gpus / in_node);
  cluster.gpus_per_node = in_node;
  cluster.device.scale_out.nics_per_gpu = 1.0;
  cluster.device.scale_out.nic_rate = kNodeNetwork / static_cast<double>(kGpusPerNode);
  return cluster;
}

}  // namespace

MeasuredRun read_vtrain_run(KernelRow row) {
  JsonFields fields = row.fields();
  MeasuredRun run;
  run.gpu = "a100_80gb";
  Experiment experiment;
  TrainingRecipe& training = experiment.training;
  training.sequence_length = fields.required_count("sequence length", kWidth);
  training.micro_batch_size = fields.required_count("micro batch", kMeasuredDegree);
  training.global_batch_size = fields.required_count("global batch", kWidth);
  training.dtype = Dtype::kFp16;
  training.dropout = true;  // 0.1, Megatron's default for attention and hidden states
  experiment.model = model_from(fields, training.sequence_length);
  experiment.plan = plan_from(fields);
  const std::int64_t gpus = fields.required_count("# GPUs", kMeasuredDegree);
  if (fields.good({"# GPUs"}) && gpus > kGpusPerNode && gpus % kGpusPerNode != 0) {
    fields.error("# GPUs", "must be whole nodes of " + std::to_string(kGpusPerNode));
  }
  const bool nodes = gpus > kGpusPerNode;
  training.recompute.kind = nodes ? RecomputeKind::kFull : RecomputeKind::kNone;
  run.group = run.gpu + (nodes ? " vtrain multi" : " vtrain single");
  run.quantities = {
      {"step_time_s", 1e-3 * fields.required_number("iteration time (ms)", {1e-3, 1e9})}};
  fields.finish();
  experiment.cluster = cluster_from(gpus, row.profiles.gpu(run.gpu));
  experiment.software = row.profiles.software("megatron_2021");
  if (!nodes) {
    // The model of vTrain's own profiler, which these rows were run with, pads nothing: each rank
    // holds a whole share of the vocabulary (src/model/gpt_modeling.py).
    experiment.software.vocabulary_multiple = 1;
    experiment.model.vocabulary -=
        experiment.model.vocabulary % std::max<std::int64_t>(1, experiment.plan.tp);
  }
  run.experiment = std::move(experiment);
  return run;
}

}  // namespace stepcast
