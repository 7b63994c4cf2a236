// SPDX-License-Identifier: Apache-2.0
// Whether what a plan needs fits a GPU.
#include <algorithm>

#include "stepcast/base/units_text.hpp"
#include "stepcast/memory/memory_footprint.hpp"

namespace stepcast {
namespace {

// A pool that is taken at the start leaves the driver and the communicators what it does not take.
bool overflows(const StageMemory& stage, Bytes capacity) {
  return stage.pool_share < 1.0 ? stage.total() > stage.pool_share * capacity
                                : stage.used() > capacity;
}

Bytes taken(const StageMemory& stage) { return stage.reserved + stage.symmetric + stage.outside; }

// Whether it leaves less of the device than the margin that is asked for. Of a pool that is taken
// at the start what it allocates counts.
bool takes_of_margin(const StageMemory& stage, const HbmSpec& hbm) {
  if (!hbm.margin) {
    return false;
  }
  const Bytes allowed = (1.0 - *hbm.margin) * hbm.capacity;
  return stage.pool_share < 1.0 ? stage.total() > stage.pool_share * allowed
                                : max(taken(stage), stage.used()) > allowed;
}

bool too_much(const StageMemory& stage, const HbmSpec& hbm) {
  return overflows(stage, hbm.capacity) || takes_of_margin(stage, hbm);
}

// Pipeline ranks one after the other that need the same.
struct AlikeRanks {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string need;
};

std::string text_of(const AlikeRanks& ranks) {
  return ranks.last == ranks.first
             ? "pipeline rank " + std::to_string(ranks.first) + " needs " + ranks.need
             : "each of the pipeline ranks " + std::to_string(ranks.first) + " to " +
                   std::to_string(ranks.last) + " needs " + ranks.need;
}

// What a rank needs and what there is, to go behind the ranks.
std::string need_text(const StageMemory& stage, const DeviceSpec& device) {
  const HbmSpec& hbm = device.hbm;
  const std::string has = "; " + device.name + " has " + readable(hbm.capacity);
  if (!overflows(stage, hbm.capacity)) {
    return readable(taken(stage)) + " of memory with what the allocator reserves" + has +
           ", of which " + significant(100.0 * hbm.margin.value_or(0.0), 3) + " % are to stay free";
  }
  const std::string rest =
      stage.pool_share < 1.0
          ? ", of which the framework's pool takes " + readable(stage.pool_share * hbm.capacity)
          : ", less " + readable(stage.outside) + " for the driver and communicators";
  return readable(stage.total()) + " of memory" + has + rest;
}

}  // namespace

void judge_memory(std::vector<StageMemory>& stages, const DeviceSpec& device) {
  const Bytes capacity = device.hbm.capacity;
  for (StageMemory& stage : stages) {
    const bool tight = taken(stage) > capacity || stage.used() > kTightShare * capacity;
    stage.verdict = too_much(stage, device.hbm) ? MemoryVerdict::kDoesNotFit
                    : tight                     ? MemoryVerdict::kTight
                                                : MemoryVerdict::kFits;
  }
}

bool fits(const std::vector<StageMemory>& judged) {
  return std::none_of(judged.begin(), judged.end(), [](const StageMemory& stage) {
    return stage.verdict == MemoryVerdict::kDoesNotFit;
  });
}

bool is_tight(const std::vector<StageMemory>& judged) {
  return fits(judged) && std::any_of(judged.begin(), judged.end(), [](const StageMemory& stage) {
           return stage.verdict == MemoryVerdict::kTight;
         });
}

std::vector<std::string> memory_reasons(const std::vector<StageMemory>& stages,
                                        const DeviceSpec& device) {
  std::vector<AlikeRanks> groups;
  for (const StageMemory& stage : stages) {
    if (!too_much(stage, device.hbm)) {
      continue;
    }
    std::string need = need_text(stage, device);
    if (!groups.empty() && groups.back().last == stage.rank - 1 && groups.back().need == need) {
      groups.back().last = stage.rank;
    } else {
      groups.push_back({stage.rank, stage.rank, std::move(need)});
    }
  }
  std::vector<std::string> reasons;
  reasons.reserve(groups.size());
  for (const AlikeRanks& group : groups) {
    reasons.push_back(text_of(group));
  }
  return reasons;
}

}  // namespace stepcast
