// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/published_runs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <tuple>

#include "stepcast/base/each_of.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {
namespace {

constexpr double kTera = 1e12;

Dtype read_dtype(MappingReader& reader) {
  const std::string written = reader.required_text("dtype");
  const std::optional<Dtype> dtype = dtype_named(written);
  if (!dtype && !written.empty()) {
    reader.error("dtype", "has no number format '" + written.substr(0, 60) + "'; write e.g. bf16");
  }
  return dtype.value_or(Dtype::kBf16);
}

PublishedRun read_run(MappingReader reader) {
  constexpr Range<double> kParameters{1.0, 1e15};
  constexpr Range<double> kTokenRate{1e-6, 1e9};
  constexpr Range<double> kTeraflops{1e-6, 1e6};
  PublishedRun run;
  run.id = reader.required_text("id");
  run.model = reader.required_text("model");
  run.parameters = reader.required_number("parameters", kParameters);
  run.family = reader.required_choice<AccuracyFamily>("family", enum_names<AccuracyFamily>());
  run.gpu = reader.required_text("gpu");
  run.gpus = reader.required_count("gpus");
  run.dtype = read_dtype(reader);
  run.software = reader.required_text("software");
  run.tokens_per_second_per_gpu = reader.required_number("tokens_per_second_per_gpu", kTokenRate);
  run.model_rate_per_gpu =
      FlopsPerSecond(kTera * reader.required_number("model_tflops_per_gpu", kTeraflops));
  run.source = reader.required_text("source");
  reader.finish();
  return run;
}

// How near a run stands, the smaller the nearer; nothing of one that is not to stand beside it.
using Nearness = std::tuple<int, double, bool>;

std::optional<Nearness> nearness(const PublishedRun& run, const Projection& projection,
                                 AccuracyFamily family) {
  constexpr double kLikeSize = 1.5;
  const bool same_model = is_same_model(run, projection.parameters, family);
  const bool same_gpu = run.gpu == projection.gpu;
  const double apart = std::abs(std::log(run.parameters / projection.parameters));
  const bool like = same_gpu && run.family == family && apart <= std::log(kLikeSize);
  if (!same_model && !like) {
    return std::nullopt;
  }
  const double gpus_apart =
      std::abs(std::log(static_cast<double>(run.gpus) / static_cast<double>(projection.gpus)));
  return Nearness(same_model && same_gpu ? 1
                  : same_model           ? 2
                                         : 3,
                  gpus_apart, run.dtype != projection.training.dtype);
}

}  // namespace

std::vector<PublishedRun> load_published_runs(const DataRoot& data) {
  std::vector<PublishedRun> known;
  if (!std::filesystem::exists(data.published_runs())) {
    return known;
  }
  Diagnostics diagnostics;
  const std::optional<ConfigNode> root = parse_json_object(
      read_file(data.published_runs()), {data.published_runs().string()}, diagnostics);
  diagnostics.throw_if_any();
  MappingReader top(*root, "", diagnostics);
  top.required_text("source");
  if (const ConfigNode* runs = top.take_required("runs"); runs != nullptr) {
    if (runs->kind != ConfigNode::Kind::kSequence) {
      top.error("runs",
                "must be a list of runs; write it anew with scripts/update_published_runs.sh");
    }
    std::size_t place = 0;
    for (const ConfigNode& run : runs->items) {
      known.push_back(read_run(MappingReader(run, "runs." + std::to_string(++place), diagnostics)));
    }
  }
  top.finish();
  diagnostics.throw_if_any();
  return known;
}

bool is_same_model(const PublishedRun& run, double parameters, AccuracyFamily family) {
  constexpr double kSame = 0.01;
  return run.family == family && std::abs(run.parameters / parameters - 1.0) <= kSame;
}

std::vector<PublishedRun> nearest_runs(const std::vector<PublishedRun>& known,
                                       const Projection& projection, AccuracyFamily family,
                                       std::size_t most) {
  std::vector<std::pair<Nearness, const PublishedRun*>> near;
  for (const PublishedRun& run : known) {
    if (const std::optional<Nearness> how = nearness(run, projection, family)) {
      near.emplace_back(*how, &run);
    }
  }
  std::ranges::stable_sort(near, {}, [](const auto& entry) { return entry.first; });
  near.resize(std::min(near.size(), most));
  return each_of(near, [](const auto& entry) { return *entry.second; });
}

}  // namespace stepcast
