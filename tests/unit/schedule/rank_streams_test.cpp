// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/rank_streams.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "catch.hpp"

namespace stepcast::rank_streams_test {
namespace {

using test::nearly;

constexpr Seconds kFarAhead{1e6};  // the host, unless a test is about it

StreamTask computes(double alone, double beside = 0.0) {
  StreamTask task;
  task.duration = Seconds(alone);
  task.contended = Seconds(beside > 0.0 ? beside : alone);
  return task;
}

StreamTask communicates(Axis axis, double alone, Fabric fabric = Fabric::kScaleUp) {
  StreamTask task;
  task.duration = Seconds(alone);
  task.contended = task.duration;
  task.axis = axis;
  task.fabric = fabric;
  return task;
}

StreamTask started(StreamTask task) {
  task.mode = TaskMode::kStart;
  return task;
}

StreamTask join(Axis axis) {
  StreamTask task = communicates(axis, 0.0);
  task.mode = TaskMode::kJoin;
  return task;
}

StreamTask launched_in(double host, StreamTask task) {
  task.host = Seconds(host);
  return task;
}

double exposed(const RankStreams& streams, Axis axis) {
  return streams.totals().spent.exposed[slot(axis)].value();
}

double now(const RankStreams& streams) { return streams.totals().now.value(); }

// --- one program ------------------------------------------------------------------------------

TEST_CASE("a program computes and waits for its communication in turn", "[unit]") {
  RankStreams streams(kFarAhead);
  StreamTask first = computes(4);
  first.energy = Joules(7);
  streams.run(TaskList{first, communicates(Axis::kTensor, 3), computes(5)});
  CHECK(now(streams) == 12.0);
  CHECK(streams.totals().spent.compute == Seconds(9));
  CHECK(exposed(streams, Axis::kTensor) == 3.0);
  CHECK(streams.totals().communicated[slot(Axis::kTensor)] == Seconds(3));
  CHECK(streams.totals().energy == Joules(7));
  CHECK(streams.totals().spent.host == Seconds{});
}

TEST_CASE("posted communication is hidden as far as there is computation", "[unit]") {
  const auto [length, end] = GENERATE(table<double, double>({{3, 10}, {10, 10}, {14, 14}}));
  RankStreams streams(kFarAhead);
  const std::int64_t ticket = streams.post(TaskList{communicates(Axis::kData, length)});
  streams.run(TaskList{computes(10)});
  CHECK(now(streams) == 10.0);
  streams.wait(ticket);
  CAPTURE(length);
  CHECK(now(streams) == end);
  CHECK(exposed(streams, Axis::kData) == end - 10.0);
  CHECK(streams.totals().communicated[slot(Axis::kData)] == Seconds(length));
}

TEST_CASE("a wait is for one ticket and what is before it on its stream", "[unit]") {
  RankStreams streams(kFarAhead);
  const std::int64_t first = streams.post(TaskList{communicates(Axis::kData, 3)});
  const std::int64_t second = streams.post(TaskList{communicates(Axis::kData, 4)});
  streams.post(TaskList{communicates(Axis::kData, 5)});
  streams.wait(first);
  CHECK(now(streams) == 3.0);
  streams.wait(second);
  streams.wait(first);
  CHECK(now(streams) == 7.0);
  CHECK(streams.backlog()[slot(Axis::kData)] == Seconds(5));
  streams.wait_for_all();
  CHECK(now(streams) == 12.0);
  CHECK(streams.backlog()[slot(Axis::kData)] == Seconds{});
}

TEST_CASE("a program joins what it started over an axis", "[unit]") {
  RankStreams streams(kFarAhead);
  streams.run(TaskList{started(communicates(Axis::kExpert, 6)), computes(4), join(Axis::kExpert),
                       computes(1)});
  CHECK(now(streams) == 7.0);  // 4 hidden, 2 waited for
  CHECK(exposed(streams, Axis::kExpert) == 2.0);
  streams.run(TaskList{join(Axis::kExpert), join(Axis::kTensor)});  // nothing left to wait for
  CHECK(now(streams) == 7.0);
  streams.run(TaskList{started(communicates(Axis::kExpert, 3)), computes(5), join(Axis::kExpert)});
  CHECK(now(streams) == 12.0);
  CHECK(exposed(streams, Axis::kExpert) == 2.0);
}

// The second program's exchange ends at 1, the first one's at 6; its second kernel runs from 2
// to 3.
TEST_CASE("a program does not wait for what the other one has queued", "[unit]") {
  RankStreams streams(kFarAhead);
  streams.run(TaskList{computes(1), communicates(Axis::kExpert, 5)},
              TaskList{started(communicates(Axis::kExpert, 1)), computes(1), join(Axis::kExpert),
                       computes(1)});
  CHECK(now(streams) == 6.0);
  CHECK(exposed(streams, Axis::kExpert) == 3.0);
}

// --- together ---------------------------------------------------------------------------------

TEST_CASE("computation is slower while communication runs, and only then", "[unit]") {
  // 10 alone and 12 beside: 6 beside communication do 5, the other 5 run alone.
  RankStreams streams(kFarAhead);
  streams.post(TaskList{communicates(Axis::kData, 6)});
  streams.run(TaskList{computes(10, 12)});
  CHECK(now(streams) == nearly(11.0));
  CHECK(streams.totals().spent.compute.value() == nearly(10.0));
  CHECK(streams.totals().spent.contention.value() == nearly(1.0));

  RankStreams throughout(kFarAhead);
  throughout.post(TaskList{communicates(Axis::kData, 20)});
  throughout.run(TaskList{computes(10, 12)});
  CHECK(now(throughout) == nearly(12.0));
  CHECK(throughout.totals().spent.contention.value() == nearly(2.0));
}

TEST_CASE("communication is slower while computation runs, and only then", "[unit]") {
  // At half its speed beside 4 of computation it does 2 of its 6.
  RankStreams streams(kFarAhead);
  StreamTask reduction = communicates(Axis::kData, 6);
  reduction.stretch = {2.0, 2.0};
  streams.post(TaskList{reduction});
  streams.run(TaskList{computes(4)});
  CHECK(streams.backlog()[slot(Axis::kData)].value() == nearly(4.0));
  streams.wait_for_all();
  CHECK(now(streams) == nearly(8.0));
  CHECK(exposed(streams, Axis::kData) == nearly(4.0));
}

TEST_CASE("a copy beside a kernel takes turns with it: both take the sum of their times",
          "[unit]") {
  StreamTask copy = communicates(Axis::kData, 3, Fabric::kNone);
  copy.sharing = UnitSharing::kTakesTurns;
  copy.stretch = {2.0, 2.0};
  for (const bool by_events : {false, true}) {
    CAPTURE(by_events);
    RankStreams streams(kFarAhead);
    const std::int64_t ticket = streams.post(std::vector<StreamTask>{copy});
    if (by_events) {
      streams.run(std::vector<StreamTask>{computes(10)}, std::vector<StreamTask>{computes(0)});
    } else {
      streams.run(std::vector<StreamTask>{computes(10)});
    }
    streams.wait(ticket);
    CHECK(now(streams) == nearly(13.0));
    CHECK(streams.totals().spent.compute.value() == nearly(10.0));
    CHECK(streams.totals().spent.contention.value() == nearly(3.0));
  }
}

TEST_CASE("a copy beside a kernel that keeps its units waits for the most part", "[unit]") {
  StreamTask copy = communicates(Axis::kData, 3, Fabric::kNone);
  copy.sharing = UnitSharing::kTakesTurns;
  copy.stretch = {2.0, 2.0};
  StreamTask product = computes(9.8);
  product.sharing = UnitSharing::kKeepsUnits;
  product.beside_copies = {.kernel_rate = 0.98, .copy_rate = 0.15};
  for (const bool by_events : {false, true}) {
    CAPTURE(by_events);
    RankStreams streams(kFarAhead);
    const std::int64_t ticket = streams.post(std::vector<StreamTask>{copy});
    if (by_events) {
      streams.run(std::vector<StreamTask>{product}, std::vector<StreamTask>{computes(0)});
    } else {
      streams.run(std::vector<StreamTask>{product});
    }
    // The product takes 9.8 / 0.98, in which 0.15 of the copy's time passes; its rest follows.
    streams.wait(ticket);
    CHECK(now(streams) == nearly(10.0 + 3.0 - 1.5));
    CHECK(streams.totals().spent.contention.value() == nearly(0.2));
  }
}

TEST_CASE("communication that awaits units begins where a kernel that keeps them begins or ends",
          "[unit]") {
  StreamTask gather = communicates(Axis::kData, 4);
  gather.sharing = UnitSharing::kAwaitsUnits;
  StreamTask product = computes(10);
  product.sharing = UnitSharing::kKeepsUnits;
  for (const bool by_events : {false, true}) {
    CAPTURE(by_events);
    const auto run = [&](RankStreams& streams, const TaskList& kernels) {
      by_events ? streams.run(kernels, TaskList{computes(0)}) : streams.run(kernels);
    };
    // The first gather begins with the product, the second, queued behind it, with the next one.
    std::vector<StreamSpan> spans;
    RankStreams streams(kFarAhead, &spans);
    const std::int64_t ticket = streams.post(TaskList{gather, gather});
    run(streams, TaskList{product, product});
    streams.wait(ticket);
    std::vector<double> starts;
    for (const StreamSpan& span : spans) {
      if (span.axis) {
        starts.push_back(span.start.value());
      }
    }
    CHECK(starts == std::vector<double>{0.0, 10.0});
    CHECK(now(streams) == nearly(20.0));
    // Beside a kernel that leaves units it begins when the one before has ended.
    spans.clear();
    RankStreams leaves(kFarAhead, &spans);
    const std::int64_t second = leaves.post(TaskList{gather, gather});
    run(leaves, TaskList{computes(10)});
    leaves.wait(second);
    CHECK(leaves.backlog()[slot(Axis::kData)] == Seconds{});
    CHECK(now(leaves) == nearly(10.0));
  }
}

TEST_CASE("communications share one fabric, and each has another to itself", "[unit]") {
  const auto end_of = [](Fabric one, Fabric other) {
    RankStreams streams(kFarAhead);
    streams.post(TaskList{communicates(Axis::kData, 4, one)});
    streams.post(TaskList{communicates(Axis::kExpert, 6, other)});
    streams.wait_for_all();
    return now(streams);
  };
  // Half as fast until the shorter one has moved its 4 at 8; then 2 more.
  CHECK(end_of(Fabric::kScaleUp, Fabric::kScaleUp) == nearly(10.0));
  CHECK(end_of(Fabric::kScaleOut, Fabric::kScaleOut) == nearly(10.0));
  CHECK(end_of(Fabric::kScaleUp, Fabric::kScaleOut) == nearly(6.0));
  CHECK(end_of(Fabric::kNone, Fabric::kNone) == nearly(6.0));
}

TEST_CASE("what a kernel hides inside it leaves less of its fabric to others", "[unit]") {
  // Half of the scale-up links are taken for 10: 4 take 8, and over NICs 4.
  for (const auto& [fabric, end] : {std::pair{Fabric::kScaleUp, 8.0}, {Fabric::kScaleOut, 4.0}}) {
    StreamTask hiding = computes(10);
    hiding.fabric = Fabric::kScaleUp;
    hiding.fabric_taken = 0.5;
    std::vector<StreamSpan> spans;
    RankStreams streams(kFarAhead, &spans);
    streams.post(TaskList{communicates(Axis::kData, 4, fabric)});
    streams.run(TaskList{hiding});
    REQUIRE(spans.size() == 2);
    CHECK(spans.front().end.value() == nearly(end));
    CHECK(now(streams) == 10.0);
  }
}

TEST_CASE("communications of one axis follow each other", "[unit]") {
  RankStreams streams(kFarAhead);
  streams.post(TaskList{communicates(Axis::kData, 4, Fabric::kScaleUp),
                        communicates(Axis::kData, 6, Fabric::kScaleOut)});
  streams.wait_for_all();
  CHECK(now(streams) == 10.0);
}

TEST_CASE("the next communication of a stream starts at once, inside the kernel that runs",
          "[unit]") {
  std::vector<StreamSpan> spans;
  RankStreams streams(kFarAhead, &spans);
  streams.post(TaskList{communicates(Axis::kData, 4), communicates(Axis::kData, 3)});
  streams.run(TaskList{computes(10), computes(2)});
  streams.wait_for_all();
  // The first ends at 4, inside the kernel that ends at 10; the second runs from 4 to 7.
  CHECK(now(streams) == 12.0);
  REQUIRE(spans.size() == 4);
  CHECK(spans[0].end == Seconds(4));
  CHECK(spans[1].start == Seconds(4));
  CHECK(spans[1].cause == Seconds(4));
  CHECK(spans[1].end == Seconds(7));
  CHECK(exposed(streams, Axis::kData) == 0.0);
}

// --- the host ---------------------------------------------------------------------------------

TEST_CASE("a kernel starts no earlier than it is launched", "[unit]") {
  RankStreams streams(Seconds{});
  const TaskList kernels{launched_in(3, computes(1)), launched_in(3, computes(1)),
                         launched_in(3, computes(5)), launched_in(3, computes(1))};
  streams.run(kernels);
  // Launched at 3, 6, 9 and 12; the third runs until 14.
  CHECK(now(streams) == 15.0);
  CHECK(streams.totals().spent.compute == Seconds(8));
  CHECK(streams.totals().spent.host == Seconds(7));  // 0 to 3, 4 to 6 and 7 to 9
  CHECK(streams.totals().launching == Seconds(12));
  CHECK(streams.host_lead() == Seconds(3));

  RankStreams ahead(Seconds(9));
  ahead.run(kernels);
  CHECK(now(ahead) == 8.0);
  CHECK(ahead.totals().spent.host == Seconds{});
}

TEST_CASE("an idle stream of computation counts to the communication that is waited for",
          "[unit]") {
  RankStreams streams(Seconds{});
  streams.run(TaskList{communicates(Axis::kTensor, 4), launched_in(6, computes(1))});
  CHECK(exposed(streams, Axis::kTensor) == 4.0);
  CHECK(streams.totals().spent.host == Seconds(2));
  CHECK(now(streams) == 7.0);
}

TEST_CASE("a host that waits has nothing left in its queue", "[unit]") {
  StreamTask counts = computes(10);
  counts.host_waits = true;
  RankStreams streams(kFarAhead);
  streams.run(TaskList{counts});
  CHECK(streams.host_lead() == Seconds{});
  streams.run(TaskList{launched_in(2, computes(5))});
  CHECK(now(streams) == 17.0);
  CHECK(streams.totals().spent.host == Seconds(2));

  StreamTask sizes = communicates(Axis::kExpert, 3);
  sizes.host_waits = true;
  RankStreams exchange(kFarAhead);
  exchange.run(TaskList{sizes, launched_in(2, computes(5))});
  CHECK(now(exchange) == 10.0);
  CHECK(exchange.totals().spent.host == Seconds(2));
}

// --- two programs -----------------------------------------------------------------------------

TEST_CASE("while one program waits for its exchange the other computes", "[unit]") {
  const TaskList first{computes(4), communicates(Axis::kExpert, 6), computes(2)};
  const TaskList second{computes(5), communicates(Axis::kExpert, 3), computes(1)};
  RankStreams streams(kFarAhead);
  streams.run(first, second);
  // first    computes 0-4, exchanges 4-10, computes 10-12
  // second   computes 4-9, exchanges 10-13, computes 13-14
  CHECK(now(streams) == 14.0);
  CHECK(streams.totals().spent.compute == Seconds(12));
  CHECK(exposed(streams, Axis::kExpert) == 2.0);  // 9 to 10 and 12 to 13

  RankStreams one_by_one(kFarAhead);
  one_by_one.run(first);
  one_by_one.run(second);
  CHECK(now(one_by_one) == 21.0);
}

TEST_CASE("two programs of computation alone take turns on one stream", "[unit]") {
  RankStreams streams(kFarAhead);
  streams.run(TaskList{computes(2), computes(3)}, TaskList{computes(4)});
  CHECK(now(streams) == 9.0);
  CHECK(streams.totals().spent.compute == Seconds(9));
}

// --- repetition -------------------------------------------------------------------------------

void one_turn(RankStreams& streams) {
  streams.run(TaskList{launched_in(1, computes(4, 5)), communicates(Axis::kTensor, 1),
                       launched_in(1, computes(2))});
  streams.post(TaskList{communicates(Axis::kData, 3)});
}

void check_equal(const StreamTotals& a, const StreamTotals& b) {
  CHECK(a.now.value() == nearly(b.now.value()));
  CHECK(a.host.value() == nearly(b.host.value()));
  CHECK(a.launching.value() == nearly(b.launching.value()));
  CHECK(a.spent.compute.value() == nearly(b.spent.compute.value()));
  CHECK(a.spent.contention.value() == nearly(b.spent.contention.value()));
  CHECK(a.spent.total().value() == nearly(b.spent.total().value()));
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    CHECK(a.spent.exposed[axis].value() == Approx(b.spent.exposed[axis].value()).margin(1e-12));
    CHECK(a.communicated[axis].value() == nearly(b.communicated[axis].value()));
  }
}

TEST_CASE("a turn repeated on paper is a turn that runs again", "[property]") {
  for (const std::int64_t times : {1, 2, 17}) {
    CAPTURE(times);
    RankStreams repeated(Seconds(1e3));
    RankStreams run(Seconds(1e3));
    for (std::int64_t i = 0; i < times + 3; ++i) {
      one_turn(run);
    }
    one_turn(repeated);
    one_turn(repeated);
    const StreamTotals before = repeated.totals();
    one_turn(repeated);
    repeated.repeat_since(before, times);
    check_equal(repeated.totals(), run.totals());
    CHECK(repeated.backlog() == run.backlog());
    for (RankStreams* streams : {&repeated, &run}) {
      one_turn(*streams);
      streams->wait_for_all();
    }
    check_equal(repeated.totals(), run.totals());
  }
}

// --- any program ------------------------------------------------------------------------------

constexpr std::array<Axis, 3> kCommunicating = {Axis::kTensor, Axis::kExpert, Axis::kData};

class RandomTasks {
 public:
  explicit RandomTasks(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] bool chance(double share) { return unit_(random_) < share; }
  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }

