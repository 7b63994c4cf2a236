// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/schedules/schedule_info.hpp"

#include <algorithm>
#include <array>

#include "stepcast/pipeline/schedules/schedule_orders.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kStageUnits =
    "tasks take their place for F = B - W = W; other times keep the order and leave other gaps";

// The equations of the column `memory`, for any number of micro-batches.
double at_most_all(const PipelineShape& shape, double held) {
  return std::min(static_cast<double>(shape.micro_batches), held);
}
double all_in_flight(const PipelineShape& shape) {
  return static_cast<double>(shape.micro_batches);
}
double one_a_rank(const PipelineShape& shape) {
  return at_most_all(shape, static_cast<double>(shape.ranks));
}
double two_a_rank(const PipelineShape& shape) {
  return at_most_all(shape, static_cast<double>(2 * shape.ranks - 1));
}
double interleaved_in_flight(const PipelineShape& shape) {
  const std::int64_t chunks = 2 * (shape.ranks - 1) + (shape.chunks - 1) * shape.ranks + 1;
  return at_most_all(shape, static_cast<double>(chunks) / static_cast<double>(shape.chunks));
}
double half_in_flight(const PipelineShape& shape) {
  const std::int64_t held = (shape.ranks + 2) / 2;
  return at_most_all(shape, static_cast<double>(held));
}
double third_in_flight(const PipelineShape& shape) {
  const std::int64_t held = (shape.ranks + 4) / 3;
  return at_most_all(shape, static_cast<double>(held));
}

constexpr std::array kInfos = {
    ScheduleInfo{Schedule::kGpipe, "gpipe", StagePlacement::kLoop, ChunkRule::kOne, PairRule::kNone,
                 BackwardRule::kWhole, gpipe_orders, all_in_flight,
                 "(p-1)(F+B): (p-1)/(m+p-1) of the step", "m",
                 "v = 1; all forwards, then all backwards", "Huang et al., arXiv 1811.06965"},
    ScheduleInfo{Schedule::kOneFOneB, "1f1b", StagePlacement::kLoop, ChunkRule::kOne,
                 PairRule::kNone, BackwardRule::kWhole, one_f_one_b_orders, one_a_rank,
                 "(p-1)(F+B): (p-1)/(m+p-1) of the step", "min(m, p)", "v = 1",
                 "Narayanan et al., arXiv 2104.04473, section 2.2"},
    ScheduleInfo{Schedule::kInterleaved, "interleaved_1f1b", StagePlacement::kLoop,
                 ChunkRule::kSeveral, PairRule::kAsSoftware, BackwardRule::kWhole,
                 interleaved_orders, interleaved_in_flight,
                 "(p-1)(F+B)/v: (p-1)/(v m+p-1) of the step", "(2(p-1) + (v-1)p + 1)/v, at most m",
                 "v > 1; p divides m, else the last group of micro-batches takes the remainder",
                 "Narayanan et al., arXiv 2104.04473, section 2.2"},
    ScheduleInfo{Schedule::kZbH1, "zb_h1", StagePlacement::kLoop, ChunkRule::kOne, PairRule::kNone,
                 BackwardRule::kParted, zb_h1_orders, one_a_rank, "(p-1)(F+B-2W)", "min(m, p)",
                 kStageUnits,
                 "Qi et al., arXiv 2401.10241, section 2.1 (ZB1P in DeepSeek-V3's table)"},
    ScheduleInfo{Schedule::kZbH2, "zb_h2", StagePlacement::kLoop, ChunkRule::kOne, PairRule::kNone,
                 BackwardRule::kParted, zb_h2_orders, two_a_rank,
                 "(p-1)F, until the last rank has its first micro-batch; none between a rank's "
                 "first and last task",
                 "min(m, 2p-1)",
                 "m >= 2p-1; the step lasts until the last rank ends: ranks whose optimizer does "
                 "not wait for others (post-validation) start the next step early and lose nothing",
                 "Qi et al., arXiv 2401.10241, section 2.2"},
    ScheduleInfo{Schedule::kZbV, "zbv", StagePlacement::kV, ChunkRule::kTwo, PairRule::kNone,
                 BackwardRule::kParted, zb_v_orders, one_a_rank,
                 "(p-1)F/2, until rank p-1 has its first micro-batch; none after that", "min(m, p)",
                 kStageUnits, "Qi et al., arXiv 2405.15362 (V-ZB); ZBV of arXiv 2401.10241"},
    ScheduleInfo{Schedule::kVHalf, "v_half", StagePlacement::kV, ChunkRule::kTwo, PairRule::kNone,
                 BackwardRule::kParted, v_half_orders, half_in_flight,
                 "(3p-7)F/2 for even p, (3p-4)F/2 for odd, where F = B - W = W, m >= 2p; at least "
                 "that of zbv",
                 "floor((p+2)/2)", kStageUnits, "Qi et al., arXiv 2405.15362 (V-Half)"},
    ScheduleInfo{
        Schedule::kVMin, "v_min", StagePlacement::kV, ChunkRule::kTwo, PairRule::kNone,
        BackwardRule::kParted, v_min_orders, third_in_flight,
        "(4p-c)F/2, c = 7, 5, 9 as p leaves 0, 1, 2 over 3, where F = B - W = W; at least that of "
        "zbv",
        "floor((p+4)/3)", kStageUnits, "Qi et al., arXiv 2405.15362 (V-Min)"},
    ScheduleInfo{
        Schedule::kDualPipe, "dualpipe", StagePlacement::kBidirectional, ChunkRule::kOne,
        PairRule::kByItself, BackwardRule::kParted, dual_pipe_orders, one_a_rank,
        "(p/2-1)(F&B+B-3W)", "p+1, and every parameter twice",
        "p even; m >= 2p, else the order for 2p with the missing micro-batches left out; "
        "the two ranks of a stage add up their gradients once a step; a pair takes as long as its "
        "parts where no time of its own is known",
        "DeepSeek-V3, arXiv 2412.19437, section 3.2.1"},
    ScheduleInfo{
        Schedule::kDualPipeV, "dualpipev", StagePlacement::kV, ChunkRule::kTwo, PairRule::kByItself,
        BackwardRule::kParted, dual_pipe_v_orders, one_a_rank, "(p-1)(F&B+B-3W)/2", "p+1/2",
        "v = 2; m >= 2p, else the order for 2p with the missing micro-batches left out; pairs as "
        "those of dualpipe",
        "Sea AI Lab's half of DualPipe, as DeepSeek's repository has it"},
    ScheduleInfo{Schedule::kInterleavedZeroBubble, "interleaved_zero_bubble", StagePlacement::kLoop,
                 ChunkRule::kSeveral, PairRule::kNone, BackwardRule::kParted,
                 interleaved_zero_bubble_orders, one_a_rank, "(p-1)(F+B-2W)/v", "p, at most m",
                 "v > 1; p divides m, else the last group of micro-batches takes the remainder; "
                 "equal F, B - W and W",
                 "PyTorch, torch/distributed/pipelining/schedules.py, "
                 "ScheduleInterleavedZeroBubble"},
};

