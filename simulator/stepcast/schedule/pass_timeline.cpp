// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pass_timeline.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr double kSame = 1e-12;  // of a unit's duration: rounding, and nothing else

bool same(Seconds a, Seconds b, Seconds scale) {
  return std::abs((a - b).value()) <= kSame * scale.value();
}

bool happens(Frequency frequency, bool once) {
  return frequency == Frequency::kEveryMicroBatch || (frequency == Frequency::kOnceAStep && once);
}

bool gathers_beside(const StageProgram& program) {
  return program.rule.forward_gather == Frequency::kEveryMicroBatch ||
         program.software.overlap_param_gather;
}

Seconds alone(const TaskList& tasks) {
  Seconds sum;
  for (const StreamTask& task : tasks) {
    sum += task.alone;
  }
  return sum;
}

class Pass {
 public:
  Pass(const StageProgram& program, const PassPlace& place, std::vector<StreamSpan>* record)
      : program_(program),
        place_(place),
        exact_(record == nullptr),
        streams_(place.host_lead, record),
        turns_(unit_turns(program.runs)) {}

  PassTime forward() {
    gathers_ = happens(program_.rule.forward_gather, place_.first);
    if (place_.first) {
      // Those of the first unit, or all where the software does not gather beside forward, ended
      // before.
      gathers_ = gathers_ && gathers_beside(program_);
    } else {
      prefetch(0);
    }
    ticket_ = 0;  // gathered beside the pass before
    run_turns([this](std::size_t turn) { forward_turn(turn); });
    return result();
  }

  PassTime backward() {
    backward_ = true;
    std::reverse(turns_.begin(), turns_.end());
    gathers_ = happens(program_.rule.backward_gather, false);
    reduces_ = happens(program_.rule.reduce, place_.last);
    prefetch(0);
    run_turns([this](std::size_t turn) { backward_turn(turn); });
    if (reduces_ && !reduces_beside()) {
      for (const UnitTurn& turn : turns_) {
        reduce(tasks(turn));
      }
    }
    const PassTime time = result();
    streams_.wait_for_all();  // for the record: what is left ends after the pass
    return time;
  }

 private:
  [[nodiscard]] const UnitTasks& tasks(const UnitTurn& turn) const {
    return program_.tasks.units[turn.unit];
  }
  [[nodiscard]] const UnitSums& sums(const UnitTurn& turn) const {
    return program_.tasks.sums[turn.unit];
  }
  [[nodiscard]] bool reduces_beside() const { return program_.software.overlap_grad_reduce; }
  [[nodiscard]] bool gathers(std::size_t turn) const {
    const UnitTasks& unit = tasks(turns_[turn]);
    return gathers_ && !unit.gather.empty() && !(backward_ && unit.held);
  }

  [[nodiscard]] std::int64_t gathers_of_unit() const {
    return backward_ ? program_.rule.backward_gathers : 1;
  }

  // Posts the gather of the first unit from `turn` on that has one.
  void prefetch(std::size_t turn) {
    while (turn < turns_.size() && !gathers(turn)) {
      ++turn;
    }
    ticket_ = 0;
    if (turn < turns_.size()) {
      for (std::int64_t i = 0; i < gathers_of_unit(); ++i) {
        ticket_ = streams_.post(tasks(turns_[turn]).gather);
      }
    }
  }

  void receive(std::size_t turn) {
    if (!gathers(turn)) {
      return;
    }
    if (ticket_ != 0) {
      streams_.wait(ticket_);
    }
    for (std::int64_t i = 0; i < gathers_of_unit(); ++i) {
      streams_.run(tasks(turns_[turn]).copy_out);
    }
    prefetch(turn + 1);
  }

  void forward_turn(std::size_t turn) {
    receive(turn);
    streams_.run(tasks(turns_[turn]).forward, sums(turns_[turn]).forward);
  }

  void backward_turn(std::size_t turn) {
    const UnitTasks& unit = tasks(turns_[turn]);
    receive(turn);
    if (turns_[turn].again) {
      streams_.run(unit.again, sums(turns_[turn]).again);
    }
    streams_.run(unit.backward, sums(turns_[turn]).backward);
    if (reduces_ && reduces_beside()) {
      reduce(unit);
    }
    if (place_.last) {
      reduced_ = std::max(reduced_, streams_.post(unit.replicas));
    }
  }

  // The buffer of the reduction before is free when it has ended.
  void reduce(const UnitTasks& unit) {
    if (unit.reduce.empty()) {
      return;
    }
    streams_.run(unit.before_reduce);
    if (!unit.before_reduce.empty()) {
      streams_.wait(reduced_);
    }
    reduced_ = streams_.post(unit.reduce);
  }

