// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_errors.hpp"

namespace stepcast {

PlanErrors::PlanErrors(const SweepSpace& space, const std::vector<HeldOutRun>& known)
    : space_(&space), known_(&known) {}

const ExpectedError& PlanErrors::of(const PlanNumbers& numbers) {
  const Dtype dtype = space_->request(numbers.plan).training.dtype;
  const auto [entry, is_new] = errors_.try_emplace({space_->site_of(numbers.plan), dtype});
  if (is_new) {
    RunTraits traits = traits_of(space_->experiment_of(numbers.plan));
    traits.dtype = dtype;
    entry->second = expected_error(*known_, traits);
  }
  return entry->second;
}

bool PlanErrors::told_apart(const PlanNumbers& a, const PlanNumbers& b) {
  return can_be_told_apart(a.tokens_per_second_per_gpu / b.tokens_per_second_per_gpu, of(a), of(b));
}

}  // namespace stepcast
