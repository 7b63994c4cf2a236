// SPDX-License-Identifier: Apache-2.0
// One operator written as a JSON object, as `stepcast cost` and files of measurements have it.
//
//   {"kind": "gemm", "m": 8192, "n": 4096, "k": 4096, "pass": "dgrad", "dtype": "bf16"}
//
//   gemm           m, n, k; batch 1, pass fwd | dgrad | wgrad, accumulate false, fp32_result false,
//                  precise_accumulation false (of fp8: sums kept in full precision)
//   grouped_gemm   m_total or counts[], n, k; groups (with counts: as many), pass, accumulate,
//                  fp32_result and precise_accumulation as of gemm
//   attention      batch, seq, heads, d_qk; seq_kv = seq, kv_heads = heads, d_v = d_qk,
//                  causal true, window 0 (none), pass fwd | bwd, implementation (the part's own)
//   linear_attention  batch, seq, heads, d_k; qk_heads = heads, d_v = d_k, chunk 64,
//                  rule gated_delta | kimi_delta, pass fwd | bwd
//   sparse_attention  batch, seq, heads, d_qk, chosen; seq_kv = seq, kv_heads 1, d_v = d_qk,
//                  ratio 1 (tokens a key stands for), window 0 (none), sinks false, pass fwd | bwd
//   index_scores   batch, seq, heads, d, chosen; seq_kv = seq, ratio 1, teacher_heads 0,
//                  teacher_d 0, pass fwd | bwd
//   memory_bound   op, rows, cols; pass fwd | bwd, implementation fused, taps 1
//   collective     op, bytes, ranks; stride 1, algorithm auto, protocol auto (of ring and tree),
//                  imbalance 1 (of an all-to-all: the most loaded rank's bytes over the mean)
//   dispatch, combine  dispatcher, tokens (of a rank), hidden, experts, topk, ep; more in
//                  exchange_line.cpp
//
// Every kind takes `dtype` (bf16), `state` (warm, cool, mixed or {"locked_mhz": N}) and `graph`
// (false: kernels follow each other in a stream, true: in a captured graph) or `launch` (stream,
// graph, none: the kernel alone, or eager: a collective that its host launches one after the other,
// which takes at least as long as the host's call). Of a collective `dtype` changes nothing: its
// bytes say it all. Other keys are the caller's. A gemm takes `cached_bytes` (0): of its operands,
// that the last-level cache still holds, as where a benchmark repeats a product on the same ones.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/cost/power_state.hpp"

namespace stepcast {

// What a kernel's time includes of getting it started.
enum class Launch { kStream, kGraph, kNone, kEager };

struct OperatorLine {
  Op op;
  Dtype dtype = Dtype::kBf16;
  ClockState state;
  Launch launch = Launch::kStream;
  Bytes cached{};  // of the operands of a gemm
};

// Reads an operator that runs on `device` from a record; problems are recorded in `fields`, and
// what is returned then is of no use. The caller reads its own keys and ends with report_missing()
// or finish().
OperatorLine read_operator(MappingReader& fields, const DeviceSpec& device);
// Refuses keys that another kind has and this one has not, after read_operator, where nothing but
// the operator is in the object: whoever wrote one there means something that would not be priced.
void refuse_keys_of_other_kinds(MappingReader& fields);

// Names of formats as operators have them, aliases included.
std::span<const NamedValue<Dtype>> dtype_names();

// The names of the kinds, and the keys of one, those that must be there before the first semicolon;
// empty if there is no such kind.
std::vector<std::string> operator_names();
std::string keys_of_operator(std::string_view name);

// The one node type of the part, as many as any group needs; without a host, none is waited for.
ClusterSpec fabric_of(const DeviceSpec& device, const HostSpec& host = {});

// The price on all compute units of the cluster's part, at the line's state.
PricedOp price(const OperatorLine& line, const CostModel& model, const ClusterSpec& cluster,
               Detail detail = Detail::kDuration);
// The same at a clock.
OpCost price_at_clock(const OperatorLine& line, const CostModel& model, const ClusterSpec& cluster,
                      Hertz clock);

// --- measured times of operators by themselves --------------------------------------------------
// What a backend that prices by a table is made from.

struct MeasuredOperator {
  OperatorLine work;
  std::string gpu;
  Seconds time;
  std::optional<double> duty;  // share of the time that it runs in bursts; empty: without pauses
};

struct MeasuredOperators {
  std::string file;  // that holds them, for messages; empty: there are none
  std::vector<MeasuredOperator> rows;
  std::map<std::string, ClusterSpec> machines;  // by the GPU of a row
};

}  // namespace stepcast
