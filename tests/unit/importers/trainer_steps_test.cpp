// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "catch.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/plan/written_input.hpp"
#include "table_runs.hpp"

namespace stepcast::trainer_steps_test {
using namespace stepcast::test;

namespace {

std::string titan(const std::string& model, const std::string& flavor, const std::string& changes,
                  const std::string& time = R"("step_s": 0.5, "peak_alloc_bytes": [7e9, 8e9])",
                  const std::string& framework = "torchtitan 2026-03-20 34f705ba4") {
  return R"({"case": "a", "framework": ")" + framework +
         R"(", "torch": "2.11.0", "gpu": "NVIDIA H100 80GB HBM3", "world": 2, "steps": 9, )" +
         time + R"(, "model": ")" + model + R"(", "flavor": ")" + flavor + R"(", "changes": {)" +
         changes + "}}\n";
}

constexpr const char* kDense =
    R"("layers": 16, "seq": 8192, "lbs": 1, "ac": "selective", "compile": 1)";

std::string hugging_face(const std::string& software, const std::string& settings = "") {
  return R"({"case": "hf_8b_6l", "framework": "transformers 5.17.0 Trainer, accelerate 1.15.0", )" +
         software +
         R"("torch": "2.11.0", "gpu": "NVIDIA H100 80GB HBM3", "world": 2, "layers": 6, )" +
         R"("seq": 4096, "batch": 2, "settings": {"n": 2)" + settings +
         R"(}, "step_s": 0.25, "peak_alloc_bytes": null})" + "\n";
}

std::vector<RecordLine> records_in(const std::string& text) {
  ProfileCache profiles(data_root());
  return import_records(text, "steps.jsonl", profiles);
}
std::string reason_of(const std::string& text) {
  return records_in(text).front().record.value("skipped", "");
}
MeasuredRun first_run(const std::string& text) { return runs_in(text).front(); }

// Without what changes no shape.
std::string shape_of(ModelSpec model) {
  model.name = "shape";
  model.title = model.family = model.source = model.note = {};
  model.published = {};
  return to_yaml(model);
}

void check_same(const Experiment& read, const std::string& yaml) {
  ProfileCache profiles(data_root());
  const Experiment expected = read_experiment(parse_config(yaml, "experiment.yaml"), ".", profiles);
  CHECK(shape_of(read.model) == shape_of(expected.model));
  CHECK(to_yaml(written_request(read.plan)) == to_yaml(written_request(expected.plan)));
  CHECK(read.training == expected.training);
  CHECK(read.named.gpu == expected.named.gpu);
  CHECK(read.cluster.gpus() == expected.cluster.gpus());
  CHECK(read.software_base.name == expected.software_base.name);
  CHECK(read.software.attention == expected.software.attention);
  CHECK(read.software.cross_entropy == expected.software.cross_entropy);
  CHECK(read.software.exchange == expected.software.exchange);
}

}  // namespace

TEST_CASE("An eager step of torchtitan's experts is the experiment of its job config", "[unit]") {
  const MeasuredRun run = first_run(
      titan("deepseek_v3", "16B",
            R"("layers": 12, "dense": 1, "seq": 4096, "lbs": 2, "ac": "selective", "compile": 0, )"
            R"("compile_loss": 1, "ep": 2)"));
  CHECK(run.group == "h100_sxm torchtitan trainer moe");
  check_same(run.experiment.value(), R"(
model: {base: deepseek_v3_16b, layers: 12, moe: {first_dense_layers: 1}}
cluster: {gpu: h100_sxm, nodes: 1, gpus_per_node: 2}
training: {sequence_length: 4096, micro_batch_size: 2, global_batch_size: 4, dtype: bf16,
  recompute: selective_op, optimizer: adamw}
plan: {tp: 1, pp: 1, ep: 2, fsdp: 2}
software: {base: torchtitan_eager_2026_03, cross_entropy: compiled, attention: flex}
expert_exchange: {routing: round_robin_forced}
)");
}

TEST_CASE("A compiled step of a flavor with fewer experts likewise", "[unit]") {
  const MeasuredRun run = first_run(
      titan("deepseek_v3", "671B",
            R"("layers": 5, "dense": 1, "experts": 16, "seq": 4096, "lbs": 1, "ac": "full", )"
            R"("compile": 1, "ep": 2)"));
  check_same(run.experiment.value(), R"(
model: {base: deepseek_v3, layers: 5, mtp_layers: 0, moe: {first_dense_layers: 1, experts: 16}}
cluster: {gpu: h100_sxm, nodes: 1, gpus_per_node: 2}
training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 2, dtype: bf16,
  recompute: full, optimizer: adamw}
plan: {tp: 1, pp: 1, ep: 2, fsdp: 2}
software: {base: torchtitan_2026_03, attention: flex}
expert_exchange: {routing: round_robin_forced}
)");
}

TEST_CASE("A dense step's attention is what its set says, and selective names operators",
          "[unit]") {
  const MeasuredRun run = first_run(titan("llama3", "8B", kDense));
  CHECK(run.group == "h100_sxm torchtitan trainer dense");
  check_same(run.experiment.value(), R"(
model: {base: llama3.1_8b, layers: 16}
cluster: {gpu: h100_sxm, nodes: 1, gpus_per_node: 2}
training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 2, dtype: bf16,
  recompute: selective_op, optimizer: adamw}
plan: {tp: 1, pp: 1, fsdp: 2}
software: torchtitan_2026_03
)");
  REQUIRE(run.quantities.size() == 2);
  CHECK(run.quantities[0].value == 0.5);
  CHECK(run.quantities[1].value == 8e9);  // of the rank with the most
}

