// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/expert_exchange.hpp"

#include <array>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 2> kPhaseNames = {"dispatch", "combine"};
constexpr std::array<std::string_view, 6> kPrimitiveNames = {"auto", "ag",         "rs",
                                                             "a2a",  "rank_dedup", "node_dedup"};
constexpr std::array<std::string_view, 7> kRoutingNames = {
    "uniform", "round_robin_forced", "group_limited", "zipf", "counts", "independent", "learned"};

}  // namespace

std::string_view name(ExchangePhase phase) { return entry(kPhaseNames, phase); }
std::string_view name(ExchangePrimitive primitive) { return entry(kPrimitiveNames, primitive); }
std::string_view name(RoutingKind kind) { return entry(kRoutingNames, kind); }

template <>
std::span<const std::string_view> names_of<ExchangePhase>() {
  return kPhaseNames;
}
template <>
std::span<const std::string_view> names_of<ExchangePrimitive>() {
  return kPrimitiveNames;
}
template <>
std::span<const std::string_view> names_of<RoutingKind>() {
  return kRoutingNames;
}

}  // namespace stepcast
