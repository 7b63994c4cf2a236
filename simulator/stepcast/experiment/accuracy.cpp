// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kLogError{-10.0, 10.0};

struct KnownGpu {
  std::string architecture;
  std::string vendor;
};
using KnownGpus = std::map<std::string, KnownGpu>;

KnownGpus read_gpus(MappingReader gpus) {
  KnownGpus parts;
  for (const ConfigEntry& entry : gpus.node().entries) {
    MappingReader reader = gpus.required_mapping(entry.key);
    parts[entry.key] = {reader.required_text("architecture"), reader.required_text("vendor")};
    reader.finish();
  }
  gpus.finish();
  return parts;
}

std::vector<NamedValue<Dtype>> dtypes() {
  return each_of(kDtypes, [](const DtypeInfo& dtype) {
    return NamedValue<Dtype>{dtype.name, dtype.dtype};
  });
}

RunTraits read_traits(MappingReader& reader, const KnownGpus& parts) {
  RunTraits traits;
  traits.gpu = reader.required_text("gpu");
  if (const auto part = parts.find(traits.gpu); part != parts.end()) {
    traits.architecture = part->second.architecture;
    traits.vendor = part->second.vendor;
  } else {
    reader.error("gpu", "is not among the file's gpus");
  }
  traits.family = reader.required_choice<AccuracyFamily>("family", enum_names<AccuracyFamily>());
  traits.dtype = reader.required_choice<Dtype>("dtype", dtypes());
  traits.software = reader.required_text("software");
  traits.stack = reader.required_choice<Stack>("stack", enum_names<Stack>());
  traits.source = reader.required_text("source");
  return traits;
}

std::vector<double> read_errors(MappingReader& reader) {
  std::vector<double> errors;
  if (const ConfigNode* list = reader.take_required("errors"); list != nullptr) {
    for (const ConfigNode& item : list->items) {
      errors.push_back(reader.number("errors", item, kLogError).value_or(0.0));
    }
  }
  return errors;
}

// Runs that differ in the number of their GPUs alone, and in their errors.
void read_alike_runs(MappingReader reader, const KnownGpus& parts, std::vector<HeldOutRun>& known) {
  const RunTraits traits = read_traits(reader, parts);
  const std::vector<std::int64_t> gpus = reader.optional_counts("gpus", kPositiveCount);
  const std::vector<double> errors = read_errors(reader);
  if (gpus.size() != errors.size()) {
    reader.error("errors", "must have as many entries as 'gpus'");
  }
  for (std::size_t i = 0; i < std::min(gpus.size(), errors.size()); ++i) {
    known.push_back({traits, errors[i]});
    known.back().traits.gpus = gpus[i];
  }
  reader.finish();
}

using Runs = std::vector<const HeldOutRun*>;

std::int64_t sources_of(const Runs& runs) {
  std::set<std::string_view> sources;
  for (const HeldOutRun* run : runs) {
    sources.insert(run->traits.source);
  }
  return std::ssize(sources);
}

// Those whose `trait` is as wanted, where there are any; else all.
template <typename Trait>
Runs those(const Runs& runs, Trait RunTraits::*trait, Trait wanted) {
  Runs found;
  std::ranges::copy_if(runs, std::back_inserter(found),
                       [&](const HeldOutRun* known) { return known->traits.*trait == wanted; });
  return found.empty() ? runs : found;
}

// Runs of one source that say enough of a GPU without its kin.
constexpr std::size_t kFew = 5;

// The nearest runs: one GPU's own unless those are few, with its kin until two sources are among
// them.
Runs nearest(const Runs& runs, const RunTraits& run) {
  Runs near;
  for (int step = 0; step <= kMostSteps; ++step) {
    near.clear();
    std::ranges::copy_if(runs, std::back_inserter(near), [&](const HeldOutRun* known) {
      return steps_apart(run, known->traits) <= step;
    });
    if (sources_of(near) >= 2 || (step == 0 && near.size() >= kFew)) {
      break;
    }
  }
  return near;
}

