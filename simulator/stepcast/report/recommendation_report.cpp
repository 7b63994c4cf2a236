// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/recommendation_report.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/sweep/run_choice.hpp"

namespace stepcast {
namespace {

// One of the answers for a GPU. What is cheapest without a price has the fewest GPU-hours.
struct AnswerKind {
  std::string_view key;
  std::string_view unpriced;
  std::optional<std::size_t> RecommendedGpu::*place;
};
constexpr std::array kAnswerKinds = {
    AnswerKind{"fewest", "fewest", &RecommendedGpu::fewest},
    AnswerKind{"cheapest", "fewest_gpu_hours", &RecommendedGpu::cheapest},
    AnswerKind{"fastest", "fastest", &RecommendedGpu::fastest},
};

// The key of an answer that a candidate with this projection gives.
std::string_view key_of(const AnswerKind& kind, const Projection& p) {
  return p.gpu_hour ? kind.key : kind.unpriced;
}

// The answers that one number of GPUs is: "fewest, cheapest".
std::string answers_at(const RecommendedGpu& gpu, std::size_t place, std::string_view between) {
  std::vector<std::string_view> answers;
  for (const AnswerKind& kind : kAnswerKinds) {
    if (gpu.*kind.place == place) {
      answers.push_back(key_of(kind, gpu.candidates[place].projection));
    }
  }
  return text_list(answers, between);
}

// --- text ---------------------------------------------------------------------------------------

// "1,234,000 $", or GPU-hours where nothing has a price.
std::string cost_text(const Projection& p) {
  return whole_number(run_cost(p)) + (p.gpu_hour ? " " + p.gpu_hour->currency : " GPU-hours");
}

std::string limits_text(const RunLimits& limits, const std::string& currency) {
  std::vector<std::string> texts;
  if (limits.days) {
    texts.push_back("at most " + days_text(*limits.days) + " days");
  }
  if (limits.budget) {
    texts.push_back("at most " + whole_number(*limits.budget) + " " + currency);
  }
  if (limits.gpus) {
    texts.push_back("at most " + with_separators(*limits.gpus) + " GPUs");
  }
  return texts.empty() ? "none" : text_list(texts);
}

// The first candidate of any GPU: what all of them have in common.
const Projection* any_of(const std::vector<RecommendedGpu>& gpus) {
  for (const RecommendedGpu& gpu : gpus) {
    if (!gpu.candidates.empty()) {
      return &gpu.candidates.front().projection;
    }
  }
  return nullptr;
}

const Projection& at(const RecommendedGpu& gpu, std::size_t place) {
  return gpu.candidates[place].projection;
}

// What no plan changes.
std::string training_of(const Projection& p, const RunLimits& limits) {
  return with_separators(limits.tokens) + " tokens, " + std::string(name(p.training.dtype)) +
         ", sequence " + with_separators(p.training.sequence_length) + ", global batch " +
         with_separators(p.training.global_batch_size);
}

// The GPUs that have an answer, the cheapest first.
std::vector<const RecommendedGpu*> by_cost(const std::vector<RecommendedGpu>& gpus) {
  std::vector<const RecommendedGpu*> answered;
  for (const RecommendedGpu& gpu : gpus) {
    if (gpu.cheapest) {
      answered.push_back(&gpu);
    }
  }
  std::ranges::stable_sort(answered, [](const auto* a, const auto* b) {
    return run_cost(at(*a, *a->cheapest)) < run_cost(at(*b, *b->cheapest));
  });
  return answered;
}

// "512 h100_sxm: 41.0 days, 3,400,000 $; 1.23 times cheaper than mi300x". Of all GPUs the cheapest;
// "nothing stays within the limits" where that is so.
std::string headline(const std::vector<RecommendedGpu>& gpus, const RunLimits& limits) {
  const std::vector<const RecommendedGpu*> order = by_cost(gpus);
  if (order.empty()) {
    return gpus.empty() ? "no GPU was asked for" : "nothing stays within the limits";
  }
  const Projection& best = at(*order[0], *order[0]->cheapest);
  std::string text = with_separators(best.gpus) + " " + best.gpu + ": " +
                     days_text(best.run->days()) + " days, " + cost_text(best);
  if (order.size() > 1) {
    const Projection& next = at(*order[1], *order[1]->cheapest);
    text += "; " + decimals(run_cost(next) / run_cost(best), 2) +
            (best.gpu_hour ? " times cheaper than " : " times fewer than ") +
            with_separators(next.gpus) + " " + next.gpu;
  }
  return text + (limits.days || limits.budget || limits.gpus ? "" : " (no limit is given)");
}

std::vector<std::string> row_of(const std::string& gpu, const std::string& answer,
                                const Projection& p) {
  std::vector<std::string> cells = {gpu, answer};
  std::ranges::copy(projection_columns().cells("gpus days days_80 gpu_hours price", p),
                    std::back_inserter(cells));
  cells.push_back(whole_number(p.run->kilowatt_hours() / 1e3));
  cells.push_back(projection_columns().text("tokens_per_second_per_gpu", p));
  cells.push_back(decimals(100.0 * p.mfu, 1));
  return cells;
}

// Answers that are one number of GPUs stand in one row.
void add_answers(const RecommendedGpu& gpu, TextTable& table) {
  std::vector<std::size_t> told;
  for (const AnswerKind& kind : kAnswerKinds) {
    const std::optional<std::size_t>& place = gpu.*kind.place;
    if (!place || std::ranges::find(told, *place) != told.end()) {
      continue;
    }
    const RunCandidate& candidate = gpu.candidates[*place];
    const Projection& p = candidate.projection;
    table.add_row(row_of(told.empty() ? gpu.gpu : "", answers_at(gpu, *place, ", "), p),
                  plan_line(p.plan) + ", micro-batch " +
                      with_separators(p.training.micro_batch_size) + ", recompute " +
                      recompute_text(p.training.recompute));
    told.push_back(*place);
  }
}

TextTable answers_table() {
  return TextTable({{"GPU"},
                    {"answer"},
                    {"GPUs", Align::kRight},
                    {"days", Align::kRight},
                    {"80 %", Align::kRight},
                    {"GPU-hours", Align::kRight},
                    {"price", Align::kRight},
                    {"MWh", Align::kRight},
                    {"tokens/s/GPU", Align::kRight},
                    {"MFU %", Align::kRight}});
}

// Why the largest number of GPUs that runs no plan does not.
std::string refused_text(const RecommendedGpu& gpu) {
  std::string text;
  for (const RunCandidate& candidate : gpu.candidates) {
    const Projection& p = candidate.projection;
    if (p.feasible()) {
      continue;
    }
    text = "  on " + with_separators(p.gpus) + " GPUs\n";
    for (const std::string& reason : p.reasons) {
      text += "    - " + reason + "\n";
    }
  }
  return text;
}

std::string empty_text(const std::vector<RecommendedGpu>& gpus, const RunLimits& limits) {
  std::string text;
  for (const RecommendedGpu& gpu : gpus) {
    if (gpu.fewest) {
      continue;
    }
    text += "\nNo answer for " + gpu.gpu + "\n";
    for (const auto& [reason, count] : emptied_by(gpu, limits)) {
      text += line(with_separators(count) + " of " + with_separators(std::ssize(gpu.candidates)) +
                       " numbers of GPUs",
                   reason);
    }
    text += refused_text(gpu);
  }
  return text;
}

std::string counts_text(const RecommendedGpu& gpu) {
  if (gpu.candidates.empty()) {
    return "no number of GPUs";
  }
  const std::int64_t plans = sum_over(
      gpu.candidates, [](const RunCandidate& candidate) { return candidate.searched.plans; });
  const bool proven = std::ranges::all_of(gpu.candidates, &RunCandidate::proven);
  const auto gpus_of = [](const RunCandidate& candidate) {
    return with_separators(candidate.projection.gpus);
  };
  std::string text = with_separators(std::ssize(gpu.candidates)) + " numbers from " +
                     gpus_of(gpu.candidates.front()) + " to " + gpus_of(gpu.candidates.back()) +
                     " GPUs, " + with_separators(plans) + " plans, " +
                     (proven ? "the best ones for sure" : "the best ones likely (--all: for sure)");
  const Projection* fewest = gpu.fewest ? &gpu.candidates[*gpu.fewest].projection : nullptr;
  if (fewest != nullptr && gpu.tried_from > 0 && gpu.tried_from < fewest->nodes) {
    const Projection& p = *fewest;
    text += "; below " + gpus_of(gpu.candidates[*gpu.fewest]) + " every whole node from " +
            with_separators(gpu.tried_from * p.gpus / p.nodes);
  }
  return text;
}

// The software of every GPU, each once where all have the same.
std::string software_text(const std::vector<RecommendedGpu>& gpus) {
  std::vector<std::pair<std::string, std::string>> by_gpu;
  for (const RecommendedGpu& gpu : gpus) {
    if (!gpu.candidates.empty()) {
      by_gpu.emplace_back(gpu.gpu, gpu.candidates.front().projection.software);
    }
  }
  const bool one = std::ranges::all_of(
      by_gpu, [&by_gpu](const auto& entry) { return entry.second == by_gpu.front().second; });
  return one ? by_gpu.front().second : text_list(by_gpu, ", ", [](const auto& entry) {
    return entry.second + " on " + entry.first;
  });
}

// What of the time failures take, of the number of GPUs that is named first; it grows with it.
std::string failures_text(const std::vector<RecommendedGpu>& gpus) {
  for (const RecommendedGpu& gpu : gpus) {
    if (gpu.cheapest) {
      const Projection& p = at(gpu, *gpu.cheapest);
      return goodput_text(*p.run) + (p.run->spec.interruptions.any()
                                         ? ", on " + with_separators(p.gpus) + " " + p.gpu
                                         : " (training.interruptions counts them)");
    }
  }
  return "no run stays within the limits";
}

std::string pareto_text(const std::vector<RecommendedGpu>& gpus, const RunLimits& limits) {
  const std::vector<PlacedCandidate> front = pareto_of(gpus, limits);
  if (front.size() < 2) {
    return "";
  }
  TextTable table({{"GPU"},
                   {"GPUs", Align::kRight},
                   {"days", Align::kRight},
                   {at(gpus[front[0].gpu], front[0].candidate).gpu_hour ? "price" : "GPU-hours",
                    Align::kRight}});
  for (const PlacedCandidate& placed : front) {
    const Projection& p = at(gpus[placed.gpu], placed.candidate);
    table.add_row(projection_columns().cells(
        p.gpu_hour ? "gpu gpus days price" : "gpu gpus days gpu_hours", p));
  }
  return "\nFewer days cost more: no other number of GPUs has both less\n" + table.text();
}

// "vr200 is an estimate from announced figures", of each such GPU.
std::vector<std::string> estimate_notes(const std::vector<RecommendedGpu>& gpus) {
  std::vector<std::string> notes;
  for (const RecommendedGpu& gpu : gpus) {
    if (!gpu.candidates.empty() && at(gpu, 0).gpu_standing == PartStanding::kAnnounced) {
      notes.push_back(gpu.gpu + " is " + std::string(kAnnouncedEstimate));
    }
  }
  return notes;
}

// --- JSON and CSV -------------------------------------------------------------------------------

Value limits_json(const RunLimits& limits) {
  Value json = Value::object();
  if (limits.days) {
    json["days"] = *limits.days;
  }
  if (limits.budget) {
    json["budget"] = *limits.budget;
  }
  if (limits.gpus) {
    json["gpus"] = *limits.gpus;
  }
  return json;
}

constexpr std::string_view kCandidate =
    "tokens_per_second_per_gpu mfu step_time_s peak_memory_bytes power_w plan";

Value candidate_json(const RunCandidate& candidate) {
  const Projection& p = candidate.projection;
  const Columns<Projection>& numbers = projection_columns();
  Value json = numbers.json("gpus nodes feasible", p);
  if (p.run) {
    json.update(training_run_json(p));
    numbers.add(kCandidate, p, json);
    json["settings"] = object_of(candidate.searched.settings);
  } else {
    json["reasons"] = p.reasons;
  }
  json["proven"] = candidate.proven;
  json["searched"] = searched_columns().json("plans priced bounded refused", candidate.searched);
  return json;
}

// What no plan changes, under the keys that it has in other reports.
Value work_json(const Projection& p) {
  return {{"model", p.model},
          {"training",
           {{"sequence_length", p.training.sequence_length},
            {"global_batch_size", p.training.global_batch_size},
            {"dtype", name(p.training.dtype)}}}};
}

Value answer_json(const RecommendedGpu& gpu, const RunLimits& limits) {
  Value json = {{"gpu", gpu.gpu}};
  if (!gpu.candidates.empty()) {
    json["software"] = gpu.candidates.front().projection.software;
  }
  for (const AnswerKind& kind : kAnswerKinds) {
    if (const std::optional<std::size_t>& place = gpu.*kind.place) {
      const RunCandidate& candidate = gpu.candidates[*place];
      json[std::string(key_of(kind, candidate.projection))] = candidate_json(candidate);
    }
  }
  if (!gpu.fewest) {
    json["emptied_by"] = emptied_by(gpu, limits);
  }
  return json;
}

// Members whose runs have none are empty cells.
std::string candidate_line(const RecommendedGpu& gpu, std::size_t place, const RunLimits& limits) {
  const RunCandidate& candidate = gpu.candidates[place];
  const Projection& p = candidate.projection;
  const Columns<Projection>& numbers = projection_columns();
  return csv_cell(p.model) + "," + csv_cell(gpu.gpu) + "," + numbers.csv_cells("gpus feasible", p) +
         "," + (stays_within(candidate, limits) ? "true" : "false") + "," +
         answers_at(gpu, place, " ") + "," + training_run_cells(p) + "," +
         (p.run ? numbers.csv_cells(kCandidate, p) : Columns<Projection>::no_cells(kCandidate)) +
         "," + numbers.csv_cells("reason", p) + "\n";
}

}  // namespace

std::string recommendation_to_text(const std::vector<RecommendedGpu>& gpus,
                                   const RunLimits& limits) {
  std::string text = headline(gpus, limits) + "\n\n";
  const Projection* any = any_of(gpus);
  if (any != nullptr) {
    text += line("model", any->model);
    text += line("training", training_of(*any, limits));
    text += line("limits", limits_text(limits, any->gpu_hour ? any->gpu_hour->currency : ""));
    text += line("software", software_text(gpus));
    text += line("goodput", failures_text(gpus));
  }
  for (const RecommendedGpu& gpu : gpus) {
    text += line("searched on " + gpu.gpu, counts_text(gpu));
  }
  for (const std::string& note : estimate_notes(gpus)) {
    text += line("note", note);
  }
  TextTable table = answers_table();
  bool answered = false;
  for (const RecommendedGpu& gpu : gpus) {
    add_answers(gpu, table);
    answered = answered || gpu.fewest;
  }
  text += answered ? "\n" + table.text() : "";
  return text + pareto_text(gpus, limits) + empty_text(gpus, limits);
}

nlohmann::ordered_json recommendation_to_json(const std::vector<RecommendedGpu>& gpus,
                                              const RunLimits& limits, const std::string& version) {
  Value json = {{"schema_version", kJsonSchemaVersion},
                {"context", {{"program", "stepcast"}, {"version", version}}},
                {"limits", limits_json(limits)},
                {"headline", headline(gpus, limits)},
                {"answers", Value::array()},
                {"pareto", Value::array()},
                {"searched", Value::array()}};
  if (const std::vector<std::string> notes = estimate_notes(gpus); !notes.empty()) {
    json["context"]["notes"] = notes;
  }
  if (const Projection* any = any_of(gpus)) {
    json["context"]["input"] = work_json(*any);
  }
  for (const RecommendedGpu& gpu : gpus) {
    json["answers"].push_back(answer_json(gpu, limits));
    for (const RunCandidate& candidate : gpu.candidates) {
      Value row = {{"gpu", gpu.gpu}};
      row.update(candidate_json(candidate));
      json["searched"].push_back(std::move(row));
    }
  }
  for (const PlacedCandidate& placed : pareto_of(gpus, limits)) {
    json["pareto"].push_back(projection_columns().json(
        "gpu gpus days gpu_hours price", gpus[placed.gpu].candidates[placed.candidate].projection));
  }
  return json;
}

std::string recommendation_to_csv(const std::vector<RecommendedGpu>& gpus,
                                  const RunLimits& limits) {
  std::string text = "model,gpu,gpus,feasible,within_limits,answer," +
                     Columns<Projection>::csv_titles(kRunColumns) + "," +
                     Columns<Projection>::csv_titles(kCandidate) + ",reason\n";
  for (const RecommendedGpu& gpu : gpus) {
    for (std::size_t i = 0; i < gpu.candidates.size(); ++i) {
      text += candidate_line(gpu, i, limits);
    }
  }
  return text;
}

}  // namespace stepcast
