// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/measured_step.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace stepcast {
namespace {

// What a call is counted with.
struct CallKind {
  StepCategory category = StepCategory::kOther;
  std::optional<WorkShape> shape;
  std::string name;  // empty beside a shape
  auto operator<=>(const CallKind&) const = default;
};

class StepReader {
 public:
  explicit StepReader(const TraceRecording& recording) : recording_(recording) {}

  void read(const ChosenStep& chosen, MeasuredStep& step) {
    std::map<std::int64_t, std::vector<std::size_t>> streams;
    const double origin = recording_.calls[chosen.calls.front()].start;
    for (const std::size_t place : chosen.calls) {
      const DeviceCall& call = recording_.calls[place];
      const std::size_t row = count(call, step);
      streams[call.stream].push_back(place);
      step.with_operator += call.op >= 0 ? 1 : 0;
      step.in_graphs += call.in_graph ? 1 : 0;
      if (is_communication(call.category)) {
        add_collective(call, row, origin, step);
      } else {
        add_busy(call.start - origin, call.end - origin, step.computing);
      }
    }
    for (const auto& [id, calls] : streams) {
      step.streams.push_back(stream_of(id, calls));
    }
    std::ranges::stable_sort(step.streams, std::ranges::greater{}, &TracedStream::busy);
  }

 private:
  [[nodiscard]] const HostOperator* operator_of(const DeviceCall& call) const {
    return call.op < 0 ? nullptr : &recording_.operators[static_cast<std::size_t>(call.op)];
  }

  // What a call works on, and the operator that says so, below 0: none.
  struct ShapedCall {
    std::optional<WorkShape> shape;
    std::int32_t op = -1;
  };

  // Of the innermost operator that has one for the kernel's category.
  ShapedCall shape_of(const DeviceCall& call) {
    if (call.collective >= 0) {
      const RecordedCollective& carried = carried_by(call);
      return {work_shape(call.category,
                         CollectiveSizes{carried.in_elements, carried.out_elements, carried.ranks,
                                         recording_.texts.text(carried.dtype)}),
              call.op};
    }
    std::int32_t place = call.op;
    for (int i = 0; place >= 0 && i < kFarthestCaller; ++i) {
      const HostOperator& op = recording_.operators[static_cast<std::size_t>(place)];
      if (const std::optional<WorkShape> shape = shape_of(call.category, op)) {
        return {shape, place};
      }
      place = op.parent;
    }
    return {std::nullopt, call.op};
  }
  [[nodiscard]] const RecordedCollective& carried_by(const DeviceCall& call) const {
    return recording_.collectives[static_cast<std::size_t>(call.collective)];
  }

  // Remembered by category, name and shapes.
  std::optional<WorkShape> shape_of(StepCategory category, const HostOperator& op) {
    if (op.input_dims == kNoText) {
      return std::nullopt;
    }
    const auto [known, is_new] = shapes_.try_emplace(std::tuple(category, op.name, op.input_dims));
    if (is_new) {
      known->second = work_shape(category, recording_.texts.text(op.name),
                                 recording_.texts.text(op.input_dims));
    }
    return known->second;
  }

  // The operator's; of what a hook of FSDP runs "aten::copy_ in pre_forward".
  [[nodiscard]] std::string name_of(const DeviceCall& call) const {
    const HostOperator* op = operator_of(call);
    const std::string hook = call.category == StepCategory::kFsdpCopies ? hook_of(call) : "";
    const bool by_kernel = op == nullptr || call.collective >= 0 ||
                           recording_.texts.text(op->name).starts_with(kFsdpMark);
    return (by_kernel ? short_kernel_name(recording_.texts.text(call.name))
                      : recording_.texts.text(op->name)) +
           (hook.empty() ? "" : " in " + hook);
  }
  [[nodiscard]] std::string hook_of(const DeviceCall& call) const {
    std::int32_t place = call.op;
    for (int i = 0; place >= 0 && i < kFarthestCaller; ++i) {
      const HostOperator& op = recording_.operators[static_cast<std::size_t>(place)];
      const std::string& name = recording_.texts.text(op.name);
      if (name.starts_with(kFsdpMark)) {
        return name.substr(kFsdpMark.size());
      }
      place = op.parent;
    }
    return "";
  }

  // Adds the call to its row and gives the row's place. The kernels of one operator are one call.
  std::size_t count(const DeviceCall& call, MeasuredStep& step) {
    const auto [shape, shaped_by] = shape_of(call);
    const std::string name = name_of(call);
    const auto [known, is_new] =
        rows_.try_emplace(CallKind{call.category, shape, shape ? "" : name}, step.operators.size());
    if (is_new) {
      TracedOperator& added = step.operators.emplace_back();
      added.category = call.category;
      added.shape = shape;
      added.name = name;
      last_operator_.push_back(-1);
    }
    TracedOperator& row = step.operators[known->second];
    std::int32_t& last = last_operator_[known->second];
    row.calls += shaped_by < 0 || shaped_by != last || call.collective >= 0 ? 1 : 0;
    last = shaped_by;
    ++row.kernels;
    row.time += Seconds(call.end - call.start);
    return known->second;
  }

  // Of a transfer a rank states the other end; its own is that of the trace.
  void name_ranks(const RecordedCollective& carried, TracedCollective& call) const {
    const bool transfer = carried.source >= 0 || carried.destination >= 0;
    if (transfer && recording_.head.rank < 0) {
      return;
    }
    call.group = recording_.texts.text(carried.group);
    if (transfer) {
      const bool receives = carried.source >= 0;
      call.source = receives ? carried.source : recording_.head.rank;
      call.destination = receives ? recording_.head.rank : carried.destination;
    }
  }

