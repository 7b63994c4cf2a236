// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/saved_tensor.hpp"

#include <set>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"

namespace stepcast::saved_tensor_test {
namespace {

using test::Sample;

std::vector<std::string> stems(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<LayerKind> kinds_of(const ModelSpec& model) {
  std::vector<LayerKind> kinds;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind = layer_kind(model, layer);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

bool runs(const OpList& ops, OpId id) {
  return std::any_of(ops.begin(), ops.end(), [id](const Op& op) { return op.id == id; });
}

// Tensors without a producer are the layer's input and copies of its weights.
bool is_made(const SavedTensor& tensor, const OpList& forward) {
  const bool given = tensor.id == TensorId::kLayerInput ||
                     tensor.id == TensorId::kExpertsWeightCasts ||
                     tensor.id == TensorId::kWeightCasts;
  return given ? !tensor.producer : tensor.producer && runs(forward, *tensor.producer);
}

std::string first_that_nothing_makes(const Sample& sample) {
  for (const LayerKind kind : kinds_of(sample.model)) {
    const BlockOps layer = expand_layer(sample.context(), kind);
    for (const SavedTensor& tensor : layer.saved) {
      if (!is_made(tensor, layer.forward)) {
        return std::string(name(tensor.id));
      }
    }
  }
  return "";
}

struct Exchange {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  std::int64_t ranks = 1;
};

// Of one rank only what is left of alltoall and of SonicMoE runs.
std::vector<Exchange> exchanges_of(const ModelSpec& model) {
  std::vector<Exchange> all = {{Dispatcher::kAllToAll, 1}};
  if (model.moe) {
    all.push_back({Dispatcher::kSonic, 1});
    for (std::size_t i = 0; i < names_of<Dispatcher>().size(); ++i) {
      all.push_back({static_cast<Dispatcher>(i), 2});
    }
  }
  return all;
}

void check_everything_is_made(Sample sample) {
  for (const Exchange& exchange : exchanges_of(sample.model)) {
    sample.plan.exchange.dispatcher = exchange.dispatcher;
    sample.plan.ep = exchange.ranks;
    for (const std::int64_t tp : {1, 2}) {
      sample.plan.tp = tp;
      sample.plan.sequence_parallel = tp > 1;
      CAPTURE(name(exchange.dispatcher), exchange.ranks, tp);
      CHECK(first_that_nothing_makes(sample).empty());
    }
  }
}

TEST_CASE("an operator of the forward makes whatever a layer keeps, of every model and software",
          "[unit]") {
  const std::vector<std::string> sets = stems(test::data_root().software());
  REQUIRE(sets.size() > 10);
  for (const std::string& model : stems(test::data_root().models())) {
    Sample sample = test::moe_sample();
    sample.model = test::shipped_model(model);
    sample.training.dropout = true;
    for (const std::string& software : sets) {
      CAPTURE(model, software);
      sample.software = load_named_software(software, test::data_root(), {"test", 1, 1});
      check_everything_is_made(sample);
    }
  }
}

std::vector<RecomputeSpec> recomputations() {
  std::vector<RecomputeSpec> all(2);
  all[1].kind = RecomputeKind::kOperators;
  for (const double budget : {0.0, 0.2, 0.5, 0.93}) {
    all.emplace_back();
    all.back().kind = RecomputeKind::kBudget;
    all.back().budget = budget;
  }
  return all;
}

// Whether some kept tensor has the same maker, which therefore need not be recomputed.
bool maker_keeps_another(const BlockOps& layer, OpId maker) {
  return std::any_of(layer.kept.begin(), layer.kept.end(),
                     [&](const SavedTensor& other) { return other.producer == maker; });
}

void check_given_up(const BlockOps& layer) {
  std::set<TensorId> kept;
  for (const SavedTensor& tensor : layer.kept) {
    kept.insert(tensor.id);
  }
  for (const SavedTensor& tensor : layer.saved) {
    if (!tensor.read || kept.count(tensor.id) > 0) {
      continue;
    }
    CAPTURE(name(tensor.id));
    REQUIRE(tensor.producer.has_value());
    CHECK(
        (runs(layer.recompute, *tensor.producer) || maker_keeps_another(layer, *tensor.producer)));
  }
}

TEST_CASE("what a policy or a budget gives up is recomputed before backward", "[unit]") {
  for (const std::string& model : stems(test::data_root().models())) {
    Sample sample = test::moe_sample();
    sample.model = test::shipped_model(model);
    sample.training.dropout = true;
    for (const char* software : {"megatron", "torchtitan", "torchtitan_eager"}) {
      sample.software = load_named_software(software, test::data_root(), {"test", 1, 1});
      for (const RecomputeSpec& recompute : recomputations()) {
        sample.training.recompute = recompute;
        CAPTURE(model, software, recompute.kind, recompute.budget);
        for (const LayerKind kind : kinds_of(sample.model)) {
          check_given_up(expand_layer(sample.context(), kind));
        }
      }
    }
  }
}

// Its query is one product, without a latent.
Sample deepseek_v2_lite(RecomputeKind kind, double budget) {
  Sample sample = test::moe_sample();
  sample.model = test::shipped_model("deepseek_v2_lite");
  sample.software = load_named_software("torchtitan", test::data_root(), {"test", 1, 1});
  sample.training.recompute.kind = kind;
  sample.training.recompute.budget = budget;
  return sample;
}

bool keeps(const BlockOps& layer, TensorId id) {
  return std::any_of(layer.kept.begin(), layer.kept.end(),
                     [id](const SavedTensor& tensor) { return tensor.id == id; });
}

TEST_CASE("queries of latent attention without a latent of their own come from one product",
          "[unit]") {
  const Sample all = deepseek_v2_lite(RecomputeKind::kBudget, 0.0);
  const BlockOps nothing_kept = expand_layer(all.context(), {});
  CHECK_FALSE(keeps(nothing_kept, TensorId::kAttentionQ));
  CHECK(runs(nothing_kept.recompute, OpId::kAttentionQ));
  // The first product of the layer, which the policy keeps.
  const Sample policy = deepseek_v2_lite(RecomputeKind::kOperators, 1.0);
  const BlockOps by_policy = expand_layer(policy.context(), {});
  CHECK(keeps(by_policy, TensorId::kAttentionQ));
  CHECK_FALSE(runs(by_policy.recompute, OpId::kAttentionQ));
}

}  // namespace
}  // namespace stepcast::saved_tensor_test
