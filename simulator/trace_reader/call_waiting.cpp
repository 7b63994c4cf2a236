// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/call_waiting.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace stepcast {
namespace {

// The longest that a collective was seen to take beside computation, of its time alone: two H100,
// NCCL 2.28, 436 MB in 16 bits beside copies that take all of HBM's bandwidth, 2.46 gathers, 2.42
// reductions in 16 bits and 2.49 in fp32, 3.27 exchanges. Beside products it is 1.6 to 1.9.
constexpr double kSlowest = 2.5;
constexpr double kSlowestExchange = 3.3;

double slowest(StepCategory category) {
  const bool exchanges = category == StepCategory::kAllToAll || category == StepCategory::kSendRecv;
  return exchanges ? kSlowestExchange : kSlowest;
}

double unknown() { return std::numeric_limits<double>::infinity(); }

// The shortest calls of each collective of the same ranks, by their bytes.
class LeastTimes {
 public:
  explicit LeastTimes(const std::vector<LoneCall>& calls) {
    for (const LoneCall& call : calls) {
      if (call.bytes > 0.0) {
        const double duration = call.end - call.start;
        Durations& of_like = shortest_[{call.category, call.group}];
        const auto [known, is_new] = of_like.try_emplace(call.bytes, duration);
        known->second = std::min(known->second, duration);
      }
    }
    for (auto& [like, durations] : shortest_) {
      double least = unknown();
      for (auto of_bytes = durations.rbegin(); of_bytes != durations.rend(); ++of_bytes) {
        of_bytes->second = least = std::min(least, of_bytes->second);
      }
    }
  }

  // Infinite where its bytes are not known.
  [[nodiscard]] double of(const LoneCall& call) const {
    return call.bytes > 0.0 ? std::min(of_like(call.category, call),
                                       2.0 * of_like(StepCategory::kAllReduce, call))
                            : unknown();
  }

 private:
  using Durations = std::map<double, double>;  // of bytes: of these or more

  [[nodiscard]] double of_like(StepCategory category, const LoneCall& call) const {
    const auto known = shortest_.find({category, call.group});
    if (known == shortest_.end()) {
      return unknown();
    }
    const auto least = known->second.lower_bound(call.bytes);
    return least == known->second.end() ? unknown() : least->second;
  }

  std::map<std::pair<StepCategory, std::string>, Durations> shortest_;
};

// From the end of the call back to where what lies between moves `needed` seconds' worth.
double transfer_start(const LoneCall& call, double needed, const BusyTimes& computing) {
  double at = call.end;
  auto next = std::ranges::upper_bound(computing, call.end, {}, &BusyTimes::value_type::first);
  while (at > call.start && needed > 0.0) {
    const bool has_more = next != computing.begin();
    const auto [busy_from, busy_until] = has_more ? *std::prev(next) : std::pair(0.0, call.start);
    const double alone_from = std::max(call.start, std::min(at, busy_until));
    const double alone = std::min(needed, at - alone_from);
    at -= alone;
    needed -= alone;
    const double beside_from = has_more ? std::max(call.start, busy_from) : at;
    const double rate = 1.0 / slowest(call.category);
    const double beside = std::min(needed / rate, std::max(0.0, at - beside_from));
    at -= beside;
    needed -= beside * rate;
    if (!has_more) {
      break;
    }
    --next;
  }
  return std::max(call.start, at);
}

}  // namespace

std::vector<CallTime> lone_waiting(const std::vector<LoneCall>& calls, const BusyTimes& computing) {
  const LeastTimes shortest(calls);
  std::vector<CallTime> times(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const double duration = calls[i].end - calls[i].start;
    const double least = shortest.of(calls[i]);
    times[i].least = Seconds(std::min(duration, least));
    if (least < duration) {
      times[i].waiting = Seconds(transfer_start(calls[i], least, computing) - calls[i].start);
    }
  }
  return times;
}

}  // namespace stepcast
