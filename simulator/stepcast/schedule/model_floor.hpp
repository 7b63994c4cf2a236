// SPDX-License-Identifier: Apache-2.0
// What a plan takes at least of time and of memory, from the work of single layers: some hundred
// times cheaper than its step, since plans that differ in their pipeline, their sharding or their
// batch share the work of a layer.
//
// Of p ranks and m micro-batches, with the least that their layers take (least_stage.hpp):
//   step    at least the mean over the ranks of what they run, m / p of the model; and where a
//           micro-batch passes the ranks one by one, what rank p - 1 runs behind the forwards of
//           the ranks before it and, where backwards are whole, before their backwards; or what
//           it reduces once a step behind all but its last backward
//   energy  that of the layers of the rank with least
//   memory  weights, gradients and optimizer states of the layers of a rank, and what these layers
//           keep of as many micro-batches as the schedule holds; of the rank with least
// Where only some layers of a stage are recomputed, each is taken for the layer with least of it.
#pragma once

#include <list>
#include <optional>
#include <vector>

#include "stepcast/schedule/least_step.hpp"

namespace stepcast {

// The layers of a model under one division of the work inside them, each as a stage of its own.
class LayerFloor {
 public:
  // `division` and `work`: those of the context's plan.
  LayerFloor(const ExpansionContext& context, const LayerDivision& division,
             std::shared_ptr<LayerWork> work);

  // The passes of a micro-batch at a clock, without what data parallelism moves.
  struct Work {
    StagePasses layer;  // of each sum what the layer with least of it has
    // Of the layers before each, and of all of them; the ends of the model are among them.
    std::vector<StagePasses> up_to;
    std::vector<Joules> energy_up_to;  // nothing recomputed in full
  };
  const Work& work(const StepContext& context);

  // What layers hold of a plan with this division of the work.
  struct Held {
    Bytes lasting;    // weights and optimizer states, gathered weights that stay
    Bytes gradients;  // once a backward has run
    Bytes kept;       // of a micro-batch, nothing recomputed in full
    Bytes input;      // the same of layers that are recomputed
    void add(double times, const Held& other);
  };
  // What is moved for layers in the passes of every micro-batch.
  struct Moved {
    LeastPass forward;
    LeastPass backward;
    void add(double times, const Moved& other);
  };
  struct Holding {
    Bytes passing;            // while the backward of one layer runs; of the layer with least
    Bytes kept;               // likewise
    Bytes input;              //
    std::vector<Held> up_to;  // of the layers before each, and of all of them
    std::vector<Moved> moved_up_to;      // likewise; empty where nothing is moved in every pass
    std::vector<Seconds> reduced_up_to;  // likewise; by the last backward of a step alone
  };
  // Depends on no clock. `context` is that of the plan.
  const Holding& holding(const StepContext& context);

 private:
  struct Unit {
    std::size_t stage = 0;   // number in the configuration
    std::int64_t count = 0;  // layers of the model that are alike
  };
  struct Known {
    Hertz clock;
    Work work;
  };
  // All that what a layer holds and moves depends on besides the division of its work.
  struct Sharding {
    std::int64_t dp = 1;
    std::int64_t edp = 1;
    std::int64_t fsdp = 1;
    std::int64_t zero = 0;
    bool reshard = true;
    bool experts = true;
    bool accumulates = false;
    std::int64_t mirrored_over = 0;
    std::optional<RankStrides> strides;
    bool operator==(const Sharding&) const = default;
  };
  struct KnownHolding {
    Sharding sharding;
    Holding holding;
  };
  struct HeldUnit;
  [[nodiscard]] std::vector<HeldUnit> held_units(const StepContext& context) const;
  [[nodiscard]] Work work_at(const StepContext& context);
  [[nodiscard]] Holding holding_of(const StepContext& context) const;

  ParallelPlan plan_;  // of a rank that runs one layer a stage
  TrainingRecipe training_;
  SolvedConfiguration configuration_;
  std::vector<Unit> units_;  // in the order of the model; the last one has the loss
  std::list<Known> known_;
  std::list<KnownHolding> held_;  // the latest first
};

class ModelFloor {
 public:
  explicit ModelFloor(std::shared_ptr<LayerWorks> works) : works_(std::move(works)) {}

  // The plan that what follows is about; `context` must stay until the next.
  void take(const StepContext& context);

  // The step at least at `clock`.
  [[nodiscard]] LeastStep step(Hertz clock);
  // What the fullest rank holds at least.
  [[nodiscard]] Bytes memory() const;

 private:
  struct Entry {
    LayerDivision division;
    LayerFloor floor;
  };
  // Layers of a stage.
  struct Layers {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::int64_t recomputed = 0;  // of them, in full
    [[nodiscard]] std::int64_t count() const { return end - first; }
  };
  // What all stages of a rank hold.
  struct Share {
    std::int64_t recomputed = 0;  // layers, in full
    Bytes lasting;
    Bytes gradients;
    Bytes in_flight;  // of a micro-batch
  };
  void lay_stages();
  [[nodiscard]] const Layers& stage_of(std::int64_t rank, std::int64_t chunk) const;
  [[nodiscard]] Share share_of(std::int64_t rank) const;
  [[nodiscard]] Bytes in_flight_of(const Layers& stage, const LayerFloor::Held& held) const;
  // Adds what a micro-batch runs of a stage, with what is recomputed.
  void add_passes(const LayerFloor::Work& work, const Layers& stage, StagePasses& passes) const;
  // Adds what is moved for a stage in the passes of every micro-batch, `times` as often.
  void add_moved(double times, const Layers& stage, LayerFloor::Moved& moved) const;
  [[nodiscard]] StagePasses mean_batch(const LayerFloor::Work& work) const;
  [[nodiscard]] Joules least_energy(const LayerFloor::Work& work) const;
  [[nodiscard]] Seconds all_batches(StagePasses batch, const LayerFloor::Moved& moved) const;
  [[nodiscard]] Seconds behind_the_others(const LayerFloor::Work& work) const;
  [[nodiscard]] StagePlacement placement() const;

  std::shared_ptr<LayerWorks> works_;
  std::optional<StepContext> context_;
  std::list<Entry> entries_;  // the latest first
  LayerFloor* layers_ = nullptr;
  // Of the plan at hand.
  std::vector<Layers> stages_;
  PipelineShape shape_;
  std::int64_t chunks_ = 1;       // of a rank
  bool all_recomputed_ = false;   // every layer, in full
  LayerFloor::Moved mean_moved_;  // over the ranks
  std::vector<Share> ranks_;
  const LayerFloor::Holding* holding_ = nullptr;
  PassMode mode_ = PassMode::kOneByOne;
};

}  // namespace stepcast
