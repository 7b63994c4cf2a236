// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/step_trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "catch.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/schedule/placed_step.hpp"
#include "stepcast/schedule/step_time.hpp"
#include "trace_reader/step_trace.hpp"
#include "unit/trace_writer/traced_step.hpp"

namespace stepcast::step_trace_output_test {
namespace {

using test::category_of_event;
using test::events_of;
using test::Json;
using test::nanoseconds_of;
using test::traced_events;
using test::TracedStep;

// The fields without which TraceLens drops an event or fails, kind by kind.
struct RequiredFields {
  std::string category;
  std::vector<std::string> fields;
  std::vector<std::string> arguments;
};

const std::vector<RequiredFields>& required_fields() {
  static const std::vector<RequiredFields> rows = {
      {"cpu_op", {"ph", "name", "pid", "tid", "ts", "dur"}, {}},
      {"cuda_runtime", {"ph", "name", "pid", "tid", "ts", "dur"}, {"correlation", "External id"}},
      {"kernel",
       {"ph", "name", "pid", "tid", "ts", "dur"},
       {"correlation", "External id", "stream", "device"}},
      {"gpu_memcpy",
       {"ph", "name", "pid", "tid", "ts", "dur"},
       {"correlation", "External id", "stream", "device"}},
      {"ac2g", {"ph", "id", "pid", "tid", "ts", "name"}, {}},
      {"fwdbwd", {"ph", "id", "pid", "tid", "ts", "name"}, {}}};
  return rows;
}

const std::vector<std::string> kOfCollectives = {"Collective name",
                                                 "In msg nelems",
                                                 "Out msg nelems",
                                                 "Group size",
                                                 "dtype",
                                                 "In split size",
                                                 "Out split size",
                                                 "Process Group Name",
                                                 "Process Group Description",
                                                 "Process Group Ranks",
                                                 "Seq"};
const std::vector<std::string> kOfOperators = {"Input Dims", "Input type", "Input Strides",
                                               "Concrete Inputs", "External id"};

bool is_communication_kernel(const Json& event) {
  return category_of_event(event) == "kernel" &&
         event.at("name").get<std::string>().find("nccl") != std::string::npos;
}

bool is_wrapper(const Json& event) {
  return category_of_event(event) == "cpu_op" && !event.at("args").contains("External id");
}

// What `event` lacks; empty if nothing.
std::string missing_in(const Json& event) {
  std::string missing;
  const auto need = [&missing](const Json& object, const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      missing += object.contains(field) ? "" : " '" + field + "'";
    }
  };
  for (const RequiredFields& row : required_fields()) {
    if (row.category == category_of_event(event)) {
      need(event, row.fields);
      need(event.value("args", Json::object()), row.arguments);
    }
  }
  if (is_communication_kernel(event)) {
    need(event.at("args"), kOfCollectives);
  }
  if (category_of_event(event) == "cpu_op" && !is_wrapper(event)) {
    need(event.at("args"), kOfOperators);
  }
  return missing;
}

const std::vector<std::string>& plans() {
  static const std::vector<std::string> all = {
      test::kFsdp,          test::kTensorAndPipeline, test::kExperts,  test::kFp8,
      test::kAmd,           test::kZeroBubble,        test::kDualPipe, test::kUniform,
      test::kFullRecompute, test::kSelectiveRecompute};
  return all;
}

using Thread = std::pair<std::int64_t, std::int64_t>;
Thread thread_of(const Json& event) { return {event.at("pid"), event.at("tid")}; }

struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name;
};

// In microseconds, as readers have it that add a duration to a begin.
struct ReadSlice {
  double begin = 0.0;
  double end = 0.0;
};

std::map<Thread, std::vector<ReadSlice>> slices_of(const std::vector<Json>& events) {
  std::map<Thread, std::vector<ReadSlice>> threads;
  for (const Json& event : events) {
    if (event.at("ph") == "X") {
      const double begin = event.at("ts").get<double>();
      threads[thread_of(event)].push_back({begin, begin + event.at("dur").get<double>()});
    }
  }
  return threads;
}

