// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/dispatcher.hpp"

#include <array>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name, section) std::string_view{#name},
#define STEPCAST_SECTION(enumerator, name, section) ExchangeSection::section,
// NOLINTEND(cppcoreguidelines-macro-usage)
constexpr std::array kDispatcherNames = {STEPCAST_DISPATCHERS(STEPCAST_NAME)};
constexpr std::array kSections = {STEPCAST_DISPATCHERS(STEPCAST_SECTION)};
#undef STEPCAST_NAME
#undef STEPCAST_SECTION
static_assert(kDispatcherNames.size() == kDispatchers && kSections.size() == kDispatchers);

}  // namespace

std::size_t slot(Dispatcher dispatcher) {
  const auto place = static_cast<std::size_t>(dispatcher);
  STEPCAST_CHECK(place < kDispatchers, "a dispatcher without a row");
  return place;
}

std::string_view name(Dispatcher dispatcher) { return kDispatcherNames.at(slot(dispatcher)); }
ExchangeSection section_of(Dispatcher dispatcher) { return kSections.at(slot(dispatcher)); }

template <>
std::span<const std::string_view> names_of<Dispatcher>() {
  return kDispatcherNames;
}

}  // namespace stepcast
