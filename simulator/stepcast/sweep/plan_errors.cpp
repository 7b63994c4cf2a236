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

std::string not_told_apart_text(PlanErrors& errors, const std::vector<PlanNumbers>& ranked) {
  std::string text;
  std::size_t begin = 0;  // of the ranks that follow one another, from 0; 0: none yet
  for (std::size_t rank = 1; rank <= ranked.size(); ++rank) {
    const bool like_best = rank < ranked.size() && errors.of(ranked[rank]).distribution &&
                           !errors.told_apart(ranked[rank], ranked.front());
    if (like_best && begin == 0) {
      begin = rank;
    } else if (!like_best && begin > 0) {
      text += (text.empty() ? "" : ", ") + std::to_string(begin + 1) +
              (rank > begin + 1 ? " to " + std::to_string(rank) : "");
      begin = 0;
    }
  }
  return text.empty() ? text : "rank " + text;
}

}  // namespace stepcast
