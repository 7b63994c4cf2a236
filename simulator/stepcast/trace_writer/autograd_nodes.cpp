// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/autograd_nodes.hpp"

#include <algorithm>
#include <optional>

namespace stepcast {
namespace {

// The forward call of each number.
using NumberedCalls = std::vector<std::pair<std::int64_t, std::size_t>>;

NumberedCalls forward_calls(const std::vector<DeviceSlice>& slices) {
  NumberedCalls calls;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].sequence != 0 && !slices[i].in_backward) {
      calls.emplace_back(slices[i].sequence, i);
    }
  }
  std::ranges::sort(calls);
  return calls;
}

class ThreadReader {
 public:
  explicit ThreadReader(const std::vector<DeviceSlice>& slices)
      : slices_(slices), forward_(forward_calls(slices)), has_arrow_(forward_.size()) {}

  AutogradThread thread() {
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (slices_[i].recomputed) {
        recompute(i);
      } else if (slices_[i].in_backward) {
        run(i);
      } else if (slices_[i].launched_by == HostThread::kBackward) {
        frame_is_open_ = false;
      }
    }
    return std::move(made_);
  }

 private:
  void recompute(std::size_t call) {
    if (frame_is_open_) {
      made_.recomputations.back().last = call;
    } else {
      made_.recomputations.push_back({call, call});
    }
    frame_is_open_ = true;
    begun_ = begun_.value_or(call);
  }

  void run(std::size_t call) {
    frame_is_open_ = false;
    const bool goes_on = call > 0 && !begun_ && slices_[call - 1].in_backward &&
                         slices_[call - 1].sequence == slices_[call].sequence;
    if (goes_on) {
      made_.nodes.back().around.last = call;
      return;
    }
    AutogradNode& node = made_.nodes.emplace_back();
    node.around = {begun_.value_or(call), call};
    node.own = call;
    begun_.reset();
    draw_arrow(node);
  }

  void draw_arrow(AutogradNode& node) {
    const std::int64_t sequence = slices_[node.own].sequence;
    const auto forward = std::ranges::lower_bound(forward_, std::pair(sequence, std::size_t{0}));
    if (forward == forward_.end() || forward->first != sequence) {
      return;
    }
    const auto place = static_cast<std::size_t>(forward - forward_.begin());
    if (!has_arrow_[place]) {
      has_arrow_[place] = true;
      node.arrow = ++arrows_;
      node.forward = forward->second;
    }
  }

  const std::vector<DeviceSlice>& slices_;
  NumberedCalls forward_;
  std::vector<bool> has_arrow_;       // of `forward_`
  std::optional<std::size_t> begun_;  // the first call that the next node recomputes
  bool frame_is_open_ = false;        // the last call of the thread was recomputed
  std::int64_t arrows_ = 0;
  AutogradThread made_;
};

}  // namespace

AutogradThread autograd_thread(const std::vector<DeviceSlice>& slices) {
  return ThreadReader(slices).thread();
}

}  // namespace stepcast
