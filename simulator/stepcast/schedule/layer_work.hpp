// SPDX-License-Identifier: Apache-2.0
// The work of single layers, expanded and priced once for all plans of one model, software, cluster
// and cost model that divide it alike. For one thread.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepcast/layer/built_stage.hpp"
#include "stepcast/schedule/layer_prices.hpp"

namespace stepcast {

// What lists of operators cost, kept by where they stand: each must stay there as long as this.
class KeptCosts {
 public:
  // As costs_of.
  const std::vector<OpCost>& of(const OpList& ops, const StepContext& context,
                                std::int64_t held_units);

 private:
  struct Key {
    const OpList* ops = nullptr;
    Hertz clock;
    std::int64_t held_units = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, std::vector<OpCost>, Hash> costs_;
};

struct LayerWork {
  std::shared_ptr<LayerBlocks> blocks = std::make_shared<LayerBlocks>();
  KeptCosts costs;  // of the lists of `blocks`
};

class LayerWorks {
 public:
  // That of the context's plan. It lives as long as the caller holds it, and here while few others
  // have been asked for since.
  std::shared_ptr<LayerWork> of(const ExpansionContext& context);

 private:
  std::list<std::pair<LayerDivision, std::shared_ptr<LayerWork>>> works_;  // the latest first
};

}  // namespace stepcast
