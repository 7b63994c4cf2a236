// SPDX-License-Identifier: Apache-2.0
// Memory of each pipeline rank at its peak, by kind.
//
// States follow the ZeRO table (arXiv 1910.02054): with stage 1 the optimizer states, with 2 also
// the gradients, with 3 also the parameters are divided by the data-parallel degree. The peak is
// the largest of the moments of a step in the order of the pipeline schedule:
//
//   forward        micro-batches in flight, gathered layers
//   loss           the same, logits with their copies and gradient
//   head backward  the same, gradient of the logits, of the output matrix and of its input
//   backward       the last layer's: everything in flight, one layer recomputed, its gradients
//   first layer    one layer left of the micro-batch, gradients of all weights but its own and the
//                  embedding's
//   embedding      gradients of all weights, those of the ends not yet reduced
//   optimizer      no activations, all gradients, logits kept over the step
//
// What of this the software holds is said by MemoryRules. Reserved memory adds fragmentation, and
// the pools of streams: FSDP's gathers and reductions run on their own streams, and a caching
// allocator gives no stream what another one freed, so that their peaks add up, unless the step is
// captured as one graph, which has one pool. Buffers of an expert dispatcher that last are
// symmetric or network memory, which the caching allocator does not know.
#pragma once

#include <optional>
#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/memory/peak_moments.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/memory/stage_memory.hpp"

namespace stepcast {

// Below these odds of running a plan is said not to fit: of what was told to have less, one run in
// forty did run (running_odds.hpp).
inline constexpr double kHopeless = 0.2;

// Every pipeline rank's memory, rank 0 first; without verdicts.
std::vector<StageMemory> memory_by_stage(const ExpansionContext& context);

// What a plan must be sure of to be looked at further.
struct MemoryLimit {
  Bytes capacity;
  double sure = 0.0;  // at least, of not running out of it
};

// The parts of which it is made, for those who keep them from plan to plan.
struct MemoryParts {
  std::vector<const StageHolding*> stages;  // of plan.stages
  Bytes exchange;                           // of the expert dispatcher
  Bytes copies;                             // of redundant experts
  // Micro-batches of each chunk that the moments leave out: between filling and draining, or where
  // forwards pile up (peak_moments.hpp).
  std::int64_t left_out = 0;
  // The first rank that is not sure to run is the last one that is looked at.
  std::optional<MemoryLimit> limit{};
  // Likewise the first that holds as much as this itself.
  std::optional<Bytes> too_much{};
};
std::vector<PeakMoments> peak_moments_of(Schedule schedule, const PipelineShape& shape);
Bytes exchange_memory(const ExpansionContext& context);
// The places of redundant experts, one set of weights and of gradients for all layers.
Bytes expert_copies_memory(const ExpansionContext& context);
std::vector<StageMemory> memory_by_stage(const ExpansionContext& context, const MemoryParts& parts,
                                         const std::vector<PeakMoments>& moments);

// Sets the odds and the verdicts against the GPU's memory.
void judge_memory(std::vector<StageMemory>& stages, const DeviceSpec& device);
// Of the plan: the worst of its ranks.
MemoryVerdict verdict_on(const std::vector<StageMemory>& judged);
// That no rank runs out of memory: what is told of all of them is off by the same cause, so that
// the worst decides.
double odds_on(const std::vector<StageMemory>& judged);
bool is_sure(const std::vector<StageMemory>& judged);
// Whether it fits or is tight.
bool may_run(const std::vector<StageMemory>& judged);
bool is_tight(const std::vector<StageMemory>& judged);
// Reasons why the plan does not fit the GPU's memory, ranks that need the same together; empty if
// it may run.
std::vector<std::string> memory_reasons(const std::vector<StageMemory>& judged,
                                        const DeviceSpec& device);

}  // namespace stepcast
