// SPDX-License-Identifier: Apache-2.0
#include "frameworks/vocabulary_range.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

struct Size {
  Flops of_token;
  Bytes of_fullest_gpu;
};

std::optional<Size> size_with(std::int64_t vocabulary, ConfigNode experiment,
                              const DataRoot& data) {
  apply_override(experiment, {"model.vocabulary=" + std::to_string(vocabulary), "the vocabulary"});
  const Experiment read = read_experiment(experiment, {}, data);
  const ResolvedPlan resolved =
      settle_plan(read.plan, read.model, read.training, read.cluster, read.software);
  if (!resolved.reasons.empty()) {
    return std::nullopt;
  }
  Bytes fullest;
  for (const StageMemory& stage :
       memory_by_stage({read.model, resolved.plan, read.training, read.software})) {
    fullest = std::max(fullest, stage.total());
  }
  return Size{training_flops_per_token(read.model, read.training.sequence_length), fullest};
}

// "-1.1 to +1.5", with so many digits behind the point.
std::string between(double lowest, double highest, int digits) {
  const auto text = [digits](double value) {
    const std::string number = fixed_decimal(std::abs(value), digits);
    return (value < 0.0 ? "-" : "+") + number;
  };
  return text(lowest) + " to " + text(highest);
}

}  // namespace

std::string effect_of_vocabulary(const VocabularyRange& range, const ConfigNode& experiment,
                                 const DataRoot& data) {
  const ConfigNode* const model = experiment.find("model");
  const ConfigNode* const taken = model == nullptr ? nullptr : model->find("vocabulary");
  if (taken == nullptr || experiment.find("cluster") == nullptr) {
    return {};
  }
  const auto usual = size_with(whole_number_in(taken->text).value_or(1), experiment, data);
  const auto low = size_with(range.lowest, experiment, data);
  const auto high = size_with(range.highest, experiment, data);
  if (!usual || !low || !high) {
    return {};
  }
  const auto share = [&](const Size& size) {
    return 100.0 * (size.of_token / usual->of_token - 1.0);
  };
  const auto more = [&](const Size& size) {
    return (size.of_fullest_gpu - usual->of_fullest_gpu) / Bytes(1024.0 * 1024.0 * 1024.0);
  };
  return between(share(*low), share(*high), 0) + " % of the FLOPs, " +
         between(more(*low), more(*high), 1) + " GiB on the fullest GPU";
}

}  // namespace stepcast