  // Often round numbers, so that several things end at once.
  [[nodiscard]] double duration() {
    return chance(0.5) ? static_cast<double>(below(5)) : 5.0 * unit_(random_);
  }
  StreamTask computation() {
    const double alone = duration();
    StreamTask task = computes(alone, alone * (1.0 + (chance(0.5) ? unit_(random_) : 0.0)));
    task.energy = Joules(duration());
    host(task);
    return task;
  }
  StreamTask communication() {
    constexpr std::array<Fabric, 3> kFabrics = {Fabric::kNone, Fabric::kScaleUp, Fabric::kScaleOut};
    StreamTask task =
        communicates(kCommunicating[below(kCommunicating.size())], duration(), kFabrics[below(3)]);
    const double slowdown = chance(0.5) ? 1.0 : 1.0 + unit_(random_);
    task.stretch = {slowdown, slowdown};
    host(task);
    return task;
  }
  TaskList program() {
    TaskList tasks;
    for (std::size_t i = below(8); i > 0; --i) {
      tasks.push_back(chance(0.5) ? computation() : communication());
      if (tasks.back().axis && chance(0.4)) {
        tasks.back() = chance(0.5) ? join(*tasks.back().axis) : started(tasks.back());
        tasks.back().host_waits = false;
      }
    }
    return tasks;
  }
  TaskList posted() {
    TaskList tasks;
    for (std::size_t i = below(3); i > 0; --i) {
      tasks.push_back(communication());
      tasks.back().host_waits = false;
    }
    return tasks;
  }

