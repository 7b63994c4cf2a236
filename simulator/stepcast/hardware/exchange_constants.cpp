// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/exchange_constants.hpp"

#include "stepcast/hardware/exchange_tables.hpp"

namespace stepcast {

ExchangeConstants read_exchange_constants(const ConfigNode& root, SourceTable& sources,
                                          std::vector<Provenance>& provenance,
                                          Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  SourcedReader reader(std::move(top), sources, provenance);
  ExchangeConstants constants;
  for (std::size_t place = 0; place < kDispatchers; ++place) {
    const auto dispatcher = static_cast<Dispatcher>(place);
    const ExchangeSection section = section_of(dispatcher);
    if (section != ExchangeSection::kNone) {
      SourcedReader part = reader.mapping(name(dispatcher));
      SectionReader visit(part, constants.of(dispatcher));
      exchange_tables::visit_section(section, visit);
      part.finish();
    }
  }
  reader.finish();
  return constants;
}

}  // namespace stepcast