  void add_collective(const DeviceCall& call, std::size_t row, double origin, MeasuredStep& step) {
    TracedCollective& added = step.collectives.emplace_back();
    added.category = call.category;
    added.shape = step.operators[row].shape;
    if (call.collective >= 0) {
      name_ranks(carried_by(call), added);
      note_launch(carried_by(call).launch, step.operators[row]);
    }
    added.order = orders_[{added.group, added.source, added.destination}]++;
    added.start = Seconds(call.start - origin);
    added.time = Seconds(call.end - call.start);
    added.row = row;
  }

  static void note_launch(const KernelLaunch& launch, TracedOperator& row) {
    const bool first = row.kernels == 1;
    row.launch = first || row.launch == launch ? launch : KernelLaunch{};
    row.protocol = protocol_of_launch(row.launch);
  }

  [[nodiscard]] TracedStream stream_of(std::int64_t id,
                                       const std::vector<std::size_t>& calls) const {
    TracedStream stream;
    stream.id = id;
    CategoryTimes times{};
    for (const std::size_t place : calls) {
      const DeviceCall& call = recording_.calls[place];
      ++stream.calls;
      stream.busy += Seconds(call.end - call.start);
      times[static_cast<std::size_t>(call.category)] += Seconds(call.end - call.start);
    }
    stream.mostly = static_cast<StepCategory>(std::ranges::max_element(times) - times.begin());
    return stream;
  }

  const TraceRecording& recording_;
  std::map<std::tuple<StepCategory, TextId, TextId>, std::optional<WorkShape>> shapes_;
  std::map<CallKind, std::size_t> rows_;
  std::vector<std::int32_t> last_operator_;  // of each row
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::int64_t> orders_;
};

void add_waiting(MeasuredStep& step) {
  std::vector<LoneCall> calls;
  for (const TracedCollective& call : step.collectives) {
    const double bytes = call.shape ? bytes_of(*call.shape) : 0.0;
    const double start = call.start.value();
    calls.push_back({call.category, call.group, bytes, start, start + call.time.value()});
  }
  const std::vector<CallTime> times = lone_waiting(calls, step.computing);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    step.collectives[i].waiting = times[i].waiting;
    step.collectives[i].least = times[i].least;
  }
  sum_waiting(step);
}

// Most time first; the collectives follow their rows.
void sort_operators(MeasuredStep& step) {
  std::vector<std::size_t> order(step.operators.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&step](std::size_t place) { return step.operators[place].time; });
  std::vector<TracedOperator> sorted;
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(step.operators[order[i]]));
  }
  for (TracedCollective& call : step.collectives) {
    call.row = place[call.row];
  }
  step.operators = std::move(sorted);
}

}  // namespace

MeasuredStep measured_step(const TraceRecording& recording, const std::string& file,
                           const std::string& wanted) {
  const ChosenStep chosen = chosen_step(recording, file, wanted);
  MeasuredStep step;
  step.head = recording.head;
  step.devices = recording.devices;
  step.name = chosen.name;
  step.steps = recording.steps.size();
  step.follows_others = chosen.follows_others;
  step.has_backward = recording.has_backward;
  std::vector<DeviceSpan> spans;
  for (const std::size_t call : chosen.calls) {
    spans.push_back(span_of(recording.calls[call], recording));
  }
  step.summary = summary_of(std::move(spans));
  const double first = recording.calls[chosen.calls.front()].start;
  const Seconds to_next(chosen.until.value_or(first) - first);
  if (to_next > step.summary.step) {
    step.summary.idle += to_next - step.summary.step;
    step.summary.step = to_next;
  }
  StepReader(recording).read(chosen, step);
  add_waiting(step);
  sort_operators(step);
  return step;
}

std::string short_kernel_name(const std::string& name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  constexpr std::size_t kLongestRemark = 120;
  std::string text = name;
  for (std::size_t at = text.find(kAnonymous); at != std::string::npos;
       at = text.find(kAnonymous)) {
    text.erase(at, kAnonymous.size());
  }
  if (text.starts_with("void ")) {
    text.erase(0, 5);
  }
  const std::size_t end = text.find_first_of("<(");
  if (end != std::string::npos && end > 0 && !text.starts_with("Mem")) {
    text.resize(end);
  }
  if (const std::size_t last = text.rfind("::"); last != std::string::npos) {
    text.erase(0, last + 2);
  }
  text.resize(std::min(text.size(), kLongestRemark));
  return text;
}

Seconds exposed_waiting(const BusyTimes& computing, const std::vector<TracedCollective>& calls) {
  std::vector<BusyEdge> edges;
  for (const auto& [start, end] : computing) {
    edges.push_back({start, 1, 0});
    edges.push_back({end, -1, 0});
  }
  for (const TracedCollective& call : calls) {
    const double start = call.start.value();
    const double transfers = start + call.waiting.value();
    edges.push_back({start, 0, 1});
    edges.push_back({transfers, 1, -1});
    edges.push_back({start + call.time.value(), -1, 0});
  }
  return Seconds(exposed_time(std::move(edges)));
}

void sum_waiting(MeasuredStep& step) {
  step.summary.waiting = step.summary.slowed = {};
  for (TracedOperator& row : step.operators) {
    row.waiting = row.slowed = Seconds{};
  }
  for (const TracedCollective& call : step.collectives) {
    step.operators[call.row].waiting += call.waiting;
    step.operators[call.row].slowed += call.slowed();
    step.summary.waiting[static_cast<std::size_t>(call.category)] += call.waiting;
    step.summary.slowed[static_cast<std::size_t>(call.category)] += call.slowed();
  }
  step.exposed_waiting = exposed_waiting(step.computing, step.collectives);
}

}  // namespace stepcast
