// SPDX-License-Identifier: Apache-2.0
// stepcast recommend: how many of which GPUs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command_words.hpp"
#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/page_output.hpp"
#include "cli/run_options.hpp"
#include "stepcast/api/recommended_runs.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/report/recommendation_report.hpp"

namespace stepcast::cli {
namespace {

struct RecommendOptions {
  ExperimentOptions experiment;
  std::vector<std::string> gpus;
  PriceOptions prices;
  RunLimits limits;
  std::vector<std::string> constraints;
  bool all_plans = false;
  int threads = 0;
  OutputOptions output;
};

// Whether the options give a batch; an experiment made from them alone has one that nobody gave.
bool options_give_batch(const ExperimentOptions& options) {
  const auto is_batch = [](const Override& set) {
    return set.assignment.starts_with("training.global_batch_size=");
  };
  return std::any_of(options.direct.begin(), options.direct.end(), is_batch) ||
         std::any_of(options.settings.begin(), options.settings.end(), is_batch);
}

void check(const RecommendOptions& options) {
  Diagnostics diagnostics;
  if (options.gpus.empty()) {
    diagnostics.error({"recommend", 0, 0}, "name a GPU: --gpu h100_sxm (repeatable)");
  }
  for (auto gpu = options.gpus.begin(); gpu != options.gpus.end(); ++gpu) {
    if (std::find(options.gpus.begin(), gpu, *gpu) != gpu) {
      diagnostics.error({"--gpu " + *gpu, 0, 0}, "is given twice; name each GPU once");
    }
  }
  if (options.limits.budget && options.prices.prices.empty()) {
    diagnostics.error({"--budget", 0, 0}, "needs the price of a GPU-hour: --price h100_sxm=2.50");
  }
  diagnostics.throw_if_any();
}

RunQuestion question_of(const RecommendOptions& options, const DataRoot& data) {
  ExperimentOptions named = options.experiment;
  named.gpu = options.gpus.front();  // an experiment made from options alone needs one
  RunQuestion question{load_sweep(named, data), options.gpus,        {},
                       options.limits,          options.constraints, options.all_plans,
                       options.threads};
  const bool batch = named.file.empty() ? options_give_batch(named) : gives_batch(question.work);
  if (!batch) {
    question.work = with_usual_batch(question.work, options.gpus.front(), data);
  }
  question.prices =
      prices_of(options.prices, names_of_gpus(question, data), "recommend is given no");
  return question;
}

// "llama3.1_8b: how many GPUs for 1,000,000,000,000 tokens".
std::string title_of(const std::vector<RecommendedGpu>& answers) {
  for (const RecommendedGpu& gpu : answers) {
    for (const RunCandidate& candidate : gpu.candidates) {
      const Projection& p = candidate.projection;
      if (p.run) {
        return p.model + ": how many GPUs for " + with_separators(p.run->spec.tokens) + " tokens";
      }
    }
  }
  return "how many GPUs";
}

int run_recommend(const RecommendOptions& options, const GlobalOptions& global) {
  check(options);
  const DataRoot data = data_root(global);
  const std::vector<RecommendedGpu> answers =
      recommended_runs(question_of(options, data), data, measured_in);
  const auto json = [&] {
    return json_text(recommendation_to_json(answers, options.limits, program_version()));
  };
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json()
               : format == "csv" ? recommendation_to_csv(answers, options.limits)
                                 : recommendation_to_text(answers, options.limits),
               {PageKind::kRecommendation, title_of(answers), json, {}});
  const bool any = std::any_of(answers.begin(), answers.end(),
                               [](const RecommendedGpu& gpu) { return gpu.fewest.has_value(); });
  return any ? kDone : kPlanCannotRun;
}

}  // namespace

void add_recommend(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "recommend", "how many of which GPUs a training run needs: fewest, cheapest, fastest");
  auto options = std::make_shared<RecommendOptions>();
  add_uncompared_options(*command, options->experiment);
  command->add_option("--gpu", options->gpus, "a GPU's name (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  add_tokens_option(*command, options->experiment);
  const CLI::Validator positive = real_number({1e-3, 1e15});
  command->add_option("--days", options->limits.days, "that the run may take at most")
      ->check(positive);
  command->add_option("--budget", options->limits.budget, "that it may cost at most, 5M")
      ->transform(unsaid(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"k", 1e3}, {"M", 1e6}, {"B", 1e9}},
                                CLI::AsNumberWithUnit::CASE_SENSITIVE)))
      ->check(positive);
  command->add_option("--gpus", options->limits.gpus, "of one kind at most")
      ->check(whole_number({1, 1 << 20}));
  add_price_options(*command, options->prices);
  command
      ->add_option("--constraint", options->constraints,
                   "that plans must keep, as in a sweep: 'mfu > 0.4' (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command->add_flag("--all", options->all_plans,
                    "prove each plan the best of all, instead of a search by descent");
  command->add_option("--threads", options->threads, "as many as processors unless given")
      ->check(whole_number({1, kMostThreads}));
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_recommend(*options, global); };
  });
}

}  // namespace stepcast::cli
