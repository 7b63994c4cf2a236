// SPDX-License-Identifier: Apache-2.0
// What MaxText calls values of keys (src/maxtext/configs/base.yml), and the keys that an experiment
// does not carry.
#pragma once

#include <array>
#include <string_view>

#include "frameworks/setting_reader.hpp"
#include "frameworks/words.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// Formats of products.
inline constexpr std::array kMaxTextQuantizations = {
    Word{"", "bf16"},
    Word{"fp8", "fp8"},
    Word{"fp8_full", "fp8"},
    Word{"fp8_gpu", "fp8"},
    Word{"fp8_nanoo", "fp8"},
    Word{"nanoo_fp8", "fp8"},
    Word{"te_fp8_delayedscaling", "fp8"},
    Word{"te_fp8_currentscaling", "fp8"},
    Word{"te_mxfp8", "fp8_block"},
    Word{"te_nvfp4", "fp4"},
    Word{"te_noscale", "bf16"},
};

// Which modules policies compute again; without any, the whole layer.
struct MaxTextRemat {
  std::string_view policies;  // with blanks between them
  std::string_view recompute;
  std::string_view modules{};  // a list as YAML
  std::string_view left_out{};
};
inline constexpr auto kMaxTextPolicies = std::to_array<MaxTextRemat>({
    {"full", "full"},
    {"none", "none"},
    {"minimal_with_context minimal_flash minimal_with_context_and_quantization", "selective",
     "[layernorm, mlp_act]"},
    {"minimal minimal_with_quantization", "selective", "[core_attn, layernorm, mlp_act]"},
    {"save_out_proj save_qkv_proj save_dot_except_mlp save_dot_except_mlpwi "
     "save_dot_with_context_except_mlp custom",
     "full",
     {},
     "the policy keeps a few products of a layer; here all of it is computed again"},
    {"qkv_proj_offloaded minimal_offloaded",
     "full",
     {},
     "the policy keeps tensors on the host; here they are computed again"},
});

// Leaves out what changes the result and is not priced, and what changes nothing: also a key of
// attention that says what the model's `attention` is anyway.
void leave_out_maxtext_keys(FrameworkReader& settings, const AttentionSpec& attention);

}  // namespace stepcast
