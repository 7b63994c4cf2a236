// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>

#include "importers/published_names.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/plan/software_span.hpp"

namespace stepcast {
namespace {

// AMD's scripts for MaxText run with the flags of their image, but for DeepSeek-V3 without a
// pipeline since the end of April 2026, whose gathers are split: neither the sweep of that month
// nor the runs that a later comparison calls default.
std::string maxtext_set(StatedObject& row) {
  StatedObject& source = row.object("source");
  if (!runs_maxtext_slurm(row)) {
    return "maxtext";
  }
  const std::string ref = source.text("ref");
  const bool sweep = mentions(ref, "pdbs-sweep.md");
  const bool compared = mentions(ref, "pp-vs-fsdp") && mentions(row.text("id"), "default");
  const bool split = row.object("model").states("mla") && !sweep && !compared &&
                     row.object("parallel").count("pp").value_or(1) == 1;
  return split ? "maxtext_2026_05" : "maxtext_2026_04";
}

// The same of "June 2025" and "Jun 2025".
int named_month(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* const month = std::ranges::find_if(
      kMonths, [text](std::string_view name) { return text.starts_with(name); });
  if (month == kMonths.end()) {
    return 0;
  }
  text.remove_prefix(month->size());
  while (!text.empty() && ascii::is_lower(text.front())) {
    text.remove_prefix(1);
  }
  const std::string_view year = text.starts_with(" 20") ? first_digits(text.substr(1), 4) : "";
  const auto number = static_cast<int>(month - kMonths.begin()) + 1;
  return year.size() == 4 ? digits_value(year) * 100 + number : 0;
}

// torchtitan runs eagerly unless a row says that it was compiled. The set is that of the month of
// its source, or of its year where it is of 2024; without either that of December 2025.
std::string torchtitan_set(StatedObject& row, StatedObject& overlap, const ProfileCache& profiles,
                           Record& assumed) {
  const nlohmann::json compile = overlap.value("compile");
  const bool compiled = compile.is_boolean()
                            ? compile.get<bool>()
                            : compile.is_string() && !compile.get<std::string>().empty();
  const LaunchMode layers = compiled ? LaunchMode::kCompiled : LaunchMode::kEager;
  StatedObject& source = row.object("source");
  const std::string ref = source.text("ref");
  const bool of_2024 =
      mentions(source.text("title"), "2024") || mentions(ref.substr(0, ref.find('@')), "_2024");
  const int month = of_2024 ? 202412 : month_of(source);
  std::string set = torchtitan_release(layers, month, profiles);
  if (month > 0) {
    assumed.push_back("software " + set + ": the source is of " +
                      (of_2024 ? std::string("2024") : std::to_string(month)));
  }
  if (!compiled) {
    assumed.push_back("software " + set + ": torchtitan compiles nothing unless told to");
  }
  return set;
}

// The release of Megatron Bridge that a framework's text names, as "25.11"; empty for another.
std::string bridge_release(const std::string& framework) {
  const std::string text = short_remark(framework);
  const std::string_view release = behind(text, "megatron-bridge (").value_or("").substr(0, 5);
  const bool named = release.size() == 5 && first_digits(release, 3).size() == 2 &&
                     release[2] == '.' && first_digits(release.substr(3), 2).size() == 2;
  return std::string(named ? release : "");
}

std::string shipped_set(std::string named, const ProfileCache& profiles) {
  const std::vector<std::string> sets = profiles.software_names();
  if (std::ranges::find(sets, named) == sets.end()) {
    throw RefusedRow{"feature unsupported: the software set '" + named + "'"};
  }
  return named;
}

// A set for each container; a release without one is refused, never taken for its neighbour.
std::string bridge_set(std::string release, const ProfileCache& profiles) {
  std::ranges::replace(release, '.', '_');
  return shipped_set("megatron_bridge_" + release, profiles);
}

std::string set_of_family(const SoftwareName& known, const std::string& framework,
                          StatedObject& row, ProfileCache& profiles, Record& assumed) {
  StatedObject& overlap = row.object("train").object("overlap");
  switch (known.family()) {
    case SourceFamily::kTorchtitan:
      return torchtitan_set(row, overlap, profiles, assumed);
    case SourceFamily::kPrimus:
      if (overlap.states("features")) {
        assumed.push_back("software primus_moe: the row lists features of Primus' MoE package");
        return "primus_moe";
      }
      break;
    case SourceFamily::kNemo:
      if (mentions(overlap.text("moe_dispatcher"), "moe_grouped_gemm false")) {
        assumed.push_back("software nemo_2024: experts one by one, as NeMo ran them in 2024");
        return "nemo_2024";
      }
      break;
    case SourceFamily::kMegatronBridge:
      if (const std::string release = bridge_release(framework); !release.empty()) {
        return bridge_set(release, profiles);
      }
      break;
    case SourceFamily::kMaxtext:
      return maxtext_set(row);
    case SourceFamily::kMlperf:
      if (mentions(row.object("source").text("key"), "v6.0")) {
        return "mlperf_6.0";
      }
      break;
    case SourceFamily::kPytorch:
    case SourceFamily::kHuggingFace:
    case SourceFamily::kMegatron:
    case SourceFamily::kOther:
      break;
  }
  return known.software;
}

std::string set_of_framework(const std::string& framework, StatedObject& row,
                             ProfileCache& profiles, Record& assumed) {
  const SoftwareName known = software_for(framework);
  if (known.software.empty()) {
    throw RefusedRow{"feature unsupported: no software set describes the framework '" + framework +
                     "'"};
  }
  if (!known.assumed.empty()) {
    assumed.push_back("software " + known.software + ": " + known.assumed);
  }
  return set_of_family(known, framework, row, profiles, assumed);
}

}  // namespace

int written_month(std::string_view text) {
  const std::string_view year = first_digits(text, 4);
  if (year.size() != 4 || !year.starts_with("20")) {
    return 0;
  }
  text.remove_prefix(year.size());
  text.remove_prefix(text.starts_with('-') || text.starts_with('_') ? 1 : 0);
  const std::string_view month = first_digits(text, 3);
  const int number = month.size() == 2 ? digits_value(month) : 0;
  return number >= 1 && number <= 12 ? digits_value(year) * 100 + number : 0;
}

std::string month_text(int month) {
  const std::string digits = std::to_string(month);
  return digits.substr(0, 4) + "-" + digits.substr(4);
}

int month_of(StatedObject& source) {
  const std::string ref = source.text("ref");
  const std::string text = source.text("title") + " " + ref.substr(0, ref.find('@'));
  for (int (*month_at)(std::string_view) : {&written_month, &named_month}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (const int month = month_at(std::string_view(text).substr(at)); month > 0) {
        return month;
      }
    }
  }
  return 0;
}

