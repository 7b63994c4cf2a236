// SPDX-License-Identifier: Apache-2.0
// What each mechanism takes of the rate of a GPU as more GPUs train.
//
// t(N) is the time of one GPU for a token on N of them, 1 / (tokens/s/GPU), and N0 the smallest
// size that can run. Mechanisms are taken out of the experiment one after the other, in this
// order, and t_k has the first k of them no more:
//
//   dependent steps of communication   each step of a ring, a tree, an exchange of experts or a
//                                      message that waits for the one before takes no time
//   rings that leave a leaf            the fabric carries a ring beyond a leaf switch at its full
//                                      rate
//   links between pods                 they are not oversubscribed
//   the slowest GPU                    all GPUs are alike
//   unequal work                       all data-parallel ranks have the same
//   garbage collection                 no process stops for it
//   data-parallel traffic              collectives of parameters and gradients take no time, on
//                                      whichever rank of a pipeline they would be waited for
//
// The parts of the loss 1 - t(N0) / t(N) are
//
//   part_k(N) = ([t_{k-1}(N) - t_k(N)] - [t_{k-1}(N0) - t_k(N0)]) / t(N)
//
// and, of what is left without all of them, the growth of each key of the step: computation,
// computation slowed by communication, communication that nothing hides by its axis, the pipeline's
// bubble, the optimizer, the host. They add up to the loss. A mechanism that hides another, as slow
// traffic hides a slow GPU, takes what it takes beside those after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/diagnosis.hpp"
#include "stepcast/result/scaling_curve.hpp"

namespace stepcast {

// What becomes of the ranks that share one copy of the parameters (plan.fsdp).
enum class Sharing { kStays, kGrows };

struct Growth {
  Scaling scaling = Scaling::kWeak;
  Sharing sharing = Sharing::kStays;
};

// Whether plan.fsdp is given and has all of the GPUs share one copy of the parameters.
bool shares_all(const Experiment& experiment);

// The settings that give a run so many GPUs, and the place under which what is wrong with them is
// told: "gpus 96".
KeySettings gpus_alone(std::int64_t gpus);
std::string size_place(std::int64_t gpus);

// What makes `base` run on `gpus` GPUs, as --set takes it: the batch of weak scaling grows as they
// do, and the ranks that share one copy of the parameters where these grow; other degrees stay.
// Throws ConfigError, told under its size_place, where a batch would be no whole number of
// sequences.
KeySettings settings_at(const Experiment& base, std::int64_t gpus, const Growth& growth);
// Of these the ones that are no degree of the plan.
KeySettings size_at(const Experiment& base, std::int64_t gpus, Scaling scaling);

// A number of GPUs that `base` cannot have.
ScaledSize refused_size(const Experiment& base, std::int64_t gpus, const ConfigError& why);

// Fills `loss` and `parts` of `size`, whose projection is that of `experiment` with `cost`, against
// the smallest size that can run. A size that cannot run has neither.
class ScalingLoss {
 public:
  void add(const Experiment& experiment, const CostModel& cost, ScaledSize& size);
  [[nodiscard]] bool empty() const { return !first_; }

 private:
  // Times of a GPU for a token: of the experiment and without each mechanism, and by key without
  // all of them.
  struct TokenTimes {
    std::vector<double> without;
    std::vector<ScalingPart> keys;
  };
  static TokenTimes token_times(const Experiment& experiment, const CostModel& cost,
                                const Projection& projection);

  std::optional<TokenTimes> first_;
};

}  // namespace stepcast
