// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/projection_notes.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/hardware/link_group.hpp"
#include "stepcast/model/document_mask.hpp"
#include "stepcast/pipeline/pipeline_order.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/plan/written_input.hpp"
#include "stepcast/schedule/operator_inventory.hpp"

namespace stepcast {
namespace {

// Whose host nobody named is taken to have the usual one, whatever its GPU.
void note_assumed_host(Projection& p, const Experiment& experiment) {
  const bool matters = experiment.software.host.layers != LaunchMode::kProgram;
  if (matters && experiment.named.host.empty()) {
    p.notes.push_back("host " + experiment.cluster.host.name +
                      " assumed: no cluster.host is given");
  }
}

void note_assumed_software(Projection& p, const Experiment& experiment) {
  if (experiment.named.software_assumed) {
    p.notes.push_back("software " + experiment.software.name + " assumed, the usual one of " +
                      experiment.cluster.device.name + ": none is given");
  }
}

void note_assumed_plan(Projection& p, const Experiment& experiment) {
  if (experiment.named.plan_assumed) {
    const TrainingRecipe& training = experiment.training;
    p.notes.push_back(
        "no plan given: the fastest that a quick search found is taken, with micro-batch " +
        std::to_string(training.micro_batch_size) + " and recompute " +
        recompute_text(training.recompute) + "; compare --best-plan looks at all");
  }
}

void note_assumed_training(Projection& p, const Experiment& experiment) {
  const ConfigNode written = written_training(experiment.training);
  std::vector<std::string> values;
  for (const std::string& key : experiment.named.training_assumed) {
    values.push_back(key + " " +
                     (key == kLoraTargets ? text_list(written.find("lora")->find("targets")->items,
                                                      ", ", &ConfigNode::text)
                                          : written.find(key)->text));
  }
  if (!values.empty()) {
    p.notes.push_back(text_list(values) + " assumed: not given");
  }
}

void note_stand_in(Projection& p, const DeviceSpec& device) {
  if (device.standing == PartStanding::kAnnounced) {
    p.notes.push_back(estimate_note(device));
  } else if (!device.stand_in.empty()) {
    p.notes.push_back("no kernel was measured on " + device.name + ": constants are those of " +
                      device.stand_in + ", at the rates, clocks and power of its data sheet");
  }
  for (const std::string& doubt : device.doubts) {
    p.notes.push_back("own part " + device.name + ": " + doubt);
  }
}

void note_assumed_exchange(Projection& p, const DeviceSpec& device) {
  if (p.plan.ep == 1) {
    return;
  }
  if (std::string note = assumed_exchange(device, p.plan.exchange.dispatcher); !note.empty()) {
    p.notes.push_back(std::move(note));
  }
}

// Which kernel ran, where it is another one than asked for or its mask matters.
void note_attention(Projection& p, const Experiment& experiment) {
  const SoftwareSpec& software = experiment.software;
  const std::string kernel(name(software.attention_kernel()));
  const bool by_library = software.attention_choice.has_value();
  const std::string library = by_library ? " through " + text_of(software.attention_library) : "";
  if (by_library && !software.attention_choice->reason.empty()) {
    p.notes.push_back("attention runs " + kernel + ": " + software.attention_choice->reason);
  } else if (experiment.model.attention.sinks &&
             experiment.model.attention.kind != AttentionKind::kSharedKv) {
    p.notes.push_back("attention runs " + kernel + library + ", sinks fused");
  }
  if (by_library && software.attention_choice->kernel == AttentionKernel::kCudnn917 &&
      !software.attention_library.cudnn) {
    p.notes.emplace_back(
        "attention of cuDNN 9.17 or later assumed: no "
        "software.attention_library.cudnn is given; older ones are slower");
  }
  const Documents& documents = experiment.training.documents;
  const std::int64_t sequence = experiment.training.sequence_length;
  if (documents.length == 0) {
    return;
  }
  const std::string share = significant(
      100.0 * causal_pairs(documents, sequence, 0) / causal_pairs(Documents{}, sequence, 0), 3);
  if (software.masks_by_tensor && !software.keeps_documents_apart()) {
    p.notes.push_back("documents are kept apart by a tensor that " + kernel + library +
                      " adds to all scores: none is left out");
    return;
  }
  p.notes.push_back(
      software.keeps_documents_apart()
          ? "documents are kept apart by " + kernel + ": " + share +
                " % of the pairs of a causal mask; FLOPs of the model, and MFU, count the whole "
                "sequence"
          : "documents see each other: " + kernel + library + " has no mask for them here");
}

// Which transfers hold a pipeline up besides its schedule, and what does not suffer from it.
void note_pipeline_transfers(Projection& p, const StepContext& step) {
  const ExpansionContext& expansion = step.expansion;
  const PipelineTransfers transfers =
      pipeline_runtime(expansion.plan, expansion.model, expansion.software).transfers;
  // Two ranks in order have one peer each, and nothing to wait for but their inputs.
  const bool in_order = transfers == PipelineTransfers::kInOrder;
  if (transfers == PipelineTransfers::kFree || expansion.plan.pp < (in_order ? 3 : 2)) {
    return;
  }
  p.notes.push_back(std::string(in_order
                                    ? "transfers between pipeline ranks run one behind the other"
                                    : "pipeline ranks wait for each other behind every pass") +
                    " (pipeline_transfers " + std::string(name(transfers)) +
                    "), which holds up ranks of several stages; 1f1b with vpp 1 is not held up");
}

// A note on kinds of kernels, of those that run.
struct KernelKind {
  bool runs = false;
  std::string_view name;
};
void note_kinds(Projection& p, const std::string& before, const std::vector<KernelKind>& kinds,
                const std::string& after) {
  std::vector<std::string_view> names;
  for (const KernelKind& kind : kinds) {
    if (kind.runs) {
      names.push_back(kind.name);
    }
  }
  if (!names.empty()) {
    p.notes.push_back(before + text_list(names) + after);
  }
}

// Whether all constants of a group were found on the part itself.
bool measured_here(const DeviceSpec& device, const std::string& group) {
  return std::ranges::none_of(device.provenance, [&](const Provenance& constant) {
    return constant.key.starts_with(group + ".") && constant.kind == SourceKind::kAssumed;
  });
}

// Kernels that nobody measured on this GPU, or anywhere.
void note_unmeasured(Projection& p, const Experiment& experiment) {
  const ModelSpec& model = experiment.model;
  const DeviceSpec& device = experiment.cluster.device;
  const bool linear = measured_here(device, "linear_attention");
  const bool sparse = measured_here(device, "sparse_attention");
  note_kinds(p, "not all kernels were measured on " + device.name + " of: ",
             {{!linear && model.mixers.has(Mixer::kLinearAttention), "linear attention"},
              {!linear && model.mixers.has(Mixer::kConvolution), "short convolutions"},
              {!sparse && model.attention.indexer.has_value(), "sparse attention with an indexer"}},
             "; constants of another part stand for theirs");
  note_kinds(p, "kernels that were never measured: ",
             {{model.residual_streams > 1, "several residual streams"},
              {model.residual_block > 0, "attention residuals"}},
             "; priced by the bytes that they move");
}

// How much of the model is trained, where it is not all of it.
void note_trained(Projection& p, const Experiment& experiment) {
  const TrainedWeights& weights = experiment.training.weights;
  if (weights.whole_model()) {
    return;
  }
  const TrainedCounts trained = count_trained(experiment.model, weights);
  const double whole = p.parameters + static_cast<double>(trained.adapters);
  p.notes.push_back(with_separators(trained.total) + " parameters are trained, " +
                    significant(100.0 * static_cast<double>(trained.total) / whole, 3) + " %, " +
                    with_separators(trained.adapters) +
                    " of them in adapters; the rest is frozen and has no weight gradient");
}

bool reads_a_table(const Experiment& experiment) {
  return std::ranges::any_of(experiment.backends, [](const auto& chosen) {
    return !parse_backend_choice(chosen.second).files.empty();
  });
}

struct OriginUse {
  int operators = 0;
  Seconds time;
};

// How far tables of measurements reach: operators of the slowest rank, each shape once.
std::string table_note(const StepContext& step, std::int64_t rank) {
  const KernelContext kernel = kernel_context(step, Detail::kDuration);
  std::map<Origin, OriginUse> uses;
  Seconds all;
  for (const CountedOp& counted : operator_inventory(step.expansion, rank)) {
    const OpCost cost = step.cost.cost(counted.op, kernel, step.cluster);
    const Seconds time = static_cast<double>(counted.count) * cost.duration;
    ++uses[cost.origin].operators;
    uses[cost.origin].time += time;
    all += cost.origin == Origin::kModel ? Seconds{} : time;
  }
  std::string text = "operators with a table, and their share of its time: ";
  for (const Origin origin : {Origin::kMeasured, Origin::kInterpolated, Origin::kFallback}) {
    const OriginUse& use = uses[origin];
    text += (origin == Origin::kMeasured ? "" : ", ") + std::to_string(use.operators) + " " +
            std::string(name(origin)) + " (" +
            significant(all > Seconds{} ? 100.0 * (use.time / all) : 0.0, 3) + " %)";
  }
  return text;
}

// Whether an operator of a rank meets the links between pods, or in a rail-optimised network the
// spine of its own.
bool meets_oversubscription(const Op& op, const ClusterSpec& cluster) {
  const auto* collective = std::get_if<Collective>(&op.work);
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  if (collective == nullptr && exchange == nullptr) {
    return false;
  }
  const ProcessGroup group = collective != nullptr ? collective->group : exchange->group;
  const bool crosses_rails = exchange != nullptr || collective->op == CollectiveOp::kAllToAll;
  const bool rails = cluster.network.topology == NetworkTopology::kRailOptimisedFatTree;
  return leaves_pod(group, cluster) ||
         (crosses_rails && rails && domains_spanned(group, cluster.domain_size()) > 1);
}

void note_oversubscription(Projection& p, const Experiment& experiment, const StepContext& step) {
  const NetworkSpec& network = experiment.cluster.network;
  if (!(network.oversubscription > 1.0)) {
    return;
  }
  const std::vector<CountedOp> ops = operator_inventory(step.expansion, p.time.slowest_rank);
  const bool met = std::ranges::any_of(ops, [&](const CountedOp& counted) {
    return meets_oversubscription(counted.op, experiment.cluster);
  });
  if (!met) {
    p.notes.push_back("oversubscription " + shortest_text(network.oversubscription) +
                      ":1 changes nothing: no collective leaves a pod of " +
                      with_separators(network.nodes_per_pod) + " nodes");
  }
}

}  // namespace

void note_assumptions(Projection& p, const Experiment& experiment) {
  note_assumed_plan(p, experiment);
  p.notes.insert(p.notes.end(), experiment.notes.begin(), experiment.notes.end());
  note_assumed_training(p, experiment);
  note_assumed_software(p, experiment);
  note_stand_in(p, experiment.cluster.device);
  note_assumed_host(p, experiment);
  note_assumed_exchange(p, experiment.cluster.device);
}

void note_what_ran(Projection& p, const Experiment& experiment, const StepContext& step) {
  note_pipeline_transfers(p, step);
  note_attention(p, experiment);
  note_unmeasured(p, experiment);
  note_trained(p, experiment);
  note_oversubscription(p, experiment, step);
  if (reads_a_table(experiment)) {
    p.notes.push_back(table_note(step, p.time.slowest_rank));
  }
}

}  // namespace stepcast
