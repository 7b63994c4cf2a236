// SPDX-License-Identifier: Apache-2.0
// Published points of formats below 16 bits were taken of a whole linear layer: the quantisation of
// its input and the product.
#include <filesystem>
#include <fstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/validation/validate.hpp"
#include "text_file.hpp"

namespace stepcast::quantised_points_test {
namespace {

constexpr std::int64_t kM = 4096;
constexpr std::int64_t kN = 7168;
constexpr std::int64_t kK = 2048;

// What a row of B200 in `dtype` is predicted to take.
double predicted(const std::string& dtype) {
  const std::filesystem::path file = test::scratch_path("quantised_" + dtype + ".csv");
  std::ofstream(file) << "sku,dtype,m,n,k,latency_us\nb200," << dtype << ",4096,7168,2048,100\n";
  const auto rows =
      validate_files({file}, test::data_root(), default_cost_model(), all_importers());
  std::filesystem::remove(file);
  REQUIRE(rows.size() == 1);
  return rows[0].predicted.value_or(0.0);
}

// A cool price in a captured graph, with `cached` of the operands in the cache.
double priced(const OpWork& work, Bytes cached = {}) {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("b200"), 1);
  const DeviceSpec& device = cluster.device;
  return price_at({PowerState::kCool, {}}, {.work = work}, default_cost_model(),
                  {device,
                   {},
                   device.compute_units,
                   device.graph_launch_latency,
                   Detail::kDuration,
                   cached},
                  cluster)
      .cost.duration.value();
}

TEST_CASE("a published point in 8 or 4 bits is the quantisation of the input and the product",
          "[unit]") {
  struct Format {
    const char* written;
    Dtype dtype;
    MemoryBoundKind quantise;
  };
  for (const Format& format :
       {Format{"fp8", Dtype::kFp8, MemoryBoundKind::kServedQuantize},
        Format{"fp8_block", Dtype::kFp8Block, MemoryBoundKind::kServedQuantizeBlock},
        Format{"nvfp4", Dtype::kFp4, MemoryBoundKind::kServedQuantizeFp4}}) {
    CAPTURE(format.written);
    // One call's input, weights and results fit in the L2; five copies of the weights with their
    // results do not: the input is still there.
    const double product =
        priced(Gemm{kM, kN, kK, 1, format.dtype}, double{kM * kK} * size_of(format.dtype));
    const double quantise = priced(MemoryBound{format.quantise, kM, kK});
    CHECK(quantise > 0.0);
    CHECK(predicted(format.written) == test::nearly(quantise + product));
  }
}

TEST_CASE("a published point in 16 bits is the product alone", "[unit]") {
  CHECK(predicted("bfloat16") == test::nearly(priced(Gemm{kM, kN, kK}, Bytes(2.0 * kM * kK))));
}

}  // namespace
}  // namespace stepcast::quantised_points_test
