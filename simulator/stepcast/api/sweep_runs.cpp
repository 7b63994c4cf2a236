// SPDX-License-Identifier: Apache-2.0
// Calls of the public header that run sweeps whole, by shards or by pieces, and merge them.
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/step_numbers.hpp"
#include "stepcast/api/sweep_writer.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "stepcast/sweep/sweep_merge.hpp"
#include "stepcast/sweep/sweep_part.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

// Plans of which the numbers are kept in memory where no file is asked for: 144 MiB.
constexpr std::int64_t kMostInMemory = 1 << 20;

// A part beside the output, or what stands for it where none is asked for.
std::unique_ptr<ChunkStore> open_store(const SweepPartSettings& settings, const PartHeader& header,
                                       const SweepRunning& running) {
  using Existing = SweepPart::Existing;
  if (!settings.file.empty()) {
    auto part = std::make_unique<SweepPart>(
        settings.file, header, settings.resume ? Existing::kContinue : Existing::kRefuse);
    if (part->table().cut > 0) {
      running.remark(settings.file +
                     ": the last chunk was not written whole and is evaluated again");
    }
    return part;
  }
  if (header.grid.plans <= kMostInMemory) {
    return std::make_unique<ChunksInMemory>();
  }
  const std::filesystem::path scratch = std::filesystem::temp_directory_path() /
                                        ("stepcast_sweep_" + std::to_string(::getpid()) + ".part");
  auto part = std::make_unique<SweepPart>(scratch, header, Existing::kRefuse);
  part->unlink();
  return part;
}

std::function<void(const SweepProgress&)> progress_of(const SweepRunning& running) {
  return [&running](const SweepProgress& now) {
    if (running.progress) {
      running.progress({now.plans, now.done, now.before, now.priced});
    }
  };
}

PartHeader header_of(const SweepSpace& space, const SweepSource& source, const Shard& shard,
                     const std::optional<SearchGoal>& goal) {
  PartHeader header{space.digest(), chunk_grid(space.size()), shard, source};
  if (goal) {
    header.top = static_cast<std::int64_t>(goal->top);
  }
  return header;
}

// A sweep that is to be run: what its plans are, and how each of them is priced.
struct ReadSweep {
  SweepSource source;
  SweepSpace space;
  PartHeader header;
  MakeEvaluator evaluator;

  // `best`: how many of the best plans are asked for; nothing: every plan.
  ReadSweep(SweepSource from, const Shard& shard, std::optional<std::size_t> best,
            const DataRoot& data)
      : source(std::move(from)), space(read_sweep(source, data)) {
    costs_ = cost_models_of(space.sites(), data);
    source.folder = std::filesystem::absolute(source.folder.empty() ? "." : source.folder);
    const std::optional<SearchGoal> goal = best ? goal_of(space, *best) : std::nullopt;
    header = header_of(space, source, shard, goal);
    evaluator = evaluators_of(space, costs_, goal);
  }
  ReadSweep(const ReadSweep&) = delete;
  ReadSweep& operator=(const ReadSweep&) = delete;

 private:
  std::vector<CostModel> costs_;
};

// Whether the store has all of the shard now; else a stop was asked for.
bool run_whole(const ReadSweep& sweep, ChunkStore& store, const SweepPartSettings& settings,
               const SweepRunning& running) {
  try {
    const SweepRun run{sweep.header.grid, sweep.header.shard, threads_of(running.threads),
                       sweep.evaluator, progress_of(running)};
    const bool whole = run_sweep(run, store, running.stop);
    if (auto* part = dynamic_cast<SweepPart*>(&store); part != nullptr && !settings.file.empty()) {
      part->sync();
    }
    return whole;
  } catch (const FileFault& fault) {
    throw FileFault(
        std::string(fault.what()) +
        (settings.file.empty() ? "" : "; what is finished is kept, go on with --resume"));
  }
}

std::string finished_text(const SweepPart& part) {
  const PartHeader& header = part.header();
  return "shard " + to_text(header.shard) + " of " + std::to_string(header.grid.plans) +
         " plans is finished: " + std::to_string(part.table().chunks()) + " of " +
         std::to_string(header.grid.chunks()) + " chunks, in " + part.file().string() + "\n";
}