 private:
  void host(StreamTask& task) {
    task.host = Seconds(chance(0.3) ? 2.0 * unit_(random_) : 0.0);
    task.host_waits = chance(0.1);
  }

  std::mt19937_64 random_;
  std::uniform_real_distribution<double> unit_{0.0, 1.0};
};

// What was asked of the streams, in order.
struct Act {
  enum class Kind { kRun, kPost, kWait };
  Kind kind = Kind::kRun;
  TaskList first;
  TaskList second;
  std::size_t until = 0;  // kWait: the posts before this act
};

std::vector<Act> random_acts(RandomTasks& random, bool two_programs) {
  std::vector<Act> acts;
  for (std::size_t i = 1 + random.below(6); i > 0; --i) {
    Act act;
    const std::size_t kind = random.below(4);
    if (kind < 2) {
      act.first = random.program();
      act.second = two_programs ? random.program() : TaskList{};
    } else if (kind == 2) {
      act.kind = Act::Kind::kPost;
      act.first = random.posted();
    } else {
      act.kind = Act::Kind::kWait;
      act.until = random.below(acts.size() + 1);
    }
    acts.push_back(std::move(act));
  }
  acts.push_back({Act::Kind::kWait, {}, {}, acts.size()});
  return acts;
}

RankStreams run_acts(const std::vector<Act>& acts, Seconds host_lead,
                     std::vector<StreamSpan>& spans) {
  RankStreams streams(host_lead, &spans);
  std::vector<std::int64_t> tickets;  // after each act
  for (const Act& act : acts) {
    if (act.kind == Act::Kind::kRun) {
      streams.run(act.first, act.second);
    } else if (act.kind == Act::Kind::kWait) {
      streams.wait(act.until == 0 ? 0 : tickets[act.until - 1]);
    }
    // A ticket for all before it: posting nothing gives the last one.
    tickets.push_back(streams.post(act.kind == Act::Kind::kPost ? act.first : TaskList{}));
  }
  return streams;
}

