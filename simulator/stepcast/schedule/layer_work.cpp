// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/layer_work.hpp"

#include <algorithm>
#include <functional>

#include "stepcast/base/hash.hpp"

namespace stepcast {
namespace {

// Neighbours in a space share theirs: of micro-batches and recomputations of one division of a
// layer there are some ten. What is kept stays within some ten MiB.
constexpr std::size_t kMostWorks = 32;

}  // namespace

std::size_t KeptCosts::Hash::operator()(const Key& key) const {
  const auto& [ops, clock, held_units] = key;
  return hash_of_values(std::hash<const OpList*>{}(ops), clock, held_units);
}

const std::vector<OpCost>& KeptCosts::of(const OpList& ops, const StepContext& context,
                                         std::int64_t held_units) {
  const auto [known, fresh] = costs_.try_emplace({&ops, context.clock, held_units});
  if (fresh) {
    known->second = costs_of(ops, context, held_units);
  }
  return known->second;
}

std::shared_ptr<LayerWork> LayerWorks::of(const ExpansionContext& context) {
  LayerDivision division = layer_division(context);
  const auto known = std::find_if(works_.begin(), works_.end(),
                                  [&](const auto& entry) { return entry.first == division; });
  if (known == works_.end()) {
    works_.emplace_front(std::move(division), std::make_shared<LayerWork>());
    if (works_.size() > kMostWorks) {
      works_.pop_back();
    }
  } else {
    works_.splice(works_.begin(), works_, known);
  }
  return works_.front().second;
}

}  // namespace stepcast
