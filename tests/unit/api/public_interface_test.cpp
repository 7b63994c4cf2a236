// SPDX-License-Identifier: Apache-2.0
// The library as a program sees it that has the public header alone.
#include "stepcast/stepcast.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "catch.hpp"

namespace stepcast::public_interface_test {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kData = STEPCAST_DATA_ROOT;

const std::string kJob =
    "model: llama3.1_8b\n"
    "cluster: {gpu: h100_sxm, nodes: 1}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n"
    "plan: {tp: 2, zero: 1}\n";

ExperimentSource job() { return {.text = kJob}; }

std::vector<Problem> problems_of(const Simulator& simulator, const ExperimentSource& source) {
  try {
    (void)simulator.project(source);
  } catch (const InputError& error) {
    return error.problems();
  }
  return {};
}

TEST_CASE("every saving that a plan is told to fit with makes it fit as it says", "[unit]") {
  const Simulator simulator(kData);
  const ExperimentSource unfit{
      .text =
          "model: llama3.1_8b\ncluster: {gpu: h100_sxm, gpus: 1}\n"
          "training: {sequence_length: 4096, micro_batch_size: 4, global_batch_size: 16}\n"
          "plan: {zero: 0}\nsoftware: huggingface\n"};
  const Json json = Json::parse(simulator.project_report(unfit, ReportFormat::kJson).text);
  REQUIRE_FALSE(json.at("feasible").get<bool>());
  REQUIRE(json.at("savings").size() == 3);
  double fastest = json.at("savings").front().at("tokens_per_second_per_gpu");
  for (const Json& saving : json.at("savings")) {
    CAPTURE(saving.dump());
    ExperimentSource changed = unfit;
    for (const auto& [key, value] : saving.at("changes").items()) {
      changed = changed.with(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    const StepProjection step = simulator.project(changed);
    REQUIRE(step.feasible);
    CHECK(step.numbers->tokens_per_second_per_gpu ==
          Approx(saving.at("tokens_per_second_per_gpu").get<double>()));
    CHECK(step.numbers->peak_memory_bytes == Approx(saving.at("peak_memory_bytes").get<double>()));
    CHECK(step.numbers->tokens_per_second_per_gpu <= fastest);
    fastest = step.numbers->tokens_per_second_per_gpu;
  }
}

TEST_CASE("what a setting moved by a step is told to give is what it projects to", "[unit]") {
  const Simulator simulator(kData);
  for (const char* example : {"04_llama3.1_8b_mi300x", "15_deepseek_v3_h100"}) {
    const ExperimentSource source{.file = kData / "examples" / example / "experiment.yaml"};
    const Json json = Json::parse(simulator.explain_report(source, ReportFormat::kJson).text);
    REQUIRE(json.at("advice").size() > 5);
    for (std::size_t i = 0; i < 6; ++i) {
      const Json& advised = json.at("advice").at(i);
      CAPTURE(advised.dump());
      ExperimentSource changed = source;
      for (const auto& [key, value] : advised.at("changes").items()) {
        changed = changed.with(key, value.get<std::string>());
      }
      const StepProjection step = simulator.project(changed);
      REQUIRE(step.numbers);
      CHECK(advised.at("tokens_per_second_per_gpu").get<double>() ==
            Approx(step.numbers->tokens_per_second_per_gpu).epsilon(1e-9));
      CHECK(advised.at("peak_memory_bytes").get<double>() ==
            Approx(step.numbers->peak_memory_bytes).epsilon(1e-9));
    }
  }
}

TEST_CASE("a projection has the numbers of its report in JSON", "[unit]") {
  const Simulator simulator(kData);
  const StepProjection step = simulator.project(job());
  REQUIRE(step.feasible);
  REQUIRE(step.numbers);
  const Report report = simulator.project_report(job(), ReportFormat::kJson);
  CHECK(report.feasible);
  const Json json = Json::parse(report.text);
  CHECK(json.at("context").at("version") == std::string(version()));
  CHECK(json.at("tokens_per_second_per_gpu") == step.numbers->tokens_per_second_per_gpu);
  CHECK(json.at("step_time_s") == step.numbers->step_time_s);
  CHECK(json.at("mfu") == step.numbers->mfu);
  CHECK(json.at("model_tflops_per_gpu") == step.numbers->model_tflops_per_gpu);
  CHECK(json.at("peak_memory_bytes") == step.numbers->peak_memory_bytes);
  CHECK(json.at("clock_mhz") == step.numbers->clock_mhz);
  CHECK(json.at("power_w") == step.numbers->power_w);
  double sum = 0.0;
  for (const auto& [kind, seconds] : step.numbers->time) {
    CAPTURE(kind);
    CHECK(json.at("time").at(kind) == seconds);
    sum += seconds;
  }
  CHECK(step.numbers->time.size() == json.at("time").size());
  CHECK(sum == Approx(step.numbers->step_time_s));
}

TEST_CASE("memory of a projection is that of its report, and its kinds add up", "[unit]") {
  const Simulator simulator(kData);
  const StepProjection step = simulator.project(job());
  const Report report = simulator.memory_report(job(), ReportFormat::kJson);
  const Json stages = Json::parse(report.text).at("memory_by_stage");
  REQUIRE(step.memory.size() == stages.size());
  const StageBytes& stage = step.memory.front();
  CHECK(stages[0].at("parameters_bytes") == stage.parameters_bytes);
  CHECK(stages[0].at("reserved_bytes") == stage.reserved_bytes);
  CHECK(stage.parameters_bytes + stage.gradients_bytes + stage.optimizer_bytes +
            stage.activations_bytes + stage.buffers_bytes ==
        Approx(stage.allocated_bytes));
  CHECK(stage.allocated_bytes == step.numbers->peak_memory_bytes);
  CHECK(step.memory_capacity_bytes == 80.0 * 1024 * 1024 * 1024);
}

TEST_CASE("an experiment is a file or a text, and settings come on top in order", "[unit]") {
  const Simulator simulator(kData);
  const std::filesystem::path file = kData / "examples/01_llama3.1_70b_mi300x/experiment.yaml";
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  CHECK(simulator.project_report({.file = file}).text ==
        simulator.project_report({.text = text, .folder = file.parent_path()}).text);
  const ExperimentSource twice = job().with("plan.tp", "8").with("plan.tp", "4");
  CHECK(simulator.project_report(twice).text ==
        simulator.project_report(job().with("plan.tp", "4")).text);
}

TEST_CASE("input that is wrong is thrown with every problem and its place", "[unit]") {
  const Simulator simulator(kData);
  const std::vector<Problem> problems =
      problems_of(simulator, {.text = "model: llama3.1_9b\n"
                                      "cluster: {gpu: h100_sxm, nodes: 1}\n"
                                      "training: {sequence_length: 4096, micro_batch_size: 1,\n"
                                      "           global_batch_size: 64, dtpye: bf16}\n",
                              .name = "job 7"});
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].file == "job 7");
  CHECK(problems[0].line == 1);
  CHECK_THAT(problems[0].message, test::contains_text("did you mean 'llama3.1_8b'"));
  CHECK(problems[1].line == 4);
  CHECK_THAT(problems[1].message, test::contains_text("did you mean 'dtype'"));
  CHECK_THROWS_AS(simulator.project({.file = "/nowhere/experiment.yaml"}), InputError);
  CHECK_THROWS_AS(simulator.project(job().with("plan.tp", "[")), InputError);
  CHECK_THROWS_AS(simulator.compare_report({}), InputError);
  // There is no file of that name.
  CHECK_THROWS_AS(simulator.project(job().with("backends.gemm", "measured:rows.jsonl")),
                  InputError);
  CHECK_THROWS_AS(Simulator("/nowhere"), InputError);
}

TEST_CASE("a plan that cannot run is an answer with its reasons", "[unit]") {
  const Simulator simulator(kData);
  const StepProjection undivided = simulator.project(job().with("plan.tp", "3"));
  CHECK_FALSE(undivided.feasible);
  CHECK_FALSE(undivided.numbers);
  CHECK_FALSE(undivided.reasons.empty());
  CHECK_FALSE(simulator.project_report(job().with("plan.tp", "3")).feasible);

  const StepProjection too_large =
      simulator.project(job().with("model", "llama3.1_70b").with("plan.zero", "0"));
  CHECK_FALSE(too_large.feasible);
  REQUIRE(too_large.numbers);
  CHECK(too_large.numbers->peak_memory_bytes > too_large.memory_capacity_bytes);
}

TEST_CASE("the settings of a swept plan give its numbers on the experiment without axes",
          "[unit]") {
  const Simulator simulator(kData);
  const ExperimentSource sweep = job().with("plan.tp", "[1, 2, 4, 3]").with("plan.zero", "[1, 3]");
  std::int64_t last = 0;
  const SweepAnswer answer = simulator.sweep(
      sweep,
      {.threads = 2, .top = 3, .stop = {}, .progress = [&](auto done, auto) { last = done; }});
  CHECK(answer.complete);
  CHECK(answer.space_size == 8);
  CHECK(answer.evaluated == 8);
  CHECK(last == 8);
  REQUIRE(answer.best.size() == 3);
  for (const SweptPlan& plan : answer.best) {
    ExperimentSource single = job();
    single.settings.assign(plan.settings.begin(), plan.settings.end());
    const StepProjection step = simulator.project(single);
    CHECK(step.feasible);
    REQUIRE(step.numbers);
    CHECK(step.numbers->tokens_per_second_per_gpu == plan.numbers.tokens_per_second_per_gpu);
    CHECK(step.numbers->peak_memory_bytes == plan.numbers.peak_memory_bytes);
    CHECK(step.numbers->time == plan.numbers.time);
  }
  std::int64_t refused = 0;
  for (const auto& [reason, plans] : answer.refused) {
    refused += plans;
  }
  CHECK(answer.priced + answer.bounded + refused == 8);
}

TEST_CASE("plans are handed on as they are priced, each once", "[unit]") {
  const Simulator simulator(kData);
  const ExperimentSource sweep = job().with("plan.tp", "[1, 2, 4]").with("plan.zero", "[1, 3]");
  std::vector<std::string> seen;
  SweepSettings settings;
  settings.threads = 2;
  settings.every_plan = true;
  settings.found = [&seen](const std::vector<SweptPlan>& plans) {
    for (const SweptPlan& plan : plans) {
      CHECK(plan.numbers.step_time_s > 0.0);
      std::string text;
      for (const std::string& setting : plan.settings) {
        text += setting + " ";
      }
      seen.push_back(text);
    }
  };
  const SweepAnswer answer = simulator.sweep(sweep, settings);
  CHECK(static_cast<std::int64_t>(seen.size()) == answer.priced);
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("a recommendation answers with numbers of GPUs, or says what empties it", "[unit]") {
  const Simulator simulator(kData);
  const ExperimentSource work = job().with("training.tokens", "1T");
  RecommendSettings settings;
  settings.gpus = {"h100_sxm"};
  settings.days = 60.0;
  settings.most_gpus = 128;
  const Report answer = simulator.recommend_report(work, settings, ReportFormat::kJson);
  CHECK(answer.feasible);
  CHECK(Json::parse(answer.text).at("context").at("version") == std::string(version()));
  settings.most_gpus = 8;
  settings.days = 1.0;
  CHECK_FALSE(simulator.recommend_report(work, settings).feasible);
  settings.gpus.clear();
  CHECK_THROWS_AS(simulator.recommend_report(work, settings), InputError);
  CHECK_THROWS_AS(simulator.recommend_report(job(), {.gpus = {"h100_sxm"}}), InputError);
}

TEST_CASE("a sweep that is told to stop answers with what is done", "[unit]") {
  const Simulator simulator(kData);
  std::stop_source stop;
  stop.request_stop();
  const SweepAnswer answer =
      simulator.sweep(job().with("plan.tp", "[1, 2]"), {.stop = stop.get_token(), .progress = {}});
  CHECK_FALSE(answer.complete);
  CHECK(answer.space_size == 2);
  CHECK(answer.evaluated == 0);
  CHECK(answer.best.empty());
}

TEST_CASE("operators are priced line by line", "[unit]") {
  const Simulator simulator(kData);
  const std::string product =
      R"({"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "dtype": "bf16"})";
  const std::string priced = simulator.cost(product + "\n\n" + product, {.gpu = "h100_sxm"});
  REQUIRE(std::count(priced.begin(), priced.end(), '\n') == 2);
  const Json line = Json::parse(priced.substr(0, priced.find('\n')));
  CHECK(line.at("m") == 4096);
  // 137.4 GFLOP at less than the 989.4 TFLOP/s of the part
  CHECK(line.at("predicted_s").get<double>() > 137.4e9 / 989.4e12);
  CHECK(line.at("predicted_s").get<double>() < 3.0 * 137.4e9 / 989.4e12);
  CHECK_FALSE(line.contains("terms"));
  const Json slow = Json::parse(simulator.cost(
      product, {.gpu = "h100_sxm", .backends = {}, .gpu_clock_mhz = 900.0, .terms = true}));
  CHECK(slow.at("clock_mhz") == 900.0);
  CHECK(slow.contains("terms"));
  CHECK(slow.at("predicted_s").get<double>() > line.at("predicted_s").get<double>());
  try {
    (void)simulator.cost("{\"kind\": \"gem\"}\n{}", {.gpu = "h100_sxm"});
    FAIL("two lines are wrong");
  } catch (const InputError& error) {
    CHECK(error.problems().front().line == 1);
    CHECK(error.problems().back().line == 2);
  }
  CHECK_THROWS_AS(simulator.cost(product, {.gpu = "h100"}), InputError);
  CHECK_THROWS_AS(simulator.cost(product, {.gpu = "h100_sxm", .power_limit = "1 W"}), InputError);
}

