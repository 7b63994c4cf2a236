// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/collective_constants.hpp"

#include "stepcast/hardware/collective_tables.hpp"

namespace stepcast {

CollectiveConstants read_collective_constants(const ConfigNode& root, SourceTable& sources,
                                              std::vector<Provenance>& provenance,
                                              Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  SourcedReader reader(std::move(top), sources, provenance);
  CollectiveConstants constants;
  SectionReader visit(reader, constants);
  collective_tables::kParts(visit);
  reader.finish();
  return constants;
}

}  // namespace stepcast