// How many slices begin inside another one of their thread and end after it.
int badly_nested(std::vector<ReadSlice> slices) {
  std::sort(slices.begin(), slices.end(), [](const ReadSlice& a, const ReadSlice& b) {
    return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end);
  });
  std::vector<double> open;
  int bad = 0;
  for (const ReadSlice& slice : slices) {
    while (!open.empty() && open.back() <= slice.begin) {
      open.pop_back();
    }
    bad += !open.empty() && slice.end > open.back() ? 1 : 0;
    open.push_back(slice.end);
  }
  return bad;
}

bool is_device_span(const Json& event) {
  return category_of_event(event) == "kernel" || category_of_event(event) == "gpu_memcpy";
}

// The seconds of kernels, by the stream that their thread is named after.
std::map<std::string, double> stream_seconds(const std::vector<Json>& events) {
  std::map<Thread, std::string> names;
  for (const Json& event : events) {
    if (event.at("name") == "thread_name") {
      const std::string title = event.at("args").at("name");
      names[thread_of(event)] = title.substr(title.find(' ', title.find(' ') + 1) + 1);
    }
  }
  std::map<std::string, double> sums;
  for (const Json& event : events) {
    if (is_device_span(event)) {
      sums[names.at(thread_of(event))] += 1e-6 * event.at("dur").get<double>();
    }
  }
  return sums;
}

// What a rank holds over time, in microseconds and bytes.
std::vector<std::pair<double, double>> memory_of(const std::vector<Json>& events) {
  std::vector<std::pair<double, double>> samples;
  for (const Json& event : events) {
    if (event.at("ph") == "C" && event.at("name") == "memory") {
      double held = 0.0;
      for (const auto& [series, value] : event.at("args").items()) {
        held += value.get<double>();
      }
      samples.emplace_back(event.at("ts").get<double>(), held);
    }
  }
  return samples;
}

StepTrace read_back(const std::string& text) {
  std::istringstream stream(text);
  return summary_of(device_spans(stream, "trace.json"));
}

// The seconds of a step by category, from the spans that it is projected by.
CategoryTimes projected_categories(const TracedStep& traced, std::int64_t pipeline_rank) {
  const ExpansionContext expansion{traced.experiment.model, traced.projection.plan,
                                   traced.experiment.training, traced.experiment.software};
  const CostModel paced = within_level(traced.cost);
  const PlacedStep step = placed_step(
      {expansion, traced.experiment.cluster, paced, traced.projection.clock}, pipeline_rank);
  CategoryTimes times{};
  for (const PlacedPass& pass : step.passes) {
    for (const StreamSpan& span : step.programs[pass.program]) {
      times[static_cast<std::size_t>(category_of(
          step.operators.ops[static_cast<std::size_t>(span.op)]))] += span.end - span.start;
    }
  }
  return times;
}

}  // namespace

TEST_CASE("every event of a trace has the fields that readers need", "[unit]") {
  for (const std::string& plan : plans()) {
    CAPTURE(plan);
    std::set<std::string> seen;
    std::string missing;
    for (const Json& event : traced_events(plan)) {
      seen.insert(category_of_event(event));
      missing += missing_in(event);
    }
    CHECK(missing.empty());
    for (const RequiredFields& row : required_fields()) {
      CHECK(seen.count(row.category) == 1);
    }
  }
}

TEST_CASE("slices of a thread of a trace nest", "[unit]") {
  for (const std::string& plan : plans()) {
    CAPTURE(plan);
    for (const auto& [thread, slices] : slices_of(traced_events(plan))) {
      CAPTURE(thread.first, thread.second);
      CHECK(badly_nested(slices) == 0);
    }
  }
}

TEST_CASE("a slice of a trace ends where the next one begins, to the last bit of their sum",
          "[unit]") {
  for (const std::string& plan : plans()) {
    CAPTURE(plan);
    int touching = 0;
    int apart = 0;
    for (auto& [thread, slices] : slices_of(traced_events(plan))) {
      std::ranges::sort(slices, {}, &ReadSlice::begin);
      for (std::size_t i = 1; i < slices.size(); ++i) {
        const double gap = slices[i].begin - slices[i - 1].end;
        constexpr double kTenthOfANanosecond = 1e-4;
        touching += std::abs(gap) < kTenthOfANanosecond ? 1 : 0;
        apart += gap != 0.0 && std::abs(gap) < kTenthOfANanosecond ? 1 : 0;
      }
    }
    CHECK(touching > 100);
    CHECK(apart == 0);
  }
}