TEST_CASE("everything that is listed is described", "[unit]") {
  const Simulator simulator(kData);
  for (const Listing kind : {Listing::kGpu, Listing::kModel, Listing::kCluster, Listing::kSoftware,
                             Listing::kBackend, Listing::kCollective, Listing::kDispatcher,
                             Listing::kSchedule, Listing::kHost, Listing::kAttentionLibrary}) {
    const std::vector<std::string> names = simulator.list(kind);
    CHECK(names.size() > (kind == Listing::kHost ? 0U : 2U));
    CHECK_FALSE(simulator.describe(names.front()).empty());
    CHECK_FALSE(simulator.describe(names.back()).empty());
  }
  try {
    (void)simulator.describe("h100_smx");
    FAIL("there is none of that name");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), test::contains_text("did you mean 'h100_sxm'"));
  }
}

TEST_CASE("whatever is told of a part that is only announced says so", "[unit]") {
  const Simulator simulator(kData);
  const auto says_so = test::contains_text("an estimate from announced figures");
  CHECK_THAT(simulator.describe("vr200"), says_so);
  ExperimentSource source = job();
  source.settings.emplace_back("cluster.gpu=vr200");
  ReportForm page(ReportFormat::kText);
  page.page = "made by hand";
  const Report report = simulator.project_report(source, page);
  CHECK_THAT(report.text, says_so);
  CHECK_THAT(report.page, says_so);
  const ReportForm json(ReportFormat::kJson);
  CHECK_THAT(simulator.project_report(source, json).text, says_so);
  for (const ReportForm& form : {ReportForm(ReportFormat::kText), json}) {
    CHECK_THAT(simulator.memory_report(source, form).text, says_so);
    CHECK_THAT(simulator.schedules_report(source, form).text, says_so);
    CHECK_THAT(simulator.columns_report({{source}}, form).text, says_so);
  }
  CHECK_THAT(simulator.cost(R"({"kind": "gemm", "m": 64, "n": 64, "k": 64})", {.gpu = "vr200"}),
             says_so);
}

