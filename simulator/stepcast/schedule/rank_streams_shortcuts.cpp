// SPDX-License-Identifier: Apache-2.0
// What the streams do without events: a program that runs by itself while at most one stream has
// communication queued. The times are those of the events in rank_streams.cpp, in a fraction of the
// time it takes to find them.

#include "stepcast/schedule/rank_streams.hpp"

namespace stepcast {

// A program by itself, as far as at most one stream has communication queued: the same as by
// events, in a fraction of the time.
void RankStreams::run_alone(Program& program) {
  for (; program.next < program.tasks.size(); ++program.next) {
    const StreamTask& task = program.tasks[program.next];
    if (open_.empty()) {
      if (!task.axis) {
        run_kernel(task);
      } else if (task.mode == TaskMode::kBlocking) {
        run_communication(task);
      } else if (task.mode != TaskMode::kJoin) {
        return;
      }
      continue;
    }
    const std::optional<std::size_t> busy = only_busy_stream();
    const bool queued = task.axis && (slot(*task.axis) == busy || task.mode != TaskMode::kBlocking);
    if (!busy || queued) {
      return;
    }
    task.axis ? run_communication_beside(task, *busy) : run_kernel_beside(task, *busy);
  }
}

std::optional<std::size_t> RankStreams::only_busy_stream() const {
  std::optional<std::size_t> busy;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (!streams_[axis].idle()) {
      if (busy) {
        return std::nullopt;
      }
      busy = axis;
    }
  }
  return busy;
}

// The communication of `axis` goes on at full rate until the kernel is launched, then both at their
// slower rates; what is queued behind it follows.
void RankStreams::run_kernel_beside(const StreamTask& task, std::size_t axis) {
  launch(task);
  Stream& stream = streams_[axis];
  const Seconds start = max(totals_.now, totals_.host);
  while (!stream.idle()) {
    Communication& first = stream.front();
    if (awaits_launch(axis)) {
      idle_until(first.launched);  // before the kernel's: the host launched it before
    }
    begin_communication(axis);
    if (totals_.now + first.left > start) {
      break;
    }
    totals_.spent.host += first.left;
    totals_.now += first.left;
    finish(axis);
  }
  const Seconds idle = start - totals_.now;
  totals_.spent.host += idle;
  totals_.now = start;
  if (!stream.idle() && running(axis)) {
    stream.front().left -= idle;
  }
  end_kernel(task, start, share_with(task, axis));
}

// Runs a kernel that has started for as long as communication of `axis` lasts; returns what is left
// of it then.
Seconds RankStreams::share_with(const StreamTask& task, std::size_t axis) {
  Stream& stream = streams_[axis];
  Seconds left = task.duration;
  while (!stream.idle() && left > Seconds{}) {
    const bool began = running(axis) || !(left < task.duration);
    if (!began && waits_for_end(stream.front().task, task)) {
      break;
    }
    begin_communication(axis);
    Communication& first = stream.front();
    const double rate = rate_beside(task, first.task);
    const double slower =
        slowdown_beside(first.task, task) / left_of_fabric(first.task, task, rate);
    const Seconds both = min(left / rate, slower * first.left);
    const bool ends = slower * first.left <= both;
    totals_.spent.contention += (1.0 - rate) * both;
    totals_.now += both;
    left -= rate * both;
    first.left = ends ? Seconds{} : first.left - both / slower;
    if (ends) {
      finish(axis);
    }
  }
  return max(Seconds{}, left);
}

void RankStreams::run_kernel(const StreamTask& task) {
  launch(task);
  idle_until(totals_.host);
  end_kernel(task, totals_.now, task.duration);
}

// `left`: what is still to run of the kernel, now that no communication slows it down.
void RankStreams::end_kernel(const StreamTask& task, Seconds start, Seconds left) {
  totals_.spent.compute += task.duration;
  totals_.energy += task.energy;
  totals_.now += left;
  hold_host(task);
  note(task, start, start);
}

void RankStreams::run_communication(const StreamTask& task) {
  launch(task);
  idle_until(totals_.host);
  const Seconds start = totals_.now;
  totals_.communicated[slot(*task.axis)] += task.duration + task.hidden;
  totals_.spent.exposed[slot(*task.axis)] += task.duration;
  totals_.now += task.duration;
  ++tickets_;
  hold_host(task);
  note(task, start, start);
}

// What the stream of `axis` has queued runs by itself until `time`.
void RankStreams::run_until(Seconds time, std::size_t axis) {
  Stream& stream = streams_[axis];
  while (totals_.now < time) {
    if (stream.idle() || awaits_launch(axis)) {
      idle_until(stream.idle() ? time : min(time, stream.front().launched));
      continue;
    }
    begin_communication(axis);
    Communication& first = stream.front();
    const Seconds passed = min(first.left, time - totals_.now);
    const bool ends = first.left <= passed;
    totals_.spent.host += passed;
    totals_.now = ends ? totals_.now + passed : time;
    first.left = ends ? Seconds{} : first.left - passed;
    if (ends) {
      finish(axis);
    }
  }
}

// Two communications over one fabric have half of it each; over two fabrics both run at full rate.
void RankStreams::run_communication_beside(const StreamTask& task, std::size_t axis) {
  launch(task);
  ++tickets_;
  const std::size_t own = slot(*task.axis);
  totals_.communicated[own] += task.duration + task.hidden;
  run_until(totals_.host, axis);
  const Seconds start = totals_.now;
  Seconds left = task.duration;
  while (left > Seconds{} && !streams_[axis].idle()) {
    begin_communication(axis);
    Communication& first = streams_[axis].front();
    const bool one_fabric = task.fabric != Fabric::kNone && first.task.fabric == task.fabric;
    const Seconds both = min(left, first.left);
    const Seconds passed = one_fabric ? 2.0 * both : both;
    totals_.spent.exposed[own] += passed;
    totals_.now += passed;
    left -= both;
    first.left -= both;
    if (!(first.left > Seconds{})) {
      finish(axis);
    }
  }
  totals_.spent.exposed[own] += left;
  totals_.now += left;
  hold_host(task);
  note(task, start, start);
}

}  // namespace stepcast
