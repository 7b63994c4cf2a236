// SPDX-License-Identifier: Apache-2.0
#include "importers/contention_rows.hpp"

#include <cmath>
#include <sstream>

namespace stepcast {
namespace {

constexpr double kCollectives = 25.0;
constexpr std::int64_t kRanks = 4;
constexpr Range<double> kBytes{1.0, 1e15};

std::optional<Gemm> gemm_named(const std::string& text) {
  std::istringstream stream(text);
  Gemm gemm;
  char first = 0;
  char second = 0;
  const bool read = static_cast<bool>(stream >> gemm.m >> first >> gemm.n >> second >> gemm.k);
  const bool whole = read && first == 'x' && second == 'x' && stream.peek() == EOF;
  return whole && gemm.m > 0 && gemm.n > 0 && gemm.k > 0 ? std::optional(gemm) : std::nullopt;
}

std::optional<CollectiveOp> collective_named(const std::string& text) {
  const auto names = names_of<CollectiveOp>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) {
      return static_cast<CollectiveOp>(i);
    }
  }
  return std::nullopt;
}

}  // namespace

void read_h200_contention(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  JsonFields fields = row.fields();
  MeasuredKernel kernel;
  kernel.gpu = "h200_sxm";
  const std::string comm = fields.required_text("comm");
  const std::optional<Gemm> gemm = gemm_named(fields.required_text("gemm"));
  const double mean = fields.required_number("gemm_s", kMeasuredSeconds);
  const double total = fields.required_number("gemm_total_s", kMeasuredSeconds);
  const double bytes = fields.required_number("comm_bytes", kBytes);
  if (!gemm) {
    fields.error("gemm", "must be MxNxK, \"8192x1024x8192\"");
  }
  kernel.group = "h200_sxm bf16 beside " + comm;
  kernel.work.op = {.work = gemm.value_or(Gemm{})};
  // The kernel alone is the first to run; what follows finds the GPU warm.
  kernel.work.state.power = comm == "none" ? PowerState::kCool : PowerState::kWarm;
  kernel.quantities = {{"gemm_s", mean}};
  if (comm != "none") {
    const std::optional<CollectiveOp> op = collective_named(comm);
    if (!op) {
      fields.error("comm", "must be none or a collective");
    }
    kernel.beside = Beside{{op.value_or(CollectiveOp::kAllReduce),
                            Bytes(bytes),
                            {.size = kRanks, .stride = 1},
                            Axis::kData},
                           kCollectives,
                           std::round(total / mean)};
    kernel.quantities.push_back(
        {"communication_s", fields.required_number("comm_s", kMeasuredSeconds)});
  }
  fields.finish();
  kernels.push_back(std::move(kernel));
}

}  // namespace stepcast
