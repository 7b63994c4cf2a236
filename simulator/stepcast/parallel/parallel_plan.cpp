// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/parallel_plan.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 10> kScheduleNames = {
    "gpipe",  "1f1b",  "interleaved_1f1b", "zb_h1",    "zb_h2", "zbv",
    "v_half", "v_min", "dualpipe",         "dualpipev"};
constexpr std::array<std::string_view, 3> kCpAlgorithmNames = {"ring", "all_gather", "all_to_all"};

}  // namespace

std::string_view name(Schedule schedule) {
  return kScheduleNames[static_cast<std::size_t>(schedule)];
}
std::string_view name(CpAlgorithm algorithm) { return entry(kCpAlgorithmNames, algorithm); }

template <>
std::span<const std::string_view> names_of<Schedule>() {
  return kScheduleNames;
}
template <>
std::span<const std::string_view> names_of<CpAlgorithm>() {
  return kCpAlgorithmNames;
}

}  // namespace stepcast
