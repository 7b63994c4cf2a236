// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/recompute_choice.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

bool is_exchange(const Op& op) {
  const auto* collective = std::get_if<Collective>(&op.work);
  return std::holds_alternative<ExpertExchange>(op.work) ||
         (collective != nullptr && collective->op == CollectiveOp::kAllToAll);
}

bool is_reduction(const Op& op) {
  const auto* collective = std::get_if<Collective>(&op.work);
  return collective != nullptr && (collective->op == CollectiveOp::kReduceScatter ||
                                   collective->op == CollectiveOp::kAllReduce);
}

// What a layer ends with, whose results no backward reads: its feed-forward, or its mixer where it
// has none.
struct LayerEnd {
  OpId product = OpId::kMlpDown;
  OpId communication = OpId::kMlpTpOut;
  OpId residual = OpId::kMlpResidual;

  LayerEnd(LayerKind kind, const OpList& forward) {
    const bool feeds = kind.moe || std::ranges::any_of(forward, [](const Op& op) {
                         return op.id == OpId::kMlpDown;
                       });
    if (!feeds) {
      product = mixer_output(kind.mixer);
      communication = OpId::kAttentionTpOut;
      residual = OpId::kAttentionResidual;
    }
  }
  [[nodiscard]] bool has(const Op& op) const {
    return op.id == product || op.id == communication || op.id == residual;
  }
};

// Whether the policy is asked for the operators of a layer one by one: in eager code it is, and
// where the layer is traced as a whole. Of compiled pieces it meets the calls of other libraries
// alone, which products into a given buffer are not.
bool asks_for_products(const SoftwareSpec& software, LayerKind kind) {
  return software.host.layers != LaunchMode::kCompiled || is_one_graph(software, kind);
}

bool is_flex(const Op& op) {
  const auto* attention = std::get_if<Attention>(&op.work);
  return attention != nullptr && attention->kernel == AttentionKernel::kFlex;
}

// Results that torchtitan's policy saves.
class OperatorPolicy {
 public:
  OperatorPolicy(const SoftwareSpec& software, const OpList& forward, LayerKind kind) {
    kept_.reserve(forward.size());
    const bool products = asks_for_products(software, kind);
    const bool flex = is_one_graph(software, kind);
    bool keep_next = products;
    for (const Op& op : forward) {
      if (std::holds_alternative<Gemm>(op.work)) {
        // per_op_sac_force_recompute_mm_shapes_by_fqns names the router by default.
        if (op.block == Block::kRouter) {
          continue;
        }
        if (keep_next) {
          kept_.push_back(op.id);
        }
        keep_next = products && !keep_next;
      } else if (std::holds_alternative<Attention>(op.work)) {
        if (flex || !is_flex(op)) {
          kept_.push_back(op.id);
        }
      } else if (is_exchange(op)) {
        if (software.memory.selective_keeps_exchanges) {
          kept_.push_back(op.id);
        }
      } else if (is_reduction(op)) {
        // What a row-parallel product gives is saved after its reduce-scatter.
        kept_.push_back(op.id);
        kept_.push_back(op.id == OpId::kAttentionTpOut ? mixer_output(kind.mixer) : op.id);
      }
    }
  }
  [[nodiscard]] bool keeps(OpId producer) const {
    return std::find(kept_.begin(), kept_.end(), producer) != kept_.end();
  }

 private:
  std::vector<OpId> kept_;
};

// FLOP-equivalents to recompute a tensor.
double cost_of(const SavedTensor& tensor, const OpList& forward) {
  double cost = 0.0;
  for (const Op& op : forward) {
    if (op.id == tensor.producer) {
      cost += flops(op).value() + kFlopsPerByte * compulsory_bytes(op).value();
    }
  }
  return cost;
}

bool may_go(const SavedTensor& tensor, const OpList& forward) {
  return tensor.producer && std::ranges::none_of(forward, [&](const Op& op) {
           return op.id == tensor.producer && is_exchange(op);
         });
}

std::vector<SavedTensor> read_by_backward(const std::vector<SavedTensor>& saved) {
  std::vector<SavedTensor> read;
  std::ranges::copy_if(saved, std::back_inserter(read),
                       [](const SavedTensor& tensor) { return tensor.read; });
  return read;
}

std::vector<SavedTensor> within_budget(std::vector<SavedTensor> tensors, const OpList& forward,
                                       double budget) {
  std::vector<std::size_t> order;
  std::vector<double> price(tensors.size());
  Bytes optional;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    optional += tensors[i].producer ? tensors[i].bytes : Bytes{};
    price[i] = cost_of(tensors[i], forward) / std::max(1.0, tensors[i].bytes.value());
    if (may_go(tensors[i], forward)) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return price[a] < price[b]; });
  const Bytes allowed = budget * optional;
  for (const std::size_t i : order) {
    if (optional <= allowed) {
      break;
    }
    optional -= tensors[i].bytes;
    tensors[i].bytes = Bytes{};
  }
  std::erase_if(tensors, [](const SavedTensor& tensor) { return tensor.bytes == Bytes{}; });
  return tensors;
}

bool makes_one_of(const std::vector<SavedTensor>& tensors, const Op& op) {
  return std::ranges::any_of(tensors,
                             [&](const SavedTensor& tensor) { return tensor.producer == op.id; });
}

// The operators that make what is needed but not kept.
OpList makers_of_the_rest(const BlockOps& layer, const std::vector<SavedTensor>& needed) {
  OpList makers;
  std::ranges::copy_if(layer.forward, std::back_inserter(makers), [&](const Op& op) {
    return makes_one_of(needed, op) && !makes_one_of(layer.kept, op);
  });
  return makers;
}