TEST_CASE("a plan in a format that a part does not multiply is refused with one that it does",
          "[unit]") {
  const Simulator simulator(kData);
  ExperimentSource source = job();
  source.settings.emplace_back("cluster.gpu=v100");
  const StepProjection refused = simulator.project(source);
  CHECK_FALSE(refused.feasible);
  REQUIRE_FALSE(refused.reasons.empty());
  CHECK_THAT(refused.reasons.front(),
             test::contains_text("v100 has no matrix products in bf16; it has those of "
                                 "training.dtype fp16"));
  source.settings.emplace_back("training.dtype=fp16");
  const StepProjection projected = simulator.project(source);
  CHECK(projected.numbers.has_value());
}

TEST_CASE("a problem of a setting is told under the name that the setting has", "[unit]") {
  const Simulator simulator(kData);
  ExperimentSource source = job();
  source.settings.emplace_back("plan.tp=two", "--tp two");
  const std::vector<Problem> problems = problems_of(simulator, source);
  REQUIRE_FALSE(problems.empty());
  CHECK(problems.front().file == "--tp two");
  CHECK(problems.front().line == 0);
  source.settings = {"plan.tp=2", {"plan.tp=4", "--tp 4"}};
  CHECK(simulator.project(source).feasible);  // the last one counts
  source.settings_must_agree = true;
  CHECK_THROWS_WITH(simulator.project(source),
                    test::contains_text("--tp 4: error: sets 'plan.tp' to another value"));
}

