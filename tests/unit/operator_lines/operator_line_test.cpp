// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operator_lines/operator_line.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/json_node.hpp"

namespace stepcast::operator_line_test {
namespace {

using test::config_error;
using test::shipped_gpu;

const DeviceSpec& h200() {
  static const DeviceSpec device = shipped_gpu("h200_sxm");
  return device;
}

OperatorLine read(const std::string& text, const DeviceSpec& device = h200()) {
  Diagnostics diagnostics;
  const std::optional<ConfigNode> object =
      parse_json_object(text, json_line("a.jsonl", 3), diagnostics);
  diagnostics.throw_if_any();
  MappingReader fields(*object, RecordWording{"line"}, diagnostics);
  OperatorLine line = read_operator(fields, device);
  fields.report_missing();
  diagnostics.throw_if_any();
  return line;
}

template <typename Work>
Work work_of(const std::string& text) {
  return std::get<Work>(read(text).op.work);
}

std::string fault_of(const std::string& text) {
  return config_error([&] { read(text); });
}

void check_fault(const std::string& text, const std::string& message) {
  CAPTURE(text);
  CHECK_THAT(fault_of(text), test::contains_text(message));
}

const std::string kGemm = R"({"kind": "gemm", "m": 2, "n": 3, "k": 5)";
const std::string kAttention =
    R"({"kind": "attention", "batch": 2, "seq": 512, "heads": 8, "d_qk": 192)";

TEST_CASE("a GEMM line is a GEMM", "[unit]") {
  const Gemm plain = work_of<Gemm>(kGemm + "}");
  CHECK((plain.m == 2 && plain.n == 3 && plain.k == 5 && plain.batch == 1));
  CHECK(plain.dtype == Dtype::kBf16);
  CHECK(plain.pass == GemmPass::kForward);
  const Gemm full = work_of<Gemm>(
      kGemm + R"(, "batch": 7, "dtype": "fp8_e4m3", "pass": "wgrad", "accumulate": true})");
  CHECK((full.batch == 7 && full.dtype == Dtype::kFp8 && full.accumulate));
  CHECK(full.pass == GemmPass::kWgrad);
}

TEST_CASE("rows of a grouped GEMM come from their sum or from their counts", "[unit]") {
  const GroupedGemm equal = work_of<GroupedGemm>(
      R"({"kind": "grouped_gemm", "groups": 4, "m_total": 64, "n": 3, "k": 5})");
  CHECK((equal.groups == 4 && equal.m_total == 64 && equal.counts.empty()));
  const GroupedGemm counted =
      work_of<GroupedGemm>(R"({"kind": "grouped_gemm", "counts": [3, 0, 4], "n": 3, "k": 5})");
  CHECK((counted.groups == 3 && counted.m_total == 7));
  CHECK(counted.counts == std::vector<std::int64_t>{3, 0, 4});
  check_fault(R"({"kind": "grouped_gemm", "counts": [3, 4], "m_total": 8, "n": 3, "k": 5})",
              "'counts' add up to 7, but 'm_total' is 8");
  check_fault(R"({"kind": "grouped_gemm", "counts": [3, 4], "groups": 3, "n": 3, "k": 5})",
              "'groups' is 3, but 'counts' has 2 entries");
  check_fault(R"({"kind": "grouped_gemm", "counts": [0, 0], "n": 3, "k": 5})",
              "'counts' add up to 0");
  check_fault(R"({"kind": "grouped_gemm", "groups": 2, "n": 3, "k": 5})",
              "the line needs the key 'm_total'");
}

TEST_CASE("an attention line takes its defaults from its other fields and from the part",
          "[unit]") {
  const Attention plain = work_of<Attention>(kAttention + "}");
  CHECK((plain.seq_q == 512 && plain.seq_kv == 512 && plain.heads == 8 && plain.kv_heads == 8));
  CHECK((plain.d_qk == 192 && plain.d_v == 192 && plain.causal && plain.window == 0));
  CHECK(plain.kernel == AttentionKernel::kCudnn);
  const Attention full = work_of<Attention>(
      kAttention + R"(, "seq_kv": 1024, "kv_heads": 2, "d_v": 128, "causal": false, "window": 64,
                      "pass": "bwd", "implementation": "flash3"})");
  CHECK((full.seq_kv == 1024 && full.kv_heads == 2 && full.d_v == 128 && full.window == 64));
  CHECK((full.direction == Direction::kBackward && full.kernel == AttentionKernel::kFlash3));
  CHECK_FALSE(full.causal);
  check_fault(kAttention + R"(, "kv_heads": 3})",
              "'kv_heads' is 3, which does not divide 'heads' (8)");
}

TEST_CASE("every attention kernel and memory-bound kind is known by its name", "[unit]") {
  for (const std::string_view kernel : names_of<AttentionKernel>()) {
    const std::string text = kAttention + R"(, "implementation": ")" + std::string(kernel) + "\"}";
    CHECK(name(work_of<Attention>(text).kernel) == kernel);
  }
  for (const std::string_view kind : names_of<MemoryBoundKind>()) {
    const std::string text =
        R"({"kind": "memory_bound", "rows": 1, "cols": 2, "op": ")" + std::string(kind) + "\"}";
    CHECK(name(work_of<MemoryBound>(text).kind) == kind);
  }
}

