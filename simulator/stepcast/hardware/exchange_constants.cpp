// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/exchange_constants.hpp"

namespace stepcast {
namespace {

// A ratio of nothing would make an exchange take for ever.
constexpr Range<double> kRatio{0.01, 2.0};

template <typename Q>
Q quantity_or_none(SourcedReader& reader, std::string_view key) {
  return reader.optional_quantity<Q>(key).value_or(Q{});
}

ExchangeKernel read_kernel(SourcedReader reader) {
  ExchangeKernel kernel;
  kernel.start_up = reader.quantity<Seconds>("start_up");
  kernel.first_row_rate = quantity_or_none<BytesPerSecond>(reader, "first_row_rate");
  kernel.token_time = quantity_or_none<Seconds>(reader, "token_time");
  kernel.token_rate = quantity_or_none<BytesPerSecond>(reader, "token_rate");
  kernel.row_time = quantity_or_none<Seconds>(reader, "row_time");
  kernel.row_rate = quantity_or_none<BytesPerSecond>(reader, "row_rate");
  kernel.row_interval = quantity_or_none<Seconds>(reader, "row_interval");
  kernel.link_share = reader.number("link_share", kRatio);
  kernel.network_share = reader.number("network_share", kRatio);
  reader.finish();
  return kernel;
}

// The constants that every dispatcher may have, and those of kernels where it has some of its own.
DispatcherConstants read_dispatcher(SourcedReader reader, ExchangeSection section) {
  DispatcherConstants constants;
  constants.units = reader.optional_count("units").value_or(0);
  constants.host_sync = quantity_or_none<Seconds>(reader, "host_sync");
  constants.relay_share = reader.optional_number("relay_share", kRatio).value_or(1.0);
  constants.local_share = reader.optional_number("local_share", kRatio).value_or(0.0);
  constants.scan_rate = quantity_or_none<BytesPerSecond>(reader, "scan_rate");
  if (section == ExchangeSection::kKernels) {
    constants.dispatch = read_kernel(reader.mapping("dispatch"));
    constants.combine = read_kernel(reader.mapping("combine"));
  }
  reader.finish();
  return constants;
}

}  // namespace

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
      constants.of(dispatcher) = read_dispatcher(reader.mapping(name(dispatcher)), section);
    }
  }
  reader.finish();
  return constants;
}

}  // namespace stepcast
