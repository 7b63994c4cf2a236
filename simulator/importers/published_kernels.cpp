// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "importers/measurement_formats.hpp"
#include "importers/published_names.hpp"

namespace stepcast {
namespace {

constexpr double kSecondsPerMicrosecond = 1e-6;
constexpr double kShortGemm = 20.0;       // us
constexpr double kShortAttention = 50.0;  // us
constexpr std::int64_t kFewTokens = 1024;

double latency(const ForeignRow& row) {
  const ConfigNode* found = row.object.find("latency_us");
  return found == nullptr ? 0.0 : number_of(*found).value_or(0.0);
}

// --- groups -----------------------------------------------------------------------------------

std::string point_group(const ReadKernel& kernel) {
  return std::string(name(kernel.read.line.dtype)) +
         (latency(kernel.row) < kShortGemm ? " below 20 us" : "");
}

std::string attention_point_group(const ReadKernel& kernel) {
  const auto* attention = std::get_if<Attention>(&kernel.read.line.op.work);
  return (attention == nullptr ? "" : std::string(name(attention->kernel))) + " causal fwd" +
         (latency(kernel.row) < kShortAttention ? " below 50 us" : "");
}

std::string nccl_group(const ReadKernel& kernel) {
  constexpr Bytes kSmall{1048576.0};
  const auto* work = std::get_if<Collective>(&kernel.read.line.op.work);
  return work == nullptr
             ? ""
             : std::string(name(work->op)) + (work->bytes < kSmall ? " below 1 MiB" : "");
}

std::string deepep_group(const ReadKernel& kernel) {
  const auto* exchange = std::get_if<ExpertExchange>(&kernel.read.line.op.work);
  const bool few = exchange != nullptr && exchange->tokens < kFewTokens;
  return std::string("deepep") + (few ? " below 1024 tokens" : "");
}

// --- rows with something of their own ----------------------------------------------------------

// The kind of the quantisation of a product's input by a served model's linear layer.
std::string_view quantisation_of(Dtype dtype) {
  return name(dtype == Dtype::kFp4        ? MemoryBoundKind::kServedQuantizeFp4
              : dtype == Dtype::kFp8Block ? MemoryBoundKind::kServedQuantizeBlock
                                          : MemoryBoundKind::kServedQuantize);
}

void add_quantised_input(const ReadKernel& kernel, Record& record) {
  const auto* gemm = std::get_if<Gemm>(&kernel.read.line.op.work);
  if (gemm != nullptr && is_quantized(gemm->dtype)) {
    record["before"] = {{"kind", "memory_bound"},
                        {"op", std::string(quantisation_of(gemm->dtype))},
                        {"rows", gemm->m},
                        {"cols", gemm->k}};
  }
}

// The source's collector captures one input and up to five copies of the weights in a graph (as
// many as exceed the last-level cache) and replays it: what the copies, the input and a result
// leave room for is still in the cache when it is needed again; the input, which every call reads,
// as long as one call's operands and results fit.
Bytes still_cached(const Gemm& gemm, const CacheSpec& cache) {
  constexpr double kMostCopies = 5.0;
  const Bytes room = static_cast<double>(cache.instances) * cache.capacity;
  const Bytes element = size_of(gemm.dtype);
  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  const Bytes weights = n * k * element;
  const Bytes input = m * k * element;
  const Bytes result = m * n * gemm.result;
  const double copies = std::clamp(std::ceil(room / weights), 1.0, kMostCopies);
  if (copies * (weights + result) + input <= room) {
    return weights + input;
  }
  return weights + result + input <= room ? input : Bytes{};
}

void add_what_went_before(const ReadKernel& kernel, Record& record) {
  add_quantised_input(kernel, record);
  const auto* gemm = std::get_if<Gemm>(&kernel.read.line.op.work);
  const std::string gpu = gpu_for(kernel.row.text("sku"), kernel.row.profiles);
  if (gemm != nullptr && !gpu.empty()) {
    const Bytes cached = still_cached(*gemm, kernel.row.profiles.gpu(gpu).l2);
    record["operator"]["cached_bytes"] = static_cast<std::int64_t>(cached.value());
  }
}

// The source's systems are SXM boards, its A100 has 80 GB (systems/a100_sxm.yaml).
void name_board(ForeignRow& row) {
  if (row.text("sku") == "a100") {
    row.set_text("sku", "A100 SXM 80GB");
  }
}

void prepare_attention(ForeignRow& row) {
  name_board(row);
  row.set_flag("causal", Truth::kTrue);
}

void prepare_nccl(ForeignRow& row) {
  name_board(row);
  if (row.text("op") == "alltoall") {
    row.set_text("op", "all_to_all");
  }
}

void prepare_deepep(ForeignRow& row) {
  const std::string gpu = gpu_for(row.text("sku"), row.profiles);
  if (!gpu.empty()) {  // else the row is refused
    row.set_count("ep", row.profiles.gpu(gpu).gpus_per_node);
  }
}

// --- aiter --------------------------------------------------------------------------------------

struct AiterColumn {
  const char* key;
  const char* gpu;
  const char* pass;
  const char* implementation;
  const char* group;
};
constexpr std::array kAiterColumns = {
    AiterColumn{"fwd_mi300x", "mi300x", "fwd", "aiter", "fwd"},
    AiterColumn{"fwd_mi355x", "mi355x", "fwd", "aiter", "fwd"},
    AiterColumn{"bwd_a16_mi300x", "mi300x", "bwd", "aiter_a16", "bwd a16"},
    AiterColumn{"bwd_a16_mi355x", "mi355x", "bwd", "aiter_a16", "bwd a16"},
    AiterColumn{"bwd_a32_mi300x", "mi300x", "bwd", "aiter", "bwd a32"},
    AiterColumn{"bwd_a32_mi355x", "mi355x", "bwd", "aiter", "bwd a32"},
};

// FLOPs as aiter's table counts them: half of all with a causal mask.
Flops aiter_flops(Attention op, Direction direction) {
  const double share = op.causal ? 0.5 : 1.0;
  op.causal = false;
  op.direction = direction;
  return share * flops(op);
}

}  // namespace

constexpr KernelTable kGemmPoints{
    .texts = {{{"kind", "gemm"}, {"state", "cool"}}},
    .launch = "graph",
    .results = {{{"latency_us", Metric::kTime, kSecondsPerMicrosecond}}},
    .ignored = {"tflops", "tflops_causal", "busbw_GBps"},
    .prepare = &name_board,
    .group = &point_group,
    .finish = &add_what_went_before};
constexpr KernelTable kAttentionPoints{
    .renamed = {{{"seqlen", "seq"}, {"head_dim", "d_qk"}}},
    .texts = {{{"kind", "attention"}, {"implementation", "trtllm"}, {"state", "cool"}}},
    .launch = "graph",
    .results = {{{"latency_us", Metric::kForwardTime, kSecondsPerMicrosecond}}},
    .ignored = {"tflops", "tflops_causal", "busbw_GBps"},
    .prepare = &prepare_attention,
    .group = &attention_point_group};
constexpr KernelTable kNcclPoints{
    .renamed = {{{"num_gpus", "ranks"}}},
    .texts = {{{"kind", "collective"}}},
    .results = {{{"latency_us", Metric::kTime, kSecondsPerMicrosecond}}},
    .ignored = {"tflops", "tflops_causal", "busbw_GBps"},
    .prepare = &prepare_nccl,
    .group = &nccl_group};
constexpr KernelTable kDeepEpPoints{
    .renamed = {{{"sms", "num_sms"}}},
    .texts = {{{"kind", "dispatch"}, {"dispatcher", "deepep"}, {"dtype", "fp8"}}},
    .results = {{{"dispatch_us", Metric::kDispatchTime, kSecondsPerMicrosecond, "kind", "dispatch"},
                 {"combine_us", Metric::kCombineTime, kSecondsPerMicrosecond, "kind", "combine"}}},
    .prepare = &prepare_deepep,
    .group = &deepep_group};

void read_aiter_attention(ForeignRow& row, std::vector<Record>& records) {
  constexpr Range<double> kTeraflops{1e-3, 1e6};
  const ConfigNode* causal = row.object.find("causal");
  if (const std::optional<double> written = causal == nullptr ? std::nullopt : number_of(*causal)) {
    row.set_flag("causal", *written != 0.0 ? Truth::kTrue : Truth::kFalse);
  }
  row.rename("q_heads", "heads");
  row.rename("seqlen_q", "seq");
  row.rename("seqlen_kv", "seq_kv");
  row.rename("hdim", "d_qk");
  row.set_text("kind", "attention");
  row.set_text("implementation", "aiter");
  MappingReader fields = row.fields();
  const ForeignOperator read = operator_in(row, fields, row.profiles.gpu("mi300x"));
  for (const AiterColumn& column : kAiterColumns) {
    const double rate = fields.required_number(column.key, kTeraflops);
    const auto* attention = std::get_if<Attention>(&read.line.op.work);
    if (attention == nullptr) {
      continue;
    }
    const bool forward = std::string_view(column.pass) == "fwd";
    const Flops work =
        aiter_flops(*attention, forward ? Direction::kForward : Direction::kBackward);
    Record record = {{"gpu", column.gpu}, {"operator", read.record}};
    record["operator"]["implementation"] = column.implementation;
    record["operator"]["pass"] = column.pass;
    record["measured"] = {{forward ? "forward_s" : "backward_s", work.value() / (rate * 1e12)}};
    record["group"] = std::string(column.gpu) + " aiter " + column.group;
    records.push_back(std::move(record));
  }
  fields.report_missing();
}

}  // namespace stepcast