TEST_CASE("a page and a plot come beside a report, and a report need not", "[unit]") {
  const Simulator simulator(kData);
  ReportForm form(ReportFormat::kCsv);
  form.page = "made by hand";
  form.plot = true;
  form.text = false;
  const Report report = simulator.columns_report({{job()}}, form);
  CHECK(report.text.empty());
  CHECK_THAT(report.page, test::contains_text("made by hand"));
  CHECK(report.plot.starts_with("<svg"));
}

TEST_CASE("launch files come in and go out by the public header alone", "[unit]") {
  const Simulator simulator(kData);
  const Exported files = simulator.export_files("megatron", job());
  REQUIRE_FALSE(files.files.empty());
  const Imported back =
      simulator.import_experiment("megatron", {"train.sh", files.files.front().second});
  CHECK(simulator.project({.text = back.text}).feasible);
  CHECK_THAT(back.remarks, test::contains_text("train.sh"));
  CHECK_THROWS_WITH(simulator.export_files("megatro", job()), test::contains_text("give one of"));
}

TEST_CASE("a launch file that cannot be read is told what is wrong with it, prose that it is none",
          "[unit]") {
  const Simulator simulator(kData);
  const auto known = simulator.known_file({"a.yaml", std::string("a: 1\nb: 2\na: 3\n")});
  REQUIRE(known);
  CHECK(known->door.empty());
  CHECK(known->refusal.line == 3);
  CHECK(known->refusal.message == "repeated key 'a', first given on line 1; keep one of them");
  CHECK_FALSE(simulator.known_file({"a.txt", std::string("no keys: [ at all\nhere\n")}));
}

