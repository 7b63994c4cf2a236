// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/rank_streams.hpp"

#include <limits>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

constexpr Seconds kNoEnd{std::numeric_limits<double>::infinity()};

}  // namespace

void RankStreams::run(std::span<const StreamTask> first, std::span<const StreamTask> second) {
  std::array<Program, 2> programs;
  programs[0].tasks = first;
  programs[1].tasks = second;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const Stream& stream = streams_[axis];
    const std::int64_t before = stream.idle() ? 0 : stream.tasks.back().ticket;
    programs[0].started[axis] = programs[1].started[axis] = before;
  }
  if (second.empty()) {
    run_alone(programs[0]);
  }
  for (;;) {
    start_what_can(programs);
    if (programs[0].ended() && programs[1].ended()) {
      return;
    }
    advance(programs);
  }
}

std::int64_t RankStreams::post(std::span<const StreamTask> communication) {
  for (const StreamTask& task : communication) {
    enqueue(task);
  }
  return tickets_;
}

// Communication of the lowest axis first, so that all of it is waited for.
void RankStreams::wait(std::int64_t ticket) {
  std::array<Program, 1> waiting;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    while (!streams_[axis].idle() && streams_[axis].front().ticket <= ticket) {
      waiting[0].awaited = streams_[axis].front().ticket;
      waiting[0].awaited_axis = static_cast<Axis>(axis);
      start_communication();
      advance(waiting);
    }
  }
}

std::array<Seconds, kAxes> RankStreams::backlog() const {
  std::array<Seconds, kAxes> left{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const Stream& stream = streams_[axis];
    for (std::size_t i = stream.head; i < stream.tasks.size(); ++i) {
      left[axis] += stream.tasks[i].left;
    }
  }
  return left;
}

void RankStreams::left_of_tasks(std::vector<Seconds>& left) const {
  left.clear();
  for (const Stream& stream : streams_) {
    left.emplace_back(-1.0);
    for (std::size_t i = stream.head; i < stream.tasks.size(); ++i) {
      left.push_back(stream.tasks[i].left);
    }
  }
}

void RankStreams::repeat_since(const StreamTotals& before, std::int64_t times) {
  const auto n = static_cast<double>(times);
  const Seconds shift = n * (totals_.now - before.now);
  const Seconds launched = n * (totals_.host - before.host);
  totals_.host += launched;
  totals_.spent += n * (totals_.spent - before.spent);
  totals_.energy += n * (totals_.energy - before.energy);
  totals_.launching += n * (totals_.launching - before.launching);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    totals_.communicated[axis] += n * (totals_.communicated[axis] - before.communicated[axis]);
    Stream& stream = streams_[axis];
    for (std::size_t i = stream.head; i < stream.tasks.size(); ++i) {
      stream.tasks[i].queued += shift;
      stream.tasks[i].launched += launched;
      if (stream.tasks[i].start >= Seconds{}) {
        stream.tasks[i].start += shift;
      }
    }
  }
  totals_.now += shift;
}

// --- programs ---------------------------------------------------------------------------------

// A program goes on until it waits; while the stream of computation is busy it waits for that.
void RankStreams::start_what_can(std::span<Program> programs) {
  bool progress = true;
  while (progress) {
    progress = false;
    for (Program& program : programs) {
      while (step(program)) {
        progress = true;
      }
    }
  }
  start_communication();
}

bool RankStreams::step(Program& program) {
  if (program.computes || (program.awaited != 0 && !ended(program.awaited))) {
    return false;
  }
  program.awaited = 0;
  if (program.next == program.tasks.size()) {
    return false;
  }
  const StreamTask& task = program.tasks[program.next];
  if (!task.axis) {
    if (owner_ != nullptr) {
      return false;
    }
    begin(program, task);
  } else if (task.mode == TaskMode::kJoin) {
    program.awaited = program.started[slot(*task.axis)];
    program.awaited_axis = *task.axis;
  } else {
    const std::int64_t ticket = enqueue(task);
    program.started[slot(*task.axis)] = ticket;
    if (task.mode == TaskMode::kBlocking) {
      program.awaited = ticket;
      program.awaited_axis = *task.axis;
    }
  }
  ++program.next;
  return true;
}

void RankStreams::begin(Program& program, const StreamTask& task) {
  launch(task);
  compute_cause_ = max(totals_.now, totals_.host);
  compute_start_ = compute_cause_;
  computing_ = task;
  compute_left_ = task.duration;
  owner_ = &program;
  program.computes = true;
}

