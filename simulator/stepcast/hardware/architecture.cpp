// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/architecture.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {
namespace {

std::string digits(std::string_view text) {
  std::string found;
  std::copy_if(text.begin(), text.end(), std::back_inserter(found), ascii::is_digit);
  return found;
}

// A name with another number is another architecture, not a misspelt one.
std::string remedy_for(std::string_view written, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(written, known);
  if (!nearest.empty() && digits(nearest) == digits(written)) {
    return "; did you mean '" + nearest + "'?";
  }
  std::string all;
  for (const std::string& name : known) {
    all += (all.empty() ? "" : ", ") + name;
  }
  return "; kernels are known for " + all;
}

// The tree of the file; an error, and nothing, if there is no such file.
std::optional<ConfigNode> load_named(const std::string& name, MappingReader& where,
                                     std::string_view key, const std::filesystem::path& folder) {
  const bool plain = !name.empty() && name.find('/') == std::string::npos;
  const std::filesystem::path file = folder / (name + ".yaml");
  if (!plain || !is_there(file)) {
    where.error(key,
                "is '" + name + "', an unknown architecture" + remedy_for(name, names_in(folder)));
    return std::nullopt;
  }
  return load_config(file);
}

}  // namespace

Architecture read_architecture(const ConfigNode& root, SourceTable& sources,
                               std::vector<Provenance>& provenance, Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  SourcedReader reader(std::move(top), sources, provenance);
  Architecture architecture;
  architecture.runtime = reader.choice<DeviceRuntime>("runtime", enum_names<DeviceRuntime>());
  architecture.usual_software = reader.text("usual_software");
  architecture.gemm = read_gemm_library(reader.mapping("gemm_library"));
  architecture.attention = read_attention_library(reader.mapping("attention_kernels"));
  reader.finish();
  return architecture;
}

Architecture find_architecture(MappingReader& profile, std::string_view key,
                               const std::filesystem::path& folder, SourceTable& sources,
                               std::vector<Provenance>& provenance) {
  const std::string name = profile.required_text(key);
  std::string kernels = name;
  std::optional<ConfigNode> file =
      profile.has(key) ? load_named(name, profile, key, folder) : std::nullopt;
  if (file && file->find("kernels_of") != nullptr) {
    SourcedReader reader({*file, "", profile.diagnostics()}, sources, provenance);
    kernels = reader.text("kernels_of");
    reader.finish();
    file = load_named(kernels, reader.reader(), "kernels_of", folder);
  }
  Architecture architecture;
  if (file) {
    architecture = read_architecture(*file, sources, provenance, profile.diagnostics());
  }
  architecture.name = name;
  architecture.kernels = kernels;
  return architecture;
}

}  // namespace stepcast
