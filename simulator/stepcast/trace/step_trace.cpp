// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/step_trace.hpp"

#include <algorithm>
#include <optional>

#include "stepcast/base/error.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/trace/autograd_nodes.hpp"
#include "stepcast/trace/device_slices.hpp"
#include "stepcast/trace/event_text.hpp"
#include "stepcast/trace/further_event.hpp"
#include "stepcast/trace/host_slices.hpp"
#include "stepcast/trace/trace_counters.hpp"
#include "stepcast/trace/trace_head.hpp"
#include "stepcast/trace/traced_step.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kOrigin = 1'000'000'000;  // ns, where the step begins: its host does before
constexpr std::int64_t kFirstHost = 10'000;      // process of rank 0
constexpr std::int64_t kFirstStream = 7;         // number of the stream of computation, as usual
constexpr std::int64_t kHostOrder = 5;           // of processes on the page, as Kineto has it
constexpr std::int64_t kDeviceOrder = 5'000'000;

class StepTraceWriter {
 public:
  StepTraceWriter(const Experiment& experiment, const Projection& projection,
                  const StepContext& context, std::int64_t rank)
      : experiment_(experiment),
        projection_(projection),
        context_(context),
        rank_(rank),
        step_(traced_step(context, pipeline_rank(projection.plan, rank))),
        device_(device_slices(step_)),
        calls_(host_calls(device_.slices)),
        autograd_(autograd_thread(device_.slices)),
        naming_{experiment.cluster.device.architecture.runtime,
                experiment.cluster.device.architecture.name,
                projection.training.dtype,
                experiment.software.gradient_reduce,
                experiment.model.hidden,
                experiment.cluster.domain_size()},
        processes_{kFirstHost + rank, rank % experiment.cluster.gpus_per_node},
        groups_(projection.plan.world(), rank) {
    make_texts();
  }

  void write(const TextSink& sink) {
    TraceJson json(sink, trace_head(experiment_, projection_, rank_, groups_.all()));
    sequence_numbers_.assign(groups_.all().size(), 0);
    name_processes(json);
    annotate(json);
    count(json);
    for (const AutogradNode& node : autograd_.nodes) {
      wrap(json, node);
      pair_up(json, node);
    }
    for (const CallRange& calls : autograd_.recomputations) {
      frame(json, calls);
    }
    for (std::size_t i = 0; i < device_.slices.size(); ++i) {
      call(json, i);
      launch(json, i);
      run(json, i);
    }
    json.finish();
  }

 private:
  void make_texts();

  [[nodiscard]] std::int64_t host_thread(HostThread thread) const {
    return processes_.host + (thread == HostThread::kBackward ? 1 : 0);
  }
  [[nodiscard]] static std::int64_t stream(std::int64_t thread) { return kFirstStream + thread; }
  [[nodiscard]] std::int64_t passes_stream() const { return stream(std::ssize(device_.threads)); }
  [[nodiscard]] const OperatorText& text_of(const DeviceSlice& slice) const {
    return *texts_[static_cast<std::size_t>(slice.op)];
  }

  // Up to the arguments.
  static void slice(std::string& text, std::string_view head, std::int64_t thread,
                    std::int64_t begin, std::int64_t end) {
    text += head;
    append_number(text, thread);
    text += ",\"ts\":";
    append_microseconds(text, kOrigin + begin);
    text += ",\"dur\":";
    append_microseconds(text, end - begin);
    text += ",\"args\":{";
  }
  static void member(std::string& text, std::string_view name, std::int64_t value) {
    text += name;
    append_number(text, value);
  }

  struct ArrowEnd {
    std::int64_t process = 0;
    std::int64_t thread = 0;
    std::int64_t at = 0;
  };
  // Of the category `kind`, which is its name as well.
  static void arrow(TraceJson& json, std::string_view kind, std::int64_t id, const ArrowEnd& from,
                    const ArrowEnd& to);
  void wrap(TraceJson& json, const AutogradNode& node) const;
  void pair_up(TraceJson& json, const AutogradNode& node) const;
  void frame(TraceJson& json, const CallRange& calls) const;
  void call(TraceJson& json, std::size_t i) const;
  void launch(TraceJson& json, std::size_t i) const;
  void run(TraceJson& json, std::size_t i);
  void name_peer(std::string& text, const DeviceSlice& kernel) const;
  void annotate(TraceJson& json) const;
  void count(TraceJson& json) const;
  void name_processes(TraceJson& json) const;
  void metadata(TraceJson& json, std::string_view name, std::int64_t process, std::int64_t thread,
                std::string_view arguments) const;
  void name_thread(TraceJson& json, std::int64_t process, std::int64_t thread,
                   const std::string& title) const;

