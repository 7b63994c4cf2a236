// SPDX-License-Identifier: Apache-2.0
// Wall time by what it is spent on; every instant counts once.
#pragma once

#include <array>

#include "stepcast/base/units.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

struct TimeBreakdown {
  Seconds compute;
  Seconds contention;  // that computation takes longer beside the communication that it hides
  std::array<Seconds, kAxes> exposed;  // communication that nothing hides, by axis
  Seconds bubble;
  Seconds optimizer;
  Seconds host;  // nothing runs because nothing is launched

  [[nodiscard]] Seconds total() const;
  [[nodiscard]] Seconds communication() const;
  // That kernels run.
  [[nodiscard]] Seconds busy() const { return compute + contention + optimizer; }
  TimeBreakdown& operator+=(const TimeBreakdown& other);
};
TimeBreakdown operator*(double factor, TimeBreakdown breakdown);
TimeBreakdown operator-(TimeBreakdown a, const TimeBreakdown& b);

constexpr std::size_t slot(Axis axis) { return static_cast<std::size_t>(axis); }

}  // namespace stepcast