TEST_CASE("an arrow leads from each launch inside its operator to its kernel", "[unit]") {
  for (const std::string& plan : {test::kFsdp, test::kTensorAndPipeline, test::kExperts}) {
    CAPTURE(plan);
    struct Call {
      Slice op;
      Slice launch;
      Slice kernel;
      std::int64_t from = -1;
      std::int64_t to = -1;
      Thread host;
      Thread device;
    };
    std::map<std::int64_t, Call> calls;
    int elsewhere = 0;
    for (const Json& event : traced_events(plan)) {
      const std::int64_t ts = event.contains("ts") ? nanoseconds_of(event.at("ts")) : 0;
      const std::string category = category_of_event(event);
      if (category == "ac2g") {
        Call& call = calls[event.at("id")];
        const bool start = event.at("ph") == "s";
        (start ? call.from : call.to) = ts;
        elsewhere += start && thread_of(event) != call.host ? 1 : 0;
        elsewhere += !start && event.at("bp") != "e" ? 1 : 0;
        call.device = start ? call.device : thread_of(event);
      } else if (category == "cpu_op" && !is_wrapper(event)) {
        Call& call = calls[event.at("args").at("External id")];
        call.op = {ts, ts + nanoseconds_of(event.at("dur")), event.at("name")};
        call.host = thread_of(event);
      } else if (category == "cuda_runtime") {
        Call& call = calls[event.at("args").at("correlation")];
        call.launch = {ts, ts + nanoseconds_of(event.at("dur")), event.at("name")};
        elsewhere += thread_of(event) != call.host ? 1 : 0;
      } else if (is_device_span(event)) {
        Call& call = calls[event.at("args").at("correlation")];
        call.kernel = {ts, ts + nanoseconds_of(event.at("dur")), event.at("name")};
        elsewhere += thread_of(event) != call.device ? 1 : 0;
        elsewhere += event.at("args").at("stream") != event.at("tid") ? 1 : 0;
      }
    }
    int wrong = 0;
    for (const auto& [id, call] : calls) {
      const bool nested = call.op.begin < call.launch.begin && call.launch.end < call.op.end;
      const bool leaves = call.launch.begin <= call.from && call.from <= call.launch.end;
      wrong +=
          nested && leaves && call.to == call.kernel.begin && call.launch.end <= call.kernel.begin
              ? 0
              : 1;
    }
    CHECK(wrong == 0);
    CHECK(elsewhere == 0);
    CHECK(calls.size() > 100);
  }
}

TEST_CASE("kernels of a trace begin with the step and end with it", "[unit]") {
  for (const std::string& plan : plans()) {
    CAPTURE(plan);
    const TracedStep& traced = test::traced(plan);
    CHECK(read_back(traced.text).step.value() ==
          Approx(traced.projection.time.step.value()).epsilon(0.01));
  }
}

TEST_CASE("on no stream of computation run two kernels at once", "[unit]") {
  for (const std::string& plan : plans()) {
    CAPTURE(plan);
    CHECK(stream_seconds(traced_events(plan)).count("compute 2") == 0);
  }
}

// The slowest rank's computation, with what communication slows it and the optimizer, is what its
// stream of computation runs; what communication is exposed, nothing else runs beside.
TEST_CASE("streams of a trace are as busy as the projection says", "[unit]") {
  for (const std::string& plan : {test::kFsdp, test::kTensorAndPipeline, test::kExperts, test::kFp8,
                                  test::kAmd, test::kUniform}) {
    CAPTURE(plan);
    const Projection& first = test::traced(plan).projection;
    const std::int64_t rank = first.time.slowest_rank * (first.plan.world() / first.plan.pp);
    const TracedStep traced(plan, rank);
    const TimeBreakdown& spent = traced.projection.time.breakdown;
    const std::vector<Json> events = events_of(traced.text);
    CHECK(stream_seconds(events).at("compute") ==
          Approx((spent.compute + spent.contention + spent.optimizer).value()).epsilon(0.006));
    const double idle = (spent.bubble + spent.host).value();
    const StepTrace trace = read_back(traced.text);
    const double step = traced.projection.time.step.value();
    CHECK(trace.idle.value() == Approx(idle).margin(0.006 * step));
    CHECK(trace.exposed_communication.value() ==
          Approx(spent.communication().value()).margin(0.006 * step));
  }
}

