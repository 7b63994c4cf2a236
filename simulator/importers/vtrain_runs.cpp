// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <algorithm>

#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kVocabulary = 50'257;  // GPT-2's
constexpr std::int64_t kGpusOfNode = 8;

Record model_from(MappingReader& fields, std::int64_t positions) {
  const std::int64_t hidden = fields.required_count("hidden size", kWidth);
  const std::int64_t heads = fields.required_count("attention heads", kMeasuredDegree);
  return {{"name", "gpt"},
          {"hidden_size", hidden},
          {"layers", fields.required_count("# layers", kMeasuredDegree)},
          {"vocabulary", kVocabulary},
          {"positions", "learned"},
          {"max_positions", positions},
          {"norm", "layernorm"},
          {"tied_embeddings", true},
          {"attention",
           {{"heads", heads},
            {"head_dim", std::max<std::int64_t>(1, hidden / std::max<std::int64_t>(1, heads))},
            {"qkv_bias", true},
            {"output_bias", true}}},
          {"mlp", {{"ffn_hidden", 4 * hidden}, {"gated", false}, {"bias", true}}}};
}

Record plan_from(MappingReader& fields) {
  return {{"tp", fields.required_count("tensor parallelism", kMeasuredDegree)},
          {"pp", fields.required_count("pipeline parallelism", kMeasuredDegree)},
          {"dp", fields.required_count("data parallelism", kMeasuredDegree)},
          {"zero", 0},
          {"sequence_parallel", false},
          {"stage_layout", "balanced"}};
}

Record training_from(MappingReader& fields) {
  return {{"sequence_length", fields.required_count("sequence length", kWidth)},
          {"micro_batch_size", fields.required_count("micro batch", kMeasuredDegree)},
          {"global_batch_size", fields.required_count("global batch", kWidth)},
          {"dtype", "fp16"},
          {"dropout", true}};
}

// Nodes of 8 GPUs share 800 Gb/s.
Record cluster_from(std::int64_t gpus) {
  const std::int64_t in_node = std::min(gpus, kGpusOfNode);
  return {{"gpu", "a100_80gb"},
          {"nodes", gpus / std::max<std::int64_t>(1, in_node)},
          {"gpus_per_node", in_node},
          {"nics_per_gpu", 1},
          {"nic_rate", "12.5 GB/s"}};
}

// What the table leaves to Megatron's defaults and to vTrain's own profiler, with the reasons.
Record fill_in(Record& experiment, std::int64_t gpus) {
  Record assumed = {
      "training.dropout true: 0.1 is Megatron's default for attention and hidden states",
      "cluster.nic_rate 12.5 GB/s: 800 Gb/s a node, which vTrain states for its cluster"};
  if (gpus > kGpusOfNode) {
    experiment["training"]["recompute"] = "full";
    experiment["software"] = "megatron_2021";
    assumed.push_back("training.recompute full: runs on several nodes recompute every layer");
    return assumed;
  }
  // The model of vTrain's own profiler, which these rows were run with, pads nothing: each rank
  // holds a whole share of the vocabulary (src/model/gpt_modeling.py).
  experiment["software"] = {{"base", "megatron_2021"}, {"vocabulary_multiple", 1}};
  const std::int64_t tp = std::max<std::int64_t>(1, experiment["plan"]["tp"].get<std::int64_t>());
  experiment["model"]["vocabulary"] = kVocabulary - kVocabulary % tp;
  assumed.push_back(
      "model.vocabulary a multiple of tp, software.vocabulary_multiple 1: vTrain's profiler pads "
      "nothing (src/model/gpt_modeling.py)");
  return assumed;
}

}  // namespace

void read_vtrain_run(ForeignRow& row, std::vector<Record>& records) {
  MappingReader fields = row.fields();
  const Record training = training_from(fields);
  Record model = model_from(fields, training["sequence_length"].get<std::int64_t>());
  const Record plan = plan_from(fields);
  const std::int64_t gpus = fields.required_count("# GPUs", kMeasuredDegree);
  const bool nodes = gpus > kGpusOfNode;
  if (fields.good({"# GPUs"}) && nodes && gpus % kGpusOfNode != 0) {
    fields.error("# GPUs", "must be whole nodes of " + std::to_string(kGpusOfNode));
  }
  const double time = fields.required_number("iteration time (ms)", {1e-3, 1e9});
  fields.report_missing();
  Record experiment = {{"model", std::move(model)},
                       {"cluster", cluster_from(gpus)},
                       {"training", training},
                       {"plan", plan}};
  const Record assumed = fill_in(experiment, gpus);
  records.push_back(
      {{"experiment", experiment},
       {"measured", {{"step_time_s", 1e-3 * time}, {"fits", true}}},
       {"group", std::string("a100_80gb") + (nodes ? " vtrain multi" : " vtrain single")},
       {"assumed", assumed}});
}

}  // namespace stepcast
