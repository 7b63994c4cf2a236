// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/layer_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMilli = 1e3;
constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

std::string separated(std::int64_t value) { return with_separators(static_cast<long long>(value)); }

std::string milliseconds(Seconds time) { return decimals(kMilli * time.value(), 2) + " ms"; }

// With its sign where it is negative, as the time that a GPU alone takes longer.
std::string signed_milliseconds(Seconds time) {
  return (time < Seconds{} ? "-" : "") + milliseconds(Seconds(std::abs(time.value())));
}

std::string signed_share(double share) {
  const std::string digits = decimals(std::abs(100.0 * share), 1);
  return (share < 0.0 ? "-" : "") + digits + " %";
}

std::string teraflops(FlopsPerSecond rate) { return whole_number(rate.value() / kTera); }

std::string megahertz(Hertz clock) { return decimals(clock.value() / 1e6, 1) + " MHz"; }

// --- text -------------------------------------------------------------------------------------

std::string exchange_table(const LayerStudy& study) {
  if (study.exchanges.empty()) {
    return "";
  }
  TextTable table({{"direction"},
                   {"primitive"},
                   {"received", Align::kRight},
                   {"time", Align::kRight},
                   {"rate", Align::kRight},
                   {""}});
  Seconds sum;
  for (const ExchangeWay& way : study.exchanges) {
    if (!way.skipped.empty()) {
      table.add_row({std::string(name(way.phase)), std::string(name(way.primitive)), "-", "-", "-",
                     way.skipped});
      continue;
    }
    sum += way.runs ? way.time : Seconds{};
    table.add_row({std::string(name(way.phase)), std::string(name(way.primitive)),
                   decimals(way.received.value() / 1e6, 1) + " MB", milliseconds(way.time),
                   decimals(way.rate().value() / kGiga, 1) + " GB/s", way.runs ? "runs" : ""});
  }
  table.add_row({"both that run", "", "", milliseconds(sum)});
  return "\nExchange of tokens between " + separated(study.ranks) +
         " ranks: bytes that a rank receives from others\n" + table.text();
}

std::string kept_table(const LayerStudy& study) {
  if (study.saved.empty() && study.buffers.empty() && !study.recomputed) {
    return "";
  }
  TextTable table({{"tensor"}, {"size", Align::kRight}});
  for (const SavedTensor& tensor : study.saved) {
    table.add_row({std::string(name(tensor.id)), readable(tensor.bytes)});
  }
  if (study.passes.backward) {
    table.add_row({study.recomputed ? "all that is kept, the rest is recomputed"
                                    : "all that is kept for backward",
                   readable(total(study.saved))});
  }
  for (const ExchangeBuffer& buffer : study.buffers) {
    table.add_row({"shared by all layers: " + std::string(buffer.name), readable(buffer.bytes)});
  }
  return "\nKept of a micro-batch, and the dispatcher's buffers\n" + table.text();
}

void add_pass(TextTable& table, const std::string& title, const LayerPass& pass,
              std::int64_t ranks) {
  table.add_row({title, milliseconds(pass.time), teraflops(pass.rate()),
                 teraflops(static_cast<double>(ranks) * pass.rate()),
                 milliseconds(pass.computation), milliseconds(pass.communication),
                 milliseconds(pass.host), megahertz(pass.clock)});
}

std::string pass_table(const LayerStudy& study) {
  TextTable table({{"pass"},
                   {"time", Align::kRight},
                   {"TFLOP/s/GPU", Align::kRight},
                   {"TFLOP/s", Align::kRight},
                   {"kernels", Align::kRight},
                   {"exchange", Align::kRight},
                   {"host", Align::kRight},
                   {"clock", Align::kRight}});
  add_pass(table, "forward", study.passes.forward, study.ranks);
  if (study.passes.backward) {
    add_pass(table, "backward", *study.passes.backward, study.ranks);
  }
  return "\nRepeated back to back" +
         std::string(study.passes.backward ? "; backward: both together less a forward by itself\n"
                                           : "\n") +
         table.text();
}

