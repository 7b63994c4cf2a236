// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_output.hpp"
#include "cli/number_option.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "cli/output_file.hpp"
#include "cli/page_output.hpp"
#include "cli/saved_plans.hpp"
#include "cli/terminal.hpp"
#include "importers/measurement_files.hpp"
#include "pages/plan_columns.hpp"
#include "pages/svg_plot.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/sweep_report.hpp"
#include "stepcast/sweep/chunk_stream.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"

namespace stepcast::cli {
namespace {

constexpr std::size_t kTopOfText = 20;
constexpr std::size_t kUsuallySaved = 3;

class Stopped : public std::exception {};

bool ends_with(const std::string& text, std::string_view end) { return text.ends_with(end); }

bool has_picture(const SweepOutputOptions& options) {
  return !options.report.html.empty() || !options.plot.empty();
}

// The best plans that are kept for the outputs; of a picture more than of a text.
std::size_t most_kept(const SweepOutputOptions& options) {
  return options.top.value_or(has_picture(options) ? kPlansOfPage : kTopOfText);
}

bool is_lines(const std::string& format) { return format == "csv" || format == "jsonl"; }

// Every plan that is priced or refused, a line each, in one format.
struct LineFile {
  LineFile(const std::string& file, bool is_csv) : output(file), csv(is_csv) {}
  OutputFile output;
  bool csv;
};

using LineFiles = std::vector<std::unique_ptr<LineFile>>;

LineFiles open_line_files(const SweepOutputOptions& options, const PlanLines& lines) {
  LineFiles files;
  if (is_lines(options.report.format)) {
    files.push_back(std::make_unique<LineFile>(options.report.out, options.report.format == "csv"));
  }
  if (!options.plans.empty()) {
    files.push_back(std::make_unique<LineFile>(options.plans, ends_with(options.plans, ".csv")));
  }
  for (const auto& file : files) {
    if (file->csv) {
      file->output.write(lines.csv_header() + "\n");
    }
  }
  return files;
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

void print_refused(const SweepSummary& summary) {
  std::fprintf(stderr, "no plan of the sweep can run:\n");
  for (const auto& [reason, plans] : summary.refused) {
    std::fprintf(stderr, "  %lld: %s\n", static_cast<long long>(plans), reason.c_str());
  }
}

// One pass over the chunks for the lines, the counts and the ranking; then the report.
class SweepWriter {
 public:
  SweepWriter(const SweepSource& source, const SweepSpace& space, const ChunkReader& chunks,
              const ChunkGrid& grid, const SweepOutputOptions& options, const DataRoot& data,
              const std::stop_token& stop)
      : source_(source),
        data_(data),
        space_(space),
        chunks_(chunks),
        grid_(grid),
        options_(options),
        stop_(stop),
        all_plans_(options.report.format == "json" && !options.top),
        costs_(options.plans.empty() && !is_lines(options.report.format)
                   ? std::vector<CostModel>()
                   : cost_models_of(space, data, measured_in)),
        lines_(space, PlanDetail::kMemoryByKind),
        known_(load_accuracy(data)),
        errors_(space, known_),
        files_(open_line_files(options, lines_)),
        saved_(space.rank_by(), options.save_dir.empty() ? 0 : options.top.value_or(kUsuallySaved)),
        tally_(space, all_plans_ && !has_picture(options) ? 0 : most_kept(options)) {}

  // The exit code.
  int write(int threads) {
    const auto texts = [this](std::int64_t number, const ChunkResult& chunk) {
      const std::vector<RefusedPlan> refused =
          files_.empty() ? std::vector<RefusedPlan>() : refused_of(number, chunk);
      std::vector<std::string> list;
      for (const auto& file : files_) {
        list.push_back(lines_of(chunk, refused, lines_, file->csv));
      }
      return list;
    };
    stream_chunks(chunks_, grid_, threads, texts,
                  [this](const ChunkResult& chunk, const std::vector<std::string>& list) {
                    take(chunk, list);
                  });
    SweepSummary summary = tally_.summary();
    summary.missing = chunks_.missing();
    write_report(summary);
    write_page(summary);
    write_plot(summary);
    for (const auto& file : files_) {
      file->output.keep();
    }
    save(summary);
    if (summary.priced == 0 && is_lines(options_.report.format)) {
      print_refused(summary);
    }
    return summary.priced > 0 ? kDone : kPlanCannotRun;
  }

 private:
  // Chunks count the plans that are refused: which ones they are is found again.
  [[nodiscard]] std::vector<RefusedPlan> refused_of(std::int64_t number,
                                                    const ChunkResult& chunk) const {
    PlanEvaluator evaluator(space_, costs_, pipelines_);
    return evaluator.refused(grid_.begin(number), grid_.end(number), chunk.priced);
  }

  void check_stop() const {
    if (stop_.stop_requested()) {
      throw Stopped();
    }
  }

  void take(const ChunkResult& chunk, const std::vector<std::string>& list) {
    check_stop();
    tally_.add(chunk);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i]->output.write(list[i]);
    }
    if (all_plans_) {
      rank(chunk.priced);
    }
    if (!options_.save_dir.empty()) {
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
    if (is_lines(options_.report.format) || !writes_report(options_.report)) {
      return;
    }
    const SweepSummary listed = with_best(summary, options_.top.value_or(kTopOfText));
    OutputFile file(options_.report.out);
    const WriteText write = [&file](std::string_view text) { file.write(text); };
    if (all_plans_) {
      write_sweep_json(write, space_, summary, errors_,
                       [this](const TakePlan& take) { each_ranked(take); });
    } else if (options_.report.format == "json") {
      write_sweep_json(write, space_, listed, errors_);
    } else {
      file.write(shown_report(sweep_to_text(space_, listed, errors_), options_.report.format,
                              options_.report.out));
    }
    file.keep();
  }

  static SweepSummary with_best(SweepSummary summary, std::size_t most) {
    summary.best.resize(std::min(most, summary.best.size()));
    return summary;
  }

  // The report of a page lists the plans that a text does; the others stand in its columns.
  void write_page(const SweepSummary& summary) {
    if (options_.report.html.empty()) {
      return;
    }
    const std::vector<PlanNumbers> plans = plans_of_page(summary);
    const auto report = [&] {
      std::string text;
      write_sweep_json([&text](std::string_view piece) { text += piece; }, space_,
                       with_best(summary, kTopOfText), errors_);
      return text;
    };
    cli::write_page(options_.report, options_.command, {PageKind::kSweep, title(), report, [&] {
                                                          return plan_columns(space_, plans);
                                                        }});
  }

  void write_plot(const SweepSummary& summary) const {
    if (!options_.plot.empty()) {
      write_output({"svg", options_.plot, ""},
                   plans_to_svg(title(), plans_of_page(summary), summary.memory_front));
    }
  }

  [[nodiscard]] std::string title() const {
    return space_.description().empty() ? "sweep of " + std::to_string(space_.size()) + " plans"
                                        : space_.description();
  }

  void save(const SweepSummary& summary) const {
    if (options_.save_dir.empty()) {
      return;
    }
    const std::vector<PlanNumbers> best = saved_.ranked();
    SavedPlans plans(options_.save_dir, overridden_sweep(source_), source_.folder, best.size(),
                     data_);
    for (const PlanNumbers& numbers : best) {
      check_stop();
      plans.add(space_.experiment(numbers.plan), heading(numbers));
    }
    plans.add_table("pareto.csv", table(summary.memory_front));
    if (space_.gpus_vary()) {
      plans.add_table("pareto_gpus.csv", table(summary.gpu_front));
    }
    plans.finish();
  }

  [[nodiscard]] std::string heading(const PlanNumbers& numbers) const {
    return " by " + std::string(name(space_.rank_by())) + ": plan " + std::to_string(numbers.plan) +
           " of the sweep, " + shortest_text(numbers.tokens_per_second_per_gpu) +
           " tokens/s/GPU, " + shortest_text(numbers.step.value()) + " s a step";
  }

  [[nodiscard]] std::string table(const std::vector<PlanNumbers>& plans) const {
    std::string text = lines_.csv_header() + "\n";
    for (const PlanNumbers& numbers : plans) {
      text += lines_.csv(numbers) + "\n";
    }
    return text;
  }

  // Every priced plan, the best first.
  void each_ranked(const TakePlan& take) {
    ranking_.stream(chunks_, grid_, [&](const std::vector<PlanNumbers>& batch) {
      check_stop();
      std::for_each(batch.begin(), batch.end(), take);
    });
  }

  const SweepSource& source_;
  const DataRoot& data_;
  const SweepSpace& space_;
  const ChunkReader& chunks_;
  const ChunkGrid& grid_;
  const SweepOutputOptions& options_;
  const std::stop_token& stop_;
  bool all_plans_;
  std::vector<CostModel> costs_;  // of the sites, where refused plans are listed
  std::shared_ptr<SolvedPipelines> pipelines_ = std::make_shared<SolvedPipelines>();
  PlanLines lines_;
  std::vector<HeldOutRun> known_;
  PlanErrors errors_;
  LineFiles files_;
  BestPlans saved_;
  SweepTally tally_;
  RankedStream ranking_;
};

}  // namespace

void add_sweep_output_options(CLI::App& command, SweepOutputOptions& options) {
  add_output_options(command, options.report, {"text", "json", "csv", "jsonl"});
  command.add_option(
      "--plans", options.plans,
      "write every plan to this file as well, priced or with the reason why it cannot "
      "run, FILE.csv or FILE.jsonl");
  command
      .add_option("--top", options.top,
                  "plans in the report, the best first (text: 20, json: all), in pages and "
                  "pictures (10,000) and in the folder of --save-dir (3)")
      ->check(whole_number({1, std::int64_t{1} << 40}));
  add_save_dir_option(command, options.save_dir, "the best plans");
  add_page_option(command, options.report);
  command.add_option("--plot", options.plot,
                     "tokens/s/GPU over peak memory of the best plans as a picture (SVG)");
}

std::optional<std::size_t> best_of_output(const SweepOutputOptions& options) {
  const bool lists_all = is_lines(options.report.format) || !options.plans.empty() ||
                         (options.report.format == "json" && !options.top);
  if (options.every_plan || lists_all) {
    return std::nullopt;
  }
  return most_kept(options);
}

void check_sweep_output(const SweepOutputOptions& options, Diagnostics& diagnostics) {
  const std::string& plans = options.plans;
  if (!plans.empty() && !ends_with(plans, ".csv") && !ends_with(plans, ".jsonl")) {
    diagnostics.error({"--plans " + plans, 0, 0}, "give a file that ends with .csv or .jsonl");
  }
  if (options.top && options.save_dir.empty() && is_lines(options.report.format)) {
    diagnostics.error({"--top", 0, 0},
                      "csv and jsonl have every plan in the order of the sweep; give --format text "
                      "or json, or --save-dir, or leave --top out");
  }
  check_save_dir(options.save_dir, diagnostics);
  for (const std::string& file : {options.report.out, plans, options.report.html, options.plot}) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      diagnostics.error({file, 0, 0}, "there is no folder " + folder.string() + "; make it first");
    }
  }
}

int write_sweep(const SweepSource& source, const SweepSpace& space, const ChunkReader& chunks,
                const ChunkGrid& grid, const SweepOutputOptions& options, const DataRoot& data,
                int threads, const std::stop_token& stop) {
  try {
    return SweepWriter(source, space, chunks, grid, options, data, stop).write(threads);
  } catch (const Stopped&) {
    return kInterrupted;
  }
}

}  // namespace stepcast::cli
