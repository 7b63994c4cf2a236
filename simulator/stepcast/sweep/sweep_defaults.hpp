// SPDX-License-Identifier: Apache-2.0
// The axes of `plan: all`: every plan of a model on a cluster that training frameworks offer.
//
//   tp, sequence_parallel  degrees that divide heads, ffn_hidden and GPUs, within a scale-up
//                          domain; above 1 with sequence parallelism on and, without experts, off
//   cp                     powers of 2 that leave a rank 4,096 tokens
//   ep, etp                with experts: degrees that divide the experts and the GPUs; 1 or a tp
//   dispatcher             with experts: those that the software offers (SoftwareOffer)
//   zero                   0, 1, 2, and 3 with and without fsdp_reshard, and over one node (hsdp)
//   pp, vpp, schedule      stages that divide the layers, with every schedule that runs them but
//                          gpipe, which takes as long as 1f1b and holds more; where pp does not
//                          divide them, stage_layout: balanced
//   micro_batch_size       1, 2, 4, 8, where `training` leaves it out
//   recompute              none, selective, full, where `training` leaves it out
//
// `plan: {all: offered}` takes of the schedules those that the software offers, where it says.
// `software: {base: NAME, all: true}` takes every other switch that the software offers.
//
// A key that the file gives is not touched: `plan: {all: true, tp: [4, 8]}` narrows one axis. What
// the other axes are made of then is what goes with some value that is given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/sweep/sweep_axes.hpp"

namespace stepcast {

// The texts of each key that a file sets or varies, before it is read: "plan.tp" -> 4, 8.
using GivenTexts = std::map<std::string, std::vector<std::string>, std::less<>>;
GivenTexts given_texts(const WrittenSweep& sweep);

// Schedules of a pipeline: every one, or those that the software of a site offers, where it says.
enum class ScheduleScope { kEvery, kOffered };

// The axes of every key that is not given. Their values stand at `place`.
std::vector<WrittenAxis> all_plan_axes(const std::vector<Experiment>& sites,
                                       const GivenTexts& given, ScheduleScope scope,
                                       const ConfigNode& place);

// What `offered_axes` gives.
enum class Offered { kDispatcher, kSwitches };
// The axes over what the software of the sites offers, of keys that are not given.
std::vector<WrittenAxis> offered_axes(const std::vector<Experiment>& sites, const GivenTexts& given,
                                      Offered offered, const ConfigNode& place);

}  // namespace stepcast
