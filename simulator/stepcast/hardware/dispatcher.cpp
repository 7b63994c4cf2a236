// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/dispatcher.hpp"

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_SECTION(enumerator, name, section) ExchangeSection::section,
constexpr std::array kSections = {STEPCAST_DISPATCHERS(STEPCAST_SECTION)};
#undef STEPCAST_SECTION

}  // namespace

std::size_t slot(Dispatcher dispatcher) {
  const auto place = static_cast<std::size_t>(dispatcher);
  STEPCAST_CHECK(place < kDispatchers, "a dispatcher without a row");
  return place;
}

ExchangeSection section_of(Dispatcher dispatcher) { return kSections.at(slot(dispatcher)); }

}  // namespace stepcast
