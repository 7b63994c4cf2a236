// SPDX-License-Identifier: Apache-2.0
// What users reported in public threads: the set of the stack and its day, options, rates in other
// words.
#include <nlohmann/json.hpp>
#include <string>

#include "catch.hpp"
#include "importers/report_stack.hpp"
#include "unit/importers/table_runs.hpp"

namespace stepcast::user_reports_test {
using test::contains_text;

namespace {

const std::string kPlan =
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 8, dtype: bf16}\n"
    "plan: {fsdp: 8}\n";

nlohmann::json report(const std::string& source, const std::string& software,
                      const std::string& gpu = "h100_sxm") {
  return {{"id", "x"},
          {"source", source},
          {"experiment", "model: llama3_8b\ncluster: {gpu: " + gpu + ", nodes: 1}\n" + kPlan +
                             "software: " + software + "\n"},
          {"options", nlohmann::json::array()},
          {"measured", {{"tps", 1000.0}}},
          {"verdict", "wrong"},
          {"note", ""}};
}

MeasuredRun run_of(const nlohmann::json& row) { return test::run_of(row); }
std::string set_of(const nlohmann::json& row) {
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  return run.experiment->software.name;
}
double rate_of(const MeasuredRun& run) {
  REQUIRE(!run.quantities.empty());
  return run.quantities.front().value;
}

}  // namespace

TEST_CASE("torchtitan's set is that of the month in which a thread was opened", "[unit]") {
  const std::string of_2026 = set_of(report("pytorch/torchtitan#9999999", "torchtitan"));
  CHECK(of_2026 == "torchtitan");  // of no known month
  CHECK(
      set_of(report("pytorch/torchtitan#676", "torchtitan_eager")).starts_with("torchtitan_eager"));
  CHECK(set_of(report("pytorch/torchtitan#676", "torchtitan_eager")) !=
        set_of(report("pytorch/torchtitan#1690", "torchtitan_eager")));
  nlohmann::json dated = report("pytorch/torchtitan#9999999", "torchtitan_eager");
  dated["date"] = "2024-11-13";
  CHECK(set_of(dated) == set_of(report("pytorch/torchtitan#676", "torchtitan_eager")));
}

TEST_CASE("What runs transformers has Hugging Face's set, with ZeRO that of DeepSpeed", "[unit]") {
  const std::string thread = "meta-llama/llama-cookbook#100";
  CHECK(set_of(report(thread, "torchtitan_eager")) == "huggingface");
  nlohmann::json zero = report(thread, "deepspeed");
  zero["experiment"] = zero["experiment"].get<std::string>() + "# \n";
  zero["options"] = nlohmann::json::array({"--set", "plan={zero: 2}"});
  CHECK(set_of(zero) == "huggingface_deepspeed");
}

TEST_CASE("Attention of Trainer goes by PyTorch's month and the part", "[unit]") {
  const auto attention = [](const std::string& date, const std::string& gpu) {
    nlohmann::json row = report("huggingface/trl#1", "huggingface", gpu);
    row["date"] = date;
    return run_of(row).experiment->software.attention_kernel();
  };
  CHECK(attention("2025-11", "h100_sxm") == AttentionKernel::kFlash2);
  CHECK(attention("2026-05", "h100_sxm") == AttentionKernel::kCudnn);
  CHECK(attention("2026-05", "a100_80gb") == AttentionKernel::kFlash2);
}

TEST_CASE("A stack that is not known is refused, and switches of a row stay", "[unit]") {
  CHECK_THAT(run_of(report("unslothai/unsloth#1", "huggingface")).skipped,
             contains_text("no software set describes what 'unslothai/unsloth#1'"));
  nlohmann::json row = report("huggingface/trl#1", "torchtitan");
  row["options"] =
      nlohmann::json::array({"--set", "software={base: torchtitan, cross_entropy: compiled}"});
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.experiment->software.name == "huggingface");
  CHECK(run.experiment->software.cross_entropy == Implementation::kCompiled);
}

// Options count after the file, --set at last; 989 TFLOP/s are the peak of an H100 in bf16.
TEST_CASE("Options change the experiment, and shares of the peak become rates", "[unit]") {
  nlohmann::json row = report("pytorch/torchtitan#1690", "torchtitan");
  row["options"] = nlohmann::json::array({"--mbs", "2", "--gbs", "16", "--seq", "8k"});
  row["measured"] = {{"tflops", 400.0}, {"alloc_gib", 2.0}};
  const MeasuredRun run = run_of(row);
  REQUIRE(run.experiment);
  CHECK(run.experiment->training.micro_batch_size == 2);
  CHECK(run.experiment->training.sequence_length == 8192);
  CHECK(rate_of(run) > 0.0);
  row["measured"] = {{"mfu_pct", 100.0 * 400.0 / 989.4}};
  CHECK(rate_of(run_of(row)) == Approx(rate_of(run)).epsilon(1e-3));
  row["options"] = nlohmann::json::array({"--unheard-of", "2"});
  CHECK_THAT(run_of(row).skipped, contains_text("the option '--unheard-of'"));
}

}  // namespace stepcast::user_reports_test
