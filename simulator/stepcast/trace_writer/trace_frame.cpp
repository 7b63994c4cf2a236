// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/trace_frame.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/model/op_purpose.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kHostOrder = 5;  // of processes on the page, as Kineto has it
constexpr std::int64_t kDeviceOrder = 5'000'000;

// --- the head -----------------------------------------------------------------------------------

using Json = nlohmann::ordered_json;

struct ComputeCapability {
  std::int64_t major = 0;
  std::int64_t minor = 0;
};

// The digits of an architecture's name: 90 is 9.0, 103 is 10.3; of 942 the last one is a stepping.
ComputeCapability capability_of(const Architecture& architecture) {
  std::int64_t number = 0;
  for (const char letter : architecture.name) {
    if (ascii::is_digit(letter)) {
      number = 10 * number + (letter - '0');
    }
  }
  if (architecture.runtime == DeviceRuntime::kHip) {
    number /= 10;
  }
  return {number / 10, number % 10};
}

Json device_properties(const ClusterSpec& cluster) {
  constexpr std::int64_t kWarp = 32;  // threads that run together, of CUDA; of HIP twice as many
  const DeviceSpec& device = cluster.device;
  const ComputeCapability capability = capability_of(device.architecture);
  const bool hip = device.architecture.runtime == DeviceRuntime::kHip;
  Json devices = Json::array();
  for (std::int64_t id = 0; id < std::min(cluster.gpus(), cluster.gpus_per_node); ++id) {
    devices.push_back({{"id", id},
                       {"name", device.title},
                       {"totalGlobalMem", std::llround(device.hbm.capacity.value())},
                       {"computeMajor", capability.major},
                       {"computeMinor", capability.minor},
                       {"warpSize", hip ? 2 * kWarp : kWarp},
                       {"numSms", device.compute_units}});
  }
  return devices;
}

Json distributed_info(std::int64_t rank, const std::vector<NamedGroup>& groups) {
  Json configurations = Json::array();
  for (const NamedGroup& group : groups) {
    configurations.push_back({{"pg_name", group.name},
                              {"pg_desc", group.description},
                              {"backend_config", "cuda:nccl"},
                              {"pg_size", group.ranks.size()},
                              {"ranks", group.ranks}});
  }
  return {{"backend", "nccl"},
          {"rank", rank},
          {"world_size", groups.front().ranks.size()},
          {"pg_count", groups.size()},
          {"pg_config", configurations}};
}

// --- counters -----------------------------------------------------------------------------------
// Numbers over the time of a step: what a rank's memory holds, its clock and its power.
//
// Activations rise as each layer of a forward ends and fall as each layer of a backward does; the
// peak is the one that `stepcast memory` reports. A micro-batch counts for the same share of it in
// every chunk, and each transformer layer for the same share of that: a model of several kinds of
// layers keeps more in some of them than in others, and only their sum is that of the report. What
// else is held is at its size at the peak. Clock and power are those of the step: the simulator has
// no other ones.

struct CounterSeries {
  std::string_view name;
  double value = 0.0;
};

// A value of each series of one counter, which holds until the next sample.
struct CounterSample {
  std::string_view counter;
  Seconds at;
  std::vector<CounterSeries> series;
};

// A share of one micro-batch's activations of one chunk, taken or given back.
struct MemoryChange {
  Seconds at;
  double by = 0.0;
};

// Whether it belongs to a transformer layer, which keeps activations, and not to the model's ends.
bool is_of_layer(const Op& op) {
  return is_of_model(op.block) && op.block != Block::kEmbedding && op.block != Block::kHead;
}

// When the transformer layers end that a pass runs for `role`, one after the other: the next one
// begins with an operator that the last one has run, or that another kind of layer lists.
std::vector<Seconds> layer_ends(const PlacedStep& step, const PlacedPass& pass, TaskRole role) {
  const std::vector<StreamSpan>& program = step.programs[pass.program];
  std::vector<Seconds> ends;
  std::set<std::int32_t> ran;
  std::size_t layer = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const StreamSpan& span = program[i];
    if (span.op < 0 || stream_of(span, step.operators) != RankStream::kCompute) {
      continue;
    }
    const auto op = static_cast<std::size_t>(span.op);
    const OpPlace& place = step.operators.places[op];
    if (place.role != role || !is_of_layer(step.operators.ops[op])) {
      continue;
    }
    if (ends.empty() || place.layer != layer || ran.contains(span.op)) {
      ends.emplace_back();
      ran.clear();
    }
    ran.insert(span.op);
    layer = place.layer;
    ends.back() = max(ends.back(), pass.time_of(i, program).end);
  }
  return ends;
}