  // Runs every turn, or leaves out those that only repeat.
  template <typename RunTurn>
  void run_turns(RunTurn run_turn) {
    StreamTotals before;
    StreamTotals middle = streams_.totals();
    streams_.left_of_tasks(left_);
    for (std::size_t turn = 0; turn < turns_.size(); ++turn) {
      before = middle;
      std::swap(left_, left_before_);
      middle = streams_.totals();
      run_turn(turn);
      streams_.left_of_tasks(left_);
      const std::size_t rest = repeating(turn);
      if (exact_ && rest > 0 && repeats(before, middle)) {
        streams_.repeat_since(middle, static_cast<std::int64_t>(rest));
        turn += rest;
      }
    }
  }

  // Turns after `turn` that do the same as it and the one before did, the last of its kind, whose
  // successor is another one, left out.
  [[nodiscard]] std::size_t repeating(std::size_t turn) const {
    if (turn == 0 || !(turns_[turn - 1] == turns_[turn])) {
      return 0;
    }
    std::size_t end = turn;
    while (end + 1 < turns_.size() && turns_[end + 1] == turns_[turn]) {
      ++end;
    }
    return end > turn + 1 ? end - turn - 1 : 0;
  }

  // Whether the last turn took what the one before it took, and the host cannot fall behind later.
  [[nodiscard]] bool repeats(const StreamTotals& first, const StreamTotals& second) const {
    const StreamTotals& third = streams_.totals();
    const Seconds duration = third.now - second.now;
    const TimeBreakdown difference = (third.spent - second.spent) - (second.spent - first.spent);
    Seconds off = max(difference.compute, -1.0 * difference.compute);
    off += max(difference.contention, -1.0 * difference.contention);
    off += max(difference.host, -1.0 * difference.host);
    bool equal = same(off, Seconds{}, duration);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      equal = equal && same(difference.exposed[axis], Seconds{}, duration);
    }
    equal =
        equal && std::equal(left_.begin(), left_.end(), left_before_.begin(), left_before_.end(),
                            [&](Seconds a, Seconds b) { return same(a, b, duration); });
    const Seconds lead_before = second.now - second.host;
    const Seconds lead = third.now - third.host;
    const bool keeps_up =
        lead >= lead_before || same(lead, lead_before, duration) || lead > Seconds(1e5);
    return equal && keeps_up;
  }

  PassTime result() {
    const StreamTotals& totals = streams_.totals();
    PassTime time;
    time.spent = totals.spent;
    // However far ahead the host was, passes that repeat cannot be faster than it launches them.
    time.spent.host += max(Seconds{}, totals.launching - totals.now);
    // What is left goes on after the pass; whoever waits for it counts it as exposed.
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      time.hidden.exposed[axis] =
          max(Seconds{}, totals.communicated[axis] - time.spent.exposed[axis]);
    }
    time.energy = totals.energy;
    time.host_lead = streams_.host_lead();
    time.backlog = streams_.backlog()[slot(Axis::kData)];
    if (backward_) {
      for (const UnitTurn& turn : turns_) {
        time.weight += sums(turn).backward.weight;
      }
    }
    return time;
  }

  const StageProgram& program_;
  PassPlace place_;
  bool exact_;
  RankStreams streams_;
  std::vector<UnitTurn> turns_;
  bool backward_ = false;
  bool gathers_ = false;
  bool reduces_ = false;
  std::int64_t ticket_ = 0;   // of the gather that was posted last
  std::int64_t reduced_ = 0;  // ticket of the reduction that was posted last
  // Of the tasks of communication, after the last turn and the one before.
  std::vector<Seconds> left_;
  std::vector<Seconds> left_before_;
};

}  // namespace

GatherTime first_gather(const StageProgram& program) {
  GatherTime time;
  if (!happens(program.rule.forward_gather, true)) {
    return time;
  }
  for (const UnitRun& run : program.runs) {
    const Seconds unit = alone(program.tasks.units[run.unit].gather);
    time.first = time.first > Seconds{} ? time.first : unit;
    time.all += static_cast<double>(run.count) * unit;
  }
  if (!gathers_beside(program)) {
    time.first = time.all;
  }
  return time;
}

PassTime forward_pass(const StageProgram& program, const PassPlace& place,
                      std::vector<StreamSpan>* record) {
  return Pass(program, place, record).forward();
}

PassTime backward_pass(const StageProgram& program, const PassPlace& place,
                       std::vector<StreamSpan>* record) {
  return Pass(program, place, record).backward();
}

}  // namespace stepcast
