// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/accuracy.hpp"

#include <algorithm>

namespace stepcast {
namespace {

constexpr Range<double> kError{0.0, 1e6};

ExpectedError read_entry(const std::string& gpu, const ConfigEntry& family,
                         Diagnostics& diagnostics) {
  MappingReader reader(family.value, gpu + "." + family.key, diagnostics);
  ExpectedError error{gpu, family.key};
  error.runs = reader.required_count("runs");
  error.median = reader.required_number("median", kError);
  error.p90 = reader.required_number("p90", kError);
  reader.finish();
  return error;
}

}  // namespace

std::vector<ExpectedError> load_accuracy(const DataRoot& data) {
  std::vector<ExpectedError> known;
  if (!std::filesystem::exists(data.accuracy())) {
    return known;
  }
  const ConfigNode root = load_config(data.accuracy());
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  top.required_text("source");
  if (const ConfigNode* gpus = top.take_required("gpus"); gpus != nullptr) {
    for (const ConfigEntry& gpu : gpus->entries) {
      for (const ConfigEntry& family : gpu.value.entries) {
        known.push_back(read_entry(gpu.key, family, diagnostics));
      }
    }
  }
  top.finish();
  diagnostics.throw_if_any();
  return known;
}

ExpectedError expected_error(const std::vector<ExpectedError>& known,
                             const Experiment& experiment) {
  const std::string& gpu = experiment.cluster.device.name;
  const std::string family(accuracy_family(experiment.model));
  const auto found = std::find_if(known.begin(), known.end(), [&](const ExpectedError& entry) {
    return entry.gpu == gpu && entry.family == family;
  });
  return found == known.end() ? ExpectedError{gpu, family} : *found;
}

}  // namespace stepcast