  const Experiment& experiment_;
  const Projection& projection_;
  const StepContext& context_;
  std::int64_t rank_;
  PlacedStep step_;
  DeviceSlices device_;
  std::vector<HostCall> calls_;  // of the slices
  AutogradThread autograd_;
  TraceNaming naming_;
  TraceProcesses processes_;
  ProcessGroups groups_;
  std::vector<std::optional<OperatorText>> texts_;  // of the operators that run
  std::vector<std::int64_t> sequence_numbers_;      // of each group's next collective
};

// --- what is fixed ------------------------------------------------------------------------------

void StepTraceWriter::make_texts() {
  const bool hip = naming_.runtime == DeviceRuntime::kHip;
  const std::string_view kernel = hip ? "hipLaunchKernel" : "cudaLaunchKernel";
  const std::string_view copy = hip ? "hipMemcpyAsync" : "cudaMemcpyAsync";
  texts_.resize(step_.operators.ops.size() + kFurtherOps);
  for (const DeviceSlice& slice : device_.slices) {
    const auto op = static_cast<std::size_t>(slice.op);
    if (texts_[op]) {
      continue;
    }
    if (op < step_.operators.ops.size()) {
      const TraceOperator event =
          trace_operator(step_.operators.ops[op], step_.operators.places[op].role, naming_);
      const OperatorCalls calls{name(step_.operators.ops[op].id), kernel, "kernel",
                                step_.operators.places[op].role == TaskRole::kRecompute};
      texts_[op] = operator_text(event, calls, processes_, groups_);
      continue;
    }
    const auto further_op = static_cast<FurtherOp>(op - step_.operators.ops.size());
    const bool copies = further_op == FurtherOp::kCopyIn || further_op == FurtherOp::kCopyOut;
    const OperatorCalls calls{copies ? "step" : name(OpId::kPipelineSend), copies ? copy : kernel,
                              copies ? "gpu_memcpy" : "kernel"};
    texts_[op] =
        operator_text(further_event(further_op, context_, naming_), calls, processes_, groups_);
  }
}

void StepTraceWriter::arrow(TraceJson& json, std::string_view kind, std::int64_t id,
                            const ArrowEnd& from, const ArrowEnd& to) {
  const auto end = [&](std::string_view phase, const ArrowEnd& place, std::string_view rest) {
    std::string& text = json.event();
    text += phase;
    append_number(text, id);
    member(text, R"(,"pid":)", place.process);
    member(text, R"(,"tid":)", place.thread);
    text += R"(,"ts":)";
    append_microseconds(text, kOrigin + place.at);
    for (const std::string_view piece : std::initializer_list<std::string_view>{
             R"(,"cat":")", kind, R"(","name":")", kind, rest}) {
      text += piece;
    }
  };
  end(R"({"ph":"s","id":)", from, "\"}");
  end(R"({"ph":"f","id":)", to, R"(","bp":"e"})");
}

// --- operators ----------------------------------------------------------------------------------

// Autograd runs a node in two slices around its operators.
void StepTraceWriter::wrap(TraceJson& json, const AutogradNode& node) const {
  const DeviceSlice& own = device_.slices[node.own];
  std::int64_t inset = 0;
  for (const std::string_view prefix : {"autograd::engine::evaluate_function: ", ""}) {
    std::string& text = json.event();
    const std::string head = R"({"ph":"X","cat":"cpu_op","name":)" +
                             json_string(std::string(prefix) + text_of(own).node) +
                             ",\"pid\":" + std::to_string(processes_.host) + ",\"tid\":";
    slice(text, head, host_thread(own.launched_by), calls_[node.around.first].begin + inset,
          calls_[node.around.last].end - inset);
    member(text, R"("Sequence number":)", own.sequence);
    text += R"(,"Fwd thread id":1}})";
    inset += kWrapper;
  }
}

// From the forward operator to the inner slice of the node.
void StepTraceWriter::pair_up(TraceJson& json, const AutogradNode& node) const {
  if (node.arrow == 0) {
    return;
  }
  const auto thread = [this](std::size_t call) {
    return host_thread(device_.slices[call].launched_by);
  };
  arrow(json, "fwdbwd", node.arrow,
        {processes_.host, thread(node.forward), calls_[node.forward].begin + kInFrame},
        {processes_.host, thread(node.own), calls_[node.around.first].begin + kWrapper});
}

