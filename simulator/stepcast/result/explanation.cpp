// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/explanation.hpp"

namespace stepcast {

Seconds Explanation::computation() const {
  Seconds sum;
  for (const ExplainedOp& entry : operators) {
    sum += entry.communicates() ? Seconds{} : entry.total();
  }
  return sum;
}

Seconds Explanation::communication() const {
  Seconds sum;
  for (const ExplainedOp& entry : operators) {
    sum += entry.communicates() ? entry.total() : Seconds{};
  }
  return sum;
}

double Explanation::share(const ExplainedOp& op) const {
  const Seconds all = computation();
  return all > Seconds{} ? op.total() / all : 0.0;
}

}  // namespace stepcast
