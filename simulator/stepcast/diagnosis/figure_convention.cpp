// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/figure_convention.hpp"

namespace stepcast {
namespace {

void add_ratio(std::vector<FigureConvention>& all, std::string form, double ratio) {
  constexpr double kSame = 1e-3;
  if (ratio < 1.0 - kSame || ratio > 1.0 + kSame) {
    all.push_back({std::move(form), ratio});
  }
}

void add_rates(const Projection& p, std::vector<FigureConvention>& all) {
  const auto gpus = static_cast<double>(p.gpus);
  const auto nodes = static_cast<double>(p.nodes);
  add_ratio(all, "tokens of all GPUs", gpus);
  add_ratio(all, "tokens of a node", gpus / nodes);
  add_ratio(all, "tokens of one copy of the model", gpus / static_cast<double>(p.plan.dp));
  add_ratio(all, "sequences of a GPU", 1.0 / static_cast<double>(p.training.sequence_length));
  add_ratio(all, "sequences of all GPUs", gpus / static_cast<double>(p.training.sequence_length));
  add_ratio(all, "tokens of a GPU, divided by the GPUs once more", 1.0 / gpus);
}

void add_flops(const Projection& p, std::vector<FigureConvention>& all) {
  constexpr double kOfParameter = 6.0;  // forward and twice as much backward, a token
  constexpr double kForwardOnceMore = 4.0 / 3.0;
  add_ratio(all, "6 FLOPs a parameter, without attention",
            kOfParameter * p.active_parameters / p.flops_per_token.value());
  add_ratio(all, "attention without what its mask hides", p.masked_mfu / p.mfu);
  add_ratio(all, "recomputation counted", kForwardOnceMore);
}

}  // namespace

std::vector<FigureConvention> conventions_of(Metric metric, const Projection& projection) {
  std::vector<FigureConvention> all;
  if (metric == Metric::kTokenRate) {
    add_rates(projection, all);
  }
  if (metric == Metric::kModelRate || metric == Metric::kModelShare) {
    add_flops(projection, all);
  }
  if (metric == Metric::kModelRate) {
    add_ratio(all, "FLOPs of all GPUs", static_cast<double>(projection.gpus));
  }
  if (metric == Metric::kModelShare) {
    add_ratio(all, "the peak with sparsity", 0.5);
  }
  return all;
}

}  // namespace stepcast
