// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "fuzz/targets.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast::fuzz {
namespace {

template <typename Q>
void check(std::string_view text) {
  const ParsedQuantity<Q> parsed = parse_quantity<Q>(text);
  promise(parsed.value.has_value() == (parsed.fault == QuantityFault::kNone), "value and fault");
  if (parsed.value) {
    promise(std::isfinite(parsed.value->value()), "a value is not finite");
    const std::string written = format_quantity(*parsed.value);
    promise(parse_quantity<Q>(written).value == parsed.value, "parse(format(x)) is not x");
  }
}

}  // namespace

int fuzz_quantity(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  check<Bytes>(text);
  check<Flops>(text);
  check<Seconds>(text);
  check<Joules>(text);
  check<Hertz>(text);
  check<BytesPerSecond>(text);
  check<FlopsPerSecond>(text);
  check<Watts>(text);
  const std::optional<std::int64_t> count = parse_count(text);
  promise(!count || parse_count(std::to_string(*count)) == count, "the digits of a count are none");
  return 0;
}

}  // namespace stepcast::fuzz
