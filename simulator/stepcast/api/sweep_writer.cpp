// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/sweep_writer.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "pages/page.hpp"
#include "pages/plan_columns.hpp"
#include "pages/svg_plot.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/saved_plans.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/sweep_report.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kTopOfText = 20;
constexpr std::size_t kUsuallySaved = 3;

class Stopped : public std::exception {};

bool has_picture(const ReportForm& form) { return form.page || form.plot; }

std::size_t top_of(const SweepReportSettings& settings, std::size_t usual) {
  return settings.top ? static_cast<std::size_t>(*settings.top) : usual;
}

// The best plans that are kept for the outputs; of a picture more than of a text.
std::size_t most_kept(const SweepReportSettings& settings) {
  return top_of(settings, has_picture(settings.form) ? kPlansOfPage : kTopOfText);
}

bool is_lines(ReportFormat format) {
  return format == ReportFormat::kCsv || format == ReportFormat::kJsonLines;
}

// Takes every plan that is priced or refused, a line each, in one format.
struct LineSink {
  const TakeText& take;
  bool csv;
};

std::vector<LineSink> line_sinks(const SweepReportSettings& settings, const PlanLines& lines) {
  std::vector<LineSink> sinks;
  if (is_lines(settings.form.format)) {
    sinks.push_back({settings.report, settings.form.format == ReportFormat::kCsv});
  }
  if (settings.lines) {
    sinks.push_back({settings.lines, settings.lines_format == ReportFormat::kCsv});
  }
  for (const LineSink& sink : sinks) {
    if (sink.csv) {
      sink.take(lines.csv_header() + "\n");
    }
  }
  return sinks;
}

// By index.
std::string lines_of(const ChunkResult& chunk, const std::vector<RefusedPlan>& refused,
                     const PlanLines& lines, bool csv) {
  std::string text;
  auto next = refused.begin();
  const auto add = [&](const auto& plan) {
    text += csv ? lines.csv(plan) : lines.json(plan);
    text += '\n';
  };
  for (const PlanNumbers& numbers : chunk.priced) {
    for (; next != refused.end() && next->plan < numbers.plan; ++next) {
      add(*next);
    }
    add(numbers);
  }
  std::for_each(next, refused.end(), add);
  return text;
}

void remark_refused(const SweepSummary& summary, const SweepRunning& running) {
  running.remark("no plan of the sweep can run:");
  for (const auto& [reason, plans] : summary.refused) {
    running.remark("  " + std::to_string(plans) + ": " + reason);
  }
}

// One pass over the chunks for the lines, the counts and the ranking; then the report.
class SweepWriter {
 public:
  SweepWriter(const SweepSource& source, const SweepSpace& space, const ChunkReader& chunks,
              const ChunkGrid& grid, const SweepReportSettings& settings, const DataRoot& data,
              const SweepRunning& running)
      : source_(source),
        data_(data),
        space_(space),
        chunks_(chunks),
        grid_(grid),
        settings_(settings),
        running_(running),
        all_plans_(settings.form.format == ReportFormat::kJson && !settings.top),
        costs_(settings.lines || is_lines(settings.form.format)
                   ? cost_models_of(space.sites(), data)
                   : std::vector<CostModel>()),
        lines_(space, PlanDetail::kMemoryByKind),
        known_(load_accuracy(data)),
        errors_(space, known_),
        sinks_(line_sinks(settings, lines_)),
        saved_(space.rank_by(), settings.save.write ? top_of(settings, kUsuallySaved) : 0),
        tally_(space, all_plans_ && !has_picture(settings.form) ? 0 : most_kept(settings)) {}

  SweepReport write() {
    const auto texts = [this](std::int64_t number, const ChunkResult& chunk) {
      const std::vector<RefusedPlan> refused =
          sinks_.empty() ? std::vector<RefusedPlan>() : refused_of(number, chunk);
      return each_of(
          sinks_, [&](const LineSink& sink) { return lines_of(chunk, refused, lines_, sink.csv); });
    };
    stream_chunks(chunks_, grid_, threads_of(running_.threads), texts,
                  [this](const ChunkResult& chunk, const std::vector<std::string>& list) {
                    take(chunk, list);
                  });
    SweepSummary summary = tally_.summary();
    summary.missing = chunks_.missing();
    write_report(summary);
    SweepReport report{true, {summary.priced > 0, {}, page(summary), plot(summary)}};
    save(summary);
    if (summary.priced == 0 && is_lines(settings_.form.format)) {
      remark_refused(summary, running_);
    }
    return report;
  }

 private:
  // Chunks count the plans that are refused: which ones they are is found again.
  [[nodiscard]] std::vector<RefusedPlan> refused_of(std::int64_t number,
                                                    const ChunkResult& chunk) const {
    PlanEvaluator evaluator(space_, costs_, pipelines_);
    return evaluator.refused(grid_.begin(number), grid_.end(number), chunk.priced);
  }

  void check_stop() const {
    if (running_.stop.stop_requested()) {
      throw Stopped();
    }
  }