TEST_CASE("a memory-bound line takes the names of measurements as well", "[unit]") {
  const auto kind = [](const std::string& op) {
    return work_of<MemoryBound>(R"({"kind": "memory_bound", "rows": 4, "cols": 8, "op": ")" + op +
                                "\"}")
        .kind;
  };
  CHECK(kind("add") == MemoryBoundKind::kResidual);
  CHECK(kind("rms_norm") == MemoryBoundKind::kNorm);
  CHECK(kind("swiglu_fused") == MemoryBoundKind::kGatedActivation);
  CHECK(kind("cross_entropy_fused") == MemoryBoundKind::kCrossEntropy);
  const MemoryBound op = work_of<MemoryBound>(
      R"({"kind": "memory_bound", "op": "norm", "rows": 4, "cols": 8, "dtype": "fp32", "pass": "bwd",
          "implementation": "eager"})");
  CHECK((op.rows == 4 && op.cols == 8 && op.element == Bytes(4)));
  CHECK((op.direction == Direction::kBackward && op.implementation == Implementation::kEager));
}

TEST_CASE("a collective line leaves its algorithm to the library or forces it", "[unit]") {
  const std::string text =
      R"({"kind": "collective", "op": "all_gather", "bytes": 4096, "ranks": 8)";
  const Collective op = work_of<Collective>(text + R"(, "stride": 2, "algorithm": "auto"})");
  CHECK((op.op == CollectiveOp::kAllGather && op.bytes == Bytes(4096)));
  CHECK((op.group.size == 8 && op.group.stride == 2));
  CHECK((op.algorithm == CollectiveAlgorithm::kAuto && op.protocol == Protocol::kAuto));
  const Collective forced =
      work_of<Collective>(text + R"(, "algorithm": "ring", "protocol": "ll128"})");
  CHECK((forced.algorithm == CollectiveAlgorithm::kRing && forced.protocol == Protocol::kLl128));
  check_fault(text + R"(, "algorithm": "tree"})",
              "'algorithm' is tree, which all_gather has not; it has auto, ring");
  check_fault(text + R"(, "algorithm": "direct", "protocol": "ll"})",
              "'protocol' is ll, which rings and trees alone run; leave it auto");
  const std::string all_to_all =
      R"({"kind": "collective", "op": "all_to_all", "bytes": 8, "ranks": 8)";
  CHECK(work_of<Collective>(all_to_all + R"(, "algorithm": "single_shot"})").algorithm ==
        CollectiveAlgorithm::kDirect);
  CHECK(work_of<Collective>(all_to_all + R"(, "imbalance": 1.5})").imbalance == 1.5);
  check_fault(all_to_all + R"(, "imbalance": 0.5})", "'imbalance'");
}