std::string finished_text(std::int64_t priced, const PieceFolder& folder) {
  const std::int64_t there = parts_there(folder.states());
  const std::string all = with_separators(folder.pieces());
  return with_separators(priced) + " of " + all + " pieces priced here; " +
         (there == folder.pieces()
              ? "all are there: stepcast merge " + folder.folder().string() + "\n"
              : with_separators(there) +
                    " are there, the others are with tasks that have claimed them\n");
}

// The sweep that the parts are of, read again from what they hold.
SweepSpace space_of(const PartHeader& header, const std::string& part, const DataRoot& data) {
  SweepSource source = header.source;
  source.version = version();
  SweepSpace space = read_sweep(source, data);
  if (space.digest() != header.digest || space.size() != header.grid.plans) {
    const std::string version = header.source.version == source.version
                                    ? "other profiles"
                                    : "version " + header.source.version + " of the program";
    throw ConfigError({part, 0, 0}, "the part was made with " + version +
                                        "; merge it with those, or run the sweep again");
  }
  return space;
}

// Parts that were made for the best plans alone have no others.
void check_kept(const PartHeader& header, const SweepReportSettings& settings) {
  if (!header.top) {
    return;
  }
  const std::optional<std::size_t> best = best_of_report(settings);
  if (!best || static_cast<std::int64_t>(*best) > *header.top) {
    throw ConfigError({"merge", 0, 0},
                      "the parts were made with --top " + std::to_string(*header.top) +
                          " and have no other plans; give --format text or json with --top " +
                          std::to_string(*header.top) + ", or make them without --top");
  }
}

std::optional<std::size_t> best_of_parts(const std::optional<std::int64_t>& top, bool every_plan) {
  return top && !every_plan ? std::optional(static_cast<std::size_t>(*top)) : std::nullopt;
}

std::vector<SweptPlan> swept(const std::vector<PlanNumbers>& plans, const SweepSpace& space) {
  const auto written = [](const auto& setting) { return setting.first + "=" + setting.second; };
  return each_of(plans, [&](const PlanNumbers& plan) {
    return SweptPlan{each_of(settings_of(space, plan.plan), written), numbers_of(plan)};
  });
}

std::size_t top_of(const SweepSettings& settings) {
  return static_cast<std::size_t>(std::max<std::int64_t>(settings.top, 0));
}

SweepRun run_of(const SweepSpace& space, const std::vector<CostModel>& costs,
                const SweepSettings& settings) {
  SweepRun run;
  run.grid = chunk_grid(space.size());
  run.threads = threads_of(settings.threads);
  run.evaluator = evaluators_of(
      space, costs, settings.every_plan ? std::nullopt : goal_of(space, top_of(settings)));
  if (settings.progress) {
    run.progress = [&settings](const SweepProgress& progress) {
      settings.progress(progress.done, progress.plans);
    };
  }
  return run;
}

SweepAnswer swept_plans(const SweepSpace& space, const std::vector<CostModel>& costs,
                        const SweepSettings& settings) {
  TalliedChunks chunks(space, top_of(settings), [&](const std::vector<PlanNumbers>& priced) {
    if (settings.found) {
      settings.found(swept(priced, space));
    }
  });
  SweepAnswer answer;
  answer.complete = run_sweep(run_of(space, costs, settings), chunks, settings.stop);
  const SweepSummary summary = chunks.summary();
  answer.space_size = space.size();
  answer.evaluated = summary.evaluated;
  answer.priced = summary.priced;
  answer.bounded = summary.bounded;
  answer.best = swept(summary.best, space);
  answer.memory_pareto = swept(summary.memory_front, space);
  answer.refused = by_count(summary.refused);
  return answer;
}

}  // namespace