// The tasks of every act on one stream, in program order, without joins.
template <typename Take>
void each_task(const std::vector<Act>& acts, const Take& take) {
  for (const Act& act : acts) {
    for (const TaskList* list : {&act.first, &act.second}) {
      for (const StreamTask& task : *list) {
        if (task.mode != TaskMode::kJoin) {
          take(task);
        }
      }
    }
  }
}

bool close(Seconds a, Seconds b) { return Approx(b.value()).margin(1e-9) == a.value(); }

// A second program that does nothing makes the streams go from event to event.
TEST_CASE("a program by itself takes what it takes event by event", "[property]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomTasks random(seed);
    const std::vector<Act> acts = random_acts(random, false);
    const Seconds lead(random.duration());
    std::vector<Act> by_events = acts;
    for (Act& act : by_events) {
      act.second = {join(Axis::kPipeline)};
    }
    std::vector<StreamSpan> spans;
    std::vector<StreamSpan> event_spans;
    const StreamTotals alone = run_acts(acts, lead, spans).totals();
    const StreamTotals events = run_acts(by_events, lead, event_spans).totals();
    CAPTURE(seed);
    bool equal = close(alone.now, events.now) && close(alone.host, events.host) &&
                 close(alone.spent.compute, events.spent.compute) &&
                 close(alone.spent.contention, events.spent.contention) &&
                 close(alone.spent.host, events.spent.host) && spans.size() == event_spans.size();
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      equal = equal && close(alone.spent.exposed[axis], events.spent.exposed[axis]);
    }
    REQUIRE(equal);
  }
}

