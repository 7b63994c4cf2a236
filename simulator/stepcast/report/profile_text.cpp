// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/profile_text.hpp"

#include <algorithm>

#include "stepcast/base/units_text.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast {

std::string wide(std::string_view text, std::size_t width) {
  std::string result(text);
  result.resize(std::max(width, result.size() + 2), ' ');
  return result;
}

std::string table_line(std::string_view key, const std::string& value) {
  return "  " + wide(key, 36) + value + "\n";
}

namespace {

// `bases`: the parts of which a profile takes what it does not state.
std::string provenance_text(const std::vector<Provenance>& provenance, const SourceTable& sources,
                            const std::vector<std::string>& bases = {}) {
  std::string text;
  std::vector<std::string> used;
  for (const Provenance& entry : provenance) {
    const bool assumed = entry.kind == SourceKind::kAssumed;
    std::string origin =
        assumed ? "assumed: " + entry.source : std::string(name(entry.kind)) + ", " + entry.source;
    origin += entry.note.empty() ? "" : "; " + entry.note;
    if (std::ranges::find(bases, entry.stated_in) != bases.end()) {
      origin = "of " + entry.stated_in + ": " + origin;
    }
    text += "  " + wide(entry.key, 32) + wide(entry.value, 16) + origin + "\n";
    if (const std::string_view meaning = meaning_of(entry.key); !meaning.empty()) {
      text += "      meaning: " + std::string(meaning) + "\n";
    }
    if (!assumed) {
      used.push_back(entry.source);
    }
  }
  text += "\nsources\n";
  for (const auto& [key, what] : sources) {
    if (std::ranges::find(used, key) != used.end()) {
      text += "  " + wide(key, 14) + what + "\n";
    }
  }
  return text;
}

}  // namespace

std::string gpu_text(const DeviceSpec& device) {
  std::string text = device.title + " (" + device.architecture.name + ")\n";
  for (const DtypeInfo& dtype : kDtypes) {
    if (const auto peak = device.matrix_peak(dtype.dtype, device.clock.rated)) {
      text += table_line("dense " + std::string(dtype.name) + " at the rated clock",
                         format_quantity(*peak));
    }
  }
  text += table_line(
      "scale-up",
      device.scale_up.technology + ", " +
          (device.scale_up.topology == ScaleUpTopology::kSwitch ? "switched" : "full mesh"));
  if (device.standing == PartStanding::kAnnounced) {
    text += table_line("standing", std::string(kAnnouncedEstimate));
  }
  for (const std::string& base : device.bases) {
    text += table_line("based on", base);
  }
  if (!device.stand_in.empty()) {
    text += table_line("never measured", "constants of kernels are those of " + device.stand_in);
  }
  for (const std::string& doubt : device.doubts) {
    text += table_line("may not fit", doubt);
  }
  return text + "\n" + provenance_text(device.provenance, device.sources, device.bases);
}

std::string cluster_text(const ClusterProfile& profile) {
  std::string text = profile.title + "\n";
  text += table_line("gpu", profile.gpu);
  text += table_line("network", std::string(stepcast::name(profile.network.topology)));
  return text + "\n" + provenance_text(profile.provenance, profile.sources);
}

std::string model_text(const ModelSpec& model) {
  const ParameterCounts counts = count_parameters(model);
  std::string text = model.title + "\n";
  text += table_line("parameters", with_separators(counts.total));
  text += table_line("active parameters", with_separators(counts.active));
  text += table_line("of these embedding", with_separators(counts.embedding));
  if (counts.mtp > 0) {
    text += table_line("multi-token prediction, apart", with_separators(counts.mtp));
  }
  for (const std::int64_t sequence : {4096, 8192}) {
    const Flops flops = training_flops_per_token(model, sequence);
    text += table_line("training FLOPs a token at " + std::to_string(sequence),
                       significant(flops.value() / 1e9, 4) + " GFLOP");
  }
  text += "  FLOPs: " + flop_convention() + "\n\n";
  return text + to_yaml(model);
}

std::string host_text(const HostSpec& host) {
  return host.title + "\n" + table_line("framework", host.framework) + "\n" +
         provenance_text(host.provenance, host.sources);
}

}  // namespace stepcast
