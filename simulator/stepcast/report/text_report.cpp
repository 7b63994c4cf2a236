// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/text_report.hpp"

#include "stepcast/base/units_text.hpp"
#include "stepcast/graph/model_flops.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

constexpr double kGi = 1024.0 * 1024.0 * 1024.0;

std::string count(std::int64_t value) { return with_separators(value); }

std::string recompute_text(const RecomputeSpec& recompute) {
  if (recompute.kind == RecomputeKind::kBudget) {
    return "memory_budget " + shortest_text(recompute.budget);
  }
  if (recompute.kind != RecomputeKind::kFull) {
    return std::string(name(recompute.kind));
  }
  if (!recompute.layer_list.empty()) {
    return "full (" + std::to_string(recompute.layer_list.size()) + " layers named)";
  }
  const std::string layers = std::to_string(recompute.layers);
  if (recompute.method == RecomputeMethod::kBlock) {
    return "full (block, " + layers + " layers a stage)";
  }
  return recompute.layers == 1 ? "full" : "full (uniform, runs of " + layers + ")";
}

std::string plan_text(const Projection& p) {
  const ParallelPlan& plan = p.plan;
  std::string text =
      "tp " + count(plan.tp) + (plan.sequence_parallel ? " (sequence parallel)" : "");
  text += ", cp " + count(plan.cp) + ", pp " + count(plan.pp);
  text += plan.vpp > 1 ? " x " + count(plan.vpp) + " virtual" : "";
  if (plan.schedule != Schedule::kOneFOneB && plan.schedule != Schedule::kInterleaved) {
    text += " (" + std::string(name(plan.schedule)) + ")";
  }
  text += ", ep " + count(plan.ep) + (plan.etp > 1 ? ", etp " + count(plan.etp) : "");
  if (plan.ep > 1 && plan.exchange.dispatcher != Dispatcher::kAllToAll) {
    text += " (" + std::string(name(plan.exchange.dispatcher)) + ")";
  }
  text += ", dp " + count(plan.dp);
  text += plan.zero == 3 ? ", fsdp " + count(plan.fsdp) : ", zero " + count(plan.zero);
  return text;
}

std::string result_lines(const Projection& p) {
  std::string text = "\n";
  text += line("tokens/s/GPU", decimals(p.tokens_per_second_per_gpu, 1));
  if (p.expected_error) {
    text += line("expected error", expected_error_text(*p.expected_error));
  }
  text += line("step time", readable(p.time.step));
  text += line("model TFLOP/s/GPU", decimals(p.model_rate_per_gpu.value() / 1e12, 1));
  text +=
      line("MFU", decimals(100.0 * p.mfu, 1) + " % of " + decimals(p.peak_rate.value() / 1e12, 1) +
                      " TFLOP/s dense " + std::string(name(p.training.dtype)));
  const std::string left = p.own_clocks ? "of products: " : "";
  const std::string why = p.clock_locked ? "locked" : left + "what the power limit leaves";
  text += line("clock", decimals(p.clock.value() / 1e6, 1) + " MHz (" + why + "), " +
                            decimals(p.power.value(), 1) + " W on average");
  return text;
}

std::string time_line(const std::string& key, Seconds value, const Projection& p) {
  const double share = p.time.step.value() > 0.0 ? value / p.time.step : 0.0;
  return "  " + padded(key, 26) + right(readable(value), 12) +
         right(decimals(100.0 * share, 1), 8) + " %\n";
}

std::string time_lines(const Projection& p) {
  const TimeBreakdown& time = p.time.breakdown;
  const TimeBreakdown& hidden = p.time.hidden;
  std::string text =
      "\nWhere the time goes (pipeline rank " + count(p.time.slowest_rank) + ", the slowest)\n";
  text += time_line("computation", time.compute, p);
  if (time.contention > Seconds{}) {
    text += time_line("slowed by communication", time.contention, p);
  }
  for (const Axis axis :
       {Axis::kTensor, Axis::kExpert, Axis::kContext, Axis::kData, Axis::kPipeline}) {
    const auto slot = static_cast<std::size_t>(axis);
    const Seconds all = time.exposed[slot] + hidden.exposed[slot];
    if (all > Seconds{}) {
      text += time_line(std::string(name(axis)) + " communication, exposed", time.exposed[slot], p);
    }
  }
  if (time.bubble > Seconds{}) {
    text += time_line("pipeline bubble", time.bubble, p);
  }
  text += time_line("optimizer", time.optimizer, p);
  text += time_line("step", time.total(), p);
  if (hidden.communication() > Seconds{}) {
    text += line("hidden communication", readable(hidden.communication()) + " behind computation");
  }
  return text;
}

std::string gib(Bytes value) { return right(decimals(value.value() / kGi, 2), 12); }

std::string memory_table(const Projection& p) {
  std::string text = "  " + padded("rank", 6);
  for (const char* column : {"parameters", "gradients", "optimizer", "activations", "buffers",
                             "allocated", "reserved", "outside"}) {
    text += right(column, 12);
  }
  text += right("in flight", 12) + "  at its peak\n";
  for (const StageMemory& stage : p.memory) {
    text += "  " + padded(count(stage.rank), 6) + gib(stage.parameters) + gib(stage.gradients) +
            gib(stage.optimizer) + gib(stage.activations) + gib(stage.buffers()) +
            gib(stage.total()) + gib(stage.reserved) + gib(stage.outside) +
            right(decimals(stage.in_flight, 1), 12) + "  " + std::string(stage.moment) + ": " +
            std::string(name(stage.verdict)) + "\n";
  }
  return text;
}