TEST_CASE("our reader finds the categories of a projection in its trace", "[unit]") {
  for (const std::string& plan :
       {test::kFsdp, test::kTensorAndPipeline, test::kExperts, test::kFp8, test::kAmd}) {
    CAPTURE(plan);
    const TracedStep& traced = test::traced(plan);
    const CategoryTimes projected = projected_categories(traced, 0);
    const StepTrace trace = read_back(traced.text);
    for (std::size_t i = 0; i < kStepCategories; ++i) {
      const auto category = static_cast<StepCategory>(i);
      CAPTURE(name(category));
      if (category != StepCategory::kSendRecv) {
        CHECK(trace.device_time[i].value() ==
              Approx(projected[i].value()).epsilon(0.002).margin(1e-7));
      }
    }
  }
}

// Eight micro-batches go to the next rank and eight gradients come back.
TEST_CASE("what a pipeline rank sends and receives is in its trace at the price of a transfer",
          "[unit]") {
  const TracedStep& traced = test::traced(test::kTensorAndPipeline);
  const std::map<std::string, double> seconds = stream_seconds(events_of(traced.text));
  const ExpansionContext expansion{traced.experiment.model, traced.projection.plan,
                                   traced.experiment.training, traced.experiment.software};
  const CostModel paced = within_level(traced.cost);
  const StepContext context{expansion, traced.experiment.cluster, paced, traced.projection.clock};
  const PlacedStep step = placed_step(context, 0);
  REQUIRE(step.transfers.size() == 16);
  const double one = (step.transfers[0].end - step.transfers[0].start).value();
  CHECK(one >= pipeline_transfer(context).value());
  CHECK(seconds.at("pipeline send") == Approx(8 * one));
  CHECK(seconds.at("pipeline receive") == Approx(8 * one));
}

TEST_CASE("a backward operator runs on its own thread inside of a node with its forward's number",
          "[unit]") {
  const std::vector<Json> events = traced_events(test::kFsdp);
  std::map<std::int64_t, std::string> forward;
  std::int64_t forward_thread = 0;
  for (const Json& event : events) {
    const Json& args = event.value("args", Json::object());
    if (category_of_event(event) == "cpu_op" && args.contains("Sequence number") &&
        args.at("Fwd thread id") == 0) {
      CHECK(forward.emplace(args.at("Sequence number"), event.at("name")).second);
      forward_thread = event.at("tid");
    }
  }
  std::map<std::int64_t, std::set<std::string>> nodes;
  for (const Json& event : events) {
    if (is_wrapper(event)) {
      CHECK(event.at("tid") != forward_thread);
      nodes[event.at("args").at("Sequence number")].insert(event.at("name"));
    }
  }
  CHECK(nodes.size() == forward.size());
  int mm = 0;
  for (const auto& [number, names] : nodes) {
    REQUIRE(forward.count(number) == 1);
    if (forward.at(number) == "aten::mm") {
      ++mm;
      CHECK(names == std::set<std::string>{"MmBackward0",
                                           "autograd::engine::evaluate_function: MmBackward0"});
    }
  }
  // Two micro-batches through 16 layers of four to seven products and the output.
  CHECK(mm >= 2 * (16 * 4 + 1));
}

TEST_CASE(
    "the same projection gives the same trace, and ranks that differ in dp alone one timeline",
    "[unit]") {
  const TracedStep& traced = test::traced(test::kTensorAndPipeline);
  CHECK(TracedStep(test::kTensorAndPipeline).text == traced.text);
  // Ranks 4 and 0 differ in dp: 32 ranks are tp 4, dp 2, pp 4.
  const std::vector<Json> first = events_of(traced.text);
  const std::vector<Json> other = events_of(TracedStep(test::kTensorAndPipeline, 4).text);
  REQUIRE(first.size() == other.size());
  bool same = true;
  for (std::size_t i = 0; i < first.size(); ++i) {
    // Processes and threads are called after the rank.
    same = same && (first[i].at("ph") == "M" || first[i].at("name") == other[i].at("name"));
    same = same && first[i].value("ts", 0.0) == other[i].value("ts", 0.0) &&
           first[i].value("dur", 0.0) == other[i].value("dur", 0.0);
  }
  CHECK(same);
}

