// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/library_constants.hpp"

#include "stepcast/hardware/library_tables.hpp"

namespace stepcast {

LibraryConstants read_library_constants(const ConfigNode& root, SourceTable& sources,
                                        std::vector<Provenance>& provenance,
                                        Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  SourcedReader reader(std::move(top), sources, provenance);
  LibraryConstants constants;
  SectionReader visit(reader, constants);
  library_tables::kParts(visit);
  reader.finish();
  return constants;
}

}  // namespace stepcast
