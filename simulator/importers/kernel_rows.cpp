// SPDX-License-Identifier: Apache-2.0
#include "importers/kernel_rows.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "importers/published_names.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/report/op_text.hpp"

namespace stepcast {
namespace {

constexpr const char* kH200 = "h200_sxm";
constexpr Range<double> kMhz{1.0, 1e5};
constexpr Range<double> kWatts{1.0, 1e5};

MeasuredKernel kernel_on_h200(JsonFields& fields, ProfileCache& profiles) {
  MeasuredKernel kernel;
  kernel.gpu = kH200;
  kernel.work = read_operator(fields, profiles.gpu(kH200));
  return kernel;
}

std::string group_of(const MeasuredKernel& kernel, const std::string& what) {
  return kernel.gpu + " " + std::string(name(kernel.work.dtype)) + " " + what;
}

std::string pass_name(GemmPass pass) { return pass == GemmPass::kWgrad ? "wgrad" : "fwd"; }

// The part that a row names; null, and an error, if there is none of that name.
const DeviceSpec* named_gpu(JsonFields& fields, const std::string& gpu, ProfileCache& profiles) {
  if (!fields.good({"gpu"})) {
    return nullptr;
  }
  const std::vector<std::string> names = profiles.gpu_names();
  if (std::find(names.begin(), names.end(), gpu) == names.end()) {
    const std::string meant = gpu_for(gpu);
    fields.error(
        "gpu", "is '" + gpu + "', which has no profile" +
                   (meant.empty() ? did_you_mean(gpu, names) : "; did you mean '" + meant + "'?"));
    return nullptr;
  }
  return &profiles.gpu(gpu);
}

// Exchanges of tokens have a metric for each direction.
std::string time_metric(const Op& op) {
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  return exchange == nullptr ? "time_s" : std::string(name(exchange->phase)) + "_s";
}

}  // namespace

void read_timed_operator(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  JsonFields fields = row.fields();
  MeasuredKernel kernel;
  kernel.gpu = fields.required_text("gpu");
  const DeviceSpec* device = named_gpu(fields, kernel.gpu, row.profiles);
  if (device != nullptr) {
    kernel.work = read_operator(fields, *device);
    kernel.group = fields.text("group", group_of(kernel, std::string(kind_name(kernel.work.op))));
  }
  kernel.quantities = {
      {time_metric(kernel.work.op), fields.required_number("s", kMeasuredSeconds)}};
  if (fields.has("clock_mhz")) {
    kernel.quantities.push_back({"clock_mhz", fields.required_number("clock_mhz", kMhz)});
  }
  if (fields.has("watts")) {
    kernel.quantities.push_back({"power_w", fields.required_number("watts", kWatts)});
  }
  fields.finish();
  kernels.push_back(std::move(kernel));
}

void read_h200_gemm(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.rename("kind", "pass");
  row.set_text("kind", "gemm");
  row.set_flag("graph", true);
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_on_h200(fields, row.profiles);
  kernel.group = group_of(kernel, fields.required_text("model") == "random" ? "random" : "model");
  kernel.quantities = {{"time_s", fields.required_number("s", kMeasuredSeconds)}};
  fields.finish();
  kernels.push_back(std::move(kernel));
}

void read_h200_grouped_gemm(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.rename("kind", "pass");
  row.set_text("kind", "grouped_gemm");
  row.set_flag("graph", true);
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_on_h200(fields, row.profiles);
  if (const auto* grouped = std::get_if<GroupedGemm>(&kernel.work.op.work)) {
    kernel.group = group_of(kernel, "grouped " + pass_name(grouped->pass));
  }
  kernel.quantities = {{"time_s", fields.required_number("s", kMeasuredSeconds)}};
  fields.finish();
  kernels.push_back(std::move(kernel));
}

// Calls between two events, one at a time and not in a graph: the GPU rests between them.
void read_h200_attention(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.rename("impl", "implementation");
  row.set_text("kind", "attention");
  row.set_text("state", "cool");
  JsonFields fields = row.fields();
  MeasuredKernel forward = kernel_on_h200(fields, row.profiles);
  forward.quantities = {{"forward_s", fields.required_number("fwd_s", kMeasuredSeconds)}};
  MeasuredKernel backward = forward;
  backward.quantities = {{"backward_s", fields.required_number("bwd_s", kMeasuredSeconds)}};
  fields.finish();
  if (auto* attention = std::get_if<Attention>(&backward.work.op.work)) {
    attention->direction = Direction::kBackward;
    const std::string kernel = std::string(kH200) + " " + std::string(name(attention->kernel));
    forward.group = kernel + " fwd";
    backward.group = kernel + " bwd";
  }
  kernels.push_back(std::move(forward));
  kernels.push_back(std::move(backward));
}

void read_h200_memory_bound(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.set_text("kind", "memory_bound");
  // Rows with a backward were timed one call at a time and not in a graph.
  const bool with_backward = row.object.contains("bwd_s");
  row.set_flag("graph", !with_backward);
  // What the program calls fused is generated by torch.compile.
  const auto op = row.object.find("op");
  if (op != row.object.end() && op->second.text.ends_with("_fused")) {
    row.set_text("implementation", "compiled");
  }
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_on_h200(fields, row.profiles);
  kernel.group = group_of(kernel, fields.required_text("op"));
  kernel.quantities = {{"time_s", fields.required_number("s", kMeasuredSeconds)}};
  if (with_backward) {
    MeasuredKernel backward = kernel;
    backward.quantities = {{"backward_s", fields.required_number("bwd_s", kMeasuredSeconds)}};
    if (auto* work = std::get_if<MemoryBound>(&backward.work.op.work)) {
      work->direction = Direction::kBackward;
    }
    kernels.push_back(std::move(kernel));
    kernel = std::move(backward);
  }
  fields.finish();
  kernels.push_back(std::move(kernel));
}

void read_h200_sustained(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.set_text("kind", "gemm");
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_on_h200(fields, row.profiles);
  kernel.group = group_of(kernel, "sustained");
  kernel.quantities = {{"time_s", fields.required_number("s", kMeasuredSeconds)}};
  const std::string smi = fields.required_text("smi");
  const double clock = std::strtod(smi.c_str(), nullptr);
  if (clock < kMhz.lowest || clock > kMhz.highest) {
    fields.error("smi", "must begin with the clock in MHz, \"1500, 3201, 694.02, 61\"");
  }
  kernel.quantities.push_back({"clock_mhz", clock});
  fields.finish();
  kernels.push_back(std::move(kernel));
}

void read_h200_duty(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  constexpr Range<double> kDuty{0.001, 1.0};
  row.set_text("kind", "gemm");
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_on_h200(fields, row.profiles);
  kernel.group = group_of(kernel, "duty");
  kernel.duty = fields.required_number("duty", kDuty);
  if (fields.required_text("data") == "zero") {
    kernel.skipped = "feature unsupported: operands of zeros";
  }
  kernel.quantities = {{"time_s", fields.required_number("s", kMeasuredSeconds)},
                       {"clock_mhz", fields.required_number("clock_mhz", kMhz)},
                       {"power_w", fields.required_number("watts", kWatts)}};
  fields.finish();
  kernels.push_back(std::move(kernel));
}

void read_h200_launch(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  static constexpr std::array kOps = {NamedValue<bool>{"eager_add", false},
                                      NamedValue<bool>{"graph_add", true}};
  JsonFields written = row.fields();
  const bool graph = written.required_choice<bool>("op", kOps);
  MeasuredKernel kernel;
  kernel.quantities = {{"time_s", written.required_number("s", kMeasuredSeconds)}};
  written.finish();
  kernel.gpu = kH200;
  kernel.group = std::string(kH200) + " launch " + (graph ? "graph" : "eager");
  // One number is added to.
  kernel.work.dtype = Dtype::kFp32;
  kernel.work.launch = graph ? Launch::kGraph : Launch::kStream;
  kernel.work.op = {.work = MemoryBound{.kind = MemoryBoundKind::kResidual,
                                        .rows = 1,
                                        .cols = 1,
                                        .element = size_of(Dtype::kFp32)}};
  kernels.push_back(std::move(kernel));
}

void read_h200_collective(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.set_text("kind", "collective");
  row.set_text("launch", "eager");
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_on_h200(fields, row.profiles);
  if (const auto* op = std::get_if<Collective>(&kernel.work.op.work)) {
    constexpr Bytes kHostBound{4194304.0};  // below, PyTorch's calls take longer than the kernels
    kernel.group = std::string(kH200) + " " + std::string(name(op->op)) + " x" +
                   std::to_string(op->group.size) + (op->bytes < kHostBound ? " below 4 MiB" : "");
  }
  kernel.quantities = {{"time_s", fields.required_number("s", kMeasuredSeconds)}};
  fields.finish();
  kernels.push_back(std::move(kernel));
}

}  // namespace stepcast
