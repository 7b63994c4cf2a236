// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fuzz/targets.hpp"
#include "stepcast/sweep/sweep_axes.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast::fuzz {
namespace {

constexpr std::size_t kMostValues = 64;

// Whether reading it would only take long: each site and value is read by itself.
bool is_large(std::string_view text) {
  Diagnostics diagnostics;
  std::size_t values = 1;
  for (const WrittenAxis& axis : take_axes(parse_config(text, "fuzz"), diagnostics).axes) {
    values *= std::min(axis.values.size(), kMostValues + 1);
    if (values > kMostValues) {
      return true;
    }
  }
  return false;
}

}  // namespace

int fuzz_sweep(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  try {
    if (is_large(text)) {
      return 0;
    }
    const SweepSpace space =
        read_sweep({"fuzz", {}, std::string(text), {}, "fuzz"}, {STEPCAST_DATA_ROOT});
    promise(space.size() > 0, "a sweep has no plans");
    for (const std::int64_t index : {std::int64_t{0}, space.size() / 2, space.size() - 1}) {
      const SweepRequest request = space.request(index);
      promise(request.site < space.sites().size(), "an index has no site");
      promise(request.plan.tp > 0 && request.training.micro_batch_size > 0, "a value is lost");
    }
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      promise(!diagnostic.message.empty(), "an error has no message");
    }
  }
  return 0;
}

}  // namespace stepcast::fuzz
