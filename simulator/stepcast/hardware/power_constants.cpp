// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/power_constants.hpp"

#include <array>

#include "stepcast/hardware/by_dtype.hpp"

namespace stepcast {

namespace {

constexpr std::array<NamedValue<ClockScope>, 2> kClockScopes = {
    {{"kernel", ClockScope::kKernel}, {"step", ClockScope::kStep}}};

}  // namespace

PowerConstants read_power_constants(SourcedReader reader) {
  constexpr Range<double> kExponent{0.0, 4.0};
  constexpr Range<double> kBurst{1.0, 3.0};
  PowerConstants power;
  power.matrix_energy = quantities_by_dtype<Joules>(reader.mapping("matrix_energy"));
  power.reference_clock = reader.quantity<Hertz>("reference_clock");
  power.voltage_exponent = reader.number("voltage_exponent", kExponent);
  power.hbm_energy = reader.quantity<Joules>("hbm_energy_per_byte");
  power.burst_ratio = reader.number("burst_ratio", kBurst);
  power.clock_spread = reader.number("clock_spread", Range<double>{0.0, 0.1});
  power.burst_energy = reader.quantity<Joules>("burst_energy");
  power.clock_per = reader.choice<ClockScope>("clock_per", kClockScopes);
  if (reader.has("reference_clock") && !(power.reference_clock.value() > 0.0)) {
    reader.reader().error("reference_clock", "must be greater than 0");
  }
  reader.finish();
  return power;
}

}  // namespace stepcast
