// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/host_spec.hpp"

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/host_tables.hpp"

namespace stepcast {

HostSpec load_host(const std::filesystem::path& file, const SourceTable& shared_sources) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  HostSpec host;
  host.sources = shared_sources;
  host.sources.merge(read_sources(top, "sources"));
  host.name = required_name(top);
  host.title = top.required_text("title");
  host.framework = top.required_text("framework");
  SourcedReader reader(std::move(top), host.sources, host.provenance);
  read_constants<HostSpec>(reader, host_tables::kConstants, host);
  reader.finish();
  diagnostics.throw_if_any();
  return host;
}

}  // namespace stepcast
