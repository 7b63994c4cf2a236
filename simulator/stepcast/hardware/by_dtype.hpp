// SPDX-License-Identifier: Apache-2.0
// Reads a mapping of a profile that has one number for each format.
#pragma once

#include "stepcast/base/dtype.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// A block-scaled format has the value of its plain twin unless the profile says otherwise.
template <typename T>
void inherit_block_format(PerDtype<T>& values) {
  if (!values[slot(Dtype::kFp8Block)]) {
    values[slot(Dtype::kFp8Block)] = values[slot(Dtype::kFp8)];
  }
}

template <typename Q>
PerDtype<Q> quantities_by_dtype(SourcedReader reader, const UnitRange& range) {
  PerDtype<Q> values;
  for (const DtypeInfo& dtype : kDtypes) {
    values[slot(dtype.dtype)] = reader.optional_quantity<Q>(dtype.name, range);
  }
  reader.finish();
  inherit_block_format(values);
  return values;
}

inline PerDtype<double> numbers_by_dtype(SourcedReader reader, Range<double> range) {
  PerDtype<double> values;
  for (const DtypeInfo& dtype : kDtypes) {
    values[slot(dtype.dtype)] = reader.optional_number(dtype.name, range);
  }
  reader.finish();
  inherit_block_format(values);
  return values;
}

}  // namespace stepcast
