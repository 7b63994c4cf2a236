// SPDX-License-Identifier: Apache-2.0
// What an optimizer keeps of a parameter, and what the kernels that update it move: the one
// description that memory and the time of an optimizer step are computed from.
//
// Tensors of its size that are kept and that an update moves, g the gradient, p the parameter as it
// is updated (its master copy if there is one), r reads and w writes:
//
//   AdamW      two moments           g, p rw, both rw                        7
//   SGD        a momentum            g, p rw, momentum rw                    5, without it 3
//   Adafactor  sums of rows, columns g for the sums, for the norm of the     5, with momentum 7
//              (a vector: a moment)  update and for the update, p rw
//   Muon       a momentum            hidden matrices as in schedule/optimizer_step.hpp, the rest
//   AdamW
#pragma once

#include <optional>

#include "stepcast/model/memory_bound_kind.hpp"
#include "stepcast/plan/optimizer_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

struct UpdateRule {
  Bytes master;  // a copy beside the one that kernels read
  Bytes states;  // moments, with their scales
  MemoryBoundKind kernel = MemoryBoundKind::kOptimizer;
  Bytes element;    // of a tensor that the kernel moves, the mean where their formats differ
  Bytes parameter;  // as it is updated, in a read or in a write

  [[nodiscard]] Bytes kept() const { return master + states; }
};

// Whether FSDP's shards are fp32, and so the master copy themselves.
bool shards_are_master(const ParallelPlan& plan, const SoftwareSpec& software);

// Of parameters that are updated one by one: with Muon all but hidden matrices.
UpdateRule elementwise_rule(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                            const SoftwareSpec& software);
// Of hidden matrices that are updated as a whole, if there are any.
std::optional<UpdateRule> matrix_rule(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                                      const SoftwareSpec& software);

// What of the optimizer is on the host: as the recipe says, or all of it by the software set.
std::optional<OptimizerOffload> offload_of(const OptimizerSpec& optimizer,
                                           const SoftwareSpec& software);
// The share of the parameters that the device updates.
double share_on_device(const OptimizerSpec& optimizer, const SoftwareSpec& software);

// The shares of what belongs to the optimizer that lie on the device. Paged moments count as none
// of it: they are outside of the allocator and make room (schedule/host_launches.hpp, paging_time).
struct SharesOnDevice {
  double master = 1.0;
  double moments = 1.0;
  double gradients = 1.0;
};
SharesOnDevice shares_on_device(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                                const SoftwareSpec& software);
// Whether gradients go to the host as soon as they are reduced, after every micro-batch: where each
// rank has only its shard of them, or there is but one. Else they are whole until the last one.
bool gradients_leave_at_once(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                             const SoftwareSpec& software);

}  // namespace stepcast
