// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules, a row each: how the model lies on the ranks, in which order they run it, what
// is paired, what it costs and holds, and where it was published. All that the program knows of a
// schedule is its row; README.md beside this file says how to add one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "stepcast/pipeline/pipeline_order.hpp"
#include "stepcast/pipeline/pipeline_stages.hpp"
#include "stepcast/plan/reason.hpp"

namespace stepcast {

// Chunks of the model on a rank: vpp.
enum class ChunkRule {
  kOne,
  kTwo,      // follows where the plan leaves vpp out
  kSeveral,  // as many as the plan says, two at least
};

// Forwards that run beside backwards of another micro-batch.
enum class PairRule {
  kNone,
  kAsSoftware,  // where the software overlaps exchanges of experts so (Megatron's ep_overlap)
  kByItself,    // the order itself pairs them
};

// How ranks run the backward of a micro-batch.
enum class BackwardRule {
  kWhole,
  kParted,  // gradients of inputs and of weights are tasks of their own, at least of some
};

struct ScheduleInfo {
  Schedule schedule;
  std::string_view name;  // as experiments write it
  StagePlacement placement;
  ChunkRule chunks;
  PairRule pairs;
  BackwardRule backward;
  std::vector<RankOrder> (*orders)(const PipelineShape& shape);
  // Activations that the fullest rank holds at least, of one micro-batch over 1 / p of the model.
  double (*in_flight)(const PipelineShape& shape);
  std::string_view bubble;       // of a step, equal stages and free transfers
  std::string_view memory;       // activations that the fullest rank holds
  std::string_view assumptions;  // what the equation needs, and what the order does
  std::string_view source;
};

inline constexpr std::string_view kScheduleSymbols =
    "p ranks, v chunks a rank, m micro-batches of a step; F, B, W forward, whole backward and the\n"
    "weights' part of it, of one micro-batch over 1 / p of the model; F&B a forward and a "
    "backward\n"
    "together. Memory in activations of one micro-batch over 1 / p of the model, held until the\n"
    "gradient of the weights has run. bubble: the step less what a rank computes.";

// Every schedule, in the order of the enumeration.
std::span<const ScheduleInfo> schedule_infos();
const ScheduleInfo& info(Schedule schedule);

// Why `schedule` cannot run pp ranks of vpp chunks; empty if it can. Any number of micro-batches
// is allowed.
std::vector<Reason> schedule_reasons(Schedule schedule, std::int64_t pp, std::int64_t vpp);

// The chunks a rank with which `schedule` runs where the plan has `vpp`.
std::int64_t chunks_for(Schedule schedule, std::int64_t vpp);

}  // namespace stepcast
