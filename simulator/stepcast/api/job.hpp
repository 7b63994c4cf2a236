// SPDX-License-Identifier: Apache-2.0
// What a source of the public header asks for, as the readers of the library take it: the one way
// from an experiment's text to its projection.
#pragma once

#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/inputs.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// With every setting applied. Throws ConfigError.
ExperimentTree tree_of(const ExperimentSource& source, const DataRoot& data);
Experiment experiment_of(const ExperimentSource& source, const DataRoot& data);
// With every setting to be applied.
SweepSource sweep_source_of(const ExperimentSource& source);

// An experiment with the backends that it asks for.
struct Job {
  Experiment experiment;
  CostModel cost;
};
Job job_of(const ExperimentSource& source, const DataRoot& data);

// With the error to expect, and of a plan that does not fit the nearest that does.
Projection projection_of(const Job& job, const DataRoot& data);
// With the shares of the constants that the time rests on.
Projection with_provenance(const Job& job, Projection projection);

// GPU -> price of an hour. Throws ConfigError with every price that is none, or of a GPU that is
// none of `gpus`, of which messages say that `nobody` has it: "no column has".
std::map<std::string, GpuHourPrice> prices_of(const GpuHourPrices& prices,
                                              const std::vector<std::string>& gpus,
                                              const std::string& nobody);

// Throws ConfigError, or collects it, where nobody may ask for so many threads.
void check_threads(int threads, Diagnostics& diagnostics);
// 0 as the processors that there are.
int threads_of(int threads);

}  // namespace stepcast
