// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/schedules/schedule_info.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

constexpr std::string_view kUnits =
    "tasks take their place for F = B - W = W; other times keep the order and leave other gaps";

constexpr std::array kInfos = {
    ScheduleInfo{Schedule::kGpipe, "(p-1)(F+B): (p-1)/(m+p-1) of the step", "m",
                 "v = 1; all forwards, then all backwards", "Huang et al., arXiv 1811.06965"},
    ScheduleInfo{Schedule::kOneFOneB, "(p-1)(F+B): (p-1)/(m+p-1) of the step", "min(m, p)", "v = 1",
                 "Narayanan et al., arXiv 2104.04473, section 2.2"},
    ScheduleInfo{Schedule::kInterleaved, "(p-1)(F+B)/v: (p-1)/(v m+p-1) of the step",
                 "(2(p-1) + (v-1)p + 1)/v, at most m",
                 "v > 1; p divides m, else the last group of micro-batches takes the remainder",
                 "Narayanan et al., arXiv 2104.04473, section 2.2"},
    ScheduleInfo{Schedule::kZbH1, "(p-1)(F+B-2W)", "min(m, p)", kUnits,
                 "Qi et al., arXiv 2401.10241, section 2.1 (ZB1P in DeepSeek-V3's table)"},
    ScheduleInfo{Schedule::kZbH2,
                 "(p-1)F, until the last rank has its first micro-batch; none between a rank's "
                 "first and last task",
                 "min(m, 2p-1)",
                 "m >= 2p-1; the step lasts until the last rank ends: ranks whose optimizer does "
                 "not wait for others (post-validation) start the next step early and lose nothing",
                 "Qi et al., arXiv 2401.10241, section 2.2"},
    ScheduleInfo{Schedule::kZbV,
                 "(p-1)F/2, until rank p-1 has its first micro-batch; none after that", "min(m, p)",
                 kUnits, "Qi et al., arXiv 2405.15362 (V-ZB); ZBV of arXiv 2401.10241"},
    ScheduleInfo{Schedule::kVHalf,
                 "(3p-7)F/2 for even p, (3p-4)F/2 for odd, where F = B - W = W, m >= 2p; at least "
                 "that of zbv",
                 "floor((p+2)/2)", kUnits, "Qi et al., arXiv 2405.15362 (V-Half)"},
    ScheduleInfo{
        Schedule::kVMin,
        "(4p-c)F/2, c = 7, 5, 9 as p leaves 0, 1, 2 over 3, where F = B - W = W; at least that of "
        "zbv",
        "floor((p+4)/3)", kUnits, "Qi et al., arXiv 2405.15362 (V-Min)"},
    ScheduleInfo{
        Schedule::kDualPipe, "(p/2-1)(F&B+B-3W)", "p+1, and every parameter twice",
        "p even; m >= 2p, else the order for 2p with the missing micro-batches left out; "
        "the two ranks of a stage add up their gradients once a step; a pair takes as long as its "
        "parts where no time of its own is known",
        "DeepSeek-V3, arXiv 2412.19437, section 3.2.1"},
    ScheduleInfo{
        Schedule::kDualPipeV, "(p-1)(F&B+B-3W)/2", "p+1/2",
        "v = 2; m >= 2p, else the order for 2p with the missing micro-batches left out; pairs as "
        "those of dualpipe",
        "Sea AI Lab's half of DualPipe, as DeepSeek's repository has it"},
};

}  // namespace

std::span<const ScheduleInfo> schedule_infos() { return kInfos; }

std::vector<std::string> schedule_reasons(Schedule schedule, std::int64_t pp, std::int64_t vpp) {
  const std::string called = "schedule " + std::string(name(schedule));
  std::vector<std::string> reasons;
  if (schedule == Schedule::kInterleaved) {
    if (pp > 1 && vpp == 1) {
      reasons.push_back(called + " needs vpp > 1");
    }
    return reasons;
  }
  if (placement_of(schedule) == StagePlacement::kV) {
    if (pp == 1) {
      reasons.push_back(called + " needs pp > 1");
    } else if (vpp != 2) {
      reasons.push_back(called + " has two stages a rank: vpp = " + std::to_string(vpp) +
                        " must be 2");
    }
    return reasons;
  }
  if (vpp > 1) {
    reasons.push_back(called + " has no virtual stages: vpp = " + std::to_string(vpp) +
                      " needs interleaved_1f1b");
  }
  if (schedule == Schedule::kDualPipe && pp % 2 != 0) {
    reasons.push_back(called + " needs an even pp: micro-batches pass its " + std::to_string(pp) +
                      (pp == 1 ? " rank" : " ranks") + " from both ends");
  }
  return reasons;
}

std::int64_t chunks_for(Schedule schedule, std::int64_t vpp) {
  if (schedule == Schedule::kInterleaved) {
    return std::max<std::int64_t>(vpp, 2);
  }
  return placement_of(schedule) == StagePlacement::kV ? 2 : 1;
}

}  // namespace stepcast
