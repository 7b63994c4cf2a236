// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_trace.hpp"

#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "text_file.hpp"

namespace stepcast::step_trace_test {

namespace {

std::vector<DeviceSpan> spans_in(const std::string& text) {
  std::istringstream stream(text);
  return device_spans(stream, "trace.json");
}

std::string event(const std::string& category, const std::string& name, double start,
                  double duration, const std::string& args = "{}") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "ts": )" +
         std::to_string(start) + R"(, "dur": )" + std::to_string(duration) + R"(, "args": )" +
         args + "}";
}

std::string trace_of(const std::string& events) {
  return R"({"deviceProperties": [{"name": "x", "traceEvents": 3}], "traceEvents": [)" + events +
         "]}";
}

double microseconds(const StepTrace& trace, StepCategory category) {
  return 1e6 * trace.device_time[static_cast<std::size_t>(category)].value();
}

std::string fault_of(const std::string& text) {
  try {
    spans_in(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A trace's time is told by category, and communication that nothing hides is exposed",
          "[unit]") {
  // GEMM 0 to 100, gather 60 to 150, memory set 180 to 200: exposed 50, idle 30 of 200.
  const StepTrace trace = summary_of(
      spans_in(trace_of(event("kernel", "nvjet_sm90_tst", 1e9, 100) + "," +
                        event("kernel", "ncclDevKernel_AllGather_RING_LL", 1e9 + 60, 90) + "," +
                        event("gpu_memset", "Memset (Device)", 1e9 + 180, 20) + "," +
                        event("cpu_op", "aten::mm", 1e9 - 500, 5000))));
  CHECK(trace.spans == 3);
  CHECK(1e6 * trace.step.value() == Approx(200));
  CHECK(1e6 * trace.exposed_communication.value() == Approx(50));
  CHECK(1e6 * trace.idle.value() == Approx(30));
  CHECK(microseconds(trace, StepCategory::kGemm) == Approx(100));
  CHECK(microseconds(trace, StepCategory::kAllGather) == Approx(90));
  CHECK(microseconds(trace, StepCategory::kCopies) == Approx(20));
}

TEST_CASE("What a collective takes beyond the least of its like is waiting", "[unit]") {
  // Five gathers of one size, 10, 10, 10, 14 and 26 us, and one of fewer bytes, which needs no more
  // than 10 of its 90: 4 + 16 + 80 of waiting.
  const std::string large = R"({"In msg nelems": 100, "Out msg nelems": 400})";
  const std::string small = R"({"In msg nelems": 1, "Out msg nelems": 4})";
  std::string events = event("kernel", "ncclDevKernel_AllGather_RING_LL", 0, 90, small);
  double start = 100;
  for (const double duration : {10.0, 26.0, 10.0, 14.0, 10.0}) {
    events += "," + event("kernel", "ncclDevKernel_AllGather_RING_LL", start, duration, large);
    start += 100;
  }
  const StepTrace trace = summary_of(spans_in(trace_of(events)));
  const Seconds waiting = trace.waiting[static_cast<std::size_t>(StepCategory::kAllGather)];
  CHECK(1e6 * waiting.value() == Approx(100));
  CHECK(microseconds(trace, StepCategory::kAllGather) == Approx(160));
}

TEST_CASE("Copies that a compiler generated count as its kernels, others as copies", "[unit]") {
  MemoryBound work{MemoryBoundKind::kStridedCopy, 8, 8};
  CHECK(category_of({.work = work}) == StepCategory::kCopies);
  work.implementation = Implementation::kCompiled;
  CHECK(category_of({.work = work}) == StepCategory::kMemoryBound);
}

TEST_CASE("Clipping, FSDP's copies and rows of experts are told from other copies", "[unit]") {
  const MemoryBound copy{MemoryBoundKind::kCopy, 8, 8};
  CHECK(category_of({OpId::kGradientNorm, copy}) == StepCategory::kClipping);
  CHECK(category_of({OpId::kGradientClip, copy}) == StepCategory::kClipping);
  CHECK(category_of({OpId::kFsdpStore, copy}) == StepCategory::kFsdpCopies);
  CHECK(category_of({OpId::kMoeRowGradient, copy}) == StepCategory::kExpertRows);
  CHECK(category_of({OpId::kExpertsActivation, {MemoryBound{MemoryBoundKind::kGate, 8, 8}}}) ==
        StepCategory::kMemoryBound);
}

TEST_CASE("Kernels on two compute streams count each for itself, their union once", "[unit]") {
  const StepTrace trace = summary_of(spans_in(
      trace_of(event("kernel", "nvjet_a", 0, 100) + "," + event("kernel", "triton_b", 20, 40))));
  CHECK(microseconds(trace, StepCategory::kGemm) == Approx(100));
  CHECK(microseconds(trace, StepCategory::kMemoryBound) == Approx(40));
  CHECK(trace.idle.value() == Approx(0).margin(1e-12));
  CHECK(trace.exposed_communication.value() == Approx(0).margin(1e-12));
}

TEST_CASE("A message kernel is what the profiler says that it carries", "[unit]") {
  const std::string kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
  CHECK(category_of_kernel(kernel, "all_to_allv") == StepCategory::kAllToAll);
  CHECK(category_of_kernel(kernel, "") == StepCategory::kSendRecv);
  const StepTrace trace = summary_of(spans_in(trace_of(
      event("kernel", kernel, 0, 5, R"({"stream": 19, "Collective name": "all_to_allv"})"))));
  CHECK(microseconds(trace, StepCategory::kAllToAll) == Approx(5));
}

TEST_CASE("Kernels fall in the category that their library's name says", "[unit]") {
  using Category = StepCategory;
  const auto of = [](const char* kernel) { return category_of_kernel(kernel, ""); };
  CHECK(of("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16") ==
        Category::kAttentionBackward);
  CHECK(of("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16") ==
        Category::kAttentionForward);
  CHECK(of("_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalINS5_17GroupProblemShape") ==
        Category::kGroupedGemm);
  CHECK(of("Cijk_Alik_Bljk_BBS_BH_MT256x256x64") == Category::kGemm);
  CHECK(
      of("multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor>") ==
      Category::kOptimizer);
  CHECK(of("multi_tensor_apply_kernel<TensorListMetadata<2>, CopyFunctor<BFloat16, float>>") ==
        Category::kCopies);
  CHECK(of("triton_red_fused__fused_rms_norm_0") == Category::kMemoryBound);
  CHECK(of("triton_tem_fused_flex_attention_0") == Category::kAttentionForward);
  CHECK(of("triton_tem_fused__to_copy_cat_flex_attention_backward_view_12") ==
        Category::kAttentionBackward);
  CHECK(of("triton_per_fused_flex_attention_backward_view_0") == Category::kAttentionBackward);
  CHECK(of("triton_per_fused__fused_rms_norm_backward_flex_attention_backward_4") ==
        Category::kMemoryBound);
  CHECK(of("multi_tensor_apply_kernel<TensorListMetadata<1>, LpNormFunctor<float, 1>>") ==
        Category::kClipping);
  CHECK(
      of("multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarTensorFunctor<float>>") ==
      Category::kClipping);
  CHECK(of("chunk_cat_cuda_kernel<float, BFloat16>") == Category::kFsdpCopies);
  CHECK(of("something unheard of") == Category::kOther);
}

TEST_CASE("What is no trace of a device is refused with the reason", "[unit]") {
  CHECK(fault_of("{\"traceEvents\": [").find("cut off") != std::string::npos);
  CHECK(fault_of("{\"events\": []}").find("no list 'traceEvents'") != std::string::npos);
  CHECK(fault_of(trace_of("")).find("no kernels") != std::string::npos);
  // Events without a time, or with one that is none, are no spans.
  CHECK(fault_of(trace_of(R"({"ph": "X", "cat": "kernel", "name": "a", "ts": "soon", "dur": 5})"))
            .find("no kernels") != std::string::npos);
  CHECK(fault_of(trace_of(event("kernel", "nvjet_a", 0, -5))).find("no kernels") !=
        std::string::npos);
  CHECK(fault_of(std::string(100'000, '[')).find("wrong at byte") != std::string::npos);
}

TEST_CASE("Of a file with several marked steps the steady one is read", "[unit]") {
  // Three steps, each of one kernel, that last until the next: 20, 30 and 5 us.
  const auto mark = [](const char* name, int start, int length) {
    return event("user_annotation", name, start, length);
  };
  const test::TextFile file(
      "steps.json",
      trace_of(mark("ProfilerStep#1", 0, 20) + "," + mark("ProfilerStep#2", 20, 30) + "," +
               mark("ProfilerStep#3", 50, 10) + "," + event("kernel", "nvjet_a", 0, 5) + "," +
               event("kernel", "nvjet_a", 20, 5) + "," + event("kernel", "nvjet_a", 50, 5)));
  // The first is left out; of the others the shorter is the median.
  CHECK(read_step_trace(file.path()).step.value() == Approx(5e-6));
  CHECK(read_step_trace(file.path()).follows_others);
  const test::TextFile unmarked("step.json", trace_of(event("kernel", "nvjet_a", 0, 5)));
  CHECK_FALSE(read_step_trace(unmarked.path()).follows_others);
  CHECK(read_step_trace(unmarked.path()).unmarked.empty());
}

TEST_CASE("A file is a trace by its name or by its list of events", "[unit]") {
  const std::filesystem::path folder = test::scratch_path("step_trace");
  std::filesystem::create_directories(folder);
  const auto written = [&folder](const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return folder / name;
  };
  CHECK(is_step_trace(written("a.json", trace_of(event("kernel", "nvjet_a", 0, 5)))));
  CHECK_FALSE(is_step_trace(written("b.json", "{\"kind\": \"gemm\"}\n")));
  CHECK_FALSE(is_step_trace(folder / "c.jsonl"));
  CHECK(is_step_trace(folder / "d.json.gz"));
  CHECK(summary_of(spans_in(trace_of(event("kernel", "nvjet_a", 0, 5)))).spans ==
        read_step_trace(folder / "a.json").spans);
  CHECK_THROWS_AS(read_step_trace(folder / "missing.json.gz"), ConfigError);
  // A header of gzip and nothing after it.
  const std::filesystem::path damaged =
      written("e.json.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11));
  CHECK_THROWS_WITH(read_step_trace(damaged), test::contains_text("damaged or cut off"));
  std::filesystem::remove_all(folder);
}

}  // namespace stepcast::step_trace_test