TEST_CASE("A step's set is the release that holds on the day of its commit", "[unit]") {
  const auto of_day = [](const std::string& day) {
    return titan("llama3", "8B", kDense, R"("step_s": 0.5)", "torchtitan " + day + " 0123456789");
  };
  CHECK(first_run(of_day("2025-12-15")).experiment.value().software.name == "torchtitan");
  CHECK(first_run(of_day("2026-03-20")).experiment.value().software.name == "torchtitan_2026_03");
  // Between the last day of one release and the first of the next nothing is known.
  CHECK(reason_of(of_day("2026-03-25")).find("no software set") != std::string::npos);
}

TEST_CASE("Groups of experts have two of them at least", "[unit]") {
  const MeasuredRun run = first_run(titan(
      "deepseek_v3", "671B", R"("layers": 2, "dense": 1, "experts": 8, "seq": 4096, "lbs": 1)"));
  CHECK(run.experiment.value().model.moe.value().router.groups == 4);
}

TEST_CASE("A peak that is null is not compared", "[unit]") {
  const char* const kOfOneRank = R"("step_s": 0.5, "peak_alloc_bytes": [8e9, null])";
  const char* const kOfNone = R"("step_s": 0.5, "peak_alloc_bytes": null)";
  for (const char* time : {kOfOneRank, kOfNone}) {
    CAPTURE(time);
    const MeasuredRun run = first_run(titan("llama3", "8B", kDense, time));
    REQUIRE(run.quantities.size() == 1);
    CHECK(run.quantities[0].metric == Metric::kStepTime);
  }
}

TEST_CASE("A case that was measured on two hosts counts once, by its mean", "[unit]") {
  const std::string of_two =
      titan("llama3", "8B", kDense, R"("step_s": 0.4, "peak_alloc_bytes": null)") +
      titan("llama3", "8B", kDense) +
      titan("llama3", "8B", R"("layers": 8, "seq": 8192, "lbs": 1)");
  const std::vector<RecordLine> records = records_in(of_two);
  REQUIRE(records.size() == 2);
  CHECK(records[0].record["measured"]["step_time_s"].get<double>() == Approx(0.45));
  CHECK(records[0].record["measured"]["peak_memory_bytes"].get<double>() == 8e9);
  CHECK(records[0].record["notes"] == "mean of 2 rows, 0.400 to 0.500 s");
}

TEST_CASE("Without FSDP torchtitan trains in fp32, and the row is skipped with this reason",
          "[unit]") {
  const std::string changes = std::string(kDense) + R"(, "tp": 2)";
  CHECK(reason_of(titan("llama3", "8B", changes)).find("fp32") != std::string::npos);
  // With FSDP over the other ranks it is priced.
  std::string four = titan("llama3", "8B", changes);
  four.replace(four.find(R"("world": 2)"), 10, R"("world": 4)");
  CHECK(reason_of(four).empty());
  CHECK(first_run(four).experiment.value().plan.fsdp == 2);
}

TEST_CASE("What no set, flavor or recomputation of ours describes is refused", "[unit]") {
  const char* const kTime = R"("step_s": 0.5)";
  CHECK(reason_of(titan("llama3", "8B", kDense, kTime, "torchtitan 2019-03-20"))
            .find("no software set describes the framework 'torchtitan 2019-03-20'") !=
        std::string::npos);
  CHECK(reason_of(titan("llama3", "9B", kDense)).find("flavor '9B'") != std::string::npos);
  CHECK(reason_of(titan("llama3", "8B", R"("layers": 2, "seq": 64, "lbs": 1, "ac": "some")"))
            .find("recomputation 'some'") != std::string::npos);
  CHECK(reason_of(titan("llama3", "8B", std::string(kDense) + R"(, "new": 3)")).find("new") !=
        std::string::npos);
}

TEST_CASE("Hugging Face's trainer has its set, 16-bit weights and adapters, unless a row names one",
          "[unit]") {
  const MeasuredRun own = first_run(hugging_face("", R"(, "gc": 1, "pure": 1, "lora": 16)"));
  const Experiment& adapted = own.experiment.value();
  CHECK(adapted.software.name == "huggingface");
  CHECK(adapted.software.autocast == Autocast::kNone);
  CHECK(adapted.training.weight_format == WeightFormat::kBf16);
  CHECK(adapted.training.weights.lora.value().rank == 16);
  CHECK(adapted.plan.zero == 0);
  const MeasuredRun run =
      first_run(hugging_face(R"("software": "torchtitan_eager", )", R"(, "gc": 1, "fsdp": 1)"));
  CHECK(run.group == "h100_sxm hugging face trainer dense");
  check_same(run.experiment.value(), R"(
model: {base: llama3.1_8b, layers: 6}
cluster: {gpu: h100_sxm, nodes: 1, gpus_per_node: 2}
training: {sequence_length: 4096, micro_batch_size: 2, global_batch_size: 4, dtype: bf16,
  recompute: full, optimizer: adamw}
plan: {zero: 3}
software: torchtitan_eager
)");
  CHECK(run.quantities.size() == 1);
}

}  // namespace stepcast::trainer_steps_test
