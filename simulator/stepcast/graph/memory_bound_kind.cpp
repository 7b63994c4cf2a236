// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/memory_bound_kind.hpp"

#include <array>

namespace stepcast {
namespace {

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name, forward, backward, family) std::string_view{#name},
#define STEPCAST_PASSES(enumerator, name, forward, backward, family) \
  CompulsoryPasses{forward, backward},
#define STEPCAST_FAMILY(enumerator, name, forward, backward, family) KernelFamily::family,
// NOLINTEND(cppcoreguidelines-macro-usage)
constexpr std::array kKindNames = {STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_NAME)};
constexpr std::array kCompulsory = {STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_PASSES)};
constexpr std::array kFamilies = {STEPCAST_MEMORY_BOUND_KINDS(STEPCAST_FAMILY)};
#undef STEPCAST_NAME
#undef STEPCAST_PASSES
#undef STEPCAST_FAMILY

}  // namespace

std::string_view name(MemoryBoundKind kind) { return entry(kKindNames, kind); }
KernelFamily family_of(MemoryBoundKind kind) {
  return kFamilies.at(static_cast<std::size_t>(kind));
}
CompulsoryPasses compulsory_passes(MemoryBoundKind kind) {
  return kCompulsory.at(static_cast<std::size_t>(kind));
}

template <>
std::span<const std::string_view> names_of<MemoryBoundKind>() {
  return kKindNames;
}

}  // namespace stepcast
