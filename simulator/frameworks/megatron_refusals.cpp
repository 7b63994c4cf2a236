// SPDX-License-Identifier: Apache-2.0
// What Megatron-LM, Primus and Megatron Bridge cannot run of an experiment.
#include <algorithm>
#include <array>

#include "frameworks/bridge_adapters.hpp"
#include "frameworks/megatron_writer.hpp"

namespace stepcast {
namespace {

// The first key whose list is in the way.
std::string uneven_key(const ModelSpec& model) {
  const AttentionSpec& attention = model.attention;
  for (const auto& [key, counts] : {std::pair{"model.attention.heads", &attention.heads},
                                    {"model.attention.kv_heads", &attention.kv_heads},
                                    {"model.attention.head_dim", &attention.qk_head_dim},
                                    {"model.attention.v_head_dim", &attention.v_head_dim},
                                    {"model.attention.sliding_window", &attention.sliding_window},
                                    {"model.mlp.ffn_hidden", &model.mlp.ffn_hidden}}) {
    if (!counts->uniform()) {
      return key;
    }
  }
  return "model.mixers";
}

// Why no field says what the model's layers are; empty where fields do.
std::vector<ExportRefusal> layers_without_fields(const ModelSpec& model) {
  std::vector<ExportRefusal> refusals;
  const auto& linear = model.mixers.linear_attention;
  const bool kimi = linear && linear->rule == DeltaRule::kKimiDelta;
  if (layers_differ(model)) {
    refusals.push_back(
        {uneven_key(model), "",
         "no field of it says that layers differ in heads or widths, or lack a block",
         "give all layers the same"});
  }
  if (model.mlp.soft_clamped != kimi) {
    refusals.push_back({"model.mlp.soft_clamped", kimi ? "false" : "true",
                        "its model_type kimi_k3 clamps softly, and no other does",
                        kimi ? "take true" : "take false"});
  }
  return refusals;
}

constexpr std::array kSchedules = {Schedule::kOneFOneB, Schedule::kInterleaved};
constexpr std::array kDispatchers = {Dispatcher::kAllGather, Dispatcher::kAllToAll,
                                     Dispatcher::kDeepEp, Dispatcher::kHybridEp};

template <typename Value>
bool among(std::span<const Value> values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// "take 1f1b or interleaved_1f1b"
template <typename Value>
std::string take(std::span<const Value> values) {
  std::string text = "take ";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i == 0 ? "" : i + 1 == values.size() ? " or " : ", ";
    text += name(values[i]);
  }
  return text;
}

// Some parts of the model beside others, or beside adapters.
bool trains_a_part(const TrainedWeights& weights) {
  const std::size_t roles = names_of<ParameterRole>().size();
  std::size_t trained = 0;
  for (std::size_t role = 0; role < roles; ++role) {
    trained += weights.trains(static_cast<ParameterRole>(role)) ? 1 : 0;
  }
  return weights.lora ? trained > 0 : trained < roles;
}

class Refusals {
 public:
  Refusals(const ExportInput& input, MegatronDialect dialect)
      : experiment_(input.experiment),
        plan_(input.plan),
        dialect_(dialect),
        words_(megatron_words(input.data)) {}

  std::vector<ExportRefusal> all() {
    refuse_training();
    refuse_blocks();
    if (dialect_ != MegatronDialect::kPrimus) {
      if (std::optional<ExportRefusal> alone = primus_alone(experiment_.model)) {
        refusals_.push_back(*std::move(alone));
      }
    }
    refuse_plan();
    return std::move(refusals_);
  }

 private:
  void add(std::string key, std::string value, std::string reason, std::string remedy) {
    refusals_.push_back({std::move(key), std::move(value), std::move(reason), std::move(remedy)});
  }

  void refuse_training() {
    const TrainedWeights& weights = experiment_.training.weights;
    if (weights.lora && dialect_ == MegatronDialect::kMegatron) {
      add("training.lora", "", "its pretraining trains all parameters",
          "export primus or megatron_bridge, or leave the key out");
    }
    if (const auto& lora = weights.lora) {
      for (const LoraTarget target : lora->targets) {
        refuse_target(target);
      }
    }
    if (trains_a_part(weights)) {
      add("training.frozen", "", "it trains all parameters, or adapters alone",
          "leave the key out");
    }
    if (std::optional<ExportRefusal> lack = why_megatron_lacks(experiment_.training.optimizer)) {
      refusals_.push_back(*std::move(lack));
    }
  }

  void refuse_target(LoraTarget target) {
    if (dialect_ != MegatronDialect::kMegatron && adapted_module(target).empty()) {
      add("training.lora.targets", std::string(name(target)),
          "its adapters stand beside fused products", "take qkv, o, gate_up or down");
    }
  }