  void take(const ChunkResult& chunk, const std::vector<std::string>& list) {
    check_stop();
    tally_.add(chunk);
    for (std::size_t i = 0; i < sinks_.size(); ++i) {
      sinks_[i].take(list[i]);
    }
    if (all_plans_) {
      rank(chunk.priced);
    }
    if (settings_.save.write) {
      for (const PlanNumbers& numbers : chunk.priced) {
        saved_.add(numbers, space_.experiment_of(numbers.plan).cluster.gpus());
      }
    }
  }

  void rank(const std::vector<PlanNumbers>& plans) {
    for (const PlanNumbers& numbers : plans) {
      const std::int64_t gpus = space_.experiment_of(numbers.plan).cluster.gpus();
      ranking_.add(rank_key(space_.rank_by(), numbers, gpus), numbers.plan);
    }
  }

  void write_report(const SweepSummary& summary) {
    if (is_lines(settings_.form.format) || !settings_.form.text) {
      return;
    }
    const SweepSummary listed = with_best(summary, top_of(settings_, kTopOfText));
    if (all_plans_) {
      write_sweep_json(settings_.report, space_, summary, errors_,
                       [this](const TakePlan& take) { each_ranked(take); });
    } else if (settings_.form.format == ReportFormat::kJson) {
      write_sweep_json(settings_.report, space_, listed, errors_);
    } else {
      settings_.report(sweep_to_text(space_, listed, errors_));
    }
  }

  static SweepSummary with_best(SweepSummary summary, std::size_t most) {
    summary.best.resize(std::min(most, summary.best.size()));
    return summary;
  }

  // The report of a page lists the plans that a text does; the others stand in its columns.
  std::string page(const SweepSummary& summary) {
    if (!settings_.form.page) {
      return {};
    }
    std::string report;
    write_sweep_json([&report](std::string_view piece) { report += piece; }, space_,
                     with_best(summary, kTopOfText), errors_);
    return page_text({PageKind::kSweep, title(), *settings_.form.page, std::move(report),
                      plan_columns(space_, plans_of_page(summary))});
  }

  [[nodiscard]] std::string plot(const SweepSummary& summary) const {
    return settings_.form.plot ? plans_to_svg(title(), plans_of_page(summary), summary.memory_front)
                               : std::string{};
  }

  [[nodiscard]] std::string title() const {
    return space_.description().empty() ? "sweep of " + std::to_string(space_.size()) + " plans"
                                        : space_.description();
  }

  void save(const SweepSummary& summary) const {
    if (!settings_.save.write) {
      return;
    }
    const std::vector<PlanNumbers> best = saved_.ranked();
    SavedPlans plans(settings_.save, overridden_sweep(source_), source_.folder, best.size(), data_);
    for (const PlanNumbers& numbers : best) {
      check_stop();
      plans.add(space_.experiment(numbers.plan), heading(numbers));
    }
    plans.add_table("pareto.csv", table(summary.memory_front));
    if (space_.gpus_vary()) {
      plans.add_table("pareto_gpus.csv", table(summary.gpu_front));
    }
  }

  [[nodiscard]] std::string heading(const PlanNumbers& numbers) const {
    return " by " + std::string(name(space_.rank_by())) + ": plan " + std::to_string(numbers.plan) +
           " of the sweep, " + shortest_text(numbers.tokens_per_second_per_gpu) +
           " tokens/s/GPU, " + shortest_text(numbers.step.value()) + " s a step";
  }

  [[nodiscard]] std::string table(const std::vector<PlanNumbers>& plans) const {
    return lines_.csv_header() + "\n" + text_list(plans, "", [this](const PlanNumbers& numbers) {
             return lines_.csv(numbers) + "\n";
           });
  }

  // Every priced plan, the best first.
  void each_ranked(const TakePlan& take) {
    ranking_.stream(chunks_, grid_, [&](const std::vector<PlanNumbers>& batch) {
      check_stop();
      std::ranges::for_each(batch, take);
    });
  }

  const SweepSource& source_;
  const DataRoot& data_;
  const SweepSpace& space_;
  const ChunkReader& chunks_;
  const ChunkGrid& grid_;
  const SweepReportSettings& settings_;
  const SweepRunning& running_;
  bool all_plans_;
  std::vector<CostModel> costs_;  // of the sites, where refused plans are listed
  std::shared_ptr<SolvedPipelines> pipelines_ = std::make_shared<SolvedPipelines>();
  PlanLines lines_;
  std::vector<HeldOutRun> known_;
  PlanErrors errors_;
  std::vector<LineSink> sinks_;
  BestPlans saved_;
  SweepTally tally_;
  RankedStream ranking_;
};

}  // namespace

std::optional<std::size_t> best_of_report(const SweepReportSettings& settings) {
  const bool lists_all = is_lines(settings.form.format) || settings.lines ||
                         (settings.form.format == ReportFormat::kJson && !settings.top);
  if (settings.every_plan || lists_all) {
    return std::nullopt;
  }
  return most_kept(settings);
}

SweepReport write_sweep(const SweepSource& source, const SweepSpace& space,
                        const ChunkReader& chunks, const ChunkGrid& grid,
                        const SweepReportSettings& settings, const DataRoot& data,
                        const SweepRunning& running) {
  try {
    return SweepWriter(source, space, chunks, grid, settings, data, running).write();
  } catch (const Stopped&) {
    return {};
  }
}

}  // namespace stepcast