constexpr std::size_t kScheduleRows = kInfos.size();

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kScheduleRows; ++i) {
    if (static_cast<std::size_t>(kInfos[i].schedule) != i) {
      return false;
    }
  }
  return true;
}
static_assert(rows_are_in_order() && names_every_value<Schedule, kScheduleRows>());

constexpr std::array<std::string_view, kScheduleRows> kScheduleNames = [] {
  std::array<std::string_view, kScheduleRows> names;
  for (std::size_t i = 0; i < kScheduleRows; ++i) {
    names[i] = kInfos[i].name;
  }
  return names;
}();

}  // namespace

std::span<const ScheduleInfo> schedule_infos() { return kInfos; }

const ScheduleInfo& info(Schedule schedule) { return kInfos[static_cast<std::size_t>(schedule)]; }

std::string_view name(Schedule schedule) { return entry(kScheduleNames, schedule); }

template <>
std::span<const std::string_view> names_of<Schedule>() {
  return kScheduleNames;
}

StagePlacement placement_of(Schedule schedule) { return info(schedule).placement; }

std::vector<Reason> schedule_reasons(Schedule schedule, std::int64_t pp, std::int64_t vpp) {
  const ScheduleInfo& row = info(schedule);
  const std::string called = "schedule " + std::string(row.name);
  std::vector<Reason> reasons;
  if (row.chunks == ChunkRule::kSeveral) {
    if (pp > 1 && vpp == 1) {
      reasons.push_back({called + " needs vpp > 1"});
    }
    return reasons;
  }
  if (row.chunks == ChunkRule::kTwo) {
    if (pp == 1) {
      reasons.push_back({called + " needs pp > 1"});
    } else if (vpp != 2) {
      reasons.push_back(
          {called + " has two stages a rank: vpp", of_plan(" = ", vpp), " must be 2"});
    }
    return reasons;
  }
  if (vpp > 1) {
    reasons.push_back(
        {called + " has no virtual stages: vpp", of_plan(" = ", vpp), " needs interleaved_1f1b"});
  }
  if (row.placement == StagePlacement::kBidirectional && pp % 2 != 0) {
    reasons.push_back({called + " needs an even pp: micro-batches pass its", of_plan(" ", pp),
                       pp == 1 ? " rank from both ends" : " ranks from both ends"});
  }
  return reasons;
}

std::int64_t chunks_for(Schedule schedule, std::int64_t vpp) {
  switch (info(schedule).chunks) {
    case ChunkRule::kSeveral:
      return std::max<std::int64_t>(vpp, 2);
    case ChunkRule::kTwo:
      return 2;
    case ChunkRule::kOne:
      break;
  }
  return 1;
}

}  // namespace stepcast
