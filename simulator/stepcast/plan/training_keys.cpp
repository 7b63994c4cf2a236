// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

template <auto Member>
void copy_member(const TrainingRecipe& from, TrainingRecipe& to) {
  to.*Member = from.*Member;
}

// A member of a part of the recipe.
template <auto Part, auto Member>
void copy_part(const TrainingRecipe& from, TrainingRecipe& to) {
  (to.*Part).*Member = (from.*Part).*Member;
}

// Of an adapter that both have, where an axis varies a key inside it.
template <auto Member>
void copy_of_lora(const TrainingRecipe& from, TrainingRecipe& to) {
  if (from.weights.lora && to.weights.lora) {
    (*to.weights.lora).*Member = (*from.weights.lora).*Member;
  }
}

// Of an optimizer of the same kind, where an axis varies a key inside it.
template <typename Rule, auto Member>
void copy_of_rule(const TrainingRecipe& from, TrainingRecipe& to) {
  const auto* given = std::get_if<Rule>(&from.optimizer.rule);
  auto* varied = std::get_if<Rule>(&to.optimizer.rule);
  if (given != nullptr && varied != nullptr) {
    varied->*Member = given->*Member;
  }
}

template <typename... Rules>
void copy_momentum(const TrainingRecipe& from, TrainingRecipe& to) {
  (copy_of_rule<Rules, &Rules::momentum>(from, to), ...);
}

void copy_moments(const TrainingRecipe& from, TrainingRecipe& to) {
  copy_of_rule<AdamWSpec, &AdamWSpec::first>(from, to);
  copy_of_rule<AdamWSpec, &AdamWSpec::second>(from, to);
}

void copy_layers(const TrainingRecipe& from, TrainingRecipe& to) {
  to.recompute.layers = from.recompute.layers;
  to.recompute.layer_list = from.recompute.layer_list;
}

void copy_activation_offload(const TrainingRecipe& from, TrainingRecipe& to) {
  to.offload.activations = from.offload.activations;
  to.offload.activation_layers = from.offload.activation_layers;
  to.offload.activations_overlap = from.offload.activations_overlap;
}

// A run changes no step: plans that differ in it alone have the same numbers.
void copy_nothing(const TrainingRecipe&, TrainingRecipe&) {}

template <auto Member>
PlanValue count_of(const TrainingRecipe& training) {
  return training.*Member;
}

PlanValue recomputed_layers(const TrainingRecipe& training) {
  const RecomputeSpec& recompute = training.recompute;
  return recompute.kind == RecomputeKind::kFull ? recompute.layers : 0;
}

using T = TrainingRecipe;

