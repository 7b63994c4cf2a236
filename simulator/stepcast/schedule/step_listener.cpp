// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_listener.hpp"

namespace stepcast {

RankStream stream_of(const StreamSpan& span, const StepOps& operators) {
  if (!span.axis) {
    return RankStream::kCompute;
  }
  switch (*span.axis) {
    case Axis::kTensor:
      return RankStream::kTensor;
    case Axis::kExpert:
      return RankStream::kExpert;
    case Axis::kContext:
      return RankStream::kContext;
    case Axis::kPipeline:
      return RankStream::kPipeline;
    case Axis::kData:
      break;
  }
  const bool reduces =
      span.op >= 0 && operators.places[static_cast<std::size_t>(span.op)].role == TaskRole::kReduce;
  return reduces ? RankStream::kReduce : RankStream::kGather;
}

}  // namespace stepcast
