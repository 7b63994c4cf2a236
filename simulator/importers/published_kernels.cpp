// SPDX-License-Identifier: Apache-2.0
#include "importers/published_kernels.hpp"

#include <algorithm>
#include <array>

#include "importers/published_names.hpp"

namespace stepcast {
namespace {

constexpr double kShortGemm = 20.0;       // us
constexpr double kShortAttention = 50.0;  // us
constexpr std::int64_t kFewTokens = 1024;
constexpr std::int64_t kGpusOfTray = 4;  // that a GB200 host has

double seconds(double microseconds) { return microseconds * 1e-6; }

// A kernel on the part that `sku` names; it is skipped, without an operator, if there is none.
MeasuredKernel kernel_of_sku(JsonFields& fields, ProfileCache& profiles) {
  MeasuredKernel kernel;
  const std::string sku = fields.required_text("sku");
  kernel.gpu = gpu_for(sku);
  if (kernel.gpu.empty()) {
    kernel.group = sku;
    kernel.skipped = "input missing: no profile for the GPU '" + sku + "'";
    return kernel;
  }
  kernel.work = read_operator(fields, profiles.gpu(kernel.gpu));
  return kernel;
}

// The kernel of TensorRT-LLM if we know it, else the part's own.
std::optional<std::string> tensorrt_kernel() {
  const std::span<const std::string_view> names = names_of<AttentionKernel>();
  const bool known = std::find(names.begin(), names.end(), "trtllm") != names.end();
  return known ? std::optional<std::string>("trtllm") : std::nullopt;
}

struct AiterColumn {
  const char* key;
  const char* gpu;
  Direction direction;
  const char* group;
};
constexpr std::array kAiterColumns = {
    AiterColumn{"fwd_mi300x", "mi300x", Direction::kForward, "fwd"},
    AiterColumn{"fwd_mi355x", "mi355x", Direction::kForward, "fwd"},
    AiterColumn{"bwd_a16_mi300x", "mi300x", Direction::kBackward, "bwd a16"},
    AiterColumn{"bwd_a16_mi355x", "mi355x", Direction::kBackward, "bwd a16"},
    AiterColumn{"bwd_a32_mi300x", "mi300x", Direction::kBackward, "bwd a32"},
    AiterColumn{"bwd_a32_mi355x", "mi355x", Direction::kBackward, "bwd a32"},
};

// FLOPs as aiter's table counts them: half of all with a causal mask.
Flops aiter_flops(Attention op) {
  const double share = op.causal ? 0.5 : 1.0;
  op.causal = false;
  return share * flops(op);
}

}  // namespace

// The points of formats below 16 bits were taken of TensorRT-LLM's linear layer: their times grow
// with m k as those of a quantisation of its input do, on top of the product.
std::optional<Op> quantised_input(const OperatorLine& work) {
  const auto* gemm = std::get_if<Gemm>(&work.op.work);
  if (gemm == nullptr || !is_quantized(gemm->dtype)) {
    return std::nullopt;
  }
  MemoryBound quantise;
  quantise.kind = gemm->dtype == Dtype::kFp4        ? MemoryBoundKind::kServedQuantizeFp4
                  : gemm->dtype == Dtype::kFp8Block ? MemoryBoundKind::kServedQuantizeBlock
                                                    : MemoryBoundKind::kServedQuantize;
  quantise.rows = gemm->m;
  quantise.cols = gemm->k;
  return Op{.work = quantise};
}

void read_gemm_point(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.set_text("kind", "gemm");
  row.set_text("state", "cool");
  row.set_flag("graph", true);
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_of_sku(fields, row.profiles);
  const double time = fields.required_number("latency_us", kMeasuredMicroseconds);
  fields.finish();
  if (kernel.skipped.empty()) {
    kernel.before = quantised_input(kernel.work);
    kernel.group = kernel.gpu + " " + std::string(name(kernel.work.dtype)) +
                   (time < kShortGemm ? " below 20 us" : "");
  }
  kernel.quantities = {{"time_s", seconds(time)}};
  kernels.push_back(std::move(kernel));
}

void read_attention_point(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.rename("seqlen", "seq");
  row.rename("head_dim", "d_qk");
  row.set_text("kind", "attention");
  row.set_text("state", "cool");
  row.set_flag("graph", true);
  row.set_flag("causal", true);
  if (const std::optional<std::string> kernel = tensorrt_kernel()) {
    row.set_text("implementation", *kernel);
  }
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_of_sku(fields, row.profiles);
  const double time = fields.required_number("latency_us", kMeasuredMicroseconds);
  fields.finish();
  if (const auto* attention = std::get_if<Attention>(&kernel.work.op.work)) {
    kernel.group = kernel.gpu + " " + std::string(name(attention->kernel)) + " causal fwd" +
                   (time < kShortAttention ? " below 50 us" : "");
  }
  kernel.quantities = {{"forward_s", seconds(time)}};
  kernels.push_back(std::move(kernel));
}

void read_aiter_attention(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  constexpr Range<double> kTeraflops{1e-3, 1e6};
  const auto causal = row.object.find("causal");
  if (causal != row.object.end() && causal->second.kind == JsonValue::Kind::kInteger) {
    row.set_flag("causal", causal->second.integer != 0);
  }
  row.rename("q_heads", "heads");
  row.rename("seqlen_q", "seq");
  row.rename("seqlen_kv", "seq_kv");
  row.rename("hdim", "d_qk");
  row.set_text("kind", "attention");
  row.set_text("implementation", "aiter");
  JsonFields fields = row.fields();
  MeasuredKernel kernel;
  kernel.work = read_operator(fields, row.profiles.gpu("mi300x"));
  for (const AiterColumn& column : kAiterColumns) {
    const double rate = fields.required_number(column.key, kTeraflops);
    auto* attention = std::get_if<Attention>(&kernel.work.op.work);
    if (attention == nullptr) {
      continue;
    }
    attention->direction = column.direction;
    attention->kernel = std::string_view(column.group) == "bwd a16" ? AttentionKernel::kAiterA16
                                                                    : AttentionKernel::kAiter;
    kernel.gpu = column.gpu;
    kernel.group = std::string(column.gpu) + " aiter " + column.group;
    const bool forward = column.direction == Direction::kForward;
    kernel.quantities = {
        {forward ? "forward_s" : "backward_s", aiter_flops(*attention).value() / (rate * 1e12)}};
    kernels.push_back(kernel);
  }
  fields.finish();
}

void read_nccl_point(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  row.rename("num_gpus", "ranks");
  row.set_text("kind", "collective");
  const auto op = row.object.find("op");
  if (op != row.object.end() && op->second.text == "alltoall") {
    row.set_text("op", "all_to_all");
  }
  JsonFields fields = row.fields();
  MeasuredKernel kernel = kernel_of_sku(fields, row.profiles);
  const double time = fields.required_number("latency_us", kMeasuredMicroseconds);
  fields.finish();
  if (const auto* work = std::get_if<Collective>(&kernel.work.op.work)) {
    constexpr Bytes kSmall{1048576.0};
    kernel.group = kernel.gpu + " " + std::string(name(work->op)) +
                   (work->bytes < kSmall ? " below 1 MiB" : "");
  }
  kernel.quantities = {{"time_s", seconds(time)}};
  kernels.push_back(std::move(kernel));
}

void read_deepep_point(KernelRow row, std::vector<MeasuredKernel>& kernels) {
  const auto sku = row.object.find("sku");
  const bool tray = sku != row.object.end() && gpu_for(sku->second.text) == "gb200";
  row.rename("sms", "num_sms");
  row.set_text("kind", "dispatch");
  row.set_text("dispatcher", "deepep");
  row.set_text("dtype", "fp8");
  row.set_count("ep", tray ? kGpusOfTray : 8);
  JsonFields fields = row.fields();
  MeasuredKernel dispatch = kernel_of_sku(fields, row.profiles);
  const double dispatched = fields.required_number("dispatch_us", kMeasuredMicroseconds);
  const double combined = fields.required_number("combine_us", kMeasuredMicroseconds);
  fields.finish();
  MeasuredKernel combine = dispatch;
  if (auto* exchange = std::get_if<ExpertExchange>(&combine.work.op.work)) {
    const std::string few = exchange->tokens < kFewTokens ? " below 1024 tokens" : "";
    dispatch.group = dispatch.gpu + " deepep" + few;
    combine.group = dispatch.group;
    exchange->phase = ExchangePhase::kCombine;
  }
  dispatch.quantities = {{"dispatch_s", seconds(dispatched)}};
  combine.quantities = {{"combine_s", seconds(combined)}};
  kernels.push_back(std::move(dispatch));
  kernels.push_back(std::move(combine));
}

}  // namespace stepcast