void by_modules(ModuleSet selected, BlockOps& layer) {
  std::erase_if(layer.kept,
                [&](const SavedTensor& tensor) { return tensor.modules.meets(selected); });
  for (std::size_t i = 0; i < layer.forward.size(); ++i) {
    if (layer.modules[i].meets(selected)) {
      layer.recompute.push_back(layer.forward[i]);
    }
  }
}

// Whether what is recomputed ends with the last tensor that backward needs.
bool stops_early(const SoftwareSpec& software, LayerKind kind) {
  return software.memory.recompute_stops_early || is_one_graph(software, kind);
}

void by_operators(const SoftwareSpec& software, LayerKind kind, BlockOps& layer) {
  const MemoryRules& rules = software.memory;
  const OperatorPolicy policy(software, layer.forward, kind);
  const bool to_the_end = !stops_early(software, kind);
  const LayerEnd end(kind, layer.forward);
  const std::vector<SavedTensor> needed = std::move(layer.kept);
  layer.kept.clear();
  for (const SavedTensor& tensor : layer.saved) {
    const bool stays = !tensor.producer || policy.keeps(*tensor.producer);
    if (stays && (tensor.read || rules.keeps_unread_outputs)) {
      layer.kept.push_back(tensor);
      layer.kept.back().bytes = tensor.as_produced.value_or(tensor.bytes);
    }
  }
  for (const Op& op : layer.forward) {
    const bool given_up = makes_one_of(needed, op) && !makes_one_of(layer.kept, op);
    const bool again = !policy.keeps(op.id) && !is_reduction(op) &&
                       (to_the_end || (!end.has(op) && !is_matrix_product(op)));
    if (given_up || again) {
      layer.recompute.push_back(op);
    }
  }
}

void by_budget(double budget, BlockOps& layer) {
  const std::vector<SavedTensor> needed = layer.kept;
  layer.kept = within_budget(std::move(layer.kept), layer.forward, budget);
  layer.recompute = makers_of_the_rest(layer, needed);
}

// All of a layer, or without what follows the last tensor that backward needs, where the software
// stops there.
OpList rerun_in_full(const SoftwareSpec& software, LayerKind kind, const OpList& forward) {
  if (!stops_early(software, kind) || kind.moe) {
    return forward;
  }
  const auto last = std::ranges::find(forward, LayerEnd(kind, forward).product, &Op::id);
  return {forward.begin(), last};
}

// Layers of the recipe's list among `layers` from `first` on, by kind.
void count_named_layers(const ExpansionContext& context, std::int64_t first, std::int64_t layers,
                        const std::vector<KindCount>& kinds,
                        std::vector<std::int64_t>& recomputed) {
  recomputed.assign(kinds.size(), 0);
  for (const std::int64_t layer : context.training.recompute.layer_list) {
    if (layer < first || layer >= first + layers) {
      continue;
    }
    const LayerKind kind = layer_kind(context.model, context.training.weights, layer);
    const auto at = std::ranges::find(kinds, kind, &KindCount::kind);
    ++recomputed[static_cast<std::size_t>(at - kinds.begin())];
  }
}

}  // namespace

bool is_one_graph(const SoftwareSpec& software, LayerKind kind) {
  const auto compiled = [](LaunchMode mode) { return mode == LaunchMode::kCompiled; };
  return compiled(software.host.layers) && (!kind.moe || compiled(software.host.experts));
}

void choose_recompute(const ExpansionContext& context, LayerKind kind, BlockOps& layer) {
  const RecomputeSpec& recompute = context.training.recompute;
  const SoftwareSpec& software = context.software;
  layer.kept = read_by_backward(layer.saved);
  switch (recompute.kind) {
    case RecomputeKind::kNone:
      return;
    case RecomputeKind::kSelective:
      return by_modules(recompute.selected(), layer);
    case RecomputeKind::kFull:
      layer.full_recompute = rerun_in_full(software, kind, layer.forward);
      return;
    case RecomputeKind::kOperators:
      return by_operators(software, kind, layer);
    case RecomputeKind::kBudget:
      return by_budget(recompute.budget, layer);
  }
}

std::vector<std::int64_t> recomputed_layers(const ExpansionContext& context, std::size_t index) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < index; ++i) {
    first += context.plan.stages[i].layers;
  }
  std::vector<std::int64_t> recomputed;
  count_recomputed_layers(context, first, context.plan.stages[index],
                          stage_kinds(context.model, context.training.weights, context.plan, index),
                          recomputed);
  return recomputed;
}

void count_recomputed_layers(const ExpansionContext& context, std::int64_t first,
                             const StageContent& content, const std::vector<KindCount>& kinds,
                             std::vector<std::int64_t>& recomputed) {
  const RecomputeSpec& recompute = context.training.recompute;
  if (recompute.kind != RecomputeKind::kFull) {
    recomputed.assign(kinds.size(), 0);
    return;
  }
  if (!recompute.layer_list.empty()) {
    return count_named_layers(context, first, content.layers, kinds, recomputed);
  }
  const bool all = recompute.method == RecomputeMethod::kUniform;
  std::int64_t left = recompute.layers;
  recomputed.clear();
  for (const KindCount& entry : kinds) {
    recomputed.push_back(all ? entry.layers : std::min(left, entry.layers));
    left -= recomputed.back();
  }
}

}  // namespace stepcast
