// SPDX-License-Identifier: Apache-2.0
// The kind and the shape of an operator for reports; the fields are those of `stepcast cost`.
//
//   gemm          8192 x 57344 x 8192        m x n x k of the pass; "4 of" a batch
//   grouped_gemm  32768 x 4096 x 7168 in 4   rows of all groups x n x k, groups
//   attention     1 x 8192 x 64/8 x 128      batch x sequence x heads/KV heads x head size
//   memory_bound  8192 x 28672               rows x columns
//   collective    all_gather 2.051 GiB / 64  the full tensor, ranks
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "stepcast/cost/op_cost.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

std::string_view kind_name(const Op& op);
// What tools that read traces count an operator as: "GEMM", "EP communication", ...
std::string_view category_name(const Op& op);
// The algorithm and protocol of a communication, or the primitive of an exchange, that `auto` stood
// for; empty for what is no communication.
std::string run_text(const OpCost& cost);
// The format of a matrix product's inputs; empty for operators without one.
std::string_view dtype_name(const Op& op);
std::string shape_text(const Op& op);
nlohmann::ordered_json shape_json(const Op& op);

}  // namespace stepcast
