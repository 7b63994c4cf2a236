// SPDX-License-Identifier: Apache-2.0
// The operators of a step as priced tasks at a clock, layer by layer.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepcast/cost/contention.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/layer/built_stage.hpp"
#include "stepcast/schedule/step_operators.hpp"
#include "stepcast/schedule/stream_task.hpp"

namespace stepcast {

struct StepContext {
  const ExpansionContext& expansion;
  const ClusterSpec& cluster;
  const CostModel& cost;
  Hertz clock;
};

// What the step's kernels run on.
KernelContext kernel_context(const StepContext& context, Detail detail = Detail::kDuration);

// The tasks of a StageLayer, list by list.
struct LayerTasks {
  TaskList forward;
  TaskList full_recompute;  // run before backward where the layer is recomputed in full
  TaskList backward;        // begins with what selective recomputation recomputes
  TaskList gather;          // of parameters: the copy into the buffer, then the communication
  TaskList copy_out;        // computation that follows the gather
  TaskList before_reduce;
  TaskList reduce;
  TaskList replicas;
  bool stays_gathered = false;
};

// The sums of those lists that run on the stream of computation.
struct LayerSums {
  TaskSums forward;
  TaskSums full_recompute;
  TaskSums backward;
};
LayerSums sums_of(const LayerTasks& layer);

// Tasks that run `times` times one after the other.
struct RepeatedTasks {
  TaskList tasks;
  std::int64_t times = 1;
};

struct StepTasks {
  std::vector<LayerTasks> layers;                     // of StepOperators::layers
  std::vector<LayerSums> sums;                        // of `layers`
  std::vector<std::vector<RepeatedTasks>> optimizer;  // of each pipeline rank
};

// Notes in `ops`, if it is given, the operators that StreamTask::op speaks of.
StepTasks price_step(const StepOperators& operators, const StepContext& context,
                     std::vector<Op>* ops = nullptr);

// What the communication which overlaps with the layer's computation takes of the device: the most
// compute units, and of HBM the mean over the time that it lasts.
CommunicationLoad layer_load(const StageLayer& layer, const StepContext& context);
// What each operator of a list costs while communication holds so many compute units; without a
// cost of communication itself where it holds any.
std::vector<OpCost> costs_of(const OpList& ops, const StepContext& context,
                             std::int64_t held_units = 0);
class KeptCosts;
// One layer whose computation overlaps with communication of `load`.
LayerTasks price_layer(const StageLayer& layer, const StepContext& context,
                       const CommunicationLoad& load, std::vector<Op>* ops = nullptr);
// The same with costs that `kept` holds, or keeps.
LayerTasks price_layer(const StageLayer& layer, const StepContext& context,
                       const CommunicationLoad& load, KeptCosts& kept);
// The transfer of a micro-batch from stage to stage, with no other communication on its fabric.
Seconds pipeline_transfer(const StepContext& context);
Fabric pipeline_fabric(const StepContext& context);

// One list of operators as blocking tasks that overlap with communication of `load`.
TaskList price(const OpList& ops, const StepContext& context, const CommunicationLoad& load = {});

// The work of single layers, expanded and priced once for all plans of one model, software, cluster
// and cost model that divide it alike. For one thread.

// What lists of operators cost, kept by where they stand: each must stay there as long as this.
class KeptCosts {
 public:
  // As costs_of.
  const std::vector<OpCost>& of(const OpList& ops, const StepContext& context,
                                std::int64_t held_units);

 private:
  struct Key {
    const OpList* ops = nullptr;
    Hertz clock;
    std::int64_t held_units = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, std::vector<OpCost>, Hash> costs_;
};

struct LayerWork {
  std::shared_ptr<LayerBlocks> blocks = std::make_shared<LayerBlocks>();
  KeptCosts costs;  // of the lists of `blocks`
};

class LayerWorks {
 public:
  // That of the context's plan. It lives as long as the caller holds it, and here while few others
  // have been asked for since.
  std::shared_ptr<LayerWork> of(const ExpansionContext& context);

 private:
  std::list<std::pair<LayerDivision, std::shared_ptr<LayerWork>>> works_;  // the latest first
};

}  // namespace stepcast
