// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/step_trace.hpp"

#include <optional>
#include <string>

#include "stepcast/base/error.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/schedule/step_timer.hpp"
#include "stepcast/trace_writer/autograd_nodes.hpp"
#include "stepcast/trace_writer/device_slices.hpp"
#include "stepcast/trace_writer/trace_frame.hpp"
#include "stepcast/trace_writer/trace_text.hpp"

namespace stepcast {
namespace {

// --- the step -----------------------------------------------------------------------------------
// One that is short enough for a trace: one that `trace-compare` reads again, which takes 2.5
// million events, and a kernel is three of them.

constexpr std::int64_t kMostTracedKernels = 800'000;
// Times of a trace are whole nanoseconds, of which 64 bits count 292 years.
constexpr Seconds kLongestTraced{1e9};

[[noreturn]] void refuse(const StepContext& context) {
  throw ConfigError(
      {"training.global_batch_size", 0, 0},
      "makes " + std::to_string(context.expansion.plan.micro_batches) +
          " micro-batches a rank, whose kernels are more than the " +
          std::to_string(kMostTracedKernels) +
          " that a trace may have; give a smaller batch, all micro-batches are alike");
}

// Of pipeline rank `rank`. Throws ConfigError for a step of more kernels, or a longer one.
PlacedStep traced_step(const StepContext& context, std::int64_t rank) {
  if (!can_be_placed(context.expansion.plan)) {
    refuse(context);
  }
  PlacedStep step = placed_step(context, rank, kMostTracedKernels);
  if (step.step > kLongestTraced) {
    throw ConfigError({"the step", 0, 0}, "takes " + readable(step.step) + ", and a trace holds " +
                                              readable(kLongestTraced) +
                                              "; give a smaller batch or faster parts");
  }
  if (step.kernels > kMostTracedKernels) {
    refuse(context);
  }
  return step;
}

// --- the events ---------------------------------------------------------------------------------

constexpr std::int64_t kFirstHost = 10'000;  // process of rank 0

class StepTraceWriter {
 public:
  StepTraceWriter(const Experiment& experiment, const Projection& projection,
                  const StepContext& context, std::int64_t rank)
      : projection_(projection),
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
    const TraceFrame around{context_.cluster,    projection_, step_, device_, processes_, rank_,
                            calls_.front().begin};
    TraceJson json(sink, trace_head(around, groups_.all()));
    sequence_numbers_.assign(groups_.all().size(), 0);
    write_frame(around, json);
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

  [[nodiscard]] const OperatorText& text_of(const DeviceSlice& slice) const {
    return *texts_[static_cast<std::size_t>(slice.op)];
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
    append_member(text, R"(,"pid":)", place.process);
    append_member(text, R"(,"tid":)", place.thread);
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
    const std::string head =
        event_head("cpu_op", std::string(prefix) + text_of(own).node, processes_.host);
    append_slice(text, head, processes_.thread(own.launched_by),
                 calls_[node.around.first].begin + inset, calls_[node.around.last].end - inset);
    append_member(text, R"("Sequence number":)", own.sequence);
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
    return processes_.thread(device_.slices[call].launched_by);
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
      event_head("python_function", "torch/utils/checkpoint.py: recompute_fn", processes_.host);
  append_slice(text, head, processes_.thread(HostThread::kBackward),
               calls_[calls.first].begin + kInNode, calls_[calls.last].end - kInNode);
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
  append_member(text, op == FurtherOp::kSend ? R"(,"Dst Rank":)" : R"(,"Src Rank":)",
                rank_ + apart * plan.apart().pp);
}

void StepTraceWriter::call(TraceJson& json, std::size_t i) const {
  const DeviceSlice& kernel = device_.slices[i];
  const OperatorText& fixed = text_of(kernel);
  std::string& text = json.event();
  append_slice(text, fixed.op.head, processes_.thread(kernel.launched_by),
               calls_[i].begin + kInFrame, calls_[i].end - kInFrame);
  append_member(text, R"("External id":)", static_cast<std::int64_t>(i + 1));
  text += R"(,"Record function id":0)";
  if (kernel.sequence != 0) {
    append_member(text, R"(,"Sequence number":)", kernel.sequence);
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
  const std::int64_t thread = processes_.thread(kernel.launched_by);
  std::string& text = json.event();
  append_slice(text, text_of(kernel).launch.head, thread, end - kLaunch, end);
  append_member(text, R"("External id":)", id);
  append_member(text, R"(,"correlation":)", id);
  text += "}}";
  arrow(json, "ac2g", id, {processes_.host, thread, end - kLaunch},
        {processes_.device, TraceProcesses::stream(kernel.thread), kernel.begin});
}

void StepTraceWriter::run(TraceJson& json, std::size_t i) {
  const DeviceSlice& kernel = device_.slices[i];
  const OperatorText& fixed = text_of(kernel);
  const auto id = static_cast<std::int64_t>(i + 1);
  std::string& text = json.event();
  append_slice(text, fixed.kernel.head, TraceProcesses::stream(kernel.thread), kernel.begin,
               kernel.end);
  append_member(text, R"("External id":)", id);
  append_member(text, R"(,"correlation":)", id);
  append_member(text, R"(,"stream":)", TraceProcesses::stream(kernel.thread));
  if (fixed.group) {
    append_member(text, R"(,"Seq":)", ++sequence_numbers_[*fixed.group]);
  }
  name_peer(text, kernel);
  text += fixed.kernel.arguments;
  text += "}}";
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