TEST_CASE("experiments stand side by side, and two are told apart", "[unit]") {
  const Simulator simulator(kData);
  const ExperimentSource other = job().with("cluster.gpu", "h200_sxm");
  const Report columns = simulator.compare_report({job(), other}, ReportFormat::kJson);
  CHECK(columns.feasible);
  CHECK(Json::parse(columns.text).at("columns").size() == 2);
  CHECK(
      Json::parse(simulator.explain_report(job(), ReportFormat::kJson).text).contains("operators"));
  CHECK(Json::parse(simulator.explain_report(job(), other, ReportFormat::kJson).text)
            .contains("difference"));
}

TEST_CASE("the constants of a kind add up to what the projection says of the kind", "[unit]") {
  const Simulator simulator(kData);
  const Json listed = Json::parse(simulator.provenance_report(job(), ReportFormat::kJson).text);
  const Json projected = Json::parse(simulator.project_report(job(), ReportFormat::kJson).text);
  CHECK(projected.at("provenance") == listed.at("provenance"));
  double sum = 0.0;
  for (const auto& [kind, share] : projected.at("provenance").items()) {
    double of_kind = 0.0;
    for (const Json& constant : listed.at("constants")) {
      of_kind += constant.at("kind") == kind ? constant.at("share").get<double>() : 0.0;
    }
    CAPTURE(kind);
    CHECK(of_kind == Approx(share.get<double>()).margin(1e-12));
    sum += of_kind;
  }
  CHECK(sum == Approx(1.0).epsilon(1e-12));
  CHECK_THAT(simulator.provenance_report(job()).text, test::contains_text("time rests on"));
  CHECK_THAT(simulator.provenance_report(job(), ReportFormat::kCsv).text,
             test::contains_text("share,kind,constant,value,file\n"));
}

