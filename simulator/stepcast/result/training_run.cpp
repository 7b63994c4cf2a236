// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/training_run.hpp"

#include <algorithm>

namespace stepcast {
namespace {

constexpr Seconds kHour{3600.0};
constexpr Seconds kDay = 24.0 * kHour;
constexpr Joules kKilowattHour = Watts(1000.0) * kHour;

}  // namespace

double TrainingRun::days() const { return wall / kDay; }
double TrainingRun::gpu_hours() const { return static_cast<double>(gpus) * (wall / kHour); }
double TrainingRun::kilowatt_hours() const { return energy / kKilowattHour; }
double TrainingRun::gpu_kilowatt_hours() const { return gpu_energy / kKilowattHour; }
Joules TrainingRun::energy_per_token() const { return energy / static_cast<double>(spec.tokens); }

bool is_amount(double amount) { return amount > 0.0 && amount < 1e12; }

bool is_currency(std::string_view text) {
  constexpr std::size_t kLongest = 12;
  return !text.empty() && text.size() <= kLongest &&
         std::none_of(text.begin(), text.end(), [](char c) {
           const auto code = static_cast<unsigned char>(c);
           return code <= ' ' || code == 127 || (code >= '0' && code <= '9');
         });
}

}  // namespace stepcast
