// SPDX-License-Identifier: Apache-2.0
// The parameters that one rank of a stage holds.
#pragma once

#include "stepcast/layer/weight_matrix.hpp"
#include "stepcast/model/parameter_inventory.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

// Elements of one rank, experts apart: they are reduced and sharded over other groups.
struct LocalParameters {
  double dense = 0.0;   // everything but experts, after tensor parallelism
  double expert = 0.0;  // after expert and expert tensor parallelism
  // Of both what is frozen: it has no gradient and no optimizer state.
  double frozen_dense = 0.0;
  double frozen_expert = 0.0;
  // Of what is frozen what lies in fewer than 16 bits.
  double packed_dense = 0.0;
  double packed_expert = 0.0;

  [[nodiscard]] double total() const { return dense + expert; }
  [[nodiscard]] LocalParameters trained() const {
    return {dense - frozen_dense, expert - frozen_expert};
  }
  LocalParameters& operator+=(const LocalParameters& other);
  bool operator==(const LocalParameters&) const = default;
};
LocalParameters operator*(double factor, LocalParameters parameters);

// What an optimizer updates on a rank.
struct HeldWeights {
  LocalParameters parameters;
  WeightMatrices matrices;  // that the optimizer updates as a whole; also counted in `parameters`

  HeldWeights& operator+=(const HeldWeights& other);
  bool operator==(const HeldWeights&) const = default;
};

// Elements of `tensor` on one rank before FSDP: divided by tp (etp for experts) up to its tp_parts,
// and experts by ep.
double local_elements(const ParameterTensor& tensor, const ParallelPlan& plan);
LocalParameters local_parameters(const ParameterList& parameters, const ParallelPlan& plan);

// The part of the vocabulary that lies on one tensor-parallel rank, padded as the software set
// says.
std::int64_t local_vocabulary(const ModelSpec& model, const ParallelPlan& plan,
                              const SoftwareSpec& software);

// What one stage of the pipeline holds, by owner.
struct StageParameters {
  LocalParameters layers;
  LocalParameters ends;  // embedding, final norm, head

  [[nodiscard]] LocalParameters all() const;
};

// How many layers of each kind a stage holds, multi-token prediction layers included.
struct KindCount {
  LayerKind kind;
  std::int64_t layers = 0;
  bool operator==(const KindCount&) const = default;
};
std::vector<KindCount> stage_kinds(const ModelSpec& model, const TrainedWeights& weights,
                                   const ParallelPlan& plan, std::size_t index);
// As stage_kinds, for a stage whose first layer is known to be `first`, into `counts`.
void count_kinds(const ModelSpec& model, const TrainedWeights& weights, std::int64_t first,
                 const StageContent& stage, std::vector<KindCount>& counts);

}  // namespace stepcast
