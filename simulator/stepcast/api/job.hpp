// SPDX-License-Identifier: Apache-2.0
// What a source of the public header asks for, as the readers of the library take it: the one way
// from an experiment's text to its projection.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/error_model.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/inputs.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

inline constexpr std::size_t kLargestLines = 256U << 20U;  // bytes of operators or measurements

// The text of a source, read where it is not given. Throws ConfigError.
std::string text_of(const TextSource& source, std::size_t largest = kLargestConfig);
// Where the files lie that it names: beside it, of standard input nowhere.
std::filesystem::path folder_of(const TextSource& source);

// What problems of an assignment to a field of settings are told under: "price h100_sxm=0".
Location place_of(const Assignment& given, const std::string& field);

// With every setting applied, and the usual batch where none is given (usual_batch.hpp). Throws
// ConfigError.
ExperimentTree tree_of(const ExperimentSource& source, const DataRoot& data);
Experiment experiment_of(const ExperimentSource& source, const DataRoot& data);
// With every setting to be applied.
SweepSource sweep_source_of(const ExperimentSource& source, const DataRoot& data);

// An experiment with the backends that it asks for, and a plan (missing_plan.hpp).
struct Job {
  Experiment experiment;
  CostModel cost;
};
Job job_of(const ExperimentSource& source, const DataRoot& data);
Job job_of(const ExperimentTree& tree, const DataRoot& data);

// With the error to expect.
Projection expected_of(const Job& job, const DataRoot& data);
// With that, and of a plan that does not fit the nearest that does.
Projection projection_of(const Job& job, const DataRoot& data);
// With the plan that a search found, which the experiment gets, or else with the reasons why there
// is none; the error to expect is that of the `known` runs.
Projection projection_with(const BestPlan& found, Experiment& experiment, const CostModel& cost,
                           const std::vector<HeldOutRun>& known);
// With the shares of the constants that the time rests on.
Projection with_provenance(const Job& job, Projection projection);

// What an experiment gives and a search for a missing plan keeps: its dispatcher, its micro-batch,
// its recomputation.
KeySet given_keys(const ExperimentTree& tree);

// The keys that the settings on top of an experiment give.
KeySet keys_on_top(const ExperimentSource& source);

std::vector<std::string> gpus_of(const std::vector<Experiment>& experiments);

// GPU -> price of an hour. Throws ConfigError with every price that is none, or of a GPU that is
// none of `gpus`, of which messages say that `nobody` has it: "no column has".
std::map<std::string, GpuHourPrice> prices_of(const GpuHourPrices& prices,
                                              const std::vector<std::string>& gpus,
                                              const std::string& nobody);

// Puts the price of the projection's GPU into it, where there is one.
void set_price(const std::map<std::string, GpuHourPrice>& prices, Projection& projection);

// Throws ConfigError, or collects it, where nobody may ask for so many threads.
void check_threads(int threads, Diagnostics& diagnostics);
// 0 as the processors that there are.
int threads_of(int threads);

}  // namespace stepcast
