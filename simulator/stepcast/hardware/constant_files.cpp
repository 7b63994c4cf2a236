// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/constant_files.hpp"

#include <array>
#include <utility>

#include "stepcast/hardware/collective_tables.hpp"
#include "stepcast/hardware/exchange_tables.hpp"
#include "stepcast/hardware/kernel_tables.hpp"
#include "stepcast/hardware/library_tables.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<ClockScope>, 2> kClockScopes = {
    {{"kernel", ClockScope::kKernel}, {"step", ClockScope::kStep}}};

// Reads a mapping that holds what `parts` lists and nothing else.
template <typename File, typename Parts>
File read_parts(SourcedReader reader, const Parts& parts) {
  File file;
  SectionReader visit(reader, file);
  parts(visit);
  reader.finish();
  return file;
}

PowerConstants read_power(SourcedReader reader) {
  PowerConstants power;
  read_constants<PowerConstants>(reader, kernel_tables::kPower, power);
  power.clock_per = reader.choice<ClockScope>("clock_per", kClockScopes);
  reader.finish();
  return power;
}

GemmConstants read_gemm(SourcedReader reader) {
  const bool odd = reader.has("odd_share");
  auto gemm = read_parts<GemmConstants>(std::move(reader), parts_of(kernel_tables::kGemm));
  gemm.odd_share = odd ? gemm.odd_share : gemm.unaligned_share;
  return gemm;
}

}  // namespace

KernelConstants read_kernel_constants(const ConfigNode& root, SourceTable& sources,
                                      std::vector<Provenance>& provenance,
                                      Diagnostics& diagnostics) {
  constexpr auto kSparseParts = parts_of(kernel_tables::kSparse);
  SourcedReader reader = reader_of_file(root, sources, provenance, diagnostics);
  KernelConstants kernels;
  kernels.power = read_power(reader.mapping("power"));
  kernels.gemm = read_gemm(reader.mapping("gemm"));
  SectionReader visit(reader, kernels);
  visit.part("attention", &KernelConstants::attention, parts_of(kernel_tables::kAttention));
  if (reader.has("linear_attention")) {
    visit.part("linear_attention", &KernelConstants::linear_attention,
               parts_of(kernel_tables::kLinear));
  }
  if (reader.has("sparse_attention")) {
    visit.part("sparse_attention", &KernelConstants::sparse_attention, kSparseParts);
  }
  if (reader.has("sparse_attention_triton")) {
    visit.part("sparse_attention_triton", &KernelConstants::sparse_attention_triton, kSparseParts);
  }
  visit.part("memory_bound", &KernelConstants::memory, parts_of(kernel_tables::kMemory));
  reader.finish();
  return kernels;
}

CollectiveConstants read_collective_constants(const ConfigNode& root, SourceTable& sources,
                                              std::vector<Provenance>& provenance,
                                              Diagnostics& diagnostics) {
  return read_parts<CollectiveConstants>(reader_of_file(root, sources, provenance, diagnostics),
                                         collective_tables::kParts);
}

ExchangeConstants read_exchange_constants(const ConfigNode& root, SourceTable& sources,
                                          std::vector<Provenance>& provenance,
                                          Diagnostics& diagnostics) {
  SourcedReader reader = reader_of_file(root, sources, provenance, diagnostics);
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

LibraryConstants read_library_constants(const ConfigNode& root, SourceTable& sources,
                                        std::vector<Provenance>& provenance,
                                        Diagnostics& diagnostics) {
  return read_parts<LibraryConstants>(reader_of_file(root, sources, provenance, diagnostics),
                                      library_tables::kParts);
}

}  // namespace stepcast