// The frame of Python in which PyTorch runs forward once more, whose name readers know
// recomputation by. In which line of which version it stands is not made up.
void StepTraceWriter::frame(TraceJson& json, const CallRange& calls) const {
  std::string& text = json.event();
  const std::string head =
      R"({"ph":"X","cat":"python_function","name":"torch/utils/checkpoint.py: recompute_fn","pid":)" +
      std::to_string(processes_.host) + ",\"tid\":";
  slice(text, head, host_thread(HostThread::kBackward), calls_[calls.first].begin + kInNode,
        calls_[calls.last].end - kInNode);
  text += "}}";
}

// Of a transfer: the rank at its other end, which differs from this one in its pipeline rank alone.
void StepTraceWriter::name_peer(std::string& text, const DeviceSlice& kernel) const {
  if (kernel.peer < 0) {
    return;
  }
  const ParallelPlan& plan = projection_.plan;
  const std::int64_t apart = kernel.peer - pipeline_rank(plan, rank_);
  const auto op =
      static_cast<FurtherOp>(static_cast<std::size_t>(kernel.op) - step_.operators.ops.size());
  member(text, op == FurtherOp::kSend ? R"(,"Dst Rank":)" : R"(,"Src Rank":)",
         rank_ + apart * plan.apart().pp);
}

void StepTraceWriter::call(TraceJson& json, std::size_t i) const {
  const DeviceSlice& kernel = device_.slices[i];
  const OperatorText& fixed = text_of(kernel);
  std::string& text = json.event();
  slice(text, fixed.op.head, host_thread(kernel.launched_by), calls_[i].begin + kInFrame,
        calls_[i].end - kInFrame);
  member(text, R"("External id":)", static_cast<std::int64_t>(i + 1));
  text += R"(,"Record function id":0)";
  if (kernel.sequence != 0) {
    member(text, R"(,"Sequence number":)", kernel.sequence);
    text += kernel.in_backward ? R"(,"Fwd thread id":1)" : R"(,"Fwd thread id":0)";
  }
  name_peer(text, kernel);
  text += fixed.op.arguments;
  text += "}}";
}

void StepTraceWriter::launch(TraceJson& json, std::size_t i) const {
  const DeviceSlice& kernel = device_.slices[i];
  const auto id = static_cast<std::int64_t>(i + 1);
  const std::int64_t end = calls_[i].end - kInFrame - kWrapper;
  const std::int64_t thread = host_thread(kernel.launched_by);
  std::string& text = json.event();
  slice(text, text_of(kernel).launch.head, thread, end - kLaunch, end);
  member(text, R"("External id":)", id);
  member(text, R"(,"correlation":)", id);
  text += "}}";
  arrow(json, "ac2g", id, {processes_.host, thread, end - kLaunch},
        {processes_.device, stream(kernel.thread), kernel.begin});
}

void StepTraceWriter::run(TraceJson& json, std::size_t i) {
  const DeviceSlice& kernel = device_.slices[i];
  const OperatorText& fixed = text_of(kernel);
  const auto id = static_cast<std::int64_t>(i + 1);
  std::string& text = json.event();
  slice(text, fixed.kernel.head, stream(kernel.thread), kernel.begin, kernel.end);
  member(text, R"("External id":)", id);
  member(text, R"(,"correlation":)", id);
  member(text, R"(,"stream":)", stream(kernel.thread));
  if (fixed.group) {
    member(text, R"(,"Seq":)", ++sequence_numbers_[*fixed.group]);
  }
  name_peer(text, kernel);
  text += fixed.kernel.arguments;
  text += "}}";
}

// --- the rest -----------------------------------------------------------------------------------

void StepTraceWriter::annotate(TraceJson& json) const {
  const std::int64_t end = std::max<std::int64_t>(nanoseconds(step_.step), 2);
  const auto add = [&](std::string_view category, std::string_view title, std::int64_t process,
                       std::int64_t thread, std::int64_t from, std::int64_t to) {
    const std::string head = R"({"ph":"X","cat":)" + json_string(category) +
                             ",\"name\":" + json_string(title) +
                             ",\"pid\":" + std::to_string(process) + ",\"tid\":";
    std::string& text = json.event();
    slice(text, head, thread, from, std::max(from, to));
    text += "}}";
  };
  constexpr std::string_view kStep = "ProfilerStep#0";
  add("user_annotation", kStep, processes_.host, host_thread(HostThread::kForward),
      calls_.front().begin - kWrapper, end);
  add("gpu_user_annotation", kStep, processes_.device, passes_stream(), 0, end);
  for (const PlacedPass& pass : step_.passes) {
    if (pass.part == PassPart::kParameters) {
      continue;  // beside the passes of other chunks
    }
    std::string title(name(pass.part));
    if (pass.part != PassPart::kOptimizer) {
      title += " of micro-batch " + std::to_string(pass.task.micro_batch) + ", chunk " +
               std::to_string(pass.task.chunk);
    }
    add("gpu_user_annotation", title, processes_.device, passes_stream(), nanoseconds(pass.start),
        std::min(end, nanoseconds(pass.end)));
  }
}

