// SPDX-License-Identifier: Apache-2.0
// Linear and sparse attention and index scores of a file of operators; the keys are those of
// operator_line.hpp.
#pragma once

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/graph/op.hpp"
#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

Op read_linear_attention(MappingReader& fields, Dtype dtype);
Op read_sparse_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
Op read_index_scores(MappingReader& fields, Dtype dtype);

}  // namespace stepcast
