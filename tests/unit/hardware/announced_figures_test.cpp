// SPDX-License-Identifier: Apache-2.0
// How far the rates of parts that are sold differ from those that were first announced of them:
// what an interval of a part that is only announced is widened by.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/experiment/error_model.hpp"

namespace stepcast::announced_figures_test {
namespace {

// Dense, of the whole part.
struct AnnouncedRate {
  const char* part;
  Dtype dtype;
  double teraflops;
};
constexpr AnnouncedRate kRates[] = {
    {"v100", Dtype::kFp16, 120.0},       // May 2017, at 1455 MHz (NVIDIA, Inside Volta)
    {"h100_sxm", Dtype::kBf16, 1000.0},  // March 2022 (NVIDIA, GTC keynote)
    {"mi325x", Dtype::kBf16, 1300.0},    // June 2024 (AMD, Computex; benchlife.info)
    {"mi355x", Dtype::kBf16, 2300.0},    // October 2024 (AMD, Advancing AI; Tom's Hardware)
    {"gb300", Dtype::kFp4, 15000.0},     // March 2025 (NVIDIA, GTC)
};

struct AnnouncedMemory {
  const char* part;
  double terabytes_per_second;
};
constexpr AnnouncedMemory kMemories[] = {
    {"v100", 0.9},      // May 2017
    {"h100_sxm", 3.0},  // March 2022 (techpowerup.com/293177)
    {"mi325x", 6.0},    // June 2024
    {"mi355x", 8.0},    // October 2024
    {"b200", 8.0},      // March 2024 (NVIDIA, GTC)
    {"gb300", 8.0},     // March 2025
};

TEST_CASE("Rates of parts that are sold are as far off the announced ones as is assumed",
          "[unit]") {
  std::vector<double> errors;
  for (const AnnouncedRate& rate : kRates) {
    const DeviceSpec part = test::shipped_gpu(rate.part);
    const double sold = part.matrix_peak(rate.dtype, part.clock.rated)->value() / 1e12;
    errors.push_back(std::log(sold / rate.teraflops));
  }
  for (const AnnouncedMemory& memory : kMemories) {
    const double sold = test::shipped_gpu(memory.part).hbm.peak.value() / 1e12;
    errors.push_back(std::log(sold / memory.terabytes_per_second));
  }
  const double squares = sum_over(errors, [](double error) { return error * error; });
  const double spread = std::sqrt(squares / static_cast<double>(errors.size()));
  CHECK(spread == Approx(ErrorPriors{}.announced).epsilon(0.03));
}

}  // namespace
}  // namespace stepcast::announced_figures_test
