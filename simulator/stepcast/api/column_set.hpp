// SPDX-License-Identifier: Apache-2.0
// Columns of a comparison: what each of them runs, how it is priced, and its plan, which may be the
// best of all that its settings leave.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stepcast/api/job.hpp"
#include "stepcast/result/comparison.hpp"

namespace stepcast {

class ColumnSet {
 public:
  // Throws ConfigError with the problems of all columns, each once. What is given must outlive
  // this.
  ColumnSet(const std::vector<ColumnSource>& sources, const CompareSettings& settings,
            const DataRoot& data);

  [[nodiscard]] const std::vector<ComparedColumn>& columns() const { return columns_; }
  // Of each column, with its plan.
  [[nodiscard]] const std::vector<Experiment>& experiments() const { return experiments_; }
  [[nodiscard]] const std::vector<CostModel>& costs() const { return costs_; }

  // The files of the plans of all columns that run.
  void save() const;

 private:
  ComparedColumn column_of(std::size_t i);
  // With the best of all plans, which the experiment gets, unless its own is as fast; those that
  // are given narrow them.
  ComparedColumn with_best_plan(std::size_t i);
  // The columns that run, the fastest first; of equal ones in their order.
  [[nodiscard]] std::vector<std::size_t> ranked_columns() const;

  const std::vector<ColumnSource>& sources_;
  const CompareSettings& settings_;
  const DataRoot& data_;
  std::vector<ExperimentTree> trees_;
  std::vector<Experiment> experiments_;
  std::map<std::string, GpuHourPrice> prices_;
  std::vector<CostModel> costs_;
  std::vector<HeldOutRun> known_;
  KeySet free_;  // that a search chooses although they are given
  std::shared_ptr<SolvedPipelines> pipelines_ = std::make_shared<SolvedPipelines>();
  std::vector<ComparedColumn> columns_;
};

}  // namespace stepcast