TEST_CASE("a rank's groups are its own", "[unit]") {
  // 32 ranks are tp 4, dp 2, pp 4: rank 13 is tp 1, dp 1, pp 1.
  const TracedStep traced(test::kTensorAndPipeline, 13);
  CHECK(pipeline_rank(traced.projection.plan, 13) == 1);
  const Json trace = Json::parse(traced.text);
  const Json& info = trace.at("distributedInfo");
  CHECK(info.at("rank") == 13);
  CHECK(info.at("world_size") == 32);
  std::map<std::string, std::vector<std::int64_t>> ranks;
  for (const Json& group : info.at("pg_config")) {
    ranks[group.at("pg_desc")] = group.at("ranks").get<std::vector<std::int64_t>>();
  }
  CHECK(ranks.at("tp, 4 ranks") == std::vector<std::int64_t>{12, 13, 14, 15});
  CHECK(ranks.at("dp, 2 ranks") == std::vector<std::int64_t>{9, 13});
  CHECK(ranks.at("pp, 4 ranks") == std::vector<std::int64_t>{5, 13, 21, 29});
  for (const Json& event : trace.at("traceEvents")) {
    if (is_communication_kernel(event) && event.at("args").at("Collective name") == "send") {
      CHECK(event.at("args").at("Process Group Ranks") == "[5, 13, 21, 29]");
    }
  }
}

TEST_CASE("the memory of a trace peaks where the projection says", "[unit]") {
  for (const std::string& plan : plans()) {
    CAPTURE(plan);
    const TracedStep& traced = test::traced(plan);
    double peak = 0.0;
    for (const auto& [at, bytes] : memory_of(traced_events(plan))) {
      peak = std::max(peak, bytes);
    }
    CHECK(peak == Approx(traced.projection.memory.front().total().value()));
  }
}

TEST_CASE("the memory of a trace rises and falls layer by layer", "[unit]") {
  // Four stages of eight layers each, eight micro-batches: one sample as the step begins, one as
  // each layer of each pass ends.
  const std::vector<std::pair<double, double>> memory =
      memory_of(traced_events(test::kTensorAndPipeline));
  CHECK(memory.size() == 1 + 2 * 8 * 8);
  // Rank 0 runs four forwards before its first backward: 32 steps upwards, all alike.
  const double step = memory[1].second - memory[0].second;
  CHECK(step > 0.0);
  for (std::size_t i = 1; i <= 32; ++i) {
    CAPTURE(i);
    CHECK(memory[i].second - memory[i - 1].second == Approx(step));
    CHECK(memory[i].first > memory[i - 1].first);
  }
  CHECK(memory[33].second - memory[32].second == Approx(-step));
  // All is given back.
  CHECK(memory.back().second == Approx(memory.front().second));
}

TEST_CASE("operators are called as readers of traces know them", "[unit]") {
  const auto names = [](const std::string& plan) {
    std::set<std::string> found;
    for (const Json& event : traced_events(plan)) {
      if (category_of_event(event) == "cpu_op" || category_of_event(event) == "cuda_runtime") {
        found.insert(event.at("name"));
      }
    }
    return found;
  };
  const auto has = [](const std::set<std::string>& found, const std::vector<std::string>& wanted) {
    for (const std::string& name : wanted) {
      CAPTURE(name);
      CHECK(found.count(name) == 1);
    }
  };
  has(names(test::kFp8), {"aten::_scaled_mm", "aten::_fused_adamw_", "cudaLaunchKernel"});
  has(names(test::kAmd),
      {"aten::mm", "aiter::_flash_attn_forward", "flash_attn::_flash_attn_backward",
       "record_param_comms", "hipLaunchKernel"});
  has(names(test::kExperts),
      {"primus_turbo::grouped_gemm", "primus_turbo::grouped_gemm_variable_k", "MoEDispatch",
       "MoECombine", "MoEDispatchBackward", "MoECombineBackward"});
}

}  // namespace stepcast::step_trace_output_test
