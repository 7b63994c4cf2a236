// SPDX-License-Identifier: Apache-2.0
// What passes of a stage move between the device and its host's memory, and how long they wait for
// it: parameters and saved tensors that lie there (HostOffload of plan/training_recipe.hpp), and
// gradients that an optimizer on the host takes as soon as they are reduced
// (gradients_leave_at_once of plan/update_rule.hpp).
//
//   forward    down: A          saved tensors of the micro-batch
//              up:   P          parameters, a unit for each gather
//   backward   down: n r        gradients, n of r bytes each; in the last one n g more, as the
//              up:   P k + A     update reads them, or n g alone where it is the only one
//                    + n r      what is there of the micro-batches before, to be added to
//
// with P bytes of parameters that a rank holds, k gathers of backward. DeepSpeed adds on the device
// (runtime/zero/stage3.py, partition_grads: a gradient's host buffer goes up, is added to and comes
// back, and is copied once more in fp32 at the last micro-batch; edaa7221). Both directions of the
// link run at once, on streams of their own beside the computation:
//
//   waits = first / L + max(0, max(down, up - first) / L - pass)
//
// `first` is the first unit's parameters, which nothing runs beside. Layers are taken as alike, the
// pass as one: it waits where the link is slower than all of it. Not hidden at all are the
// gradients of software that does not reduce beside backward (overlap_grad_reduce), and activations
// that travel on the stream that computes: prime-rl's checkpoints of Qwen3 4B on H100 took 0.12 and
// 0.47 s a micro-batch more than with none on the host, of 16k and of 64k tokens, and 6.0 and 24.2
// GB both ways take 0.11 and 0.44 s at 55 GB/s. The link's rate
// L is that of pinned memory; from pageable memory copies take two to four times as long and hold
// up the host (neither DeepSpeed without pin_memory nor a Megatron run with it off is described).
#pragma once

#include <optional>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/layer/built_stage.hpp"
#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

// Of one pass.
struct LinkBytes {
  Bytes down;    // to the host
  Bytes up;      // to the device
  Bytes first;   // of `up`, what the pass waits for before it begins
  Bytes behind;  // either way, while nothing else runs
};

struct HostTraffic {
  LinkBytes forward;
  LinkBytes backward;
  LinkBytes last_backward;
  std::optional<BytesPerSecond> link;  // nothing moves without it
};

HostTraffic host_traffic(const ExpansionContext& context, const ClusterSpec& cluster,
                         const BuiltStage& stage);

// How much longer a pass is that takes `duration` by itself.
Seconds waiting_for_link(const LinkBytes& bytes, std::optional<BytesPerSecond> link,
                         Seconds duration);

}  // namespace stepcast
