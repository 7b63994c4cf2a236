// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/diagnose.hpp"

#include <cmath>
#include <set>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/diagnosis/cause_changes.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/varied_run.hpp"

namespace stepcast::diagnose_test {
namespace {

// An 8B model on 4 nodes, all of which gather its layers.
constexpr const char* kRun =
    "model: llama3.1_8b\n"
    "cluster: {gpu: h100_sxm, nodes: 4}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 32}\n"
    "plan: {fsdp: 32}\n"
    "software: torchtitan\n";

// A run, and what is measured of it where its projections are the truth.
class Bench {
 public:
  explicit Bench(const std::string& text = kRun)
      : tree_{parse_config(text, "run"), {}},
        experiment_(read_experiment(tree_.root, {}, profiles_)) {}

  [[nodiscard]] Projection projected(const KeySettings& settings) {
    return VariedRun(tree_, experiment_, profiles_, cost_).projected(settings);
  }
  // Of a point, with settings that nobody knows of on top of it.
  [[nodiscard]] MeasuredPoint measured(const KeySettings& point, const KeySettings& secret,
                                       Metric metric = Metric::kStepTime) {
    KeySettings all = point;
    all.insert(all.end(), secret.begin(), secret.end());
    return {point, figure_of(metric, projected(all))};
  }
  [[nodiscard]] Variant variant(const KeySettings& settings) {
    return VariedRun(tree_, experiment_, profiles_, cost_).variant(settings);
  }
  [[nodiscard]] Diagnosis diagnosed(std::vector<MeasuredPoint> points,
                                    std::optional<TraceQuestion> trace = std::nullopt) {
    return diagnose(
        {tree_, experiment_, std::move(points),
         expected_error(load_accuracy(test::data_root()), experiment_), std::move(trace)},
        profiles_, cost_);
  }
  [[nodiscard]] std::vector<CauseChange> changes() {
    return changes_of({tree_.root, experiment_, projected({}), {"torchtitan_2025_09"}});
  }