TEST_CASE("every instant of any programs is accounted once", "[property]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomTasks random(seed);
    const std::vector<Act> acts = random_acts(random, seed % 2 == 1);
    std::vector<StreamSpan> spans;
    const RankStreams streams = run_acts(acts, Seconds(random.duration()), spans);
    const StreamTotals& totals = streams.totals();
    Seconds compute;
    Seconds host;
    Joules energy;
    std::array<Seconds, kAxes> communicated{};
    each_task(acts, [&](const StreamTask& task) {
      (task.axis ? communicated[slot(*task.axis)] : compute) += task.duration;
      energy += task.energy;
      host += task.host;
    });
    bool right = close(totals.spent.total(), totals.now) && close(totals.spent.compute, compute) &&
                 close(totals.launching, host) &&
                 Approx(energy.value()).margin(1e-9) == totals.energy.value();
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      right = right && close(totals.communicated[axis], communicated[axis]) &&
              streams.backlog()[axis] == Seconds{} && totals.spent.exposed[axis] >= Seconds{} &&
              totals.now >= communicated[axis] - Seconds(1e-9);
    }
    right = right && totals.spent.host >= Seconds{} && totals.spent.contention >= Seconds(-1e-9);
    CAPTURE(seed);
    REQUIRE(right);
  }
}

