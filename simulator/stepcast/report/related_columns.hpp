// SPDX-License-Identifier: Apache-2.0
// What relates the columns of a comparison, each number once.
#pragma once

#include "stepcast/report/columns.hpp"
#include "stepcast/result/comparison.hpp"

namespace stepcast {

// A column beside the one that all are related to, which is null where none was timed.
struct RelatedColumn {
  const ComparedColumn& column;
  const ComparedColumn* reference = nullptr;

  [[nodiscard]] const Projection& projection() const { return column.projection; }
  [[nodiscard]] std::string label() const { return column.label(); }
};

const Columns<RelatedColumn>& related_columns();

}  // namespace stepcast
