// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/settled_input.hpp"

#include "stepcast/base/each_of.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/experiment/plan_fields.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

ConfigNode plan_node(const PlanRequest& request, const ParallelPlan& plan) {
  ConfigWriter writer;
  write_plan(plan, writer);
  writer.field("edp", plan.edp);
  writer.field("overlap", written_overlap(plan));
  if (plan.stages.size() > 1) {
    writer.field("stage_layout", list_node(each_of(plan.stages, &StageContent::layers)));
  }
  if (request.given) {
    writer.field("given", written_request(request));
  }
  return writer.take();
}

void write_scale(const ClusterScale& scale, ConfigWriter& writer) {
  if (scale == ClusterScale{}) {
    return;
  }
  writer.begin("scale");
  for (const ScaleFactor& known : kScaleFactors) {
    writer.field(known.name, scale.*known.factor);
  }
  writer.end();
}

void write_bus_rates(const BusRates& rates, ConfigWriter& writer) {
  if (!rates.any()) {
    return;
  }
  writer.begin("bus_rates");
  const auto write = [&](std::string_view key, const std::optional<BytesPerSecond>& rate) {
    if (rate) {
      writer.quantity(key, *rate);
    }
  };
  write("all_reduce", rates.all_reduce);
  write("all_gather", rates.all_gather);
  write("reduce_scatter", rates.reduce_scatter);
  write("all_to_all", rates.all_to_all);
  writer.end();
}

ConfigNode cluster_node(const Experiment& experiment) {
  const ClusterSpec& cluster = experiment.cluster;
  const NamedParts& named = experiment.named;
  ConfigWriter writer;
  if (!named.cluster.empty() && named.cluster != cluster.name) {
    writer.field("name", named.cluster);
  }
  if (!named.gpu.empty() && named.gpu != cluster.device.name) {
    writer.field("gpu", named.gpu);
  }
  writer.field("host", cluster.host.name);
  writer.field("gpus_per_node", cluster.gpus_per_node);
  writer.field("nics_per_gpu", cluster.device.scale_out.nics_per_gpu);
  writer.quantity("nic_rate", experiment.nic_rate);
  writer.field("topology", name(cluster.network.topology));
  writer.field("nodes_per_pod", cluster.network.nodes_per_pod);
  writer.field("oversubscription", cluster.network.oversubscription);
  writer.field("nodes_per_leaf", cluster.network.nodes_per_leaf);
  writer.field("beyond_leaf", cluster.network.beyond_leaf);
  write_bus_rates(cluster.network.bus_rates, writer);
  writer.field("chips", name(cluster.chips));
  if (experiment.locked_clock) {
    writer.quantity("gpu_clock", *experiment.locked_clock);
  }
  writer.quantity("power_limit", cluster.device.power.limit);
  write_scale(experiment.scale, writer);
  if (!experiment.cluster_given.entries.empty()) {
    writer.field("given", experiment.cluster_given);
  }
  return writer.take();
}

ConfigNode software_node(const Experiment& experiment) {
  ConfigNode changes = written_changes(experiment.software, experiment.software_base);
  const std::string& base = experiment.named.software;
  if (!base.empty() && base != experiment.software.name) {
    changes.entries.push_back({"base", 0, 0, scalar_node(base)});
  }
  return changes;
}

ConfigNode backends_node(const Experiment& experiment) {
  ConfigWriter writer;
  for (const auto& [role, backend] : experiment.backends) {
    writer.field(role, backend);
  }
  return writer.take();
}

// What most experiments do without.
void write_rest(const Experiment& experiment, ConfigWriter& writer) {
  if (ConfigNode changes = software_node(experiment); !changes.entries.empty()) {
    writer.field("software_settings", std::move(changes));
  }
  if (experiment.named.model.empty()) {
    writer.field("model_settings", parse_config(to_yaml(experiment.model), "model"));
  }
  if (!experiment.backends.empty()) {
    writer.field("backends", backends_node(experiment));
  }
  if (!experiment.uncarried_savings.empty()) {
    writer.field(kUncarriedSavings, uncarried_savings_node(experiment.uncarried_savings));
  }
}

}  // namespace

ConfigNode settled_input(const Experiment& experiment, const ParallelPlan& plan) {
  ConfigWriter writer;
  writer.field("model", experiment.model.name);
  writer.field("gpu", experiment.cluster.device.name);
  writer.field("cluster", experiment.cluster.name);
  writer.field("nodes", experiment.cluster.nodes);
  writer.field("gpus", experiment.cluster.gpus());
  writer.field("software", experiment.software.name);
  if (experiment.named.software_assumed) {
    writer.field(kSoftwareAssumed, true);
  }
  if (!experiment.software.date.empty()) {
    writer.field("software_date", experiment.software.date);
  }
  ConfigNode training = written_training(experiment.training);
  if (experiment.run) {
    write_run(*experiment.run, training);
  }
  writer.field("training", std::move(training));
  if (!experiment.named.training_assumed.empty()) {
    writer.field(kTrainingAssumed, list_node(experiment.named.training_assumed));
  }
  writer.field("plan", plan_node(experiment.plan, plan));
  if (experiment.named.plan_assumed) {
    writer.field(kPlanAssumed, true);
  }
  writer.field("cluster_settings", cluster_node(experiment));
  write_rest(experiment, writer);
  return writer.take();
}

}  // namespace stepcast