std::vector<StreamSpan> of_stream(const std::vector<StreamSpan>& spans, std::optional<Axis> axis) {
  std::vector<StreamSpan> result;
  for (const StreamSpan& span : spans) {
    if (span.axis == axis) {
      result.push_back(span);
    }
  }
  return result;
}

TEST_CASE("spans of a stream follow each other and start at their cause", "[property]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomTasks random(seed);
    const std::vector<Act> acts = random_acts(random, seed % 2 == 1);
    std::vector<StreamSpan> spans;
    run_acts(acts, Seconds(random.duration()), spans);
    std::size_t tasks = 0;
    each_task(acts, [&](const StreamTask& /*task*/) { ++tasks; });
    bool right = spans.size() == tasks;
    for (const std::optional<Axis> axis :
         {std::optional<Axis>{}, {Axis::kTensor}, {Axis::kExpert}, {Axis::kData}}) {
      Seconds free;
      for (const StreamSpan& span : of_stream(spans, axis)) {
        right = right && span.start >= free && span.end >= span.start && span.start == span.cause;
        free = span.end;
      }
    }
    CAPTURE(seed);
    REQUIRE(right);
  }
}

// --- a second reading of the rules -------------------------------------------------------------

// Follows one program with the spans that the streams recorded: when each may start, from the ends
// of others alone; and whether it did its work at the rates that its neighbours leave it.
class SecondReading {
 public:
  SecondReading(const std::vector<StreamSpan>& spans, Seconds host_lead)
      : host_(-1.0 * host_lead), kernels_(of_stream(spans, std::nullopt)) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      streams_[axis] = of_stream(spans, static_cast<Axis>(axis));
    }
  }

  void follow(const std::vector<Act>& acts) {
    for (const Act& act : acts) {
      if (act.kind == Act::Kind::kWait) {
        ready_ = max(ready_, act.until == 0 ? Seconds{} : ends_[act.until - 1]);
      }
      for (const StreamTask& task : act.first) {
        if (task.mode == TaskMode::kJoin) {
          ready_ = max(ready_, last_end(slot(*task.axis)));
        } else if (task.axis) {
          communication(task, act.kind == Act::Kind::kRun && task.mode == TaskMode::kBlocking);
        } else {
          computation(task);
        }
      }
      ends_.push_back(all_ends_);
    }
    for (const Piece& piece : pieces_) {
      right_ = right_ && close(work_of(piece), piece.task.duration);
    }
  }
  [[nodiscard]] bool right() const { return right_; }
  [[nodiscard]] Seconds end() const { return ready_; }

 private:
  struct Piece {
    StreamTask task;
    StreamSpan span;
  };

  [[nodiscard]] Seconds last_end(std::size_t axis) const {
    return next_[axis] == 0 ? Seconds{} : streams_[axis][next_[axis] - 1].end;
  }

  void computation(const StreamTask& task) {
    host_ += task.host;
    const StreamSpan& span = kernels_[kernel_++];
    right_ = right_ && close(span.start, max(ready_, host_));
    ready_ = span.end;
    wait_for(task, span);
    pieces_.push_back({task, span});
  }

  void communication(const StreamTask& task, bool blocks) {
    host_ += task.host;
    const std::size_t axis = slot(*task.axis);
    const Seconds start = max(max(ready_, host_), last_end(axis));
    const StreamSpan& span = streams_[axis][next_[axis]++];
    right_ = right_ && close(span.start, start);
    if (blocks) {
      ready_ = span.end;
      wait_for(task, span);
    }
    all_ends_ = max(all_ends_, span.end);
    pieces_.push_back({task, span});
  }

  void wait_for(const StreamTask& task, const StreamSpan& span) {
    if (task.host_waits) {
      host_ = max(host_, span.end);
    }
  }

  // What `piece` did alone: its rate over every stretch of time in which nothing changes.
  [[nodiscard]] Seconds work_of(const Piece& piece) const {
    std::vector<Seconds> times{piece.span.start, piece.span.end};
    for (const Piece& other : pieces_) {
      for (const Seconds time : {other.span.start, other.span.end}) {
        if (time > piece.span.start && time < piece.span.end) {
          times.push_back(time);
        }
      }
    }
    std::sort(times.begin(), times.end());
    Seconds work;
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
      const Seconds middle = 0.5 * (times[i] + times[i + 1]);
      if (times[i] < middle && middle < times[i + 1]) {
        work += rate(piece, middle) * (times[i + 1] - times[i]);
      }
    }
    return work;
  }
  [[nodiscard]] double rate(const Piece& piece, Seconds time) const {
    bool computing = false;
    bool communicating = false;
    double sharing = 0.0;
    for (const Piece& other : pieces_) {
      if (other.span.start < time && time < other.span.end) {
        computing = computing || !other.task.axis;
        communicating = communicating || other.task.axis;
        sharing += other.task.axis && other.task.fabric == piece.task.fabric ? 1.0 : 0.0;
      }
    }
    if (!piece.task.axis) {
      return communicating ? piece.task.duration / piece.task.contended : 1.0;
    }
    const double shared = piece.task.fabric == Fabric::kNone ? 1.0 : sharing;
    return 1.0 / (shared * (computing ? piece.task.stretch.least : 1.0));
  }

  Seconds ready_;  // the program, for its next task
  Seconds host_;
  Seconds all_ends_;           // of communication so far
  std::vector<Seconds> ends_;  // the same after each act
  std::vector<StreamSpan> kernels_;
  std::array<std::vector<StreamSpan>, kAxes> streams_;
  std::size_t kernel_ = 0;
  std::array<std::size_t, kAxes> next_{};
  std::vector<Piece> pieces_;
  bool right_ = true;
};

TEST_CASE("tasks start and advance as a second reading of the rules says", "[property]") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomTasks random(seed);
    const std::vector<Act> acts = random_acts(random, false);
    const Seconds lead(random.duration());
    std::vector<StreamSpan> spans;
    const RankStreams streams = run_acts(acts, lead, spans);
    SecondReading reading(spans, lead);
    reading.follow(acts);
    CAPTURE(seed);
    REQUIRE(reading.right());
    REQUIRE(close(reading.end(), streams.totals().now));
  }
}

}  // namespace
}  // namespace stepcast::rank_streams_test
