// SPDX-License-Identifier: Apache-2.0
// What a call on the device is for, where its kernel's name does not say it and the operators that
// launched it do.
//
//   aten::copy_ of FSDP's hook "FSDP::pre_forward"         fsdp_copies, as every kernel of a hook
//   aten::bmm [8192,1,6] x [8192,6,2048]                   no product: vectors, bound by memory
//   aten::mm called by aten::_grouped_mm                   grouped_gemm, one expert after the other
//   aten::_index_put_impl_ [49152,2048]                    expert_rows
//   ncclDevKernel_SendRecv of c10d::alltoall_base_         all_to_all
//
// Copies on the device that operators of PyTorch make are part of what the model computes: the
// casts of RoPE and of the loss, concatenations.
//
// Rows of experts are known by their shape. A step's grouped products tell how many there are,
// padded, and how wide; exchanges of that width how many without padding; of both widths of the
// products the rows' is that of what is gathered by index. An operator moves rows of experts if an
// input is as many rows of that width (one of zeros may lie behind them), a token's rows beside
// each other, [tokens, k, width], or a list of as many indices, or if it indexes rows of that
// width. A count that is that of tokens too, the rows of that width in an ordinary product, is not
// taken. Where experts are as wide inside as the model is, what runs between their products counts
// as well.
#pragma once

#include "trace_reader/trace_recording.hpp"

namespace stepcast {

// After launches were joined.
void settle_categories(TraceRecording& recording);

}  // namespace stepcast
