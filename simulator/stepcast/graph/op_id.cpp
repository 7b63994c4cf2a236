// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/op_id.hpp"

#include <array>

namespace stepcast {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name) std::string_view{name},
constexpr std::array kOperatorNames = {STEPCAST_OPERATORS(STEPCAST_NAME)};
#undef STEPCAST_NAME
static_assert(kOperatorNames.size() == kOpIds && kOpIds <= 256, "OpId is one byte");

}  // namespace

std::string_view name(OpId id) { return kOperatorNames.at(static_cast<std::size_t>(id)); }

}  // namespace stepcast