TEST_CASE("a line is warm, cool or locked, in a stream or in a graph", "[unit]") {
  CHECK(read(kGemm + "}").state.power == PowerState::kWarm);
  CHECK(read(kGemm + "}").launch == Launch::kStream);
  const OperatorLine cool = read(kGemm + R"(, "state": "cool", "graph": true})");
  CHECK((cool.state.power == PowerState::kCool && cool.launch == Launch::kGraph));
  const OperatorLine locked = read(kGemm + R"(, "state": {"locked_mhz": 1500}})");
  CHECK((locked.state.power == PowerState::kLocked && locked.state.locked == Hertz(1.5e9)));
  check_fault(kGemm + R"(, "state": {"locked_mhz": 2500}})", "1 to the peak of h200_sxm, 1980");
  check_fault(kGemm + R"(, "state": {"locked": 1500}})", "{\"locked_mhz\": 1500}");
  check_fault(kGemm + R"(, "state": {"locked_mhz": [1500]}})", "a 'locked_mhz' of a list");
  check_fault(kGemm + R"(, "state": "hot"})", "'state' must be one of warm, cool");
}

TEST_CASE("a format that the part lacks is refused, for matrix products only", "[unit]") {
  check_fault(kGemm + R"(, "dtype": "nvfp4"})",
              "'dtype' is fp4, which h200_sxm has no rate for; it has bf16");
  CHECK(read(R"({"kind": "memory_bound", "op": "copy", "rows": 4, "cols": 8, "dtype": "fp4"})")
            .dtype == Dtype::kFp4);
}

TEST_CASE("all problems of a line are reported at once, each with its key's column", "[unit]") {
  CHECK(
      fault_of(R"({"kind": "gemm", "m": 0, "n": "x", "kk": 5, "dtype": "bf61", "batchs": 2})") ==
      "a.jsonl:3:18: error: 'm' must be a whole number from 1 to 1099511627776, not 0\n"
      "a.jsonl:3:26: error: 'n' must be a whole number from 1 to 1099511627776, not the text 'x'\n"
      "a.jsonl:3:36: error: the line needs the key 'k'; is 'kk' meant to be it?\n"
      "a.jsonl:3:45: error: 'dtype' must be one of bf16, fp16, fp8, fp8_block, fp4, fp32, "
      "bfloat16, float16, fp8_e4m3, nvfp4, mxfp4, float32; it is the text 'bf61'; did you mean "
      "'bf16'?\n"
      "a.jsonl:3:62: error: unknown key 'batchs'; did you mean 'batch'?");
  check_fault(R"({"m": 2})", "a.jsonl:3:1: error: the line needs the key 'kind'");
  check_fault(R"({"kind": "gem"})", "did you mean 'gemm'?");
  check_fault(R"({"kind": "dispatch", "tokens": 4})", "the line needs the key 'dispatcher'");
  check_fault(kGemm + R"(, "m": 4})", "a.jsonl:3:42: error: duplicate key 'm'");
  check_fault("[1, 2]", "a.jsonl:3:1: error: the line must hold one JSON object");
  check_fault(R"({"kind": )", "a.jsonl:3:10: error: not JSON");
}

TEST_CASE("a null is no value of a key that a line needs, and none of one that it may leave out",
          "[unit]") {
  check_fault(R"({"kind": null, "m": 2, "n": 3, "k": 5})", "'kind' must be one of gemm, ");
  check_fault(R"({"kind": "gemm", "m": null, "n": 3, "k": 5})",
              "a.jsonl:3:18: error: 'm' must be a whole number from 1 to 1099511627776, not null");
  CHECK(work_of<Gemm>(kGemm + R"(, "batch": null, "dtype": null, "state": null})").batch == 1);
}

