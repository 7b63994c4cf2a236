// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_spans.hpp"

#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {
namespace {

class SpanCollector {
 public:
  explicit SpanCollector(const StepContext& context)
      : context_(context),
        operators_(step_operators(context.expansion)),
        tasks_(price_step(operators_, context, &result_.ops)) {}

  StepSpans collect(std::int64_t rank) {
    for (const RankStage& own : stages_of_rank(context_.expansion.plan, rank)) {
      stage(own);
    }
    for (const RepeatedTasks& part : tasks_.optimizer[static_cast<std::size_t>(rank)]) {
      run(part.tasks, static_cast<double>(part.times));
    }
    return std::move(result_);
  }

 private:
  void stage(const RankStage& own) {
    const StageProgram program{tasks_, operators_.stages[own.stage], operators_.rule,
                               context_.expansion.software};
    const auto between = static_cast<double>(own.micro_batches - 1);
    first_gather_of(program);
    forward_pass(program, {.first = true}, record(1.0));
    if (between > 0.0) {
      forward_pass(program, {}, record(between));
      backward_pass(program, {}, record(between));
    }
    backward_pass(program, {.last = true}, record(1.0));
  }

  void first_gather_of(const StageProgram& program) {
    if (program.rule.forward_gather == Frequency::kNever) {
      return;
    }
    for (const LayerRun& layers : program.runs) {
      const TaskList& gather = tasks_.layers[layers.layer].gather;
      if (!gather.empty()) {
        return run(gather, 1.0);
      }
    }
  }

  void run(const TaskList& tasks, double times) {
    RankStreams streams(Seconds(1.0), record(times));
    streams.run(tasks);
  }

  std::vector<StreamSpan>* record(double times) {
    result_.passes.push_back({{}, times});
    return &result_.passes.back().spans;
  }

  const StepContext& context_;
  StepOperators operators_;
  StepSpans result_;
  StepTasks tasks_;
};

}  // namespace

StepSpans step_spans(const StepContext& context, std::int64_t rank) {
  return SpanCollector(context).collect(rank);
}

}  // namespace stepcast
