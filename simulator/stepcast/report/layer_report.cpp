// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

// Times and shares are negative where a GPU alone takes longer.
std::string as_signed_milliseconds(const Value& time) {
  const double seconds = time.get<double>();
  return (seconds < 0.0 ? "-" : "") + decimals(1e3 * std::abs(seconds), 2) + " ms";
}
std::string as_signed_share(const Value& share) {
  return (share.get<double>() < 0.0 ? "-" : "") + as_percent<1>(std::abs(share.get<double>()));
}
std::string as_megabytes(const Value& bytes) {
  return as_number<1>(bytes.get<double>() / 1e6) + " MB";
}
std::string as_gigabytes_a_second(const Value& rate) {
  return as_number<1>(rate.get<double>() / 1e9) + " GB/s";
}

// --- the exchange -------------------------------------------------------------------------------

// A way that cannot run has no figures.
template <auto kMember>
Value of_way(const ExchangeWay& way) {
  return way.skipped.empty() ? member<kMember>(way) : no_value();
}

constexpr auto kWayColumns = std::to_array<Column<ExchangeWay>>({
    {"direction", "direction", member<&ExchangeWay::phase>, as_text, Align::kLeft},
    {"primitive", "primitive", member<&ExchangeWay::primitive>, as_text, Align::kLeft},
    {"received_bytes", "received", of_way<&ExchangeWay::received>, as_megabytes},
    {"time_s", "time", of_way<&ExchangeWay::time>, as_signed_milliseconds},
    {"bytes_per_s", "rate", of_way<&ExchangeWay::rate>, as_gigabytes_a_second},
    {"runs", "", of_way<&ExchangeWay::runs>},
    {"skipped", "",
     [](const ExchangeWay& way) { return way.skipped.empty() ? no_value() : Value(way.skipped); }},
    {"remark", "", [](const ExchangeWay& way) -> Value { return way.runs ? "runs" : way.skipped; },
     as_text, Align::kLeft},
});
constexpr Columns<ExchangeWay> kWays{kWayColumns};

std::string exchange_table(const LayerStudy& study) {
  if (study.exchanges.empty()) {
    return "";
  }
  TextTable table =
      kWays.table("direction primitive received_bytes time_s bytes_per_s remark", study.exchanges);
  const Seconds sum = sum_over(
      study.exchanges, [](const ExchangeWay& way) { return way.runs ? way.time : Seconds{}; });
  table.add_row({"both that run", "", "", as_signed_milliseconds(sum.value())});
  return "\nExchange of tokens between " + with_separators(study.ranks) +
         " ranks: bytes that a rank receives from others\n" + table.text();
}

constexpr auto kBufferColumns = std::to_array<Column<ExchangeBuffer>>({
    {"name", "", member<&ExchangeBuffer::name>},
    {"bytes", "", member<&ExchangeBuffer::bytes>, as_size},
});
constexpr Columns<ExchangeBuffer> kBuffers{kBufferColumns};

std::string kept_table(const LayerStudy& study) {
  if (study.saved.empty() && study.buffers.empty() && !study.recomputed) {
    return "";
  }
  TextTable table = saved_columns().table("name bytes", study.saved);
  if (study.passes.backward) {
    table.add_row({study.recomputed ? "all that is kept, the rest is recomputed"
                                    : "all that is kept for backward",
                   readable(total(study.saved))});
  }
  for (const ExchangeBuffer& buffer : study.buffers) {
    table.add_row(
        {"shared by all layers: " + std::string(buffer.name), kBuffers.text("bytes", buffer)});
  }
  return "\nKept of a micro-batch, and the dispatcher's buffers\n" + table.text();
}

// --- the passes ---------------------------------------------------------------------------------

constexpr auto kPassColumns = std::to_array<Column<LayerPass>>({
    {"time_s", "time", member<&LayerPass::time>, as_signed_milliseconds},
    {"kernels_s", "kernels", member<&LayerPass::computation>, as_signed_milliseconds},
    {"exchange_s", "exchange", member<&LayerPass::communication>, as_signed_milliseconds},
    {"host_s", "host", member<&LayerPass::host>, as_signed_milliseconds},
    {"flops", "", member<&LayerPass::flops>},
    {"tflops_per_gpu", "TFLOP/s/GPU", member_in<1'000'000'000'000, &LayerPass::rate>, as_whole},
    {"clock_mhz", "clock", member_in<1'000'000, &LayerPass::clock>, as_megahertz},
    {"power_w", "", member<&LayerPass::power>},
});
constexpr Columns<LayerPass> kPasses{kPassColumns};