// What of the ranks' time a GPU with a rank's tokens does not take.
std::string exposed_text(const LayerPass& ranks, const LayerPass& alone) {
  const Seconds exposed = ranks.time - alone.time;
  return signed_milliseconds(exposed) + " (" + signed_share(exposed / ranks.time) + ")";
}

std::string local_table(const LayerStudy& study) {
  if (study.local.empty()) {
    return "";
  }
  std::vector<TextTable::Column> columns = {{"without an exchange"},
                                            {"tokens", Align::kRight},
                                            {"experts", Align::kRight},
                                            {"forward", Align::kRight},
                                            {"TFLOP/s", Align::kRight}};
  if (study.passes.backward) {
    columns.push_back({"backward", Align::kRight});
    columns.push_back({"TFLOP/s", Align::kRight});
  }
  TextTable table(std::move(columns));
  for (const LocalBaseline& local : study.local) {
    if (!local.skipped.empty()) {
      table.add_row({local.title, separated(local.tokens), separated(local.experts), "-"},
                    local.skipped);
      continue;
    }
    std::vector<std::string> row = {local.title, separated(local.tokens), separated(local.experts),
                                    milliseconds(local.passes.forward.time),
                                    teraflops(local.passes.forward.rate())};
    if (local.passes.backward) {
      row.push_back(milliseconds(local.passes.backward->time));
      row.push_back(teraflops(local.passes.backward->rate()));
    }
    table.add_row(std::move(row));
  }
  return "\nThe same on one GPU\n" + table.text();
}

std::string exposed_lines(const LayerStudy& study) {
  std::string text;
  for (const LocalBaseline& local : study.local) {
    if (!local.skipped.empty() || local.tokens != study.tokens) {
      continue;
    }
    text += line("forward, " + separated(local.experts) + " experts",
                 exposed_text(study.passes.forward, local.passes.forward));
    if (study.passes.backward && local.passes.backward) {
      text += line("backward, " + separated(local.experts) + " experts",
                   exposed_text(*study.passes.backward, *local.passes.backward));
    }
  }
  return text.empty() ? ""
                      : "\nExposed: the ranks' time less one GPU's with a rank's tokens\n" + text;
}

std::string scaling_text(const LayerPass& ranks, const LayerPass& alone, std::int64_t count) {
  const double speedup = alone.time / ranks.time;
  return decimals(speedup, 2) + " times one GPU with all tokens, efficiency " +
         signed_share(speedup / static_cast<double>(count));
}

std::string scaling_lines(const LayerStudy& study) {
  const LocalBaseline* all = study.all_tokens();
  if (all == nullptr) {
    return "";
  }
  std::string text =
      "\nScaling over " + separated(study.ranks) + " ranks\n" +
      line("forward", scaling_text(study.passes.forward, all->passes.forward, study.ranks));
  if (study.passes.backward && all->passes.backward) {
    text +=
        line("backward", scaling_text(*study.passes.backward, *all->passes.backward, study.ranks));
  }
  return text;
}

// --- JSON -------------------------------------------------------------------------------------

Json exchanges_json(const LayerStudy& study) {
  Json array = Json::array();
  for (const ExchangeWay& way : study.exchanges) {
    Json json = {{"direction", name(way.phase)}, {"primitive", name(way.primitive)}};
    if (way.skipped.empty()) {
      json["received_bytes"] = way.received.value();
      json["time_s"] = way.time.value();
      json["bytes_per_s"] = way.rate().value();
      json["runs"] = way.runs;
    } else {
      json["skipped"] = way.skipped;
    }
    array.push_back(std::move(json));
  }
  return array;
}

Json tensors_json(const LayerStudy& study) {
  return list_of(study.saved, [](const SavedTensor& tensor) -> Value {
    return {{"name", name(tensor.id)}, {"bytes", tensor.bytes.value()}};
  });
}

Json buffers_json(const LayerStudy& study) {
  return list_of(study.buffers, [](const ExchangeBuffer& buffer) -> Value {
    return {{"name", buffer.name}, {"bytes", buffer.bytes.value()}};
  });
}

Json pass_json(const LayerPass& pass) {
  return {{"time_s", pass.time.value()},
          {"kernels_s", pass.computation.value()},
          {"exchange_s", pass.communication.value()},
          {"host_s", pass.host.value()},
          {"flops", pass.flops.value()},
          {"tflops_per_gpu", pass.rate().value() / kTera},
          {"clock_mhz", pass.clock.value() / 1e6},
          {"power_w", pass.power.value()}};
}

