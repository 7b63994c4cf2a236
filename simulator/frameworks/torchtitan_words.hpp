// SPDX-License-Identifier: Apache-2.0
// What torchtitan calls values of keys, in both directions.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast {

struct TorchtitanWord {
  std::string_view theirs;
  std::string_view ours;
  bool several_stages = false;  // of a schedule: more than one stage a rank
};

// torch.distributed.pipelining.schedules; a name of ours that is not here has no such schedule.
inline constexpr std::array kTorchtitanSchedules = {
    TorchtitanWord{"1F1B", "1f1b"},
    TorchtitanWord{"GPipe", "gpipe"},
    TorchtitanWord{"Interleaved1F1B", "interleaved_1f1b", true},
    TorchtitanWord{"InterleavedZeroBubble", "interleaved_zero_bubble", true},
    TorchtitanWord{"ZBVZeroBubble", "zbv", true},
    TorchtitanWord{"DualPipeV", "dualpipev", true},
};
// moe_comm_backend of 2026, expert_parallel_comm_backend before.
inline constexpr std::array kTorchtitanBackends = {
    TorchtitanWord{"standard", "alltoall"},
    TorchtitanWord{"deepep", "deepep"},
    TorchtitanWord{"hybridep", "hybridep"},
    TorchtitanWord{"minimal_async_ep", "minimal_async_ep"},
};

// Muon of 2025, and since 2026 the one whose matrices travel to an owner and back.
inline constexpr std::array kTorchtitanOptimizers = {
    TorchtitanWord{"AdamW", "adamw"},         TorchtitanWord{"Adam", "adamw"},
    TorchtitanWord{"default_adamw", "adamw"}, TorchtitanWord{"SGD", "sgd"},
    TorchtitanWord{"Muon", "muon"},           TorchtitanWord{"DistMuon", "muon"},
    TorchtitanWord{"Adafactor", "adafactor"},
};

// Null if there is none.
template <std::size_t N>
constexpr const TorchtitanWord* their_word(const std::array<TorchtitanWord, N>& words,
                                           std::string_view theirs) {
  const auto* const found = std::find_if(words.begin(), words.end(),
                                         [&](const auto& word) { return word.theirs == theirs; });
  return found == words.end() ? nullptr : &*found;
}
template <std::size_t N>
constexpr std::string_view word_for(const std::array<TorchtitanWord, N>& words,
                                    std::string_view ours) {
  const auto* const found =
      std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.ours == ours; });
  return found == words.end() ? std::string_view{} : found->theirs;
}

}  // namespace stepcast