constexpr auto kBothPassesColumns = std::to_array<Column<LayerPasses>>({
    {"forward", "", nested<kPasses, &LayerPasses::forward>},
    {"backward", "", nested<kPasses, &LayerPasses::backward>},
});
constexpr Columns<LayerPasses> kBothPasses{kBothPassesColumns};

// One number of each pass.
Value by_pass(std::string_view key, const LayerPasses& passes) {
  Value object = {{"forward", kPasses.value(key, passes.forward)}};
  if (passes.backward) {
    object["backward"] = kPasses.value(key, *passes.backward);
  }
  return object;
}

std::string pass_table(const LayerStudy& study) {
  constexpr std::string_view kShown = "time_s tflops_per_gpu kernels_s exchange_s host_s clock_mhz";
  constexpr std::ptrdiff_t kOfAllRanks = 2;  // where the rate of all ranks stands
  std::vector<TextTable::Column> titles = kPasses.titles(kShown);
  titles.insert(titles.begin() + kOfAllRanks, {"TFLOP/s", Align::kRight});
  titles.insert(titles.begin(), {"pass"});
  TextTable table(std::move(titles));
  const auto add = [&](const std::string& title, const LayerPass& pass) {
    const FlopsPerSecond of_ranks = static_cast<double>(study.ranks) * pass.rate();
    std::vector<std::string> row = kPasses.cells(kShown, pass);
    row.insert(row.begin() + kOfAllRanks, whole_number(of_ranks.value() / 1e12));
    row.insert(row.begin(), title);
    table.add_row(std::move(row));
  };
  add("forward", study.passes.forward);
  if (study.passes.backward) {
    add("backward", *study.passes.backward);
  }
  return "\nRepeated back to back" +
         std::string(study.passes.backward ? "; backward: both together less a forward by itself\n"
                                           : "\n") +
         table.text();
}

// --- beside one GPU -----------------------------------------------------------------------------

// A pass of the ranks, and the same work on one GPU.
struct PassBeside {
  std::string_view name;
  LayerPass ranks;
  LayerPass alone;
  std::int64_t count = 1;  // of the ranks

  [[nodiscard]] Seconds exposed() const { return ranks.time - alone.time; }
  [[nodiscard]] double exposed_share() const { return exposed() / ranks.time; }
  [[nodiscard]] double speedup() const { return alone.time / ranks.time; }
  [[nodiscard]] double efficiency() const { return speedup() / static_cast<double>(count); }
};

constexpr auto kBesideColumns = std::to_array<Column<PassBeside>>({
    {"exposed_s", "", member<&PassBeside::exposed>, as_signed_milliseconds},
    {"exposed_share", "", member<&PassBeside::exposed_share>, as_signed_share},
    {"speedup", "", member<&PassBeside::speedup>, as_number<2>},
    {"efficiency", "", member<&PassBeside::efficiency>, as_signed_share},
});
constexpr Columns<PassBeside> kBeside{kBesideColumns};

std::vector<PassBeside> passes_beside(const LayerStudy& study, const LocalBaseline& local) {
  std::vector<PassBeside> passes = {
      {"forward", study.passes.forward, local.passes.forward, study.ranks}};
  if (study.passes.backward && local.passes.backward) {
    passes.push_back({"backward", *study.passes.backward, *local.passes.backward, study.ranks});
  }
  return passes;
}

// One number of each pass; null where there is no GPU to be beside.
Value by_pass_beside(std::string_view key, const LayerStudy& study, const LocalBaseline* local) {
  if (local == nullptr) {
    return nullptr;
  }
  Value object = Value::object();
  for (const PassBeside& pass : passes_beside(study, *local)) {
    object[std::string(pass.name)] = kBeside.value(key, pass);
  }
  return object;
}

constexpr auto kLocalColumns = std::to_array<Column<LocalBaseline>>({
    {"name", "without an exchange", member<&LocalBaseline::title>, as_text, Align::kLeft},
    {"tokens", "tokens", member<&LocalBaseline::tokens>, as_count},
    {"experts", "experts", member<&LocalBaseline::experts>, as_count},
    {"forward", "forward", member<&LocalBaseline::passes, &LayerPasses::forward, &LayerPass::time>,
     as_signed_milliseconds},
    {"forward_rate", "TFLOP/s",
     member_in<1'000'000'000'000, &LocalBaseline::passes, &LayerPasses::forward, &LayerPass::rate>,
     as_whole},
    {"backward", "backward",
     member<&LocalBaseline::passes, &LayerPasses::backward, &LayerPass::time>,
     as_signed_milliseconds},
    {"backward_rate", "TFLOP/s",
     member_in<1'000'000'000'000, &LocalBaseline::passes, &LayerPasses::backward, &LayerPass::rate>,
     as_whole},
});
constexpr Columns<LocalBaseline> kLocals{kLocalColumns};