TEST_CASE("sizes that no machine has are refused before they overflow", "[unit]") {
  check_fault(R"({"kind": "gemm", "m": 2147483648, "n": 2147483648, "k": 1})", "more than 2^50");
  check_fault(R"({"kind": "gemm", "m": 2199023255552, "n": 1, "k": 1})",
              "'m' must be a whole number");
  check_fault(
      R"({"kind": "attention", "batch": 2147483648, "seq": 2147483648, "heads": 1, "d_qk": 1})",
      "more than 2^50");
  check_fault(R"({"kind": "attention", "batch": 1, "seq": 2147483648, "heads": 4096, "d_qk": 1})",
              "more than 2^60 pairs");
  check_fault(R"({"kind": "memory_bound", "op": "copy", "rows": 2147483648, "cols": 2147483648})",
              "more than 2^50");
}

TEST_CASE("a line of each kind has a price, and a lower clock a higher one", "[unit]") {
  const CostModel model = default_cost_model();
  const ClusterSpec fabric = fabric_of(h200());
  for (const std::string& text :
       {kGemm + "}", kAttention + "}",
        std::string(R"({"kind": "grouped_gemm", "counts": [3000, 4000], "n": 3000, "k": 5000})"),
        std::string(R"({"kind": "memory_bound", "op": "norm", "rows": 4096, "cols": 4096})"),
        std::string(
            R"({"kind": "collective", "op": "all_reduce", "bytes": 4096, "ranks": 512})")}) {
    CAPTURE(text);
    const OperatorLine line = read(text);
    const PricedOp priced = price(line, model, fabric);
    CHECK(priced.cost.duration > Seconds{});
    CHECK(price_at_clock(line, model, fabric, Hertz(1e9)).duration >= priced.cost.duration);
  }
}

TEST_CASE("a collective that its host calls takes at least as long as the call of the host",
          "[unit]") {
  const CostModel model = default_cost_model();
  const std::string text =
      R"({"kind": "collective", "op": "all_gather", "bytes": 4096, "ranks": 4, "launch": )";
  const auto took = [&](const std::string& launch, const HostSpec& host) {
    return price(read(text + launch + "}"), model, fabric_of(h200(), host)).cost.duration;
  };
  HostSpec host;
  host.collective = Seconds(250e-6);
  CHECK(took("\"eager\"", host) == Seconds(250e-6));
  CHECK(took("\"none\"", host) < Seconds(20e-6));
  const auto called = [&](const std::string& op) {
    const std::string line = R"({"kind": "collective", "op": ")" + op +
                             R"(", "bytes": 4096, "ranks": 2, "launch": "eager"})";
    return price(read(line), model, fabric_of(h200(), host)).cost.duration;
  };
  host.message = Seconds(200e-6);
  CHECK(called("all_to_all") == Seconds(250e-6));
  CHECK(called("send_recv") == Seconds(200e-6));
  // Without a host the kernel and its launch are left.
  CHECK(took("\"eager\"", {}) == took("\"none\"", {}) + h200().launch_latency);
}

TEST_CASE("a call that the GPUs take longer for does not wait for the host", "[unit]") {
  HostSpec host;
  host.collective = Seconds(250e-6);
  const auto waits = [&](const std::string& launch, const std::string& bytes) {
    const std::string line = R"({"kind": "collective", "op": "all_gather", "ranks": 4, "bytes": )" +
                             bytes + R"(, "launch": )" + launch + "}";
    return price(read(line), default_cost_model(), fabric_of(h200(), host)).waits_for_host;
  };
  CHECK(waits("\"eager\"", "4096"));
  CHECK_FALSE(waits("\"graph\"", "4096"));
  CHECK_FALSE(waits("\"eager\"", "1073741824"));  // 0.8 GB over links of 0.4 TB/s
}

TEST_CASE("the part's own attention kernel follows from its architecture", "[unit]") {
  const auto own = [](const char* gpu) { return shipped_gpu(gpu).architecture.attention.native; };
  CHECK(own("a100_80gb") == AttentionKernel::kFlash2);
  CHECK(own("h100_sxm") == AttentionKernel::kCudnn);
  CHECK(own("b200") == AttentionKernel::kCudnn);
  CHECK(own("b300") == AttentionKernel::kCudnn);
  CHECK(own("mi300x") == AttentionKernel::kAiter);
}

}  // namespace
}  // namespace stepcast::operator_line_test
