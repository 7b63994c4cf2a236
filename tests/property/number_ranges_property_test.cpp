// SPDX-License-Identifier: Apache-2.0
// Whatever the tables of constants let a profile say, a step takes a time.
#include <algorithm>
#include <cmath>
#include <map>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/step_plans.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast::number_ranges_property_test {
namespace {

std::map<std::string, const ConstantInfo*> described() {
  std::map<std::string, const ConstantInfo*> constants;
  for (const ProfileFolder folder :
       {ProfileFolder::kGpus, ProfileFolder::kKernels, ProfileFolder::kArchitectures,
        ProfileFolder::kCollectives, ProfileFolder::kExchange, ProfileFolder::kLibraries}) {
    for (const auto& [key, constant] : placed_constants(folder)) {
      constants[key] = constant;
    }
  }
  return constants;
}

// Of the key of a value of one format too: "matrix_rate.bf16".
const ConstantInfo* constant_of(const std::map<std::string, const ConstantInfo*>& constants,
                                const std::string& key) {
  const auto whole = constants.find(key);
  const auto of_formats = constants.find(key.substr(0, key.rfind('.')));
  const auto found = whole == constants.end() ? of_formats : whole;
  return found == constants.end() ? nullptr : found->second;
}

void set(const PlacedNumber& number, double value, std::string_view unit) {
  std::visit(
      [&](auto* place) {
        using Value = std::remove_reference_t<decltype(*place)>;
        if constexpr (std::is_same_v<Value, double>) {
          *place = value;
        } else {
          *place = quantity_of<Value>(value, unit);
        }
      },
      number.number);
}

std::vector<test::NamedPlan> plans() {
  std::vector<test::NamedPlan> all = test::step_plans();
  std::erase_if(all, [](const test::NamedPlan& plan) {
    return plan.name != "tp sp" && plan.name != "vpp" && plan.name != "fsdp" &&
           plan.name != "ep by deepep";
  });
  REQUIRE(all.size() == 4);
  return all;
}

void check_steps(const ClusterSpec& cluster, const CostModel& cost) {
  for (const test::NamedPlan& plan : plans()) {
    CAPTURE(plan.name);
    const StepAtClock timed = step_within_power({plan.sample.context(), cluster, cost, Hertz{}});
    const double step = timed.time.step.value();
    CHECK((std::isfinite(step) && step > 0.0));
    CHECK((std::isfinite(timed.power.value()) && timed.power > Watts{}));
  }
}

TEST_CASE("a step takes a finite time with each number at either end of its range", "[property]") {
  const std::string gpu = GENERATE("h100_sxm", "mi300x");
  const CostModel cost = default_cost_model();
  const std::map<std::string, const ConstantInfo*> constants = described();
  ClusterSpec cluster = cluster_of(test::shipped_gpu(gpu), 2);
  std::size_t numbers = 0;
  for (const PlacedNumber& number : placed_numbers(cluster)) {
    const ConstantInfo* constant = constant_of(constants, number.origin->key);
    CAPTURE(gpu, number.origin->key);
    REQUIRE(constant != nullptr);
    const double own = number.value();
    for (const double end : {constant->range.lowest, constant->range.highest}) {
      CAPTURE(end);
      set(number, end, constant->unit);
      // Together with the power's limit these are refused.
      if (cluster.device.power.idle < cluster.device.power.limit) {
        check_steps(cluster, cost);
      }
    }
    number.set(own);
    ++numbers;
  }
  CHECK(numbers > 100);
}

}  // namespace
}  // namespace stepcast::number_ranges_property_test
