// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/setting_moves.hpp"

#include <array>
#include <utility>

#include "stepcast/experiment/training_changes.hpp"
#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {
namespace {

class Moves {
 public:
  Moves(const ConfigNode& tree, const Experiment& experiment, const ParallelPlan& settled)
      : tree_(tree), experiment_(experiment), settled_(settled) {}

  std::vector<SettingMove> all() {
    add_formats();
    add_context_parallelism();
    add_exchange_units();
    add_offloads();
    add_attention();
    add_gradients();
    return std::move(moves_);
  }

 private:
  void add(std::string key, std::string value) {
    KeySettings settings = {{key, value}};
    moves_.push_back({std::move(key), std::move(value), std::move(settings)});
  }

  void add_formats() {
    const Dtype now = experiment_.training.dtype;
    const auto add_format = [this](Dtype dtype) {
      if (experiment_.cluster.device.matrix_rate[slot(dtype)]) {
        add("training.dtype", std::string(name(dtype)));
      }
    };
    switch (now) {
      case Dtype::kFp4:
        return add_format(Dtype::kFp8);
      case Dtype::kFp8:
      case Dtype::kFp8Block:
        add_format(Dtype::kBf16);
        return add_format(Dtype::kFp4);
      case Dtype::kBf16:
      case Dtype::kFp16:
        return add_format(Dtype::kFp8);
      case Dtype::kFp32:
        return;
    }
  }

  void add_context_parallelism() {
    if (settled_.cp == 1) {
      return;
    }
    for (const std::string_view algorithm : kNamesOf<CpAlgorithm>) {
      if (algorithm != name(settled_.cp_algorithm)) {
        add("plan.cp_algorithm", std::string(algorithm));
      }
    }
  }

  void add_exchange_units() {
    const ExchangeSpec& exchange = settled_.exchange;
    if (!experiment_.model.moe || settled_.ep == 1 ||
        !model_of(carried_by(exchange)).takes_num_sms) {
      return;
    }
    const std::int64_t units = exchange_units(exchange, experiment_.cluster.device.exchange);
    if (units > 0) {
      add("expert_exchange.num_sms", std::to_string(2 * units));
    }
    if (units > 1) {
      add("expert_exchange.num_sms", std::to_string(units / 2));
    }
  }

  void add_offloads() {
    const TrainingRecipe& training = experiment_.training;
    if (training.optimizer.offload) {
      moves_.push_back(
          {"training.optimizer", "on the GPU", {{"training.optimizer.offload", "null"}}});
    } else {
      moves_.push_back({"training.optimizer", "on the host", optimizer_offload_settings(tree_)});
    }
    add("training.offload.parameters", training.offload.parameters ? "false" : "true");
    add("training.offload.activations", training.offload.activations ? "false" : "true");
  }

  void add_attention() {
    const bool fuses =
        experiment_.cluster.device.architecture.attention.native != AttentionKernel::kUnfused;
    if (fuses && experiment_.software.attention_kernel() == AttentionKernel::kUnfused) {
      add("software.attention", std::string(name(AttentionKernel::kFlash2)));
    }
  }

  void add_gradients() {
    const bool has_bf16 = experiment_.cluster.device.matrix_rate[slot(Dtype::kBf16)].has_value();
    if (has_bf16 && experiment_.software.gradient_reduce != kSixteenBits) {
      add("software.gradient_reduce", std::string(name(Dtype::kBf16)));
    }
  }

  const ConfigNode& tree_;
  const Experiment& experiment_;
  const ParallelPlan& settled_;
  std::vector<SettingMove> moves_;
};

}  // namespace

std::vector<SettingMove> setting_moves(const ConfigNode& tree, const Experiment& experiment,
                                       const ParallelPlan& settled) {
  return Moves(tree, experiment, settled).all();
}

}  // namespace stepcast