// What a pass takes is there when it begins and what it returns is gone when it ends where it runs
// no transformer layer.
void add_changes(std::vector<Seconds> ends, Seconds otherwise, double by,
                 std::vector<MemoryChange>& changes) {
  if (ends.empty()) {
    ends.push_back(otherwise);
  }
  for (const Seconds at : ends) {
    changes.push_back({at, by / real(std::ssize(ends))});
  }
}

std::vector<MemoryChange> changes_of(const PlacedStep& step) {
  std::vector<MemoryChange> changes;
  for (const PlacedPass& pass : step.passes) {
    if (pass.part == PassPart::kParameters || pass.part == PassPart::kOptimizer) {
      continue;
    }
    const ActivationChange change = activation_change(pass.task);
    if (change.taken != kNoChunk) {
      add_changes(layer_ends(step, pass, TaskRole::kForward), pass.start, 1.0, changes);
    }
    if (change.returned != kNoChunk) {
      add_changes(layer_ends(step, pass, TaskRole::kBackward), pass.end, -1.0, changes);
    }
  }
  std::ranges::stable_sort(changes, {}, &MemoryChange::at);
  return changes;
}

double most_held(const std::vector<MemoryChange>& changes) {
  double held = 0.0;
  double most = 0.0;
  for (const MemoryChange& change : changes) {
    held += change.by;
    most = std::max(most, held);
  }
  return most;
}

CounterSample memory_sample(Seconds at, const StageMemory& memory, double share) {
  return {"memory",
          at,
          {{"parameters_bytes", memory.parameters.value()},
           {"gradients_bytes", memory.gradients.value()},
           {"optimizer_bytes", memory.optimizer.value()},
           {"buffers_bytes", memory.buffers().value()},
           {"activations_bytes", share * memory.activations.value()}}};
}

// By time; `memory` is that of the rank of `step`.
std::vector<CounterSample> counter_samples(const PlacedStep& step, const Projection& projection,
                                           const StageMemory& memory) {
  constexpr double kMega = 1e6;
  const std::vector<MemoryChange> changes = changes_of(step);
  const double most = most_held(changes);
  std::vector<CounterSample> samples;
  for (const Seconds at : {Seconds{}, step.step}) {
    samples.push_back({"clock", at, {{"MHz", projection.clock.value() / kMega}}});
    samples.push_back({"power", at, {{"W", projection.power.value()}}});
  }
  samples.push_back(memory_sample({}, memory, 0.0));
  double held = 0.0;
  for (const MemoryChange& change : changes) {
    held += change.by;
    // Shares in binary fractions may end a bit below nothing.
    samples.push_back(memory_sample(change.at, memory, std::max(0.0, held) / most));
  }
  std::ranges::stable_sort(samples, {}, &CounterSample::at);
  return samples;
}

// --- names and marks ----------------------------------------------------------------------------

class FrameWriter {
 public:
  FrameWriter(const TraceFrame& frame, TraceJson& json)
      : frame_(frame),
        json_(json),
        passes_stream_(TraceProcesses::stream(std::ssize(frame.device.threads))) {}

  void annotate() const {
    const std::int64_t end = std::max<std::int64_t>(nanoseconds(frame_.step.step), 2);
    const auto add = [&](std::string_view category, std::string_view title, std::int64_t process,
                         std::int64_t thread, std::int64_t from, std::int64_t to) {
      std::string& text = json_.event();
      append_slice(text, event_head(category, title, process), thread, from, std::max(from, to));
      text += "}}";
    };
    constexpr std::string_view kStep = "ProfilerStep#0";
    add("user_annotation", kStep, frame_.processes.host,
        frame_.processes.thread(HostThread::kForward), frame_.first_call - kWrapper, end);
    add("gpu_user_annotation", kStep, frame_.processes.device, passes_stream_, 0, end);
    for (const PlacedPass& pass : frame_.step.passes) {
      if (pass.part == PassPart::kParameters) {
        continue;  // beside the passes of other chunks
      }
      std::string title(name(pass.part));
      if (pass.part != PassPart::kOptimizer) {
        title += " of micro-batch " + std::to_string(pass.task.micro_batch) + ", chunk " +
                 std::to_string(pass.task.chunk);
      }
      add("gpu_user_annotation", title, frame_.processes.device, passes_stream_,
          nanoseconds(pass.start), std::min(end, nanoseconds(pass.end)));
    }
  }