// One figure a pass.
template <typename Figure>
Json by_pass(const LayerPasses& passes, const Figure& figure) {
  Json json = {{"forward", figure(passes.forward)}};
  if (passes.backward) {
    json["backward"] = figure(*passes.backward);
  }
  return json;
}

// One figure a pass of the ranks and of one GPU.
template <typename Figure>
Json by_passes(const LayerPasses& ranks, const LayerPasses& alone, const Figure& figure) {
  Json json = {{"forward", figure(ranks.forward, alone.forward)}};
  if (ranks.backward && alone.backward) {
    json["backward"] = figure(*ranks.backward, *alone.backward);
  }
  return json;
}

double exposed_seconds(const LayerPass& ranks, const LayerPass& alone) {
  return (ranks.time - alone.time).value();
}

Json local_json(const LayerStudy& study) {
  Json array = Json::array();
  for (const LocalBaseline& local : study.local) {
    Json json = {{"name", local.title}, {"tokens", local.tokens}, {"experts", local.experts}};
    if (!local.skipped.empty()) {
      json["skipped"] = local.skipped;
    } else {
      json["passes"] = by_pass(local.passes, pass_json);
      if (local.tokens == study.tokens) {
        json["exposed_s"] = by_passes(study.passes, local.passes, exposed_seconds);
      }
    }
    array.push_back(std::move(json));
  }
  return array;
}

Json scaling_json(const LayerStudy& study) {
  const LocalBaseline* all = study.all_tokens();
  if (all == nullptr) {
    return nullptr;
  }
  const auto speedup = [](const LayerPass& ranks, const LayerPass& alone) {
    return alone.time / ranks.time;
  };
  const auto efficiency = [&](const LayerPass& ranks, const LayerPass& alone) {
    return speedup(ranks, alone) / static_cast<double>(study.ranks);
  };
  return {{"ranks", study.ranks},
          {"speedup", by_passes(study.passes, all->passes, speedup)},
          {"efficiency", by_passes(study.passes, all->passes, efficiency)}};
}

}  // namespace

std::string to_text(const LayerStudy& study) {
  const Projection& p = study.projection;
  std::string text = heading(p);
  if (p.priced) {
    text += line("layer", study.layer + " by itself: " + study.covers);
    text += line("not in it", study.leaves);
    text +=
        line("tokens",
             separated(study.tokens) + " a rank" +
                 (study.ranks > 1 ? ", " + separated(study.ranks * study.tokens) + " in all" : ""));
    text += exchange_table(study) + kept_table(study) + pass_table(study) + local_table(study) +
            exposed_lines(study) + scaling_lines(study);
  }
  return text + notes_and_reasons(p);
}

nlohmann::ordered_json to_json(const LayerStudy& study) {
  const Projection& p = study.projection;
  Json json = json_header(p);
  if (!p.priced) {
    return json;
  }
  json["layer"] = study.layer;
  json["covers"] = study.covers;
  json["not_in_it"] = study.leaves;
  json["tokens"] = study.tokens;
  json["ranks"] = study.ranks;
  json["forward_s"] = study.passes.forward.time.value();
  if (study.passes.backward) {
    json["backward_s"] = study.passes.backward->time.value();
  }
  json["tflops_per_gpu"] =
      by_pass(study.passes, [](const LayerPass& pass) { return pass.rate().value() / kTera; });
  json["passes"] = by_pass(study.passes, pass_json);
  json["exchanges"] = exchanges_json(study);
  json["saved"] = tensors_json(study);
  json["saved_bytes"] = total(study.saved).value();
  json["recomputed_in_full"] = study.recomputed;
  json["buffers"] = buffers_json(study);
  json["local"] = local_json(study);
  const LocalBaseline* own = study.own_tokens();
  json["exposed_s"] =
      own == nullptr ? Json(nullptr) : by_passes(study.passes, own->passes, exposed_seconds);
  json["scaling"] = scaling_json(study);
  return json;
}

}  // namespace stepcast
