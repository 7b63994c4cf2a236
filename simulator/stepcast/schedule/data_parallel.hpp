// SPDX-License-Identifier: Apache-2.0
// What data parallelism adds to a step: gathers and reductions of parameters and gradients, layer
// by layer. What is gathered and reduced together, an FSDP unit or a bucket of gradients, is here a
// transformer layer, or the ends of the model; a bucket of Megatron's may be several layers, one of
// DistributedDataParallel's a part of one.
//
//   ZeRO 0  all-reduce of gradients once a step
//   ZeRO 1  reduce-scatter of gradients and all-gather of parameters once a step; software may
//           all-reduce the gradients instead, all in one call after backward
//   ZeRO 2  reduce-scatter for every micro-batch, all-gather once a step
//   ZeRO 3  with resharding: all-gather forward and backward, reduce-scatter backward, for
//           every micro-batch; without it gathers and scatters once a step. Software that wraps
//           recomputation around the gather does the forward gather twice. Hybrid sharding
//           all-reduces the shards of gradients between replicas once a step.
// What is frozen is gathered by ZeRO 3 alone. Experts do the same over their own group, unless full
// sharding leaves them out (fsdp_experts: false): then every rank keeps its experts whole, adds
// their gradients up over the micro-batches and all-reduces them once a step. Where two pipeline
// ranks hold the same stages (DualPipe) they all-reduce what they keep of the gradients once a
// step.
#pragma once

#include <optional>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

enum class Frequency { kNever, kOnceAStep, kEveryMicroBatch };
// When a plan moves parameters and gradients.
struct TrafficRule {
  Frequency forward_gather = Frequency::kNever;
  Frequency backward_gather = Frequency::kNever;
  std::int64_t backward_gathers = 0;  // one after the other
  Frequency reduce = Frequency::kNever;
  bool reduces_beside_backward = true;
};
TrafficRule traffic_rule(const ExpansionContext& context);

// The collectives of one layer, and the copies that PyTorch's FSDP2 makes around them: of its own
// fp32 shard into 16 bits before a gather, of the gathered buffer into the parameters, and of
// gradients into one fp32 buffer before they are reduced. A unit of experts that one rank holds
// alone moves nothing over links, and where the software wraps it all the same (SoftwareSpec::
// fsdp_wraps_lone_experts) PyTorch 2.11 makes these copies of it: parameter by parameter in place
// of a gather, where the gathered ones are waited for; and on the stream of reductions the quotient
// by the one rank, and the copy of that into the gradient.
struct LayerTraffic {
  OpList copy_in;
  OpList gather;
  OpList copy_out;
  OpList accumulate;  // adds to the gradients of the micro-batches before
  OpList before_reduce;
  OpList reduce;
  OpList after_reduce;  // on the stream of reductions
  OpList replicas;      // all-reduce between replicas of the shards, once a step

  [[nodiscard]] bool empty() const { return gather.empty() && reduce.empty() && replicas.empty(); }
};
// `kind`: of a transformer layer, whose tensors may travel apart.
LayerTraffic layer_traffic(const ExpansionContext& context, const LocalParameters& parameters,
                           std::optional<LayerKind> kind = {});

// What brings updated parameters back where no layer does: broadcasts of the ranks' shards, or one
// gather. `trained`: of a pipeline rank; `shard`: the elements of it that one rank updates.
OpList updated_parameters_sent(const ExpansionContext& context, const LocalParameters& trained,
                               double shard);

}  // namespace stepcast