constexpr std::array kTrainingKeys = {
    TrainingKey{.name = "dtype",
                .meaning = "format of products",
                .option = "--dtype",
                .copy = copy_member<&T::dtype>,
                .values = training_dtype_names,
                .value = [](const T& t) -> PlanValue { return name(t.dtype); }},
    TrainingKey{.name = "sequence_length",
                .meaning = "tokens of a sequence",
                .option = "--seq",
                .copy = copy_member<&T::sequence_length>,
                .value = count_of<&T::sequence_length>},
    TrainingKey{"optimizer",
                "adamw, sgd, adafactor, muon, or {kind: muon, steps: 5, momentum_dtype: fp32, "
                "adamw: {moments: bf16}, offload: true, paged: false}",
                "", copy_member<&T::optimizer>},
    TrainingKey{"dropout", "after attention, softmax and MLP, as GPT-3 has it", "",
                copy_member<&T::dropout>},
    TrainingKey{"weights", "format in which a model's weights lie, where software trains either",
                "", copy_member<&T::weight_format>, names_of<WeightFormat>},
    TrainingKey{"documents",
                "{length: tokens, lengths: fixed or geometric, packed: true} in a sequence", "",
                copy_member<&T::documents>},
    TrainingKey{"lora",
                "{rank: 16, targets: [qkv, o], dropout: false, base_weights: nf4}: adapters beside "
                "frozen matrices",
                "", copy_part<&T::weights, &TrainedWeights::lora>},
    TrainingKey{.name = "frozen",
                .meaning = "parts without weight gradients, or all, which is usual with lora",
                .copy = copy_part<&T::weights, &TrainedWeights::frozen>,
                .one_list = OneList::kOfScalars},
    TrainingKey{
        "offload",
        "{parameters: true, activations: true or {layers: 8, overlap: false}} in the host's "
        "memory",
        "", copy_member<&T::offload>},
    TrainingKey{"work_spread",
                "standard deviation between data-parallel ranks of their work, of its mean", "",
                copy_member<&T::work_spread>},
    TrainingKey{"garbage_collection",
                "{pause: 200 ms, steps: 300}: each process stops once in so many steps", "",
                copy_member<&T::garbage_collection>},
    TrainingKey{.name = "micro_batch_size",
                .meaning = "sequences of a micro-batch",
                .option = "--mbs",
                .copy = copy_member<&T::micro_batch_size>,
                .value = count_of<&T::micro_batch_size>,
                .short_name = "mbs"},
    TrainingKey{.name = kRecomputeKey,
                .meaning = "what of the activations is computed again",
                .option = "--recompute",
                .copy = copy_part<&T::recompute, &RecomputeSpec::kind>,
                .values = names_of<RecomputeKind>,
                .value = [](const T& t) -> PlanValue { return name(t.recompute.kind); }},
    TrainingKey{.name = "recompute_method",
                .meaning = "which layers, with recompute: full",
                .copy = copy_part<&T::recompute, &RecomputeSpec::method>,
                .values = names_of<RecomputeMethod>,
                .of_recompute = RecomputeKind::kFull},
    // With a method a list of layers is no experiment.
    TrainingKey{.name = "recompute_layers",
                .meaning = "a count with the method, or a list of layers",
                .copy = copy_layers,
                .value = recomputed_layers,
                .one_list = OneList::kOfWholeNumbers,
                .chosen_beside = "recompute_method",
                .of_recompute = RecomputeKind::kFull},
    TrainingKey{.name = "recompute_modules",
                .meaning = "a list, with recompute: selective",
                .copy = copy_part<&T::recompute, &RecomputeSpec::modules>,
                .values = names_of<RecomputeModule>,
                .one_list = OneList::kOfScalars,
                .of_recompute = RecomputeKind::kSelective},
    TrainingKey{.name = "memory_budget",
                .meaning = "share of saved bytes that stays, with recompute: memory_budget",
                .copy = copy_part<&T::recompute, &RecomputeSpec::budget>,
                .of_recompute = RecomputeKind::kBudget},
    TrainingKey{"tokens", "of the whole training run, as 15T", "", copy_nothing},
    TrainingKey{"interruptions",
                "{mtbf_per_gpu: 50000 h, checkpoint: {write: 60 s}, restart: 10 min} of the run",
                "", copy_nothing},
    TrainingKey{"energy", "{host: 350 W, network: 70 W, pue: 1.2} beside a GPU, of the run", "",
                copy_nothing},
    TrainingKey{.name = "global_batch_size",
                .meaning = "sequences of a step over all GPUs",
                .option = "--gbs",
                .copy = copy_member<&T::global_batch_size>,
                .value = count_of<&T::global_batch_size>,
                .short_name = "gbs"},
};

