// SPDX-License-Identifier: Apache-2.0
// Matrix products of a file of operators; the keys are those of operator_line.hpp.
#pragma once

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/graph/op.hpp"

namespace stepcast {

Op read_gemm(MappingReader& fields, Dtype dtype);
Op read_grouped_gemm(MappingReader& fields, Dtype dtype);

}  // namespace stepcast
