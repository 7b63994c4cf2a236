// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/held_moments.hpp"

#include <algorithm>

namespace stepcast {
namespace {

template <typename Values>
bool at_most(const Values& a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) {
      return false;
    }
  }
  return true;
}

bool at_most(const HeldMoment& a, const HeldMoment& b) {
  return at_most(a.held, b.held) && at_most(a.has_gradients, b.has_gradients) &&
         at_most(a.forwards, b.forwards);
}

struct Candidate {
  HeldMoment moment;
  std::size_t place = 0;  // in the order
};

// Moments of one kind and chunk, none at most another.
class Candidates {
 public:
  void add(const HeldMoment& moment, std::size_t place) {
    const auto above = [&](const Candidate& other) { return at_most(moment, other.moment); };
    if (std::any_of(list_.rbegin(), list_.rend(), above)) {
      return;
    }
    std::erase_if(list_, [&](const Candidate& other) { return at_most(other.moment, moment); });
    list_.push_back({moment, place});
  }
  [[nodiscard]] const std::vector<Candidate>& list() const { return list_; }

 private:
  std::vector<Candidate> list_;
};

class Walk {
 public:
  explicit Walk(std::int64_t chunks)
      : forwards_(static_cast<std::size_t>(chunks)), backwards_(static_cast<std::size_t>(chunks)) {
    const auto count = static_cast<std::size_t>(chunks);
    now_.held.resize(count);
    now_.has_gradients.resize(count);
    now_.forwards.resize(count);
  }

  void take(std::int32_t chunk, std::size_t place) {
    const auto own = static_cast<std::size_t>(chunk);
    ++now_.held[own];
    most_held_ = std::max(most_held_, ++all_held_);
    note(forwards_[own], chunk, false, place);
    ++now_.forwards[own];
  }
  void give_back(std::int32_t chunk, std::size_t place) {
    const auto own = static_cast<std::size_t>(chunk);
    note(backwards_[own], chunk, true, place);
    --now_.held[own];
    --all_held_;
    now_.has_gradients[own] = 1;
  }

  [[nodiscard]] HeldMoments result() const {
    std::vector<Candidate> all;
    for (const std::vector<Candidates>* kind : {&forwards_, &backwards_}) {
      for (const Candidates& chunk : *kind) {
        all.insert(all.end(), chunk.list().begin(), chunk.list().end());
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.place < b.place; });
    HeldMoments moments;
    moments.most_held = most_held_;
    for (Candidate& candidate : all) {
      moments.moments.push_back(std::move(candidate.moment));
    }
    return moments;
  }

 private:
  void note(Candidates& among, std::int32_t chunk, bool backward, std::size_t place) {
    now_.chunk = chunk;
    now_.backward = backward;
    among.add(now_, place);
  }

  HeldMoment now_;
  std::int64_t all_held_ = 0;
  std::int64_t most_held_ = 0;
  std::vector<Candidates> forwards_;  // by chunk
  std::vector<Candidates> backwards_;
};

}  // namespace

HeldMoments held_moments(const RankOrder& order, std::int64_t chunks) {
  Walk walk(chunks);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ActivationChange change = activation_change(order[i]);
    if (change.taken != kNoChunk) {
      walk.take(change.taken, i);
    }
    if (change.returned != kNoChunk) {
      walk.give_back(change.returned, i);
    }
  }
  return walk.result();
}

}  // namespace stepcast