std::string local_table(const LayerStudy& study) {
  if (study.local.empty()) {
    return "";
  }
  const std::string_view keys =
      study.passes.backward ? "name tokens experts forward forward_rate backward backward_rate"
                            : "name tokens experts forward forward_rate";
  TextTable table = kLocals.table(keys, std::vector<LocalBaseline>{});
  for (const LocalBaseline& local : study.local) {
    std::vector<std::string> row = kLocals.cells(keys, local);
    if (!local.skipped.empty()) {
      row.resize(3);
      row.emplace_back("-");
    }
    table.add_row(std::move(row), local.skipped);
  }
  return "\nThe same on one GPU\n" + table.text();
}

std::string exposed_lines(const LayerStudy& study) {
  std::string text;
  for (const LocalBaseline& local : study.local) {
    if (!local.skipped.empty() || local.tokens != study.tokens) {
      continue;
    }
    for (const PassBeside& pass : passes_beside(study, local)) {
      text +=
          line(std::string(pass.name) + ", " + with_separators(local.experts) + " experts",
               kBeside.text("exposed_s", pass) + " (" + kBeside.text("exposed_share", pass) + ")");
    }
  }
  return text.empty() ? ""
                      : "\nExposed: the ranks' time less one GPU's with a rank's tokens\n" + text;
}

std::string scaling_lines(const LayerStudy& study) {
  const LocalBaseline* all = study.all_tokens();
  if (all == nullptr) {
    return "";
  }
  std::string text = "\nScaling over " + with_separators(study.ranks) + " ranks\n";
  for (const PassBeside& pass : passes_beside(study, *all)) {
    text += line(std::string(pass.name), kBeside.text("speedup", pass) +
                                             " times one GPU with all tokens, efficiency " +
                                             kBeside.text("efficiency", pass));
  }
  return text;
}

Value local_json(const LayerStudy& study) {
  return list_of(study.local, [&study](const LocalBaseline& local) {
    Value json = kLocals.json("name tokens experts", local);
    if (!local.skipped.empty()) {
      json["skipped"] = local.skipped;
    } else {
      json["passes"] = kBothPasses.json(local.passes);
      if (local.tokens == study.tokens) {
        json["exposed_s"] = by_pass_beside("exposed_s", study, &local);
      }
    }
    return json;
  });
}

Value scaling_json(const LayerStudy& study) {
  const LocalBaseline* all = study.all_tokens();
  return all == nullptr ? Value(nullptr)
                        : Value{{"ranks", study.ranks},
                                {"speedup", by_pass_beside("speedup", study, all)},
                                {"efficiency", by_pass_beside("efficiency", study, all)}};
}

}  // namespace

std::string to_text(const LayerStudy& study) {
  const Projection& p = study.projection;
  std::string text = heading(p);
  if (p.priced) {
    text += line("layer", study.layer + " by itself: " + study.covers);
    text += line("not in it", study.leaves);
    text += line("tokens", with_separators(study.tokens) + " a rank" +
                               (study.ranks > 1
                                    ? ", " + with_separators(study.ranks * study.tokens) + " in all"
                                    : ""));
    text += exchange_table(study) + kept_table(study) + pass_table(study) + local_table(study) +
            exposed_lines(study) + scaling_lines(study);
  }
  return text + notes_and_reasons(p);
}

nlohmann::ordered_json to_json(const LayerStudy& study) {
  const Projection& p = study.projection;
  Value json = json_header(p);
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
  json["tflops_per_gpu"] = by_pass("tflops_per_gpu", study.passes);
  json["passes"] = kBothPasses.json(study.passes);
  json["exchanges"] = kWays.json_rows(
      "direction primitive received_bytes time_s bytes_per_s runs skipped", study.exchanges);
  json["saved"] = saved_columns().json_rows("name bytes", study.saved);
  json["saved_bytes"] = total(study.saved).value();
  json["recomputed_in_full"] = study.recomputed;
  json["buffers"] = kBuffers.json_rows(study.buffers);
  json["local"] = local_json(study);
  json["exposed_s"] = by_pass_beside("exposed_s", study, study.own_tokens());
  json["scaling"] = scaling_json(study);
  return json;
}

}  // namespace stepcast
