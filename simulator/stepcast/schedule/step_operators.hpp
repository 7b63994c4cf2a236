// SPDX-License-Identifier: Apache-2.0
// The operators of a step: what each pipeline stage runs for one micro-batch, layer by layer, and
// what each rank runs once for the optimizer.
//
// A layer is here whatever a pass runs one after the other: a transformer layer, the embedding, the
// head with its loss, or the ends that FSDP's root wraps. Layers of one kind stand here once, with
// how often each stage runs them, so that a step is a few lists of operators.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stepcast/layer/built_stage.hpp"
#include "stepcast/schedule/data_parallel.hpp"
#include "stepcast/schedule/optimizer_step.hpp"

namespace stepcast {

struct StageLayer {
  std::shared_ptr<const BlockOps> ops;  // empty lists for the ends that FSDP's root wraps
  LayerTraffic traffic;
  bool stays_gathered = false;  // its parameters are not freed between forward and backward
};

// A stage runs a layer `count` times in a row.
struct LayerRun {
  std::size_t layer = 0;  // place in StepOperators::layers
  std::int64_t count = 0;
  bool recomputed = false;  // in full, before backward
  bool operator==(const LayerRun&) const = default;
};

// One layer of a stage, where the layers are listed one by one as a forward pass meets them.
struct LayerInOrder {
  std::size_t layer = 0;  // place in StepOperators::layers
  bool recomputed = false;
  bool operator==(const LayerInOrder&) const = default;
};
std::vector<LayerInOrder> layers_in_order(const std::vector<LayerRun>& runs);

struct StepOperators {
  std::vector<StageLayer> layers;             // each once, however many stages run it
  std::vector<std::vector<LayerRun>> stages;  // what each of plan.stages runs for a micro-batch
  TrafficRule rule;
  std::vector<UpdateOps> optimizer;  // what each pipeline rank runs once a step
};

StepOperators step_operators(const ExpansionContext& context);

// Collects the layers of stages, each once however many stages run it. All contexts that it is
// given must have the same layer configuration (schedule/solved_steps.hpp).
class LayerCollector {
 public:
  explicit LayerCollector(std::shared_ptr<LayerBlocks> blocks = std::make_shared<LayerBlocks>())
      : blocks_(std::move(blocks)) {}

  // What a stage of the plan runs.
  std::vector<LayerRun> stage(const ExpansionContext& context, const BuiltStage& stage);
  [[nodiscard]] const std::vector<StageLayer>& layers() const { return layers_; }
  std::vector<StageLayer> take_layers() { return std::move(layers_); }

 private:
  enum class Part { kRoot, kEmbedding, kLayer, kMtpProjection, kLoss };
  // Two layers with the same identity run the same operators and move the same bytes.
  struct Identity {
    Part part = Part::kLayer;
    LayerKind kind;
    LocalParameters parameters;  // that data parallelism gathers and reduces
    bool operator==(const Identity&) const = default;
  };

  std::shared_ptr<const BlockOps> blocks_of(const ExpansionContext& context, Part part);
  // The place of a layer in `layers_`, where it is put if it is new. `ops` are given for a
  // transformer layer; those of all other parts follow from the context.
  std::size_t place_of(const ExpansionContext& context, const Identity& identity,
                       const std::shared_ptr<const BlockOps>& ops = {});
  void add_layers(const ExpansionContext& context, const BuiltStage& stage,
                  std::vector<LayerRun>& runs);
  void add_loss(const ExpansionContext& context, const LocalParameters& head, std::int64_t times,
                std::vector<LayerRun>& runs);

  std::shared_ptr<LayerBlocks> blocks_;
  std::vector<Identity> identities_;  // of layers_
  std::vector<StageLayer> layers_;
};

// What a rank of a stage sends to the next one (and gradients to the one before) for each
// micro-batch, and what the tensor-parallel ranks that received a part each gather then.
Collective pipeline_send(const ExpansionContext& context);
std::optional<Collective> pipeline_gather(const ExpansionContext& context);

}  // namespace stepcast
