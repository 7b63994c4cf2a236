// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"
#include "property/projection_promise.hpp"
#include "property/varied_experiments.hpp"

namespace stepcast::fuzz {
namespace {

// Each byte makes one choice; when there are no more, the first of what there is.
test::NumberSource bytes_of(const std::uint8_t* data, std::size_t size) {
  return [bytes = std::basic_string_view<std::uint8_t>(data, size)]() mutable -> std::uint64_t {
    if (bytes.empty()) {
      return 0;
    }
    const std::uint8_t byte = bytes.front();
    bytes.remove_prefix(1);
    return byte;
  };
}

// Most inputs are projected alone: every other report projects again.
void check_reports(const Simulator& simulator, const ExperimentSource& experiment,
                   std::size_t which) {
  switch (which) {
    case 0:
      return test::check_json_report(
          simulator.explain_report(experiment, ReportFormat::kJson).text);
    case 1:
      return test::check_json_report(simulator.memory_report(experiment, ReportFormat::kJson).text);
    case 2:
    case 3:
      return test::check_json_report(
          simulator.project_report(experiment, ReportFormat::kJson).text);
    case 4:
      return promise(!simulator.project_report(experiment).text.empty(), "a report is empty");
    default:
      return;
  }
}

}  // namespace

int fuzz_project(const std::uint8_t* data, std::size_t size) {
  static const Simulator simulator(STEPCAST_DATA_ROOT);
  test::RandomChoice choice(bytes_of(data, size));
  const std::size_t report = choice.below(16);
  const ExperimentSource experiment = test::VariedExperiments(simulator, choice).next();
  try {
    test::ProjectionPromise(simulator.project(experiment)).check();
    check_reports(simulator, experiment, report);
  } catch (const InputError& error) {
    promise(!error.problems().empty(), "an error says nothing");
  }
  return 0;
}

}  // namespace stepcast::fuzz
