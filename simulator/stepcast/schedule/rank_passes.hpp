// SPDX-License-Identifier: Apache-2.0
// Tells a listener the passes of a pipeline rank, at the times that the step has timed them at
// (step_listener.hpp). A pair whose forward is the first of its chunk, or whose backward is the
// last, adds what these move of parameters and gradients.
#pragma once

#include "stepcast/schedule/pass_spans.hpp"

namespace stepcast {

class RankPasses {
 public:
  // `context` must outlive this.
  explicit RankPasses(const StepContext& context) : context_(context), spans_(context) {}

  [[nodiscard]] const StepOps& operators() const { return spans_.operators(); }
  void tell(const RankTimeline& timeline, const RankEnd& end, StepListener& listener) const;

 private:
  const StepContext& context_;
  PassSpans spans_;
};

}  // namespace stepcast
