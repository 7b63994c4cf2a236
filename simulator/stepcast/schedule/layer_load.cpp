// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/schedule/overlap_windows.hpp"

namespace stepcast {
namespace {

// The units that any of several communications holds, and what all of them ask of HBM over the time
// that they take: a short one that is fast stands for its own time alone.
class MeanLoad {
 public:
  explicit MeanLoad(const StepContext& context)
      : context_(context), kernel_(kernel_context(context)) {}

  void add(const Op& op) {
    if (communication_axis(op)) {
      units_ = std::max(units_, add_copy(op).units);
    }
  }
  // By copy engines, which hold no compute units.
  CommunicationLoad add_copy(const Op& op) {
    const OpCost cost = context_.cost.cost(op, kernel_, context_.cluster);
    const CommunicationLoad own = communication_load(op, cost);
    moved_ += own.hbm * cost.duration;
    lasted_ += cost.duration;
    return own;
  }
  [[nodiscard]] CommunicationLoad load() const {
    return {units_, lasted_ > Seconds{} ? moved_ / lasted_ : BytesPerSecond{}};
  }

 private:
  const StepContext& context_;
  KernelContext kernel_;
  std::int64_t units_ = 0;
  Bytes moved_;
  Seconds lasted_;
};

}  // namespace

CommunicationLoad layer_load(const StageLayer& layer, const StepContext& context) {
  MeanLoad mean(context);
  for (const OpList* ops : {&layer.traffic.gather, &layer.traffic.reduce}) {
    std::for_each(ops->begin(), ops->end(), [&](const Op& op) { mean.add(op); });
  }
  if (context.expansion.plan.passes_keys_round()) {
    for (const OpList* ops : {&layer.ops->forward, &layer.ops->backward}) {
      for (const std::size_t send : sends_beside_steps(*ops)) {
        mean.add((*ops)[send]);
      }
    }
  }
  if (context.expansion.software.shared_expert_overlap) {
    for (const std::size_t exchange : shared_expert_windows(layer.ops->forward)) {
      mean.add(layer.ops->forward[exchange]);
    }
    return mean.load();
  }
  for (const Op& op : layer.ops->backward) {
    if (op.id == OpId::kMoeRedispatch) {
      mean.add_copy(op);
    }
  }
  return mean.load();
}

}  // namespace stepcast
