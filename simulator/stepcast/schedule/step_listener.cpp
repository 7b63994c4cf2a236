// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_listener.hpp"

#include <array>

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

std::string_view name(PassPart part) {
  constexpr std::array<std::string_view, 7> kNames = {
      "parameters",           "forward",  "backward", "input gradient", "weight gradient",
      "forward and backward", "optimizer"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace stepcast
