// SPDX-License-Identifier: Apache-2.0
// stepcast recommend: how many of which GPUs.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command_words.hpp"
#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/waiting_line.hpp"

namespace stepcast::cli {
namespace {

struct RecommendOptions {
  ExperimentOptions experiment;
  PriceOptions prices;
  RecommendSettings limits;
  OutputOptions output;
};

void check(const RecommendOptions& options) {
  Diagnostics diagnostics;
  if (options.limits.gpus.empty()) {
    diagnostics.error({"recommend", 0, 0},
                      "name a GPU: --gpu h100_sxm (repeatable), or a --cluster that has one");
  }
  for (auto gpu = options.limits.gpus.begin(); gpu != options.limits.gpus.end(); ++gpu) {
    if (std::find(options.limits.gpus.begin(), gpu, *gpu) != gpu) {
      diagnostics.error({"--gpu " + *gpu, 0, 0}, "is given twice; name each GPU once");
    }
  }
  if (options.limits.budget && options.prices.prices.empty()) {
    diagnostics.error({"--budget", 0, 0}, "needs the price of a GPU-hour: --price h100_sxm=2.50");
  }
  diagnostics.throw_if_any();
}

int run_recommend(RecommendOptions options, const GlobalOptions& global) {
  const Simulator simulator = simulator_of(global);
  const auto cluster = options.experiment.site.find("--cluster");
  if (options.limits.gpus.empty() && cluster != options.experiment.site.end()) {
    const std::string gpu = simulator.gpu_of_cluster(cluster->second);
    options.limits.gpus.insert(options.limits.gpus.end(), gpu.empty() ? 0 : 1, gpu);
  }
  check(options);
  ExperimentOptions named = options.experiment;
  named.site["--gpu"] =
      options.limits.gpus.front();  // an experiment made from options alone needs one
  const ExperimentSource work = source_of(named, simulator);
  RecommendSettings settings = options.limits;
  settings.gpu_hour_price = prices_of(options.prices);
  const Report report = asked({{"currency", "--currency"}}, [&] {
    WaitingLine line(global);
    settings.at = [&line](const std::string& what) { line.says(what); };
    return simulator.recommend_report(work, settings, form_of(options.output, global));
  });
  return answer(options.output, report);
}

}  // namespace

void add_recommend(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "recommend", "how many of which GPUs a training run needs: fewest, cheapest, fastest");
  auto options = std::make_shared<RecommendOptions>();
  add_uncompared_options(*command, options->experiment);
  add_work_options(*command, options->experiment);
  add_repeatable(*command, "--gpu", options->limits.gpus, "a GPU's name");
  add_site_options(*command, options->experiment, {"--gpu", "--nodes", "--gpus"});
  add_tokens_option(*command, options->experiment);
  const CLI::Validator positive = real_number({1e-3, 1e15});
  command->add_option("--days", options->limits.days, "that the run may take at most")
      ->check(positive);
  command->add_option("--budget", options->limits.budget, "that it may cost at most, 5M")
      ->transform(unsaid(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"k", 1e3}, {"M", 1e6}, {"B", 1e9}},
                                CLI::AsNumberWithUnit::CASE_SENSITIVE)))
      ->check(positive);
  command->add_option("--gpus", options->limits.most_gpus, "of one kind at most")
      ->check(whole_number({1, 1 << 20}));
  add_price_options(*command, options->prices);
  add_repeatable(*command, "--constraint", options->limits.constraints,
                 "that plans must keep, as in a sweep: 'mfu > 0.4'");
  command->add_flag("--all", options->limits.prove,
                    "prove each plan the best of all, instead of a search by descent");
  add_threads_option(*command, options->limits.threads, "as many as processors unless given");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  on_choice(*command, run, [options, &global] { return run_recommend(*options, global); });
}

}  // namespace stepcast::cli
