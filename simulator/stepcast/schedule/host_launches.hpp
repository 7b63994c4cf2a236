// SPDX-License-Identifier: Apache-2.0
// What the host takes to launch the operators of a step: the times of its profile
// (hardware/cluster_spec.hpp), as often as the software needs them (HostWork of
// plan/software_spec.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "stepcast/cost/op_cost.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"
#include "stepcast/schedule/layer_prices.hpp"

namespace stepcast {

// Copies of each rank's part of each tensor out of the buffer that ZeRO gathered, of a pipeline
// rank with these `stages` of the plan: a call each (all_gather_coalesced of nanotron's
// distributed.py). The device begins when it has gathered, behind a full queue of launches.
Seconds copying_gathered(const StepContext& context, const std::vector<std::size_t>& stages);

// Of a step, while the device waits.
Seconds host_waits(const StepContext& context);

class HostLaunches {
 public:
  HostLaunches(const HostSpec& host, const SoftwareSpec& software, const TrainingRecipe& training)
      : host_(host), software_(software), work_(software.host), training_(training) {}

  // An operator outside of captured graphs that costs `cost`, in a list whose grouped products are
  // of `experts`.
  [[nodiscard]] Seconds launching(const Op& op, const OpCost& cost, Direction direction,
                                  std::int64_t experts = 1) const;
  // From the end of a copy to the device that the host waits for until the next launch.
  [[nodiscard]] Seconds reading_back() const { return holds_up() ? host_.device_read : Seconds{}; }
  // Entering the compiled code of a layer that has the operators `ops`, as often as it is left.
  [[nodiscard]] Seconds entering(const OpList& ops, Direction direction) const;
  // More where `recomputed` is run once more of `forward` under a mode that sees what was kept too.
  [[nodiscard]] Seconds passing_over(const OpList& forward, const OpList& recomputed) const;
  // How many times as long the last of `ranks` hosts takes as their mean, from one exchange that it
  // waits for to the next.
  [[nodiscard]] double behind_mean(std::int64_t ranks) const;
  // From the end of what tells the host how many rows arrive until the next launch.
  [[nodiscard]] Seconds learning_rows() const;
  // The hooks around a layer that is one unit of FSDP: in both passes, and more in backward.
  [[nodiscard]] Seconds unit_hooks() const;
  [[nodiscard]] Seconds backward_hooks() const;
  // What `concatenation` of a unit's gradients for `ranks` needs before it: a table with an entry
  // for each 512 elements of a rank (aten::_chunk_cat).
  [[nodiscard]] Seconds writing_table(const Op& concatenation, std::int64_t ranks) const;
  // The optimizer step over `layers` layers.
  [[nodiscard]] Seconds updating(const ParallelPlan& plan, std::int64_t layers) const;
  [[nodiscard]] Seconds replaying() const { return host_.graph_replay; }

 private:
  [[nodiscard]] LaunchMode mode_of(const Op& op) const;
  [[nodiscard]] bool in_region(const Op& op) const;
  [[nodiscard]] Seconds watching(double operators, Direction direction) const;
  [[nodiscard]] Seconds kernels(const Op& op, const OpCost& cost, LaunchMode mode,
                                Direction direction) const;
  [[nodiscard]] Seconds communication(const Op& op, LaunchMode mode, Direction direction) const;
  [[nodiscard]] Seconds experts_one_by_one(const Op& op, const GroupedGemm& products,
                                           LaunchMode mode, Direction direction) const;
  [[nodiscard]] bool holds_up() const { return work_.layers != LaunchMode::kProgram; }

  const HostSpec& host_;
  const SoftwareSpec& software_;
  const HostWork& work_;
  const TrainingRecipe& training_;
};

// How long a device waits for the host that updates a share of its parameters.
//
//   d = n g / L, h = n p / L, u = n b (1 / (k C) + G / M)
//   d + u + h, or the longest if they overlap
//
// with n parameters of g bytes of gradient, p bytes of the copy that comes back, and b bytes that
// an update moves in the host's memory (plan/update_rule.hpp); L the link of a device to the host
// in either direction, C what one core moves alone while it updates, k cores of each device, M what
// a socket moves for the G devices that share it (hardware/cluster_spec.hpp). The host begins when
// gradients are reduced; overlap is parameter by parameter, its ramp left out (Megatron's
// core/optimizer/cpu_offloading/hybrid_optimizer.py). Of a pipeline rank that holds these weights;
// zero where the device updates all.
//
// By OffloadedStates p and d differ:
//   moments    the fp32 copy of the device is what the host updates: p is 4
//   all        d is part of the backward passes (schedule/host_transfers.hpp), and the host makes
//              three passes more: gradients scaled in place (8 bytes), the new copy of 16 bits made
//              (4 and p) (DeepSpeed edaa7221, runtime/zero/stage_1_and_2.py, step:
//              unscale_and_clip_grads and param_buffer_of_bit16_for_cpu_offload_groups); under FSDP
//              of PyTorch the norm, which one core takes, and the first pass alone
// h is nothing where the parameters stay on the host. Where those do and the device updates, the
// new ones go down.
Seconds offload_time(const StepContext& context, const HeldWeights& held);

// How long a device waits for paged moments that have left it: bitsandbytes takes them from managed
// memory (functional.py, get_paged; 95f9af30), whose pages go to the host when something else needs
// their place, and come back when the update reads them:
//
//   2 max(0, min(S, U + S - H)) / L
//
// with S bytes of moments on a rank, U what the fullest rank uses without them, H its capacity.
// Pages move on a fault, by at most as much as a link carries: a lower bound.
Seconds paging_time(const StepContext& context, const HeldWeights& held);

}  // namespace stepcast