std::string Simulator::shard_problem(const std::string& shard) {
  try {
    (void)parse_shard(shard);
    return {};
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
}

SweepReport Simulator::sweep_report(const ExperimentSource& sweep,
                                    const SweepReportSettings& settings,
                                    const SweepPartSettings& part,
                                    const SweepRunning& running) const {
  return answer_of([&]() -> SweepReport {
    const DataRoot data{data_};
    const ReadSweep read(sweep_source_of(sweep, data), {}, best_of_report(settings), data);
    const std::unique_ptr<ChunkStore> store = open_store(part, read.header, running);
    if (!run_whole(read, *store, part, running)) {
      return {};
    }
    return write_sweep(read.source, read.space, *store, read.header.grid, settings, data, running);
  });
}

SweepReport Simulator::sweep_shard(const ExperimentSource& sweep, const SweepPartSettings& part,
                                   const SweepRunning& running) const {
  return answer_of([&]() -> SweepReport {
    const ReadSweep read(sweep_source_of(sweep, {data_}), parse_shard(part.shard),
                         best_of_parts(part.top, part.every_plan), {data_});
    const std::unique_ptr<ChunkStore> store = open_store(part, read.header, running);
    if (!run_whole(read, *store, part, running)) {
      return {};
    }
    return {true, {true, finished_text(dynamic_cast<const SweepPart&>(*store))}};
  });
}

bool Simulator::has_pieces(const std::string& folder) {
  return answer_of([&] { return sweep_in(folder).has_value(); });
}

SweepReport Simulator::sweep_pieces(const std::optional<ExperimentSource>& sweep,
                                    const PieceSettings& pieces,
                                    const SweepRunning& running) const {
  return answer_of([&]() -> SweepReport {
    std::optional<PartHeader> begun = sweep ? std::nullopt : sweep_in(pieces.folder);
    if (!sweep && !begun) {
      throw ConfigError({pieces.folder, 0, 0}, "is of no sweep yet; say which one it is for");
    }
    SweepSource source = begun ? begun->source : sweep_source_of(*sweep, {data_});
    source.version = version();
    const std::optional<std::int64_t> top = pieces.top || !begun ? pieces.top : begun->top;
    const ReadSweep read(std::move(source), {}, best_of_parts(top, pieces.every_plan), {data_});
    PieceFolder folder(pieces.folder, read.header, this_task(pieces.submission, pieces.task),
                       pieces.beside);
    PieceRun run;
    run.threads = threads_of(running.threads);
    run.evaluator = read.evaluator;
    run.progress = progress_of(running);
    const std::int64_t priced = run_pieces(run, folder, running.stop);
    if (running.stop.stop_requested()) {
      return {false, {false, fill_command(pieces.folder)}};
    }
    return {true, {true, finished_text(priced, folder)}};
  });
}

std::vector<std::string> Simulator::part_files(const std::vector<std::string>& named) {
  return answer_of([&] {
    return each_of(stepcast::part_files({named.begin(), named.end()}).files,
                   [](const std::filesystem::path& file) { return file.string(); });
  });
}

SweepReport Simulator::merge_report(const std::vector<std::string>& parts, Merge merge,
                                    const SweepReportSettings& settings,
                                    const SweepRunning& running) const {
  return answer_of([&] {
    const DataRoot data{data_};
    using Missing = MergedParts::Missing;
    const MergedParts merged(stepcast::part_files({parts.begin(), parts.end()}),
                             merge == Merge::kPartial ? Missing::kAccept : Missing::kRefuse);
    const PartHeader& header = merged.header();
    check_kept(header, settings);
    const SweepSpace space = space_of(header, merged.parts().front()->file().string(), data);
    // Lines have no place for it: said whatever the output is.
    if (const std::optional<MissingParts> missing = merged.missing()) {
      running.remark("missing: " + missing_text(*missing, header.grid.plans));
    }
    return write_sweep(header.source, space, merged, header.grid, settings, data, running);
  });
}

SweepAnswer Simulator::sweep(const ExperimentSource& sweep, const SweepSettings& settings) const {
  return answer_of([&] {
    const DataRoot data{data_};
    Diagnostics diagnostics;
    check_threads(settings.threads, diagnostics);
    if (settings.top < 0) {
      diagnostics.error({"top", 0, 0}, "must be at least 0");
    }
    diagnostics.throw_if_any();
    const SweepSpace space = read_sweep(sweep_source_of(sweep, data), data);
    return swept_plans(space, cost_models_of(space.sites(), data), settings);
  });
}

}  // namespace stepcast