TEST_CASE("memory as CSV has the bytes of the JSON, a line for each pipeline rank", "[unit]") {
  const Simulator simulator(kData);
  const ExperimentSource source = job().with("plan.pp", "2");
  const Json stage =
      Json::parse(simulator.memory_report(source, ReportFormat::kJson).text).at("memory_by_stage");
  const std::string csv = simulator.memory_report(source, ReportFormat::kCsv).text;
  REQUIRE(stage.size() == 2);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(
      csv.starts_with("rank,parameters_bytes,gradients_bytes,optimizer_bytes,activations_bytes,"));
  CHECK_THAT(csv, test::contains_text(",buffers.loss_bytes,"));
  const std::string second = csv.substr(csv.rfind('\n', csv.size() - 2) + 1);
  CHECK(second.starts_with("1,"));
  CHECK(std::stod(second.substr(2)) == stage.at(1).at("parameters_bytes").get<double>());
}

// Every kind of call, and its answer as text.
std::string answer_of_call(const Simulator& simulator, std::size_t call) {
  const std::string degree = std::to_string(1 << (call / 6 % 3));
  const ExperimentSource source = job().with("plan.tp", degree);
  switch (call % 6) {
    case 0:
      return simulator.project_report(source, ReportFormat::kJson).text;
    case 1:
      return simulator.explain_report(source, ReportFormat::kJson).text;
    case 2:
      return simulator.memory_report(source).text;
    case 3:
      return simulator.cost(R"({"kind": "gemm", "m": 128, "n": 4096, "k": 512, "dtype": "bf16"})",
                            {.gpu = "b200"});
    case 4:
      return simulator.describe(simulator.list(Listing::kGpu)[call % 3]);
    default:
      break;
  }
  std::string text;
  for (const SweptPlan& plan :
       simulator
           .sweep(job().with("plan.tp", "[1, 2, 4]"), {.threads = 2, .stop = {}, .progress = {}})
           .best) {
    text += plan.settings.front() + " " + std::to_string(plan.numbers.step_time_s) + "\n";
  }
  return text;
}

TEST_CASE("calls from several threads at once give the bytes of calls one after the other",
          "[unit]") {
  const Simulator simulator(kData);
  constexpr std::size_t kCalls = 18;
  constexpr std::size_t kThreads = 4;
  std::vector<std::string> alone;
  for (std::size_t call = 0; call < kCalls; ++call) {
    alone.push_back(answer_of_call(simulator, call));
  }
  std::vector<std::vector<std::string>> together(kThreads, std::vector<std::string>(kCalls));
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&simulator, &together, thread] {
        for (std::size_t i = 0; i < kCalls; ++i) {
          const std::size_t call = (i + 5 * thread) % kCalls;  // each begins with another call
          together[thread][call] = answer_of_call(simulator, call);
        }
      });
    }
  }
  for (const std::vector<std::string>& answers : together) {
    CHECK(answers == alone);
  }
}

}  // namespace
}  // namespace stepcast::public_interface_test
