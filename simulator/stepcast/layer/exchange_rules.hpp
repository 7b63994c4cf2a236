// SPDX-License-Identifier: Apache-2.0
// What of an exchange's set-up follows from its dispatcher, and what the dispatcher rules out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/plan/exchange_spec.hpp"

namespace stepcast {

ReceiveBuffer receive_buffer_of(const ExchangeSpec& spec);
CpuSync cpu_sync_of(const ExchangeSpec& spec);
// Of an all-to-all, in a group that does or does not reach beyond one scale-up domain.
CollectiveAlgorithm all_to_all_of(const ExchangeSpec& spec, std::int64_t domains);

// What cannot be, by the key of `expert_exchange` at fault. The rules of the model's experts apply
// if there are any.
struct ExchangeProblem {
  std::string_view key;
  std::string message;
};
std::vector<ExchangeProblem> exchange_problems(const ExchangeSpec& spec,
                                               const std::optional<MoeSpec>& moe);

}  // namespace stepcast