 private:
  ProfileCache profiles_{test::data_root()};
  CostModel cost_ = default_cost_model();
  ExperimentTree tree_;
  Experiment experiment_;
};

const CauseFit* fit_of(const Diagnosis& diagnosis, Cause cause) {
  const auto found = std::ranges::find(diagnosis.causes, cause, &CauseFit::cause);
  return found == diagnosis.causes.end() ? nullptr : &*found;
}

TEST_CASE("a run within the error to expect has nothing to explain", "[unit]") {
  Bench bench;
  const Diagnosis d = bench.diagnosed({bench.measured({}, {})});
  CHECK(d.pace == Pace::kAsExpected);
  CHECK(d.pace_ratio == Approx(1.0));
  CHECK(d.causes.empty());
}

TEST_CASE("a slow network is found from three points, with its rate", "[unit]") {
  Bench bench;
  const KeySettings slow = {{"cluster.nic_rate", "2 GB/s"}};
  const Diagnosis d = bench.diagnosed(
      {bench.measured({}, slow),
       bench.measured({{"training.micro_batch_size", "2"}, {"training.global_batch_size", "64"}},
                      slow),
       bench.measured({{"cluster.nodes", "1"}, {"plan.fsdp", "8"}}, slow)});
  CHECK(d.pace == Pace::kSlow);
  REQUIRE_FALSE(d.causes.empty());
  CHECK(d.causes.front().cause == Cause::kLinkBetweenNodes);
  CHECK(*d.causes.front().size == Approx(2.0).epsilon(0.02));
  CHECK(d.causes.front().unit == "GB/s a GPU");
  CHECK(d.causes.front().meets);
}

TEST_CASE("checks are of the GPU's vendor and of the framework that runs", "[unit]") {
  Bench bench;
  const Diagnosis d = bench.diagnosed({bench.measured({}, {{"cluster.gpu_clock", "900 MHz"}})});
  const CauseFit* fit = fit_of(d, Cause::kClockOrPower);
  REQUIRE(fit != nullptr);
  REQUIRE(fit->checks.size() == 1);
  CHECK(fit->checks.front().starts_with("nvidia-smi"));
  const CauseFit* again = fit_of(d, Cause::kRecomputation);
  REQUIRE(again != nullptr);
  CHECK(again->checks.front().starts_with("activation_checkpoint.mode"));  // torchtitan's
}

TEST_CASE("a rate that leaves padding out is met by the share of it", "[unit]") {
  Bench bench;
  MeasuredPoint point = bench.measured({}, {}, Metric::kTokenRate);
  point.measured.value *= 0.6;
  const Diagnosis d = bench.diagnosed({point});
  const CauseFit* fit = fit_of(d, Cause::kDocumentsOrPadding);
  REQUIRE(fit != nullptr);
  CHECK(*fit->size == Approx(0.4).epsilon(0.01));
  CHECK(fit->gain == Approx(1.0 / 0.6).epsilon(0.01));
  CHECK(fit->settings.empty());
  // The time of a step does not tell how many of its tokens are padding.
  const Diagnosis step = bench.diagnosed({bench.measured({}, {{"cluster.gpu_clock", "900 MHz"}})});
  CHECK(fit_of(step, Cause::kDocumentsOrPadding) == nullptr);
}

TEST_CASE("a run in fp32 is found by the rate of its products", "[unit]") {
  Bench bench;
  const auto forms = [&bench](std::string_view form) {
    for (const CauseChange& change : bench.changes()) {
      if (change.form == form) {
        return change.settings;
      }
    }
    return KeySettings{};
  };
  const KeySettings tf32 = forms("TF32 instead of 16 bits");
  REQUIRE_FALSE(tf32.empty());
  CHECK(tf32.front() == std::pair<std::string, std::string>("cluster.scale.matrix_rate", "0.5"));
  const Diagnosis d = bench.diagnosed({bench.measured({}, forms("fp32 instead of 16 bits"))});
  REQUIRE(fit_of(d, Cause::kPrecisionNotUsed) != nullptr);
  CHECK(fit_of(d, Cause::kPrecisionNotUsed)->form == "fp32 instead of 16 bits");
}

TEST_CASE("documents that are longer than was said are found, with their length", "[unit]") {
  Bench bench(
      "model: llama3.1_8b\n"
      "cluster: {gpu: h100_sxm, nodes: 1}\n"
      "training: {sequence_length: 32768, micro_batch_size: 1, global_batch_size: 8, recompute: "
      "full, documents: {length: 1024}}\n"
      "plan: {fsdp: 8}\n"
      "software: {base: torchtitan, attention: flex}\n");
  const Diagnosis d =
      bench.diagnosed({bench.measured({}, {{"training.documents.length", "16384"}})});
  const CauseFit* fit = fit_of(d, Cause::kDocumentsOrPadding);
  REQUIRE(fit != nullptr);
  CHECK(fit->meets);
  CHECK(*fit->size == Approx(16384.0).epsilon(0.02));
  CHECK(fit->unit == "tokens");
}

TEST_CASE("a mask as a tensor is offered of software that makes one", "[unit]") {
  const auto run_of = [](const std::string& software) {
    return "model: llama3.1_8b\n"
           "cluster: {gpu: h100_sxm, nodes: 1}\n"
           "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 8}\n"
           "plan: {fsdp: 8}\n"
           "software: " +
           software + "\n";
  };
  Bench trainer(run_of("huggingface"));
  const CauseChange* mask = nullptr;
  const std::vector<CauseChange> changes = trainer.changes();
  for (const CauseChange& change : changes) {
    mask = change.form == "a mask as a tensor" ? &change : mask;
  }
  REQUIRE(mask != nullptr);
  CHECK(mask->settings == KeySettings{{"training.documents", "{length: 2048}"}});
  CHECK(trainer.projected(mask->settings).time.step > trainer.projected({}).time.step);
  Bench compiled(run_of("torchtitan"));
  CHECK(std::ranges::count(compiled.changes(), "a mask as a tensor", &CauseChange::form) == 0);
}

// The largest of 8, 32 and 128 ranks is 1.42, 2.07 and 2.59 deviations above the mean.
TEST_CASE("ranks of unequal work are found from sizes of the job, with their deviation", "[unit]") {
  Bench bench;
  const KeySettings unequal = {{"training.work_spread", "0.4"}};
  std::vector<MeasuredPoint> points = {bench.measured({}, unequal)};
  for (const std::int64_t nodes : {1, 16}) {
    points.push_back(bench.measured({{"cluster.nodes", std::to_string(nodes)},
                                     {"plan.fsdp", std::to_string(8 * nodes)},
                                     {"training.global_batch_size", std::to_string(8 * nodes)}},
                                    unequal));
  }
  const Diagnosis d = bench.diagnosed(points);
  CHECK(d.pace == Pace::kSlow);
  const CauseFit* fit = fit_of(d, Cause::kSlowRank);
  REQUIRE(fit != nullptr);
  CHECK(fit->meets);
  // All sizes slow alike is another cause.
  const CauseFit* clock = fit_of(d, Cause::kClockOrPower);
  CHECK((clock == nullptr || fit < clock));
  CHECK(*fit->size == Approx(0.4).epsilon(0.02));
  CHECK(fit->settings.front().first == "training.work_spread");
}

TEST_CASE("one replica has no other whose work it could wait for", "[unit]") {
  Bench bench(
      "model: llama3.1_8b\n"
      "cluster: {gpu: h100_sxm, nodes: 1}\n"
      "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 8}\n"
      "plan: {tp: 8}\n"
      "software: megatron\n");
  for (const CauseChange& change : bench.changes()) {
    CHECK(change.form != "deviation of the work of data-parallel ranks");
  }
}

// A step in four parts, as the breakdown of a projection has them; it waits for no other rank.
std::vector<Seconds> parts_of_step(const Variant& variant) {
  const TimeBreakdown& time = variant.projection.time.breakdown;
  return {time.busy(), time.communication(), time.host, Seconds{}};
}

TraceQuestion traced(Bench& bench, const std::vector<Seconds>& measured, Seconds step) {
  const std::vector<Seconds> projected = parts_of_step(bench.variant({}));
  TraceQuestion question{{"trace.json", step, {}, {}}, parts_of_step};
  const std::vector<std::string> names = {"busy", "communication", "host", "waiting"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    question.traced.parts.push_back({names[i], measured[i], projected[i], names[i] == "waiting"});
  }
  return question;
}

TEST_CASE("a trace tells causes apart that one step does not", "[unit]") {
  const auto [cause, secret] = GENERATE(
      table<Cause, KeySettings>({{Cause::kLinkBetweenNodes, {{"cluster.nic_rate", "2 GB/s"}}},
                                 {Cause::kHostSlow, {{"software.host.micro_batch", "500 ms"}}}}));
  Bench bench;
  const Variant run = bench.variant(secret);
  const Seconds step = run.projection.time.step;
  const Diagnosis d =
      bench.diagnosed({bench.measured({}, secret)}, traced(bench, parts_of_step(run), step));
  REQUIRE_FALSE(d.causes.empty());
  CHECK(d.causes.front().cause == cause);
  CHECK(d.causes.front().score > 0.5);
  CHECK(d.causes.front().traced.size() == 4);
  CHECK(d.trace->step == step);
}

TEST_CASE("a rank that waits for another one tells that one is slow", "[unit]") {
  Bench bench;
  const Variant run = bench.variant({});
  const Seconds longer = 0.7 * run.projection.time.step;
  std::vector<Seconds> measured = parts_of_step(run);
  measured.back() = longer;
  const Seconds step = run.projection.time.step + longer;
  const Diagnosis d =
      bench.diagnosed({{{}, {Metric::kStepTime, step.value()}}}, traced(bench, measured, step));
  REQUIRE_FALSE(d.causes.empty());
  CHECK(d.causes.front().cause == Cause::kSlowRank);
  CHECK(d.causes.front().traced.back().value() == Approx(longer.value()).epsilon(0.05));
}

TEST_CASE("a traced step as it is projected has nothing to explain", "[unit]") {
  Bench bench;
  const Variant run = bench.variant({});
  const Diagnosis d = bench.diagnosed({bench.measured({}, {})},
                                      traced(bench, parts_of_step(run), run.projection.time.step));
  CHECK(d.causes.empty());
}

TEST_CASE("the settings of a cause project to what it explains", "[unit]") {
  Bench bench;
  const MeasuredPoint point = bench.measured({}, {{"cluster.gpu_clock", "900 MHz"}});
  const Diagnosis d = bench.diagnosed({point});
  const CauseFit* clock = fit_of(d, Cause::kClockOrPower);
  REQUIRE(clock != nullptr);
  CHECK(bench.projected(clock->settings).time.step.value() ==
        Approx(clock->projected.front().value));
  CHECK(clock->projected.front().value == Approx(point.measured.value).epsilon(0.005));
  CHECK(clock->gain == Approx(point.measured.value / d.projected.front().value).epsilon(0.005));
}

TEST_CASE("a cause that cannot be as large says so", "[unit]") {
  Bench bench;
  MeasuredPoint point = bench.measured({}, {});
  point.measured.value *= 50.0;
  const Diagnosis d = bench.diagnosed({point});
  const CauseFit* slow = fit_of(d, Cause::kSlowRank);
  REQUIRE(slow != nullptr);
  CHECK(slow->at_bound);
  CHECK_FALSE(slow->meets);
  CHECK(*slow->size == 4.0);
}

TEST_CASE("scores of all causes add up to 1 and fall", "[unit]") {
  Bench bench;
  const Diagnosis d = bench.diagnosed({bench.measured({}, {{"cluster.nic_rate", "1 GB/s"}})});
  double sum = 0.0;
  double last = 1.0;
  std::set<Cause> seen;
  for (const CauseFit& fit : d.causes) {
    sum += fit.score;
    CHECK(fit.score <= last);
    CHECK(seen.insert(fit.cause).second);
    last = fit.score;
  }
  CHECK(sum == Approx(1.0));
}

TEST_CASE("tokens of all GPUs are a convention, not a fast run", "[unit]") {
  Bench bench;
  MeasuredPoint point = bench.measured({}, {}, Metric::kTokenRate);
  point.measured.value *= 32.0;
  const Diagnosis d = bench.diagnosed({point});
  CHECK(d.pace == Pace::kFast);
  REQUIRE_FALSE(d.causes.empty());
  CHECK(d.causes.front().cause == Cause::kFigureConvention);
  CHECK(d.causes.front().form == "tokens of all GPUs");
  CHECK(d.causes.front().gain == 1.0);
}

TEST_CASE("a ratio that no convention has is none", "[unit]") {
  Bench bench;
  MeasuredPoint point = bench.measured({}, {}, Metric::kTokenRate);
  point.measured.value /= 2.9;
  CHECK(fit_of(bench.diagnosed({point}), Cause::kFigureConvention) == nullptr);
}

TEST_CASE("causes that move nothing are named as such", "[unit]") {
  Bench bench(
      "model: llama3.2_1b\n"
      "cluster: {gpu: h100_sxm, gpus: 1}\n"
      "training: {sequence_length: 2048, micro_batch_size: 4, global_batch_size: 4}\n"
      "plan: {tp: 1}\n");
  const Diagnosis d = bench.diagnosed({bench.measured({}, {{"cluster.gpu_clock", "700 MHz"}})});
  CHECK(fit_of(d, Cause::kLinkBetweenNodes) == nullptr);
  CHECK(std::ranges::find(d.ruled_out, Cause::kMessageLatency) != d.ruled_out.end());
}

TEST_CASE("two causes at once are found where one does not do", "[unit]") {
  Bench bench;
  const KeySettings both = {{"cluster.nic_rate", "3 GB/s"}, {"cluster.gpu_clock", "800 MHz"}};
  const KeySettings node = {{"cluster.nodes", "1"}, {"plan.fsdp", "8"}};
  const KeySettings batch = {{"training.micro_batch_size", "2"},
                             {"training.global_batch_size", "64"}};
  const Diagnosis d = bench.diagnosed(
      {bench.measured({}, both), bench.measured(node, both), bench.measured(batch, both)});
  REQUIRE_FALSE(d.pairs.empty());
  const CausePair& best = d.pairs.front();
  const std::set<Cause> causes = {best.first.cause, best.second.cause};
  CHECK(causes.contains(Cause::kLinkBetweenNodes));
  // A low clock of all GPUs and one slow GPU, which all wait for, look alike.
  CHECK((causes.contains(Cause::kClockOrPower) || causes.contains(Cause::kSlowRank)));
}

TEST_CASE("a point whose plan cannot run is refused with the reason", "[unit]") {
  Bench bench;
  const MeasuredPoint good = bench.measured({}, {});
  MeasuredPoint bad = good;
  bad.settings = {{"plan.tp", "3"}};
  const auto ask = [&] { static_cast<void>(bench.diagnosed({good, bad})); };
  CHECK_THAT(test::config_error(ask), Catch::Matchers::Contains("point plan.tp=3"));
}

TEST_CASE("a change of every cause that has keys is offered for a model with experts", "[unit]") {
  Bench bench(
      "model: mixtral_8x7b\n"
      "cluster: {gpu: h100_sxm, nodes: 4}\n"
      "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 128, dtype: fp8, "
      "documents: {length: 512}}\n"
      "plan: {tp: 1, ep: 8, zero: 1}\n"
      "software: {base: torchtitan, attention: flex}\n");
  std::set<Cause> causes;
  for (const CauseChange& change : bench.changes()) {
    causes.insert(change.cause);
  }
  causes.insert(Cause::kFigureConvention);  // which has no keys
  CHECK(causes.size() == names_of<Cause>().size());
}

}  // namespace
}  // namespace stepcast::diagnose_test
