// SPDX-License-Identifier: Apache-2.0
// What each pipeline stage runs for one micro-batch: units of work in the order of the model.
//
// A unit is a layer, the embedding, the loss or the ends that FSDP's root holds. Layers of one kind
// are one unit that stages run several times, so that a step is a few lists of operators and how
// often each stage runs them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "stepcast/layer/built_stage.hpp"
#include "stepcast/schedule/data_parallel.hpp"

namespace stepcast {

struct WorkUnit {
  std::shared_ptr<const BlockOps> ops;  // none of them for the ends that FSDP's root holds
  UnitTraffic traffic;
  bool held = false;  // its parameters stay gathered from forward to backward
};

// A stage runs a unit `count` times in a row.
struct UnitRun {
  std::size_t unit = 0;
  std::int64_t count = 0;
  bool again = false;  // fully recomputed
  bool operator==(const UnitRun&) const = default;
};

// One unit of a stage in the order of a forward pass.
struct UnitTurn {
  std::size_t unit = 0;
  bool again = false;
  bool operator==(const UnitTurn&) const = default;
};
std::vector<UnitTurn> unit_turns(const std::vector<UnitRun>& runs);

struct StepWork {
  std::vector<WorkUnit> units;               // each once, however many stages run it
  std::vector<std::vector<UnitRun>> stages;  // of plan.stages, for one micro-batch
  TrafficRule rule;
  std::vector<OpList> optimizer;  // of each pipeline rank, once a step
};

StepWork step_work(const ExpansionContext& context);

// Collects the units of stages, each unit once however many stages run it. All contexts that it is
// given must have the same share (rank_share.hpp).
class UnitCollector {
 public:
  // What a stage of the plan runs.
  std::vector<UnitRun> stage(const ExpansionContext& context, const BuiltStage& stage);
  [[nodiscard]] const std::vector<WorkUnit>& units() const { return units_; }
  std::vector<WorkUnit> take_units() { return std::move(units_); }

 private:
  enum class Part { kRoot, kEmbedding, kLayer, kMtpProjection, kLoss };
  // What makes two units the same.
  struct Identity {
    Part part = Part::kLayer;
    LayerKind kind;
    LocalParameters parameters;  // that its traffic moves
    bool operator==(const Identity&) const = default;
  };

  static BlockOps blocks_of(const ExpansionContext& context, Part part);
  // `layer`: the operators of a layer, if the unit is one.
  std::size_t unit(const ExpansionContext& context, const Identity& identity,
                   const std::shared_ptr<const BlockOps>& layer = {});
  void add_layers(const ExpansionContext& context, const BuiltStage& stage,
                  std::vector<UnitRun>& runs);
  void add_loss(const ExpansionContext& context, const LocalParameters& head, std::int64_t times,
                std::vector<UnitRun>& runs);

  std::vector<Identity> identities_;  // of units_
  std::vector<WorkUnit> units_;
};

// What a stage sends to the next one (and gradients to the one before) for each micro-batch.
Collective pipeline_send(const ExpansionContext& context);

}  // namespace stepcast
