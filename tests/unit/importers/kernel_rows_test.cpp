// SPDX-License-Identifier: Apache-2.0
// One row of every format of kernels, from a file to its validation rows.
#include <filesystem>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "importers/measurement_formats.hpp"
#include "sample_specs.hpp"
#include "stepcast/validation/validate.hpp"
#include "text_file.hpp"

namespace stepcast::kernel_rows_test {
namespace {

using test::config_error;
using test::data_root;
using test::TextFile;

std::vector<ValidationRow> rows_of(const std::string& text, const std::string& name = "kernels") {
  const TextFile file(name, text);
  return validate_files({file.path()}, data_root(), default_cost_model(), all_importers());
}

std::string fault_of(const std::string& text) {
  return config_error([&] { rows_of(text, "faulty"); });
}

void check_row(const ValidationRow& row, const std::string& group, const std::string& metric,
               double measured) {
  CHECK(row.group == group);
  CHECK(row.metric_text() == metric);
  CHECK(row.measured == Approx(measured));
  CHECK(row.predicted.value_or(0.0) > 0.0);
}

TEST_CASE("rows of GEMMs on H200 are grouped by format and by model or random", "[unit]") {
  const auto rows = rows_of(
      R"({"model": "llama3-8b", "op": "qkv", "kind": "dgrad", "m": 4096, "n": 4096, "k": 6144, "dtype": "bf16", "s": 3e-4, "state": "warm"}
{"model": "random", "op": "random", "kind": "fwd", "m": 64, "n": 64, "k": 64, "dtype": "fp8_e4m3", "s": 3e-6, "state": "cool"})");
  REQUIRE(rows.size() == 2);
  check_row(rows[0], "h200_sxm bf16 model", "time_s", 3e-4);
  check_row(rows[1], "h200_sxm fp8 random", "time_s", 3e-6);
  CHECK(rows[1].id == "2");
}

TEST_CASE("rows of grouped GEMMs are grouped by pass", "[unit]") {
  const auto rows = rows_of(
      R"({"model": "x", "groups": 2, "counts": [8, 24], "m_total": 32, "n": 64, "k": 64, "dtype": "bf16", "kind": "wgrad", "s": 1e-5, "state": "warm"})");
  REQUIRE(rows.size() == 1);
  check_row(rows[0], "h200_sxm bf16 grouped wgrad", "time_s", 1e-5);
}

TEST_CASE("products beside collectives take longer than alone", "[unit]") {
  const auto rows = rows_of(
      R"({"comm": "none", "gemm": "8192x8192x8192", "gemm_s": 1.4e-3, "comm_s": null, "comm_bytes": 536870912, "gemm_total_s": 0.084}
{"comm": "all_gather", "gemm": "8192x8192x8192", "gemm_s": 1.7e-3, "comm_s": 1.9e-3, "comm_bytes": 536870912, "gemm_total_s": 0.102})");
  REQUIRE(rows.size() == 3);
  check_row(rows[0], "h200_sxm bf16 beside none", "gemm_s", 1.4e-3);
  check_row(rows[1], "h200_sxm bf16 beside all_gather", "gemm_s", 1.7e-3);
  check_row(rows[2], "h200_sxm bf16 beside all_gather", "communication_s", 1.9e-3);
  // Collectives hold 24 of 132 units for a part of the run.
  CHECK(*rows[1].predicted > *rows[0].predicted);
  CHECK(*rows[1].predicted < *rows[0].predicted * 132.0 / 108.0 * 1.05);
}

TEST_CASE("a product beside collectives needs a shape and a collective that exists", "[unit]") {
  const std::string fault = fault_of(
      R"({"comm": "shout", "gemm": "8192x8192", "gemm_s": 1.4e-3, "comm_s": 1e-3, "comm_bytes": 1, "gemm_total_s": 0.084})");
  CHECK(fault.find("'gemm' must be MxNxK") != std::string::npos);
  CHECK(fault.find("'comm' must be none or a collective") != std::string::npos);
}

TEST_CASE("a row of attention is a forward and a backward", "[unit]") {
  const auto rows = rows_of(
      R"({"impl": "flash2", "batch": 1, "seq": 1024, "heads": 32, "kv_heads": 8, "d_qk": 128, "d_v": 128, "causal": false, "fwd_s": 7e-5, "bwd_s": 3e-4})");
  REQUIRE(rows.size() == 2);
  check_row(rows[0], "h200_sxm flash2 fwd", "forward_s", 7e-5);
  check_row(rows[1], "h200_sxm flash2 bwd", "backward_s", 3e-4);
  CHECK(*rows[1].predicted > *rows[0].predicted);
}

TEST_CASE("memory-bound rows are grouped by the name that they have", "[unit]") {
  const auto rows = rows_of(
      R"({"op": "rms_norm", "rows": 1024, "cols": 2048, "bytes": 8388608, "s": 5e-6}
{"op": "cross_entropy_fused", "rows": 2048, "cols": 32000, "bytes": null, "s": 2e-4, "bwd_s": 3e-4})");
  REQUIRE(rows.size() == 3);
  check_row(rows[0], "h200_sxm bf16 rms_norm", "time_s", 5e-6);
  check_row(rows[2], "h200_sxm bf16 cross_entropy_fused", "backward_s", 3e-4);
}

TEST_CASE("sustained and bursting GEMMs have clocks and power", "[unit]") {
  const auto sustained = rows_of(
      R"({"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "s": 0.0016, "smi": "1500, 3201, 694.02, 61, 0x4"})");
  REQUIRE(sustained.size() == 2);
  check_row(sustained[1], "h200_sxm bf16 sustained", "clock_mhz", 1500);
  const auto duty = rows_of(
      R"({"m": 16384, "n": 3584, "k": 4096, "dtype": "bf16", "data": "random", "duty": 0.8, "s": 7e-4, "clock_mhz": 1650, "watts": 667}
{"m": 16384, "n": 3584, "k": 4096, "dtype": "bf16", "data": "zero", "duty": 0.8, "s": 5e-4, "clock_mhz": 1980, "watts": 426})");
  REQUIRE(duty.size() == 6);
  check_row(duty[0], "h200_sxm bf16 duty", "time_s", 7e-4);
  check_row(duty[2], "h200_sxm bf16 duty", "power_w", 667);
  CHECK(duty[3].skipped == "feature unsupported: operands of zeros");
}

TEST_CASE("launches and collectives on H200 are read", "[unit]") {
  const auto launches =
      rows_of("{\"op\": \"eager_add\", \"s\": 8e-6}\n{\"op\": \"graph_add\", \"s\": 9e-7}");
  check_row(launches[0], "h200_sxm launch eager", "time_s", 8e-6);
  check_row(launches[1], "h200_sxm launch graph", "time_s", 9e-7);
  CHECK(*launches[1].predicted < *launches[0].predicted);
  const auto collectives =
      rows_of(R"({"op": "all_reduce", "ranks": 4, "bytes": 2048, "dtype": "bf16", "s": 7e-5})");
  check_row(collectives[0], "h200_sxm all_reduce x4 below 4 MiB bound by the host", "time_s", 7e-5);
}

TEST_CASE("an operator line with a GPU and a time is a measurement", "[unit]") {
  const auto rows = rows_of(
      R"({"kind": "gemm", "m": 4096, "n": 4864, "k": 32896, "dtype": "fp16", "gpu": "mi300x", "s": 0.002, "clock_mhz": 1115, "group": "mine", "source": "x"}
{"kind": "memory_bound", "op": "copy", "rows": 4096, "cols": 4864, "gpu": "b200", "s": 0.00002, "id": "c"})");
  REQUIRE(rows.size() == 3);
  check_row(rows[0], "mine", "time_s", 0.002);
  check_row(rows[1], "mine", "clock_mhz", 1115);
  check_row(rows[2], "b200 bf16 memory_bound", "time_s", 0.00002);
  CHECK(rows[2].id == "c");
}

TEST_CASE("points of published tables are read; short ones have a group of their own", "[unit]") {
  const auto gemm = rows_of(
      "sku,dtype,m,n,k,latency_us,tflops\na100,bfloat16,1024,1024,1024,17.9,1\n"
      "b200,nvfp4,8192,8192,8192,500,1\ntpu,fp8,1,1,1,10,1\n");
  REQUIRE(gemm.size() == 3);
  check_row(gemm[0], "a100_80gb bf16 below 20 us", "time_s", 17.9e-6);
  check_row(gemm[1], "b200 fp4", "time_s", 500e-6);
  CHECK(gemm[2].skipped == "input missing: no profile for the GPU 'tpu'");
  const auto attention =
      rows_of("sku,batch,seqlen,heads,kv_heads,head_dim,latency_us\nh100,1,8192,12,1,128,160.25\n");
  REQUIRE(attention.size() == 1);
  CHECK_THAT(attention[0].group,
             Catch::Matchers::StartsWith("h100_sxm ") && Catch::Matchers::EndsWith(" causal fwd"));
  const auto nccl = rows_of("sku,op,num_gpus,bytes,latency_us\ngb200,alltoall,4,1024,9.08\n");
  check_row(nccl[0], "gb200 all_to_all below 1 MiB", "time_s", 9.08e-6);
}

TEST_CASE("rates of aiter become times with half of the FLOPs for a causal mask", "[unit]") {
  const auto rows = rows_of(
      "batch,q_heads,kv_heads,seqlen_q,seqlen_kv,hdim,causal,fwd_mi300x,fwd_mi355x,bwd_a16_mi300x,"
      "bwd_a16_mi355x,bwd_a32_mi300x,bwd_a32_mi355x\n1,32,8,1024,1024,128,1,100,200,100,200,50,"
      "100\n");
  REQUIRE(rows.size() == 6);
  const double forward = 4.0 * 32 * 1024 * 1024 * 128 / 2.0;  // FLOPs
  check_row(rows[0], "mi300x aiter fwd", "forward_s", forward / 100e12);
  check_row(rows[3], "mi355x aiter bwd a16", "backward_s", 2.5 * forward / 200e12);
  check_row(rows[4], "mi300x aiter bwd a32", "backward_s", 2.5 * forward / 50e12);
}

// A backward is the sum of both gradients: with as many inputs as outputs and tokens each takes as
// long as the forward.
TEST_CASE("kernels of libraries are read by operation, and skipped by name", "[unit]") {
  const auto rows = rows_of(
      "sku,library,version,op,dtype,case,batch,seq,heads_q,heads_kv,head_dim_qk,head_dim_v,causal,"
      "groups,M,N,K,latency_us,tflops,note,source\n"
      "MI300X,lib,1,gemm_fwd,bf16,a,,,,,,,,,4096,4096,4096,223.6,614,,s\n"
      "MI300X,lib,1,gemm_bwd,bf16,a,,,,,,,,,4096,4096,4096,508,541,,s\n"
      "MI300X,lib,1,grouped_gemm_fwd,bf16,a,,,,,,,,16,512,4096,4096,400,1,,s\n"
      "MI300X,lib,1,attention_fwd,bf16,a,2,4096,32,8,128,128,0,,,,,900,1,,s\n"
      "MI300X,lib,1,permute,bf16,a,,,,,,,,,,,,5,,,s\n"
      "MI300X,lib,1,gemm_fwd,mxfp8,a,,,,,,,,,1,1,1,5,,,s\n"
      "MI300X,lib,1,gemm_fwd,bf16,average,,,,,,,,,,,,5,,,s\n");
  REQUIRE(rows.size() == 7);
  check_row(rows[0], "mi300x lib gemm_fwd", "time_s", 223.6e-6);
  check_row(rows[1], "mi300x lib gemm_bwd", "time_s", 508e-6);
  REQUIRE(rows[0].predicted);
  CHECK(*rows[1].predicted == Approx(2.0 * *rows[0].predicted).epsilon(0.1));
  check_row(rows[2], "mi300x lib grouped_gemm_fwd", "time_s", 400e-6);
  check_row(rows[3], "mi300x lib attention_fwd", "time_s", 900e-6);
  CHECK(rows[4].skipped == "feature unsupported: operation permute");
  CHECK(rows[5].skipped == "feature unsupported: format mxfp8");
  CHECK(rows[6].skipped == "input missing: no M");
}

// Matrices of 16384 x 16384: a sum of two gradients moves 2 bytes three times, a conversion with a
// scale a tensor 2 bytes twice and 1 byte, one with a scale a block 2 bytes and 1.
TEST_CASE("what a benchmark's program does beside its products is part of their time", "[unit]") {
  const std::string size = ",a,,,,,,,,,16384,16384,16384,1,1,,s\n";
  const auto rows = rows_of(
      "sku,library,version,op,dtype,case,batch,seq,heads_q,heads_kv,head_dim_qk,head_dim_v,causal,"
      "groups,M,N,K,latency_us,tflops,note,source\n"
      "MI300X,lib,1,gemm_bwd,bf16" +
      size + "MI300X,Primus-Turbo,1,gemm_bwd,bf16" + size + "MI300X,lib,1,gemm_bwd,fp8" + size +
      "MI300X,Primus-Turbo,1,gemm_bwd,fp8" + size + "MI300X,lib,1,gemm_fwd,fp8" + size +
      "MI300X,Primus-Turbo,1,gemm_fwd,fp8" + size + "MI300X,lib,1,gemm_bwd,fp8_blockwise" + size +
      "MI300X,Primus-Turbo,1,gemm_bwd,fp8_blockwise" + size);
  REQUIRE(rows.size() == 8);
  const auto bytes_beside = [&](std::size_t first) {
    constexpr double kHbm = 4.2e12;  // bytes a second that a copy on MI300X reaches
    constexpr double kElements = 16384.0 * 16384.0;
    return (*rows[first + 1].predicted - *rows[first].predicted) * kHbm / kElements;
  };
  CHECK(bytes_beside(0) == Approx(2 * 6.0).epsilon(0.07));
  CHECK(bytes_beside(2) == Approx(2 * 6.0 + 5.0).epsilon(0.07));
  CHECK(bytes_beside(4) == Approx(2 * 5.0).epsilon(0.07));
  CHECK(bytes_beside(6) == Approx(2 * 6.0 + 3 * 3.0).epsilon(0.07));
}

TEST_CASE("operators of traces are judged on the median of a shape", "[unit]") {
  const std::string header =
      "gpu,source,category,op,B,M,N,K,trans,dtype,input_dims,kernel_us_median,kernel_us_min,count,"
      "tflops_per_s,extra\n";
  const std::string mm =
      "AMD Instinct MI300X,a,GEMM,aten::mm,1,4096,4096,4096,NT,bf16,\"[[1, 2]]\",";
  const auto rows = rows_of(
      header + mm + "300,1,1,1,\n" + mm + "310,1,1,1,\n" + mm + "500,1,1,1,\n" +
      "NVIDIA sm90 (H100/H200; not named),a,GEMM,aten::mm,1,64,64,64,NT,bf16,,9,1,1,1,\n"
      "NVIDIA H100 80GB HBM3,a,SDPA_fwd,aten::_scaled_dot_product_flash_attention,,,,,,bf16,"
      "\"[[4, 12, 197, 64], [4, 12, 197, 64], [4, 12, 197, 64], []]\",10.224,10,12,46.583,\n"
      "AMD Instinct MI300X,a,NORM_fwd,aten::layer_norm,,,,,,bf16,\"[[1, 77, 1280], [], "
      "[1280]]\",4.9,"
      "4.6,130,0.102,\n"
      "AMD Instinct MI300X,a,collective,allreduce,,,,,,Float,,,520,6,,\"{\"\"group_size\"\": 8, "
      "\"\"in_nelems\"\": 1024}\"\n");
  REQUIRE(rows.size() == 5);
  check_row(rows[0], "mi300x bf16 trace above 5 GFLOP", "time_s", 310e-6);
  CHECK_THAT(rows[1].skipped,
             Catch::Matchers::StartsWith(
                 "input missing: the GPU 'NVIDIA sm90 (H100/H200; not named)' may be"));
  check_row(rows[2], "h100_sxm bf16 flash2 trace fwd", "time_s", 10.224e-6);
  check_row(rows[3], "mi300x bf16 norm trace fwd", "time_s", 4.9e-6);
  check_row(rows[4], "mi300x all_reduce x8 trace", "time_s", 520e-6);
}

TEST_CASE("the format follows from the names on the first line", "[unit]") {
  const auto name = [](Syntax syntax, const std::vector<std::string>& names) {
    return std::string(format_of(syntax, names, "f").name);
  };
  CHECK(name(Syntax::kJsonLines, {"case", "step_s", "arch"}) == "measured steps");
  CHECK(name(Syntax::kJsonLines, {"kind", "gpu", "s", "m", "n", "k"}) == "operators with a time");
  CHECK(name(Syntax::kJsonLines, {"kind", "groups", "m_total", "s", "m", "n", "k"}) ==
        "grouped GEMM");
  CHECK_THAT(fault_of(R"({"comm": "none", "gemm_s": 1})"),
             test::contains_text(":1:1: error: unknown format"));
  CHECK_THAT(fault_of("sku,hidden,tokens\n1,2,3\n"), test::contains_text("unknown format"));
  CHECK_THAT(fault_of(" \n"), test::contains_text("the file has no rows"));
}

TEST_CASE("all wrong rows of a file are reported at once, with their places", "[unit]") {
  const std::string json = fault_of(
      R"({"kind": "gemm", "gpu": "h100_sxm", "s": 0, "m": 1, "n": 1, "k": 1}
{"kind": "gemm", "gpu": "h100", "s": 1, "m": 1, "n": 1, "k": 1}
{"kind": "gemm", "gpu": "h100_sxm", "m": 1, "n": 1}
nonsense)");
  CHECK_THAT(json, test::contains_text(":1:37: error: 's' must be a number from"));
  CHECK_THAT(json, test::contains_text(":2:18: error: 'gpu' is 'h100', which has no profile"));
  CHECK_THAT(json, test::contains_text(":3:1: error: the line needs the key 'k'"));
  CHECK_THAT(json, test::contains_text(":3:1: error: the line needs the key 's'"));
  CHECK_THAT(json, test::contains_text(":4:2: error: not JSON"));
  const std::string csv = fault_of(
      "sku,dtype,m,n,k,latency_us\na100,bf16,x,1,1,20\na100,bf16,1,1,1\nb200,bf16,1,1,1,\n");
  CHECK_THAT(csv, test::contains_text(":2:11: error: 'm' must be a whole number"));
  CHECK_THAT(csv, test::contains_text(":3:1: error: 5 fields, but the header has 6"));
  CHECK_THAT(csv, test::contains_text(":4:1: error: the row needs the key 'latency_us'"));
}

TEST_CASE("the transcribed tables are predicted whole", "[unit]") {
  const std::filesystem::path folder = data_root().folder / "tests/validation";
  for (const char* file : {"flash3_h100.jsonl", "mi355x_gemm.jsonl", "steady_square_gemm.jsonl"}) {
    CAPTURE(file);
    const auto rows =
        validate_files({folder / file}, data_root(), default_cost_model(), all_importers());
    CHECK(rows.size() > 10);
    for (const ValidationRow& row : rows) {
      CHECK(row.predicted.value_or(0.0) > 0.0);
    }
  }
}

}  // namespace
}  // namespace stepcast::kernel_rows_test
