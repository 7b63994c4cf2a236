// SPDX-License-Identifier: Apache-2.0
// How tokens reach the ranks that hold their experts (dispatch) and how the results come back
// (combine).
//
// A rank has `tokens` tokens of `hidden` values; each chooses `topk` of `experts` experts, which
// the ranks of `group` hold in equal parts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/hardware/dispatcher.hpp"
#include "stepcast/hardware/process_group.hpp"

namespace stepcast {

enum class ExchangePhase { kDispatch, kCombine };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<ExchangePhase> = {"dispatch", "combine"};

// Which rows travel: all tokens to all ranks, one row for each (token, expert), one for each
// (token, rank) or one for each (token, node).
enum class ExchangePrimitive {
  kAuto,  // what the dispatcher does, or the fastest where it has several
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kRankDedup,
  kNodeDedup,
};
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<ExchangePrimitive> = {
    "auto", "ag", "rs", "a2a", "rank_dedup", "node_dedup"};

enum class RoutingKind {
  kUniform,           // topk distinct experts, all sets alike
  kRoundRobinForced,  // token t takes experts t topk ... t topk + topk - 1, modulo all of them
  kGroupLimited,      // uniform within groups_per_token of `groups` equal groups of experts
  kZipf,              // popularity of the i-th expert 1 / i^zipf_exponent
  kCounts,            // as many tokens for each expert as `counts` says
  kIndependent,       // topk draws with replacement, as SonicMoE's profiler routes
  kLearned,           // loads as a trained router leaves them, max_violation above their mean
};
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<RoutingKind> = {
    "uniform", "round_robin_forced", "group_limited", "zipf", "counts", "independent", "learned"};

class KnownLoads;

// What the copies of a routing have found of its loads (weighted_choice.hpp): no part of its value.
struct SharedLoads {
  std::shared_ptr<KnownLoads> known;
  bool operator==(const SharedLoads&) const { return true; }
};

struct Routing {
  RoutingKind kind = RoutingKind::kUniform;
  std::int64_t groups = 1;
  std::int64_t groups_per_token = 1;
  double zipf_exponent = 0.0;
  std::vector<std::int64_t> counts{};  // tokens of each expert, over all ranks
  double max_violation = 0.0;          // MaxVio: load of the fullest expert over the mean, less 1
  SharedLoads shared{};
  bool operator==(const Routing&) const = default;
};

struct ExpertExchange {
  ExchangePhase phase = ExchangePhase::kDispatch;
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  ExchangePrimitive primitive = ExchangePrimitive::kAuto;
  std::int64_t tokens = 0;  // of one rank
  std::int64_t hidden = 0;
  std::int64_t experts = 1;
  std::int64_t topk = 1;
  ProcessGroup group;
  Dtype dtype = Dtype::kBf16;      // of the rows; fp8 ones travel with a scale for 128 values
  std::int64_t compute_units = 0;  // that its kernels may hold; 0: the dispatcher's default
  Routing routing{};
  double capacity_factor = 0.0;  // of every expert; pairs beyond it are dropped; 0: none
  bool operator==(const ExpertExchange&) const = default;
};

}  // namespace stepcast
