// SPDX-License-Identifier: Apache-2.0
#include "frameworks/resolved_export.hpp"

#include <array>
#include <charconv>

#include "stepcast/memory/usual_plan.hpp"

namespace stepcast {

ParallelPlan resolved_for_export(const Experiment& experiment, std::string_view framework) {
  ResolvedPlan resolved = settle_plan(experiment.plan, experiment.model, experiment.training,
                                      experiment.cluster, experiment.software);
  Diagnostics diagnostics;
  for (const std::string& reason : resolved.reasons) {
    diagnostics.error({"export " + std::string(framework), 0, 0}, reason);
  }
  diagnostics.throw_if_any();
  return std::move(resolved.plan);
}

std::int64_t layer_step(const std::vector<std::int64_t>& listed, std::int64_t layers) {
  if (listed.empty()) {
    return 0;
  }
  const std::int64_t every = listed.front() + 1;
  std::vector<std::int64_t> stepped;
  for (std::int64_t layer = every - 1; layer < layers; layer += every) {
    stepped.push_back(layer);
  }
  return stepped == listed ? every : 0;
}

std::string shortest(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end.ptr};
}

}  // namespace stepcast