std::string memory_entry(const std::string& key, Bytes value) {
  return "  " + padded(key, 26) + gib(value) + "\n";
}

// Lines of the buffers that there are.
std::string buffer_lines(const StageMemory& stage) {
  std::string text;
  const auto entry = [&text](const char* key, Bytes value) {
    text += value > Bytes{} ? memory_entry(std::string("  ") + key, value) : std::string();
  };
  entry("logits and loss", stage.loss);
  entry("backward workspace", stage.workspace);
  entry("gathered weights", stage.gathered);
  entry("gradients to reduce", stage.reduced);
  entry("expert exchange", stage.exchange);
  entry("pipeline receives", stage.received);
  return text;
}

std::string saved_lines(const SavedLayer& layer) {
  std::string text = "\nSaved by a " + layer.kind + " of one micro-batch, in MiB";
  text += layer.recomputed ? "; recomputed layers keep their input only\n" : "\n";
  const auto entry = [&text](std::string_view key, Bytes value) {
    text += "  " + padded(std::string(key), 32) +
            right(decimals(value.value() / (1024.0 * 1024.0), 2), 12) + "\n";
  };
  for (const SavedTensor& tensor : layer.tensors) {
    entry(name(tensor.id), tensor.bytes);
  }
  entry("total", total(layer.tensors));
  return text;
}

std::string memory_lines(const Projection& p) {
  const StageMemory* fullest = p.fullest_stage();
  const std::string verdict(name(fullest->verdict));
  std::string text = "\nMemory of a GPU in GiB (pipeline rank " + count(fullest->rank) +
                     ", the fullest, at its peak: " + std::string(fullest->moment) +
                     "): " + verdict + (fullest->verdict == MemoryVerdict::kTight ? " in " : " ") +
                     readable(p.memory_capacity) + "\n";
  text += memory_entry("parameters", fullest->parameters);
  text += memory_entry("gradients", fullest->gradients);
  text += memory_entry("optimizer states", fullest->optimizer);
  text += memory_entry("activations", fullest->activations);
  text += memory_entry("buffers", fullest->buffers()) + buffer_lines(*fullest);
  text += memory_entry("total (allocated)", fullest->total());
  text += memory_entry("reserved", fullest->reserved);
  text += memory_entry("driver, communicators", fullest->outside);
  return text;
}

}  // namespace

std::string training_text(const TrainingRecipe& training) {
  return std::string(name(training.dtype)) + ", sequence " + count(training.sequence_length) +
         ", global batch " + count(training.global_batch_size) + ", micro-batch " +
         count(training.micro_batch_size) + ", recompute " + recompute_text(training.recompute);
}

std::string heading(const Projection& p) {
  std::string text = p.model + " on " + count(p.gpus) + " x " + p.gpu + " (" + count(p.nodes) +
                     (p.nodes == 1 ? " node)" : " nodes)") + "\n\n";
  text += line("training", training_text(p.training));
  text += line("plan", plan_text(p));
  text += line("software", p.software);
  return text;
}

std::string notes_and_reasons(const Projection& p) {
  std::string text;
  for (const std::string& note : p.notes) {
    text += line("note", note);
  }
  if (!p.reasons.empty()) {
    text += "\nThis plan cannot run:\n";
    for (const std::string& reason : p.reasons) {
      text += "  - " + reason + "\n";
    }
  }
  return text;
}

std::string to_text(const Projection& p) {
  std::string text = heading(p);
  if (p.priced) {
    text += result_lines(p) + time_lines(p) + memory_lines(p);
    text += "\n  FLOPs: " + std::string(kFlopConvention) + "\n";
  }
  return text + notes_and_reasons(p);
}

std::string memory_to_text(const Projection& p) {
  std::string text = heading(p);
  if (p.priced) {
    text += "\nMemory of each pipeline rank in GiB, of " + readable(p.memory_capacity) + "\n" +
            memory_table(p);
    text += "\nBuffers of rank " + count(p.fullest_stage()->rank) + ", the fullest\n" +
            buffer_lines(*p.fullest_stage());
    for (const SavedLayer& layer : p.saved) {
      text += saved_lines(layer);
    }
  }
  return text + notes_and_reasons(p);
}

std::string to_csv(const Projection& p) {
  std::string text =
      "model,gpu,gpus,feasible,tokens_per_second_per_gpu,step_time_s,model_tflops_per_gpu,mfu,"
      "peak_memory_bytes\n";
  text +=
      p.model + "," + p.gpu + "," + std::to_string(p.gpus) + "," + (p.feasible ? "true" : "false");
  if (!p.priced) {
    return text + ",,,,,\n";
  }
  for (const double value : {p.tokens_per_second_per_gpu, p.time.step.value(),
                             p.model_rate_per_gpu.value() / 1e12, p.mfu, p.peak_memory().value()}) {
    text += "," + shortest_text(value);
  }
  return text + "\n";
}

}  // namespace stepcast