  void count() const {
    const std::vector<StageMemory>& memory = frame_.projection.memory;
    const auto rank = static_cast<std::size_t>(pipeline_rank(frame_.projection.plan, frame_.rank));
    for (const CounterSample& sample :
         counter_samples(frame_.step, frame_.projection, memory[rank])) {
      std::string& text = json_.event();
      text += R"({"ph":"C","name":)" + json_string(sample.counter);
      append_member(text, R"(,"pid":)", frame_.processes.device);
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

  void name_processes() const {
    const std::string device = "GPU " + std::to_string(frame_.processes.device);
    for (const bool host : {true, false}) {
      const std::int64_t process = host ? frame_.processes.host : frame_.processes.device;
      const std::int64_t order = host ? kHostOrder : kDeviceOrder + frame_.processes.device;
      metadata("process_name", process, 0,
               R"("name":)" +
                   json_string(host ? "python" : "stepcast, rank " + std::to_string(frame_.rank)));
      metadata("process_labels", process, 0, R"("labels":)" + json_string(host ? "CPU" : device));
      metadata("process_sort_index", process, 0, R"("sort_index":)" + std::to_string(order));
    }
    for (const HostThread thread : {HostThread::kForward, HostThread::kBackward}) {
      const std::int64_t id = frame_.processes.thread(thread);
      name_thread(frame_.processes.host, id,
                  "thread " + std::to_string(id) +
                      (thread == HostThread::kForward ? " (python)" : " (pt_autograd_0)"));
    }
    for (std::size_t i = 0; i < frame_.device.threads.size(); ++i) {
      const DeviceThread& thread = frame_.device.threads[i];
      const std::int64_t id = TraceProcesses::stream(static_cast<std::int64_t>(i));
      name_thread(frame_.processes.device, id,
                  "stream " + std::to_string(id) + " " + std::string(name(thread.stream)) +
                      (thread.lane > 0 ? " " + std::to_string(thread.lane + 1) : ""));
    }
    name_thread(frame_.processes.device, passes_stream_, "passes");
  }

 private:
  void metadata(std::string_view name, std::int64_t process, std::int64_t thread,
                std::string_view arguments) const {
    std::string& text = json_.event();
    text += R"({"ph":"M","name":)" + json_string(name);
    append_member(text, R"(,"pid":)", process);
    append_member(text, R"(,"tid":)", thread);
    text += R"(,"ts":0.000,"args":{)";
    text += arguments;
    text += "}}";
  }

  void name_thread(std::int64_t process, std::int64_t thread, const std::string& title) const {
    metadata("thread_name", process, thread, R"("name":)" + json_string(title));
    metadata("thread_sort_index", process, thread, R"("sort_index":)" + std::to_string(thread));
  }

  const TraceFrame& frame_;
  TraceJson& json_;
  std::int64_t passes_stream_;
};

}  // namespace

std::string trace_head(const TraceFrame& frame, const std::vector<NamedGroup>& groups) {
  constexpr double kMega = 1e6;
  const Projection& projection = frame.projection;
  const Json head = {{"schemaVersion", 1},
                     {"deviceProperties", device_properties(frame.cluster)},
                     {"record_shapes", 1},
                     {"distributedInfo", distributed_info(frame.rank, groups)},
                     {"projection",
                      {{"program", "stepcast"},
                       {"model", projection.model},
                       {"gpu", projection.gpu},
                       {"gpus", projection.gpus},
                       {"rank", frame.rank},
                       {"step_time_s", projection.time.step.value()},
                       {"tokens_per_second_per_gpu", projection.tokens_per_second_per_gpu},
                       {"clock_mhz", projection.clock.value() / kMega}}},
                     {"displayTimeUnit", "ms"},
                     {"baseTimeNanoseconds", 0},
                     {"traceName", "rank" + std::to_string(frame.rank)}};
  std::string text = json_dump(head);
  text.pop_back();
  return text;
}

void write_frame(const TraceFrame& frame, TraceJson& json) {
  FrameWriter writer(frame, json);
  writer.name_processes();
  writer.annotate();
  writer.count();
}

}  // namespace stepcast