  void refuse_blocks() {
    const ModelSpec& model = experiment_.model;
    for (ExportRefusal& refusal : layers_without_fields(model)) {
      refusals_.push_back(std::move(refusal));
    }
    if (model.positions == Positions::kAlibi) {
      add("model.positions", "alibi", "its positions turn heads, are learned, or none",
          "take rope, learned or none");
    }
    if (model.parallel_blocks) {
      add("model.parallel_blocks", "true", "its attention comes before the feed-forward block",
          "take false");
    }
    if (model.embedding_norm) {
      add("model.embedding_norm", "true", "its layers read the embedding as it is", "take false");
    }
    if (!model.norm_weight) {
      add("model.norm_weight", "false", "its norms have a gain", "take true");
    }
    if (model.norms_per_layer != 2) {
      add("model.norms_per_layer", std::to_string(model.norms_per_layer),
          "its layers have a norm before each block", "take 2");
    }
    if (model.attention.qk_norm == QkNorm::kFull) {
      add("model.attention.qk_norm", "full", "it norms each head by itself", "take head or none");
    }
  }

  [[nodiscard]] bool has_schedule(Schedule schedule) const {
    return among(std::span<const Schedule>(kSchedules), schedule) ||
           (dialect_ == MegatronDialect::kPrimus && !primus_schedule(schedule, words_).empty());
  }

  [[nodiscard]] std::vector<Schedule> schedules() const {
    std::vector<Schedule> all;
    for (std::size_t i = 0; i < names_of<Schedule>().size(); ++i) {
      if (const auto schedule = static_cast<Schedule>(i); has_schedule(schedule)) {
        all.push_back(schedule);
      }
    }
    return all;
  }

  void refuse_plan() {
    if (plan_.pp > 1 && !has_schedule(plan_.schedule)) {
      add("plan.schedule", std::string(name(plan_.schedule)), "it has no such pipeline schedule",
          take(std::span<const Schedule>(schedules())));
    }
    if (experiment_.model.moe &&
        !among(std::span<const Dispatcher>(kDispatchers), plan_.exchange.dispatcher)) {
      add("plan.dispatcher", std::string(name(plan_.exchange.dispatcher)), "it has no such one",
          take(std::span<const Dispatcher>(kDispatchers)));
    }
    if (plan_.zero == 3 && !plan_.fsdp_experts) {
      add("plan.fsdp_experts", "false", "its FSDP shards experts as it does the rest", "take true");
    }
    if (experiment_.cluster.gpus() != plan_.world()) {
      add("cluster.nodes", "",
          "the plan has " + std::to_string(plan_.world()) + " ranks, the cluster " +
              std::to_string(experiment_.cluster.gpus()) + " GPUs",
          "take as many GPUs as ranks");
    }
  }

  const Experiment& experiment_;
  const ParallelPlan& plan_;
  MegatronDialect dialect_;
  FrameworkWords words_;
  std::vector<ExportRefusal> refusals_;
};

}  // namespace

std::optional<ExportRefusal> primus_alone(const ModelSpec& model) {
  constexpr const char* kRemedy = "export primus";
  const auto& linear = model.mixers.linear_attention;
  if (model.mixers.convolution) {
    return ExportRefusal{"model.convolution", "", "it has no layers of short convolutions",
                         kRemedy};
  }
  if (linear && linear->rule == DeltaRule::kKimiDelta) {
    return ExportRefusal{"model.linear_attention.rule", "kimi_delta",
                         "it has no Kimi Delta Attention", kRemedy};
  }
  if (model.attention.kind == AttentionKind::kSharedKv) {
    return ExportRefusal{"model.attention.kind", "shared_kv",
                         "it has no head that is key and value", kRemedy};
  }
  if (model.residual_streams > 1) {
    return ExportRefusal{"model.residual_streams", std::to_string(model.residual_streams),
                         "it has no residual streams", kRemedy};
  }
  if (model.residual_block > 0) {
    return ExportRefusal{"model.residual_block", std::to_string(model.residual_block),
                         "it has no attention residuals", kRemedy};
  }
  return std::nullopt;
}

std::string primus_schedule(Schedule schedule, const FrameworkWords& words) {
  return among(std::span<const Schedule>(kSchedules), schedule)
             ? std::string{}
             : words.theirs_of("pp_algorithm", name(schedule));
}

std::vector<ExportRefusal> megatron_refusals(const ExportInput& input, MegatronDialect dialect) {
  return Refusals(input, dialect).all();
}

}  // namespace stepcast
