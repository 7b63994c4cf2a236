// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/step_reports.hpp"
#include "stepcast/report/step_rows.hpp"

namespace stepcast {
namespace {

// --- text ---------------------------------------------------------------------------------------

std::string factors(const RateInterval& interval) {
  return decimals(interval.low, 2) + " to " + decimals(interval.high, 2);
}

// "kernel 5 us, expert 1 us" of a mapping, "host.kernel 5 us" of one inside it.
std::string settings_text(const ConfigNode& settings, const std::string& path) {
  std::string text;
  for (const ConfigEntry& entry : settings.entries) {
    const std::string key = path + entry.key;
    text += text.empty() ? "" : ", ";
    if (entry.value.kind == ConfigNode::Kind::kMapping) {
      text += settings_text(entry.value, key + ".");
    } else if (entry.value.kind == ConfigNode::Kind::kSequence) {
      text += key + " of " + with_separators(std::ssize(entry.value.items));
    } else {
      text += key + " " + entry.value.text;
    }
  }
  return text;
}

std::string software_text(const Projection& p) {
  const ConfigNode* changes = p.input.find("software_settings");
  const ConfigNode* date = p.input.find("software_date");
  std::string text = p.software + (date == nullptr ? "" : " of " + date->text);
  if (changes == nullptr) {
    return text;
  }
  ConfigNode switches = *changes;
  if (const ConfigNode* base = changes->find("base")) {  // a file of the user's own
    text += " (" + base->text + ")";
    std::erase_if(switches.entries, [](const ConfigEntry& entry) { return entry.key == "base"; });
  }
  return text + (switches.entries.empty() ? "" : ", but " + settings_text(switches, ""));
}

constexpr std::string_view kRates =
    "tokens_per_second_per_gpu step_time_s model_tflops_per_gpu mfu mfu_masked";

// What a share is of, and what a rate may be.
std::string of_what(const Projection& p, std::string_view key) {
  if (key == "tokens_per_second_per_gpu" && p.expected_error && p.expected_error->distribution) {
    return " (" + interval_text(p.expected_error, p.tokens_per_second_per_gpu, Certainty::k80) +
           " at 80 %)";
  }
  if (key == "mfu") {
    return " of " + decimals(p.peak_rate.value() / 1e12, 1) + " TFLOP/s dense " +
           std::string(name(p.training.dtype));
  }
  return key == "mfu_masked" ? " counting the pairs that attention's mask leaves" : "";
}

std::string uneven_experts_text(const UnevenExperts& uneven, const Projection& p) {
  const ExpertLoad& load = uneven.load;
  const double balanced = uneven.balanced_tokens_per_second_per_gpu;
  const double gain = balanced / p.tokens_per_second_per_gpu - 1.0;
  std::string text = "fullest expert " + decimals(load.fullest_expert, 2) + ", fullest rank " +
                     decimals(load.fullest_rank, 2) + " times the mean; balanced " +
                     decimals(balanced, 1) + " tokens/s/GPU (" +
                     decimals(100.0 * std::abs(gain), 1) + (gain < 0.0 ? " % less)" : " % more)");
  text += gain < 0.0 ? ": this routing sends less than choices at random"
                     : ": a rank of mean load waits " + readable(uneven.waiting) +
                           " of a step for the fullest" +
                           (p.plan.exchange.redundant_experts > 0 ? " and for copies" : "");
  if (load.kept < 1.0) {
    text += "; capacity keeps " + decimals(100.0 * load.kept, 1) + " % of the choices";
  }
  return text;
}

// "671,026,419,200 parameters, 37,552,283,648 active; 250.4 GFLOP a token", forward and backward.
std::string model_size_text(const Projection& p) {
  return whole_number(p.parameters) + " parameters" +
         (p.has_experts() ? ", " + whole_number(p.active_parameters) + " active" : "") + "; " +
         significant(p.flops_per_token.value() / 1e9, 4) + " GFLOP a token";
}

std::string result_lines(const Projection& p) {
  std::string text = "\n";
  projection_columns().each(kRates, [&](const Column<Projection>& column) {
    text += line(std::string(column.title), column.read(column.of(p)) + of_what(p, column.key));
  });
  text += line("model", model_size_text(p));
  if (p.uneven_experts) {
    text += line("expert load", uneven_experts_text(*p.uneven_experts, p));
  } else if (p.has_experts()) {
    text += line("expert load", p.plan.exchange.routing
                                    ? "even: the routing gives every expert the mean"
                                    : "even, assumed: a random routing without favourites");
  }
  const std::string left = p.own_clocks ? "of products: " : "";
  const std::string limit = p.clock_of_bursts ? "what bursts above the power limit may draw"
                                              : "what the power limit leaves";
  const std::string why = p.clock_locked ? "locked" : left + limit;
  text += line("clock", decimals(p.clock.value() / 1e6, 1) + " MHz (" + why + "), " +
                            decimals(p.power.value(), 1) + " W on average");
  return text;
}

std::string time_line(const std::string& key, Seconds value, const Projection& p) {
  const double share = p.time.step.value() > 0.0 ? value / p.time.step : 0.0;
  return "  " + padded(key, 26) + right(readable(value), 12) +
         right(decimals(100.0 * share, 1), 8) + " %\n";
}

// The lines add up to the step.
std::string time_lines(const Projection& p) {
  const TimeBreakdown& time = p.time.breakdown;
  const TimeBreakdown& hidden = p.time.hidden;
  std::string text = "\nWhere the time goes (pipeline rank " +
                     with_separators(p.time.slowest_rank) + ", the slowest)\n";
  for (const TimeRow& row : kTimeRows) {
    // Communication that is hidden whole is worth a line too.
    if (row.always || row.of(time) + row.of(hidden) > Seconds{}) {
      text += time_line(std::string(row.title), row.of(time), p);
    }
  }
  text += time_line("step", time.total(), p);
  if (hidden.communication() > Seconds{}) {
    text += line("hidden communication", readable(hidden.communication()) + " behind computation");
  }
  return text;
}

std::string gib(Bytes value) { return right(decimals(value.value() / kGibibyte, 2), 12); }

// In whole percent; what is surer than 99 % is not told apart.
std::string odds_text(double odds) {
  return odds > 0.99 ? "over 99 %" : with_separators(std::llround(100.0 * odds)) + " %";
}

// How sure a rank is to run, and what is missing for it to fit.
std::string sureness_text(const StageMemory& stage, const Projection& p) {
  std::string text = odds_text(stage.odds) + " sure to run";
  if (stage.verdict != MemoryVerdict::kFits) {
    text += ", " + odds_text(p.memory_sure) + " with " + readable(stage.missing) + " less";
  }
  return text;
}

std::string memory_table(const Projection& p) {
  std::string text = "  " + padded("rank", 6);
  for (const MemoryRow& row : kMemoryRows) {
    text += right(std::string(row.column), 12);
  }
  text += right("in flight", 12) + "  at its peak\n";
  for (const StageMemory& stage : p.memory) {
    text += "  " + padded(with_separators(stage.rank), 6);
    for (const MemoryRow& row : kMemoryRows) {
      text += gib(row.of(stage));
    }
    text += right(decimals(stage.in_flight, 1), 12) + "  " + std::string(stage.moment) + ": " +
            std::string(name(stage.verdict)) + " (" + sureness_text(stage, p) + ")\n";
  }
  return text;
}

std::string memory_entry(const std::string& key, Bytes value) {
  return "  " + padded(key, 26) + gib(value) + "\n";
}

// Lines of the buffers that there are.
std::string buffer_lines(const StageMemory& stage) {
  std::string text;
  for (const BufferRow& row : kBufferRows) {
    if (const Bytes value = stage.*row.of; value > Bytes{}) {
      text += memory_entry("  " + std::string(row.title), value);
    }
  }
  return text;
}

std::string saved_lines(const SavedLayer& layer) {
  std::string text = "\nSaved by a " + layer.kind + " of one micro-batch, in MiB";
  text += layer.recomputed ? "; recomputed layers keep their input only\n" : "\n";
  const auto entry = [&text](std::string_view key, Bytes value) {
    text += "  " + padded(std::string(key), 32) +
            right(decimals(value.value() / (1024.0 * 1024.0), 2), 12) + "\n";
  };
  for (const SavedTensor& tensor : layer.tensors) {
    entry(name(tensor.id), tensor.bytes);
  }
  entry("total", total(layer.tensors));
  return text;
}

// What the file that was imported lowers and memory counts whole.
std::string uncounted_lines(const Projection& p) {
  return text_list(p.uncounted_savings, "", [](const UncountedSaving& uncounted) {
    const std::string what(name(uncounted.saving.of));
    return "  not counted: " + uncounted.saving.setting + ", which lowers " + what +
           (uncounted.most > Bytes{} ? " by " + readable(uncounted.most) + " at most\n"
                                     : ", of which nothing is held at the peak\n");
  });
}

std::string memory_lines(const Projection& p) {
  const StageMemory* fullest = p.fullest_stage();
  std::string text = "\nMemory of a GPU in GiB (pipeline rank " + with_separators(fullest->rank) +
                     ", the fullest, at its peak: " + std::string(fullest->moment) +
                     "): " + std::string(name(fullest->verdict)) +
                     (fullest->verdict == MemoryVerdict::kTight ? " in " : " ") +
                     readable(p.memory_capacity) + " (" + sureness_text(*fullest, p) + ")\n";
  for (const MemoryRow& row : kMemoryRows) {
    text += memory_entry(std::string(row.title), row.of(*fullest));
    text += row.in_parts ? buffer_lines(*fullest) : "";
  }
  return text + uncounted_lines(p);
}

std::string options_text(const FittingPlan& fit) {
  return text_list(fit.changes, "", [](const auto& change) {
    const bool quoted = change.second.find(' ') != std::string::npos;
    const std::string mark = quoted ? "'" : "";
    return " --set " + mark + change.first + "=" + change.second + mark;
  });
}

// Savings that leave what is trained as it is, with what they cost of the rate that the plan would
// have if it fitted.
std::string savings_text(const Projection& p) {
  if (p.savings.empty()) {
    return "";
  }
  return "  What makes it fit, the cheapest first:\n" +
         text_list(p.savings, "", [&](const FittingPlan& fit) {
           const double change = fit.tokens_per_second_per_gpu / p.tokens_per_second_per_gpu - 1.0;
           return "   " + options_text(fit) + ": " + decimals(fit.tokens_per_second_per_gpu, 1) +
                  " tokens/s/GPU (" + (change < 0.0 ? "" : "+") + decimals(100.0 * change, 1) +
                  " %), " + readable(fit.peak_memory) + " at peak\n";
         });
}

// What makes a plan fit that does not, as options to add; nothing where none was looked for.
std::string nearest_fit_text(const Projection& p) {
  if (!p.nearest_fit) {
    return "";
  }
  const FittingPlan& fit = *p.nearest_fit;
  if (fit.changes.empty()) {
    return "  None of " + with_separators(fit.tried) + " plans near it fits" +
           (fit.gpus
                ? "; the fewest GPUs found with one that does are " + with_separators(*fit.gpus)
                : std::string()) +
           ".\n";
  }
  return "  It fits with" + options_text(fit) + ": " + decimals(fit.tokens_per_second_per_gpu, 1) +
         " tokens/s/GPU, " + readable(fit.peak_memory) + " at peak.\n";
}

// --- JSON ---------------------------------------------------------------------------------------

Value time_json(const TimeBreakdown& time) {
  Value json = Value::object();
  for_each_time_key(
      [&](const TimeRow& row) { json[std::string(row.key)] = time_of_key(time, row.key).value(); });
  return json;
}

Value stage_json(const StageMemory& stage) {
  Value json = {{"rank", stage.rank}};
  for (const MemoryRow& row : kMemoryRows) {
    if (!row.other_key.empty()) {
      json[std::string(row.other_key)] = row.of(stage).value();
    }
    json[std::string(row.key)] = row.of(stage).value();
  }
  json["peak_moment"] = stage.moment;
  json["verdict"] = name(stage.verdict);
  json["probability"] = stage.odds;
  json["missing_bytes"] = stage.missing.value();
  Value& buffers = json["buffers"] = Value::object();
  for (const BufferRow& row : kBufferRows) {
    buffers[std::string(row.key)] = (stage.*row.of).value();
  }
  return json;
}

Value saved_json(const SavedLayer& layer) {
  return {{"layer", layer.kind},
          {"recomputed_in_full", layer.recomputed},
          {"saved_bytes", total(layer.tensors).value()},
          {"tensors", saved_columns().json_rows(layer.tensors)}};
}

Value uneven_experts_json(const UnevenExperts& uneven) {
  return {{"fullest_expert", uneven.load.fullest_expert},
          {"fullest_rank", uneven.load.fullest_rank},
          {"kept_share", uneven.load.kept},
          {"balanced_tokens_per_second_per_gpu", uneven.balanced_tokens_per_second_per_gpu},
          {"waiting_for_peers_s", uneven.waiting.value()}};
}

Value interval_json(const ErrorDistribution& distribution, Certainty certainty) {
  const RateInterval interval = distribution.interval(certainty);
  return {interval.low, interval.high};
}

}  // namespace

std::string expected_error_text(const ExpectedError& error) {
  if (!error.distribution) {
    return "not known: " + (error.basis.empty() ? "no measured run was held out" : error.basis);
  }
  return factors(error.distribution->interval(Certainty::k80)) + " times this (80 %), " +
         factors(error.distribution->interval(Certainty::k90)) + " (90 %), " +
         (error.stack == Stack::kTuned ? "tuned as by its makers (else --as-it-comes): "
                                       : "as it comes (else --tuned): ") +
         error.basis;
}

std::string interval_text(const std::optional<ExpectedError>& error, double rate,
                          Certainty certainty) {
  if (!error || !error->distribution) {
    return "-";
  }
  const RateInterval interval = error->distribution->interval(certainty);
  return decimals(rate * interval.low, 1) + " to " + decimals(rate * interval.high, 1);
}

std::string network_text(const Projection& p) {
  const ConfigNode* cluster = p.input.find("cluster_settings");
  if (cluster == nullptr || p.nodes == 1) {
    return "";
  }
  const auto text = [cluster](std::string_view key) { return cluster->find(key)->text; };
  const std::string share = text("oversubscription");
  return text("nics_per_gpu") + " x " + text("nic_rate") + " a GPU, " + text("topology") +
         (share == "1" ? "" : ", oversubscribed " + share + ":1");
}

std::string heading(const Projection& p) {
  std::string text =
      p.model + " on " + with_separators(p.gpus) + " x " + p.gpu + " (" + with_separators(p.nodes) +
      (p.nodes == 1 ? " node)" : " nodes)") +
      (p.gpu_standing == PartStanding::kAnnounced ? ", " + std::string(kAnnouncedEstimate) : "") +
      "\n\n";
  text += line("training", training_text(p.training));
  text += line("plan", plan_line(p.plan));
  text += line("software", software_text(p));
  const std::string network = network_text(p);
  return text + (network.empty() ? "" : line("network", network));
}

namespace {

std::string note_text(const Projection& p) {
  return text_list(p.notes, "", [](const std::string& note) { return line("note", note); });
}

std::string reason_text(const Projection& p) {
  return p.reasons.empty() ? std::string()
                           : "\nThis plan cannot run:\n  - " + text_list(p.reasons, "\n  - ") +
                                 "\n" + savings_text(p) + nearest_fit_text(p);
}

}  // namespace

std::string notes_and_reasons(const Projection& p) { return note_text(p) + reason_text(p); }

// "15T", "1.5B"; a number that is no round one in full.
std::string short_count(std::int64_t count) {
  struct Thousands {
    std::int64_t unit;
    std::string_view letter;
  };
  constexpr std::array<Thousands, 3> kUnits = {
      {{1'000'000'000'000, "T"}, {1'000'000'000, "B"}, {1'000'000, "M"}}};
  for (const Thousands& known : kUnits) {
    if (count >= known.unit && count % (known.unit / 100) == 0) {
      return shortest_text(static_cast<double>(count) / static_cast<double>(known.unit)) +
             std::string(known.letter);
    }
  }
  return with_separators(count);
}

std::string first_sentence(const Projection& p) {
  const std::string site = with_separators(p.gpus) + " " + p.gpu_title;
  if (!p.feasible()) {
    return site + " cannot train " + p.model_title + " so: " + p.reasons.front() + ".";
  }
  const double each = p.tokens_per_second_per_gpu;
  std::string text = site + (p.gpus == 1 ? " trains " : " train ") + p.model_title + " at " +
                     whole_number(each * static_cast<double>(p.gpus)) + " tokens/s";
  std::string range;
  if (p.expected_error && p.expected_error->distribution) {
    const RateInterval interval = p.expected_error->distribution->interval(Certainty::k80);
    range = " (" + whole_number(each * interval.low) + " to " + whole_number(each * interval.high) +
            ")";
  }
  text += p.gpus == 1 ? range : ", " + whole_number(each) + " each" + range;
  if (p.run) {
    text += "; " + short_count(p.run->spec.tokens) + " tokens take " + days_text(p.run->days()) +
            " days " +
            (p.run->spec.interruptions.any() ? "with interruptions" : "without interruptions");
  }
  return text + ".";
}

std::string to_text(const Projection& p) {
  std::string text = first_sentence(p) + "\n\n" + heading(p) + note_text(p);
  if (p.priced) {
    text += result_lines(p) + training_run_text(p) + time_lines(p) + memory_lines(p);
    text += "\n  FLOPs: " + flop_convention(p.training.weights) + "\n";
    text += p.expected_error ? line("expected error", expected_error_text(*p.expected_error)) : "";
    text += p.provenance ? line("time rests on", provenance_text(*p.provenance)) : "";
  }
  return text + reason_text(p);
}

std::string memory_to_text(const Projection& p) {
  std::string text = heading(p);
  if (p.priced) {
    text += "\nMemory of each pipeline rank in GiB, of " + readable(p.memory_capacity) + "\n" +
            memory_table(p);
    text += "\nBuffers of rank " + with_separators(p.fullest_stage()->rank) + ", the fullest\n" +
            buffer_lines(*p.fullest_stage());
    for (const SavedLayer& layer : p.saved) {
      text += saved_lines(layer);
    }
  }
  return text + notes_and_reasons(p);
}

std::string to_csv(const Projection& p) {
  constexpr std::string_view kNumbers =
      "model gpu gpus feasible tokens_per_second_per_gpu step_time_s model_tflops_per_gpu mfu "
      "mfu_masked peak_memory_bytes " STEPCAST_INTERVAL_COLUMNS;
  const Columns<Projection>& numbers = projection_columns();
  const bool run = asks_for_run(p);
  return Columns<Projection>::csv_titles(kNumbers) +
         (run ? "," + Columns<Projection>::csv_titles(kRunColumns) : "") + ",reasons\n" +
         numbers.csv_cells(kNumbers, p) + (run ? "," + training_run_cells(p) : "") + "," +
         numbers.csv_cells("reasons", p) + "\n";
}

std::string memory_to_csv(const Projection& p) {
  std::string text = "rank";
  for (const MemoryRow& row : kMemoryRows) {
    text += "," + std::string(row.key);
  }
  text += ",capacity_bytes,peak_moment,verdict,probability,missing_bytes";
  for (const BufferRow& row : kBufferRows) {
    text += ",buffers." + std::string(row.key);
  }
  text += "\n";
  for (const StageMemory& stage : p.priced ? p.memory : std::vector<StageMemory>{}) {
    text += std::to_string(stage.rank);
    for (const MemoryRow& row : kMemoryRows) {
      text += "," + shortest_text(row.of(stage).value());
    }
    text += "," + shortest_text(p.memory_capacity.value()) + "," + csv_cell(stage.moment) + "," +
            std::string(name(stage.verdict)) + "," + shortest_text(stage.odds) + "," +
            shortest_text(stage.missing.value());
    for (const BufferRow& row : kBufferRows) {
      text += "," + shortest_text((stage.*row.of).value());
    }
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const ExpectedError& error) {
  Value json = {{"gpu", error.gpu},
                {"family", name(error.family)},
                {"software", error.software},
                {"runs", error.runs},
                {"sources", error.sources}};
  if (error.distribution) {
    json["median"] = error.median;
    json["p90"] = error.p90;
    json["interval_80"] = interval_json(*error.distribution, Certainty::k80);
    json["interval_90"] = interval_json(*error.distribution, Certainty::k90);
    json["basis"] = error.basis;
    json["stack"] = name(error.stack);
  }
  return json;
}

void add_memory_verdict(const Projection& p, nlohmann::ordered_json& json) {
  if (!p.memory.empty()) {
    std::string verdict(name(verdict_on(p.memory)));
    std::ranges::replace(verdict, ' ', '_');
    json["verdict"] = verdict;
    json["probability"] = odds_on(p.memory);
  }
}

nlohmann::ordered_json json_header(const Projection& p) {
  Value json = {{"schema_version", kJsonSchemaVersion},
                {"context",
                 {{"program", "stepcast"},
                  {"input", json_of(p.input)},
                  {"backends", object_of(p.backends)},
                  {"flop_convention", flop_convention(p.training.weights)},
                  {"notes", p.notes}}},
                {"feasible", p.feasible()},
                {"reasons", p.reasons}};
  add_memory_verdict(p, json);
  for (const UncountedSaving& uncounted : p.uncounted_savings) {
    json[kUncarriedSavings].push_back({{"setting", uncounted.saving.setting},
                                       {"of", name(uncounted.saving.of)},
                                       {"most_bytes", uncounted.most.value()}});
  }
  for (const FittingPlan& fit : p.savings) {
    json["savings"].push_back({{"changes", object_of(fit.changes)},
                               {"tokens_per_second_per_gpu", fit.tokens_per_second_per_gpu},
                               {"peak_memory_bytes", fit.peak_memory.value()}});
  }
  if (p.nearest_fit && !p.nearest_fit->changes.empty()) {
    json["nearest_fit"] = {{"changes", object_of(p.nearest_fit->changes)},
                           {"tokens_per_second_per_gpu", p.nearest_fit->tokens_per_second_per_gpu},
                           {"peak_memory_bytes", p.nearest_fit->peak_memory.value()}};
  } else if (p.nearest_fit && p.nearest_fit->gpus) {
    json["nearest_fit"] = {{"fewest_gpus", *p.nearest_fit->gpus}};
  }
  return json;
}

void add_capture(const Projection& p, nlohmann::ordered_json& json) {
  json["capturable"] = p.capture_blockers.empty();
  json["capture_blockers"] = value_of(p.capture_blockers);
}

nlohmann::ordered_json to_json(const Projection& p) {
  Value json = json_header(p);
  if (!p.priced) {
    return json;
  }
  const Columns<Projection>& numbers = projection_columns();
  numbers.add(
      "tokens_per_second_per_gpu step_time_s model_tflops_per_gpu mfu mfu_masked peak_memory_bytes "
      "parameters active_parameters flops_per_token expected_error training_run provenance",
      p, json);
  if (p.uneven_experts) {
    json["expert_load"] = uneven_experts_json(*p.uneven_experts);
  }
  json["memory_by_stage"] = list_of(p.memory, stage_json);
  json["time"] = time_json(p.time.breakdown);
  numbers.add("clock_mhz power_w", p, json);
  add_capture(p, json);
  return json;
}

nlohmann::ordered_json memory_to_json(const Projection& p) {
  Value json = json_header(p);
  if (p.priced) {
    json["capacity_bytes"] = p.memory_capacity.value();
    json["peak_memory_bytes"] = p.peak_memory().value();
    json["memory_by_stage"] = list_of(p.memory, stage_json);
    json["saved_by_layer"] = list_of(p.saved, saved_json);
  }
  return json;
}

}  // namespace stepcast