std::int64_t RankStreams::enqueue(const StreamTask& task) {
  launch(task);
  totals_.communicated[slot(*task.axis)] += task.duration + task.hidden;
  Stream& stream = streams_[slot(*task.axis)];
  if (stream.idle()) {
    stream.tasks.clear();
    stream.head = 0;
  }
  ++tickets_;
  stream.tasks.push_back({.task = task,
                          .left = task.duration,
                          .queued = totals_.now,
                          .launched = totals_.host,
                          .cause = {},
                          .ticket = tickets_});
  open_.push_back(tickets_);
  return tickets_;
}

bool RankStreams::ended(std::int64_t ticket) const {
  return std::find(open_.begin(), open_.end(), ticket) == open_.end();
}

// --- time -------------------------------------------------------------------------------------

void RankStreams::start_communication() {
  for (std::size_t axis = 0; axis < kAxes && !open_.empty(); ++axis) {
    const bool waits = !running(axis) && !streams_[axis].idle();
    if (waits && !awaits_launch(axis) && !awaits_units(axis)) {
      begin_communication(axis);
    }
  }
}

// How much of the kernel's duration passes in a second; 0 if no kernel runs.
double RankStreams::compute_rate() const {
  if (owner_ == nullptr || compute_start_ > totals_.now) {
    return 0.0;
  }
  double rate = 1.0;
  for (std::size_t axis = 0; running_ != 0 && axis < kAxes; ++axis) {
    if (running(axis)) {
      rate = std::min(rate, rate_beside(computing_, streams_[axis].front().task));
    }
  }
  return rate;
}

double RankStreams::communication_rate(std::size_t axis) const {
  const StreamTask& task = streams_[axis].front().task;
  double sharing = 1.0;
  const bool others = running_ != 1U << axis;
  for (std::size_t other = 0; others && other < kAxes; ++other) {
    if (other != axis && running(other) && task.fabric != Fabric::kNone &&
        streams_[other].front().task.fabric == task.fabric) {
      sharing += 1.0;
    }
  }
  const bool kernel_runs = owner_ != nullptr && compute_start_ <= totals_.now;
  if (!kernel_runs) {
    return 1.0 / sharing;
  }
  return left_of_fabric(task, computing_, compute_rate()) /
         (sharing * slowdown_beside(task, computing_));
}

void RankStreams::advance(std::span<Program> programs) {
  const double compute = compute_rate();
  Seconds step = kNoEnd;
  if (compute > 0.0) {
    step = compute_left_ / compute;
  } else if (owner_ != nullptr) {
    step = compute_start_ - totals_.now;
  }
  std::array<double, kAxes> rates{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (running(axis)) {
      rates[axis] = communication_rate(axis);
      step = min(step, streams_[axis].front().left / rates[axis]);
    } else if (!streams_[axis].idle() && awaits_launch(axis)) {
      step = min(step, streams_[axis].front().launched - totals_.now);
    }
  }
  STEPCAST_CHECK(step < kNoEnd, "the streams of a rank wait for each other");
  account(step, compute, programs);
  totals_.now += step;
  const bool launched = owner_ != nullptr && compute == 0.0 && totals_.now >= compute_start_;
  if (launched) {
    totals_.now = compute_start_;
  }
  pass(step, compute, rates);
}

// `step` passes for what runs, at these rates.
void RankStreams::pass(Seconds step, double compute, const std::array<double, kAxes>& rates) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (rates[axis] > 0.0) {
      Communication& first = streams_[axis].front();
      const Seconds all = first.left / rates[axis];
      first.left = all <= step ? Seconds{} : first.left - rates[axis] * step;
      if (all <= step) {
        finish(axis);
      }
    }
  }
  if (compute > 0.0) {
    const Seconds all = compute_left_ / compute;
    compute_left_ = all <= step ? Seconds{} : compute_left_ - compute * step;
    if (all <= step) {
      finish_computation();
    }
  }
}

// Computation counts first; then the communication that a program waits for; then the host.
void RankStreams::account(Seconds passed, double compute, std::span<const Program> programs) {
  if (compute > 0.0) {
    totals_.spent.compute += compute * passed;
    totals_.spent.contention += (1.0 - compute) * passed;
    return;
  }
  for (const Program& program : programs) {
    const auto axis = slot(program.awaited_axis);
    if (program.awaited != 0 && !ended(program.awaited) && !awaits_launch(axis)) {
      totals_.spent.exposed[slot(program.awaited_axis)] += passed;
      return;
    }
  }
  totals_.spent.host += passed;
}

void RankStreams::finish_computation() {
  totals_.energy += computing_.energy;
  hold_host(computing_);
  note(computing_, compute_start_, compute_cause_);
  owner_->computes = false;
  owner_ = nullptr;
}

}  // namespace stepcast