// Keys of a mapping that is one of those, for axes over them.
constexpr std::array kInnerKeys = {
    TrainingKey{"documents.length", "tokens of a document", "",
                copy_part<&T::documents, &Documents::length>},
    TrainingKey{"documents.lengths", "fixed or geometric", "",
                copy_part<&T::documents, &Documents::lengths>, names_of<DocumentLengths>},
    TrainingKey{"documents.packed", "several in a sequence", "",
                copy_part<&T::documents, &Documents::packed>},
    TrainingKey{"optimizer.moments", "format of both moments of adamw", "", copy_moments,
                names_of<StateFormat>},
    TrainingKey{"optimizer.first_moment", "format of the first moment of adamw alone", "",
                copy_of_rule<AdamWSpec, &AdamWSpec::first>, names_of<StateFormat>},
    TrainingKey{"optimizer.second_moment", "format of the second moment of adamw alone", "",
                copy_of_rule<AdamWSpec, &AdamWSpec::second>, names_of<StateFormat>},
    TrainingKey{"optimizer.momentum_dtype", "format of the momentum, or none", "",
                copy_momentum<SgdSpec, AdafactorSpec, MuonSpec>},
    TrainingKey{"optimizer.steps", "of Newton-Schulz in muon", "",
                copy_of_rule<MuonSpec, &MuonSpec::steps>},
    TrainingKey{"optimizer.qkv", "matrices of queries, keys and values in muon", "",
                copy_of_rule<MuonSpec, &MuonSpec::qkv>, names_of<QkvMatrices>},
    TrainingKey{"optimizer.tp_mode", "what muon does with what tensor parallelism divides", "",
                copy_of_rule<MuonSpec, &MuonSpec::tp_mode>, names_of<MuonTensorParallel>},
    TrainingKey{"optimizer.sharding", "where the matrices of muon are whole", "",
                copy_of_rule<MuonSpec, &MuonSpec::sharding>, names_of<MuonSharding>},
    TrainingKey{"optimizer.master", "what is kept of a parameter beside the copy that runs", "",
                copy_part<&T::optimizer, &OptimizerSpec::master>, names_of<MasterCopy>},
    TrainingKey{"optimizer.offload",
                "true, or {share: 0.5, overlap: true, states: all, cores: 16} on the host", "",
                copy_part<&T::optimizer, &OptimizerSpec::offload>},
    TrainingKey{"optimizer.paged", "moments in managed memory, which makes room", "",
                copy_part<&T::optimizer, &OptimizerSpec::paged>},
    TrainingKey{"offload.parameters", "on the host, fetched for each gather", "",
                copy_part<&T::offload, &HostOffload::parameters>},
    TrainingKey{"offload.activations", "those that stay for backward, of all layers or of some", "",
                copy_activation_offload},
    TrainingKey{"lora.rank", "of A and B", "", copy_of_lora<&LoraSpec::rank>},
    TrainingKey{.name = "lora.targets",
                .meaning = "a list of the matrices that have an adapter",
                .copy = copy_of_lora<&LoraSpec::targets>,
                .values = names_of<LoraTarget>,
                .one_list = OneList::kOfScalars},
    TrainingKey{"lora.dropout", "of what adapters read", "", copy_of_lora<&LoraSpec::dropout>},
    TrainingKey{"lora.base_weights", "format of the frozen matrices of layers", "",
                copy_of_lora<&LoraSpec::base>, names_of<BaseWeights>},
    TrainingKey{"interruptions.mtbf_per_gpu", "mean time between failures of the job, times GPUs",
                "", copy_nothing},
    TrainingKey{"interruptions.checkpoint", "{write: 60 s, interval: 30 min}", "", copy_nothing},
    TrainingKey{"interruptions.checkpoint.write", "that training waits for", "", copy_nothing},
    TrainingKey{"interruptions.checkpoint.interval", "of training between two", "", copy_nothing},
    TrainingKey{"interruptions.restart", "from a failure until training goes on", "", copy_nothing},
    TrainingKey{"interruptions.stragglers", "share of the time lost to slow ranks", "",
                copy_nothing},
    TrainingKey{"energy.host", "of a node beside its GPUs, a GPU", "", copy_nothing},
    TrainingKey{"energy.network", "of switches and optics, a GPU", "", copy_nothing},
    TrainingKey{"energy.pue", "all of the site over its computers", "", copy_nothing},
};

const TrainingKey* find_key(std::span<const TrainingKey> keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &TrainingKey::name);
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace

std::span<const TrainingKey> training_keys() { return kTrainingKeys; }

const TrainingKey* training_key(std::string_view name) {
  const TrainingKey* known = find_key(kTrainingKeys, name);
  return known != nullptr ? known : find_key(kInnerKeys, name);
}

OneList one_list_of(std::string_view name, const std::function<bool(std::string_view)>& has) {
  if (const PlanKey* key = plan_key(name)) {
    return key->one_list;
  }
  const auto is_named = [name](const TrainingKey& key) {
    return key.name.substr(key.name.rfind('.') + 1) == name;
  };
  for (const std::span<const TrainingKey> keys :
       {std::span<const TrainingKey>(kTrainingKeys), std::span<const TrainingKey>(kInnerKeys)}) {
    const auto key = std::ranges::find_if(keys, is_named);
    if (key != keys.end()) {
      const bool chosen = !key->chosen_beside.empty() && has(key->chosen_beside);
      return chosen ? OneList::kNone : key->one_list;
    }
  }
  return name == kCountsKey ? OneList::kOfScalars : OneList::kNone;
}

}  // namespace stepcast
