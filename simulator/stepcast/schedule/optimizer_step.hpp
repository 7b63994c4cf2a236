// SPDX-License-Identifier: Apache-2.0
// The operators of an optimizer step of a pipeline rank, with the passes over gradients around it
// and the collectives that bring updated parameters back.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

// Operators that run `times` times one after the other.
struct RepeatedOps {
  OpList ops;
  std::int64_t times = 1;
};
using UpdateOps = std::vector<RepeatedOps>;

// Elements that a rank updates of those that it trains: its shard, if the optimizer is divided.
double updated_elements(const ExpansionContext& context, const LocalParameters& trained);

// Muon's step over the hidden matrices of a rank.
//
//   M = mu M + (1 - mu) G                         momentum, and once more for Nesterov's
//   X = M / |M|                                   in bf16, transposed if rows > columns
//   A = X X^T, B = b A + c A^2, X = a X + B X     `steps` times: 2 r^2 (2 c + r) FLOPs for r x c
//   W = (1 - lr d) W - lr s X
//
// as NVIDIA's Emerging-Optimizers have it (orthogonalized_optimizers/orthogonalized_optimizer.py
// and muon_utils.py, newton_schulz), which Megatron-LM calls
// (core/optimizer/emerging_optimizers.py). The symmetry of A is not used, as it is not without
// --muon-use-syrk. Matrices run one after the other.
//
// Where tensor parallelism divides a matrix, `duplicated` gathers its momentum in fp32 on every
// rank, which iterates on all of it; `distributed` adds up A over the ranks in every step, and the
// norm once; `blockwise` moves nothing (newton_schulz_tp of muon_utils.py).
//
// Where data parallelism divides the optimizer:
//   whole       a rank iterates on the matrices that it owns (layer/weight_matrix.hpp). Gradients
//   are
//               reduced and parameters gathered as ZeRO does; time is that of the slowest rank
//   gather      momenta of a rank's parts are gathered in bf16. Where each matrix is divided (ZeRO
//   3)
//               every rank iterates on all; where a flat buffer is, on its own share and on one
//               matrix that reaches into it. All are counted as gathered, the upper bound of
//               Moonlight's 1.25 times the communication of AdamW (arXiv 2502.16982, section 2.3)
//   all_to_all  as many matrices of a shape as there are ranks go to an owner each, in bf16, and
//               back (Dion, arXiv 2504.05295; its implementation batches them likewise). Shapes
//               with fewer leave ranks idle
//
// None of these collectives is taken to overlap with the iterations.
//
// Adds the operators of the step over `held` matrices, embeddings and output matrices left out.
void add_muon_step(const ExpansionContext& context, const WeightMatrices& held, UpdateOps& update);

// What a rank that holds these weights runs once a step. Parameters that the host updates are left
// out.
UpdateOps optimizer_ops(const ExpansionContext& context, const HeldWeights& held);

}  // namespace stepcast
