// SPDX-License-Identifier: Apache-2.0
// Prints what the library answers, in JSON: every shipped experiment, experiments drawn at random
// and a sweep. What it prints must not depend on the compiler, its options, the processor or the
// number of threads (scripts/same_bytes.sh compares).
//
//   stepcast_answers DRAWN THREADS    DRAWN experiments, answered by THREADS threads
//
// Experiments are drawn from the numbers 0, 1, 2, ..., so that each can be had again by itself. An
// answer that does not keep what every answer keeps is told on standard error; the exit code is 1.
#include <atomic>
#include <iostream>
#include <thread>

#include "property/projection_promise.hpp"
#include "property/varied_experiments.hpp"
#include "sample_specs.hpp"

namespace stepcast::same_bytes {
namespace {

std::string written(const ExperimentSource& experiment) {
  std::string text = experiment.file.string() + experiment.text;
  for (const std::string& setting : experiment.settings) {
    text += "--set " + setting + "\n";
  }
  return text;
}

struct Answer {
  std::string text;
  std::string fault;  // empty if all that is promised is kept
};

Answer answer_of(const Simulator& simulator, const ExperimentSource& experiment, bool all_reports) {
  Answer answer;
  try {
    test::ProjectionPromise(simulator.project(experiment)).check();
    answer.text = simulator.project_report(experiment, ReportFormat::kJson).text;
    test::check_json_report(answer.text);
    if (all_reports) {
      answer.text += simulator.explain_report(experiment, ReportFormat::kJson).text +
                     simulator.memory_report(experiment, ReportFormat::kJson).text;
    }
  } catch (const InputError& error) {
    answer.text = std::string(error.what()) + "\n";
  } catch (const std::exception& error) {
    answer.fault = std::string(error.what()) + "\n" + written(experiment);
  }
  return answer;
}

std::vector<ExperimentSource> experiments(const Simulator& simulator, std::uint64_t drawn) {
  std::vector<ExperimentSource> all;
  for (std::filesystem::path& file : test::shipped_experiments()) {
    all.push_back({.file = std::move(file)});
  }
  for (std::uint64_t seed = 0; seed < drawn; ++seed) {
    all.push_back(test::VariedExperiments(simulator, test::RandomChoice(seed)).next());
  }
  return all;
}

std::vector<Answer> answers_of(const Simulator& simulator,
                               const std::vector<ExperimentSource>& experiments, int threads) {
  std::vector<Answer> answers(experiments.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < experiments.size(); at = next++) {
        const bool shipped = !experiments[at].file.empty();
        answers[at] = answer_of(simulator, experiments[at], shipped);
      }
    });
  }
  workers.clear();
  return answers;
}

void print_sweep(const Simulator& simulator, int threads) {
  const ExperimentSource sweep{.text =
                                   "model: mixtral_8x7b\n"
                                   "cluster: {gpu: h100_sxm, nodes: 4}\n"
                                   "training: {sequence_length: 4096, global_batch_size: 128}\n"
                                   "plan: {tp: [1, 2, 4], pp: [1, 2], ep: [1, 4, 8], "
                                   "zero: [0, 1, 3]}\n"};
  SweepSettings settings;
  settings.threads = threads;
  settings.every_plan = true;
  const SweepAnswer answer = simulator.sweep(sweep, settings);
  std::cout << answer.space_size << ' ' << answer.priced << '\n' << std::hexfloat;
  for (const auto* plans : {&answer.best, &answer.memory_pareto}) {
    for (const SweptPlan& plan : *plans) {
      for (const std::string& setting : plan.settings) {
        std::cout << setting << ' ';
      }
      std::cout << plan.numbers.step_time_s << ' ' << plan.numbers.peak_memory_bytes << '\n';
    }
  }
}

int run(std::uint64_t drawn, int threads) {
  const Simulator simulator(STEPCAST_DATA_ROOT);
  const std::vector<ExperimentSource> all = experiments(simulator, drawn);
  int faults = 0;
  for (const Answer& answer : answers_of(simulator, all, threads)) {
    std::cout << answer.text;
    if (!answer.fault.empty()) {
      ++faults;
      std::cerr << answer.fault << '\n';
    }
  }
  print_sweep(simulator, threads);
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stepcast::same_bytes

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: stepcast_answers DRAWN THREADS\n";
    return 2;
  }
  return stepcast::same_bytes::run(std::stoull(argv[1]), std::stoi(argv[2]));
}