std::string count_text(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Of a run on a part without runs, what the part is.
std::string kind_of_part(const RunTraits& run) {
  if (run.standing == PartStanding::kAnnounced) {
    return std::string(kAnnouncedEstimate);
  }
  return run.own_part ? "a part of your own" : "a part that was never measured";
}

std::string basis_of(const Runs& near, const RunTraits& run, const ErrorDistribution& of) {
  std::set<std::string> gpus;
  std::set<AccuracyFamily> families;
  for (const HeldOutRun* known : near) {
    gpus.insert(known->traits.gpu);
    families.insert(known->traits.family);
  }
  const std::string family =
      (families.contains(run.family) ? "" : "no run of ") + std::string(name(run.family));
  const std::string runs =
      count_text(std::ssize(near), "run") + " of " + count_text(sources_of(near), "source");
  std::string text;
  if (gpus.size() == 1 && gpus.contains(run.gpu)) {
    text = runs + " on " + run.gpu + ", " + family;
  } else {
    const auto own = std::ranges::count_if(
        near, [&](const HeldOutRun* known) { return known->traits.gpu == run.gpu; });
    gpus.erase(run.gpu);
    text = (own > 0 ? count_text(own, "run") + " on " + run.gpu + " and " : "") +
           "nearest kin: " + text_list(gpus) + " (" + runs + ", " + family + ")";
  }
  if (run.distance != PartDistance::kNone) {
    text += "; wider for " + kind_of_part(run) + ": " +
            count_text(of.held_out_units, "whole " + std::string(name(run.distance))) +
            ", each held out, are off the others by " + significant(100.0 * of.held_out_spread, 2) +
            " %, " + (of.announced_spread > 0.0 ? "" : "and ") + "constants of another part add " +
            significant(100.0 * of.carried_spread, 2) + " %";
    if (of.announced_spread > 0.0) {
      text += ", and rates of parts that are sold came out " +
              significant(100.0 * of.announced_spread, 2) + " % off the announced ones";
    }
  } else if (of.between_gpus > 0.0) {
    text += "; wider, for no run is on " + run.gpu;
  }
  if (of.between_software > 0.0) {
    text += "; wider, for no run is of " + run.software;
  }
  return text;
}

void add_quantiles(const Runs& near, ExpectedError& error) {
  const std::vector<double> errors =
      each_of(near, [](const HeldOutRun* run) { return std::abs(std::exp(-run->error) - 1.0); });
  error.runs = std::ssize(near);
  error.sources = sources_of(near);
  error.median = quantile(errors, 0.5);
  error.p90 = quantile(errors, 0.9);
}

// Of a run that is placed among the known ones.
ExpectedError error_of(const std::vector<HeldOutRun>& known, const RunTraits& run) {
  ExpectedError error{
      .gpu = run.gpu, .family = run.family, .software = run.software, .stack = run.stack};
  error.distribution = error_distribution(run, known);
  if (!error.distribution) {
    error.basis =
        run.distance == PartDistance::kNone
            ? "no measured run was held out"
            : "no two " + std::string(name(run.distance)) +
                  "s with runs like this one were held out, which would say how far off " +
                  kind_of_part(run) + " is";
    return error;
  }
  Runs others;
  for (const HeldOutRun& other : known) {
    if (weight_for(run, other.traits) > 0.0) {
      others.push_back(&other);
    }
  }
  const Runs of_stack = those(others, &RunTraits::stack, run.stack);
  const Runs near = nearest(those(of_stack, &RunTraits::family, run.family), run);
  add_quantiles(near, error);
  error.basis = basis_of(near, run, *error.distribution);
  return error;
}

}  // namespace

std::vector<HeldOutRun> load_accuracy(const DataRoot& data) {
  std::vector<HeldOutRun> known;
  if (!std::filesystem::exists(data.accuracy())) {
    return known;
  }
  Diagnostics diagnostics;
  const std::optional<ConfigNode> root =
      parse_json_object(read_file(data.accuracy()), {data.accuracy().string()}, diagnostics);
  diagnostics.throw_if_any();
  MappingReader top(*root, "", diagnostics);
  top.required_text("source");
  const KnownGpus parts = read_gpus(top.required_mapping("gpus"));
  if (const ConfigNode* runs = top.take_required("runs"); runs != nullptr) {
    std::size_t place = 0;
    for (const ConfigNode& run : runs->items) {
      const std::string path = "runs." + std::to_string(++place);
      read_alike_runs(MappingReader(run, path, diagnostics), parts, known);
    }
  }
  top.finish();
  diagnostics.throw_if_any();
  return known;
}

ExpectedError expected_error(const std::vector<HeldOutRun>& known, const RunTraits& run) {
  return error_of(known, placed_among(run, known));
}

ExpectedError expected_error(const std::vector<HeldOutRun>& known, const Experiment& experiment) {
  return expected_error(known, traits_of(experiment));
}

}  // namespace stepcast
