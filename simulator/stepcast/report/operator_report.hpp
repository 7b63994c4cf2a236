// SPDX-License-Identifier: Apache-2.0
// The operators of a step, each with its price and why, as text, JSON and CSV:
//
//   operator     pass  count  shape                 tile     waves     time    share          rate
//   mlp.gate_up  fwd     160  8192 x 57344 x 8192   256x128   37.5  11.2 ms   21.3 %   687 TFLOP/s
//
//   roofline = the time that no kernel beats (cost/roofline_bound.hpp) / predicted time
//   share    = count * time / time of all computation, the optimizer included
//
// Communication is listed before anything hides it, so that its shares come on top of 100 %.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/report/projection.hpp"
#include "stepcast/report/sensitivity.hpp"
#include "stepcast/schedule/critical_path.hpp"
#include "stepcast/schedule/operator_inventory.hpp"

namespace stepcast {

struct ExplainedOp {
  CountedOp counted;
  OpCost cost;                   // of one call, with terms
  Seconds bound;                 // no kernel is faster; zero: there is no such bound
  Bytes interconnect{};          // that a communication carries (interconnect_bytes)
  CommunicationBytes experts{};  // of a communication between the ranks of experts

  [[nodiscard]] bool communicates() const { return communication_axis(counted.op).has_value(); }
  [[nodiscard]] Seconds total() const { return static_cast<double>(counted.count) * cost.duration; }
};

// What limits a part of the step of the slowest rank.
struct LimitedTime {
  std::string_view limit;  // "HBM", with static lifetime
  Seconds time;
};

struct Explanation {
  Projection projection;
  std::vector<ExplainedOp> operators;  // of the slowest pipeline rank, most total time first
  std::vector<LimitedTime> limits;     // of the step of that rank, most time first
  std::vector<PathSegment> path;       // that determines the step; adds up to it
  std::vector<Sensitivity> sensitivities;

  [[nodiscard]] Seconds computation() const;  // optimizer included
  [[nodiscard]] Seconds communication() const;
  // Of the computation.
  [[nodiscard]] double share(const ExplainedOp& op) const;
};

// `detail` says whether each operator's terms are shown.
std::string to_text(const Explanation& explanation, Detail detail);
nlohmann::ordered_json to_json(const Explanation& explanation, Detail detail);
std::string to_csv(const Explanation& explanation, Detail detail);

}  // namespace stepcast