void StepTraceWriter::count(TraceJson& json) const {
  const std::vector<StageMemory>& memory = projection_.memory;
  const auto rank = static_cast<std::size_t>(pipeline_rank(projection_.plan, rank_));
  for (const CounterSample& sample : counter_samples(step_, projection_, memory[rank])) {
    std::string& text = json.event();
    text += R"({"ph":"C","name":)" + json_string(sample.counter);
    member(text, R"(,"pid":)", processes_.device);
    text += R"(,"tid":0,"ts":)";
    append_microseconds(text, kOrigin + nanoseconds(sample.at));
    text += R"(,"args":{)";
    for (const CounterSeries& series : sample.series) {
      text += (&series == sample.series.data() ? "" : ",") + json_string(series.name) + ":";
      append_number(text, series.value);
    }
    text += "}}";
  }
}

void StepTraceWriter::metadata(TraceJson& json, std::string_view name, std::int64_t process,
                               std::int64_t thread, std::string_view arguments) const {
  std::string& text = json.event();
  text += R"({"ph":"M","name":)" + json_string(name);
  member(text, R"(,"pid":)", process);
  member(text, R"(,"tid":)", thread);
  text += R"(,"ts":0.000,"args":{)";
  text += arguments;
  text += "}}";
}

void StepTraceWriter::name_thread(TraceJson& json, std::int64_t process, std::int64_t thread,
                                  const std::string& title) const {
  metadata(json, "thread_name", process, thread, R"("name":)" + json_string(title));
  metadata(json, "thread_sort_index", process, thread, R"("sort_index":)" + std::to_string(thread));
}

void StepTraceWriter::name_processes(TraceJson& json) const {
  const std::string device = "GPU " + std::to_string(processes_.device);
  for (const bool host : {true, false}) {
    const std::int64_t process = host ? processes_.host : processes_.device;
    const std::int64_t order = host ? kHostOrder : kDeviceOrder + processes_.device;
    metadata(
        json, "process_name", process, 0,
        R"("name":)" + json_string(host ? "python" : "stepcast, rank " + std::to_string(rank_)));
    metadata(json, "process_labels", process, 0,
             R"("labels":)" + json_string(host ? "CPU" : device));
    metadata(json, "process_sort_index", process, 0, R"("sort_index":)" + std::to_string(order));
  }
  for (const HostThread thread : {HostThread::kForward, HostThread::kBackward}) {
    const std::int64_t id = host_thread(thread);
    name_thread(json, processes_.host, id,
                "thread " + std::to_string(id) +
                    (thread == HostThread::kForward ? " (python)" : " (pt_autograd_0)"));
  }
  for (std::size_t i = 0; i < device_.threads.size(); ++i) {
    const DeviceThread& thread = device_.threads[i];
    const std::int64_t id = stream(static_cast<std::int64_t>(i));
    name_thread(json, processes_.device, id,
                "stream " + std::to_string(id) + " " + std::string(name(thread.stream)) +
                    (thread.lane > 0 ? " " + std::to_string(thread.lane + 1) : ""));
  }
  name_thread(json, processes_.device, passes_stream(), "passes");
}

}  // namespace

std::int64_t pipeline_rank(const ParallelPlan& plan, std::int64_t rank) {
  return rank / plan.apart().pp % plan.pp;
}

void write_step_trace(const Experiment& experiment, const Projection& projection,
                      const CostModel& cost, std::int64_t rank, const TextSink& sink) {
  STEPCAST_CHECK(projection.priced, "only a step that has a price has a trace");
  STEPCAST_CHECK(0 <= rank && rank < projection.plan.world(), "there is no such rank");
  const CostModel paced = projection.clock_locked ? cost : within_level(cost);
  const ExpansionContext expansion{experiment.model, projection.plan, experiment.training,
                                   experiment.software};
  const StepContext context{expansion, experiment.cluster, paced, projection.clock};
  StepTraceWriter(experiment, projection, context, rank).write(sink);
}

}  // namespace stepcast