std::string torchtitan_release(LaunchMode layers, int month, const ProfileCache& profiles) {
  std::string family = layers == LaunchMode::kCompiled ? "torchtitan" : "torchtitan_eager";
  if (month == 0) {
    return family;
  }
  const DayRange days = days_named(month_text(month)).value_or(DayRange{});
  return release_for(releases_of(family, profiles.data()), days).name;
}

bool runs_maxtext_slurm(StatedObject& row) {
  StatedObject& source = row.object("source");
  return mentions(source.text("key") + " " + source.text("ref"), "maxtext-slurm");
}

std::string software_set(StatedObject& row, ProfileCache& profiles, Record& assumed) {
  StatedObject& train = row.object("train");
  train.object("overlap").ignore("compile");
  std::string named = train.text("software");
  const std::string framework = train.text("framework");
  if (!named.empty()) {
    return shipped_set(std::move(named), profiles);
  }
  const SourceSoftware launched = published_source(row.object("source").text("key")).software;
  if (!launched.reason.empty()) {
    std::string set(row.object("model").states("mla") ? launched.latent : launched.dense);
    assumed.push_back("software " + set + ": " + std::string(launched.reason));
    return set;
  }
  if (framework.empty()) {
    assumed.push_back("software megatron: the source names no framework");
    return "megatron";
  }
  return set_of_framework(framework, row, profiles, assumed);
}

}  // namespace stepcast
