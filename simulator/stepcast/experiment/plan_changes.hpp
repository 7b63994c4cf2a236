// SPDX-License-Identifier: Apache-2.0
// What a plan becomes by one change, as somebody who tunes it would try: another degree, another
// sharding, another pipeline, another micro-batch or another recomputation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// As --set takes them: {"plan.tp", "8"}; "null" leaves a key out that the file gives.
using PlanSettings = std::vector<std::pair<std::string, std::string>>;

// Keys by their full names, "plan.tp".
using KeySet = std::set<std::string, std::less<>>;

// The keys of a plan that searches choose, beside the dispatcher; of the first ones how states are
// shared.
inline constexpr std::array<std::string_view, 4> kShardingKeys = {"zero", "fsdp", "hsdp",
                                                                  "fsdp_reshard"};
inline constexpr std::array<std::string_view, 9> kDividingKeys = {
    "tp", "sequence_parallel", "cp", "ep", "etp", "pp", "vpp", "schedule", "stage_layout"};

// Whether any of `kept` says how states are shared.
bool keeps_sharding(const KeySet& kept);

// What single changes leave alone.
inline constexpr std::int64_t kMostContext = 64;     // ranks of cp
inline constexpr std::int64_t kLeastTokens = 256;    // of a sequence that cp leaves a rank
inline constexpr std::int64_t kMostMicroBatch = 16;  // sequences

// A plan and a recipe, and the settings that make them of those of an experiment.
struct PlanChange {
  PlanSettings settings;
  PlanRequest plan;
  TrainingRecipe training;
};

// The plan of an experiment, with what `settled` chose where it gives none.
PlanChange unchanged_plan(const Experiment& experiment, const ParallelPlan& settled);

// Every plan that is one change away from `from`, which settles to `settled` on `site`, and does
// not touch the keys `kept`. They need not divide. Where `from` states dp or fsdp, which follow
// from the other degrees, the changes of the same plan without them are among them.
//
//   tp          divisors of the GPUs within a scale-up domain; sequence_parallel on and off
//   cp          powers of 2 up to 64 that leave a rank 256 tokens
//   ep, etp     with experts: divisors of the experts and of the GPUs; 1 or a tp
//   dispatcher  those that the software offers
//   zero        0, 1, 2, and 3 with and without fsdp_reshard, and over one node (hsdp)
//   pp, vpp     that the layers can be cut into, with every schedule that the software offers and
//               that of `from`; a layout by hand stays with its pp and vpp alone
//   micro_batch_size   1 to 16
//   recompute   none, selective, full, and full of 1, 2, 3 ... layers of a chunk (block)
std::vector<PlanChange> single_changes(const Experiment& site, const PlanChange& from,
                                       const ParallelPlan& settled, const KeySet& kept);

// Every number that divides `value`, which is positive, the smallest first.
std::set<std::int64_t> divisors(std::int64_t value);

// Whether frameworks lay so many layers, which need not divide, on vpp chunks of each of pp ranks:
// one or two chunks a rank, or as many as come out even by themselves or with both ends.
bool cuts_balanced(std::int64_t layers, std::int64_t pp, std::int64_t vpp);
// The same where layers that pp divides are cut evenly.
bool cuts_layers(std::int64_t layers, std::int64_t pp, std::int64_t vpp);

// The dispatcher of that name, if whatever `site` says of the exchange belongs to it, too.
std::optional<Dispatcher> dispatcher_for(const Experiment& site, std::string_view dispatcher);

// Whether the software can run a schedule, as far as it says.
bool is_offered(const SoftwareSpec& software, Schedule schedule);

}  // namespace stepcast
