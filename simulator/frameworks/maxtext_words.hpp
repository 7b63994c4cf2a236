// SPDX-License-Identifier: Apache-2.0
// What MaxText calls values of keys (src/maxtext/configs/base.yml).
#pragma once

#include <array>
#include <string_view>

namespace stepcast {

// The first row of a format is what is written for it.
struct MaxTextQuantization {
  std::string_view theirs;
  std::string_view dtype;
};
inline constexpr std::array kMaxTextQuantizations = {
    MaxTextQuantization{"", "bf16"},
    MaxTextQuantization{"fp8", "fp8"},
    MaxTextQuantization{"fp8_full", "fp8"},
    MaxTextQuantization{"fp8_gpu", "fp8"},
    MaxTextQuantization{"fp8_nanoo", "fp8"},
    MaxTextQuantization{"nanoo_fp8", "fp8"},
    MaxTextQuantization{"te_fp8_delayedscaling", "fp8"},
    MaxTextQuantization{"te_fp8_currentscaling", "fp8"},
    MaxTextQuantization{"te_mxfp8", "fp8_block"},
    MaxTextQuantization{"te_nvfp4", "fp4"},
    MaxTextQuantization{"te_noscale", "bf16"},
};

// Which modules a policy computes again; without any, the whole layer.
struct MaxTextRemat {
  std::string_view policy;
  std::string_view recompute;
  std::string_view modules{};  // a list as YAML
  std::string_view left_out{};
};
inline constexpr std::string_view kKeepsProducts =
    "the policy keeps a few products of a layer; here all of it is computed again";
inline constexpr std::string_view kKeepsOnHost =
    "the policy keeps tensors on the host; here they are computed again";
inline constexpr std::array kMaxTextPolicies = {
    MaxTextRemat{"full", "full"},
    MaxTextRemat{"none", "none"},
    MaxTextRemat{"minimal_with_context", "selective", "[layernorm, mlp_act]"},
    MaxTextRemat{"minimal_flash", "selective", "[layernorm, mlp_act]"},
    MaxTextRemat{"minimal_with_context_and_quantization", "selective", "[layernorm, mlp_act]"},
    MaxTextRemat{"minimal", "selective", "[core_attn, layernorm, mlp_act]"},
    MaxTextRemat{"save_out_proj", "full", {}, kKeepsProducts},
    MaxTextRemat{"save_qkv_proj", "full", {}, kKeepsProducts},
    MaxTextRemat{"save_dot_except_mlp", "full", {}, kKeepsProducts},
    MaxTextRemat{"save_dot_except_mlpwi", "full", {}, kKeepsProducts},
    MaxTextRemat{"save_dot_with_context_except_mlp", "full", {}, kKeepsProducts},
    MaxTextRemat{"custom", "full", {}, kKeepsProducts},
    MaxTextRemat{"qkv_proj_offloaded", "full", {}, kKeepsOnHost},
    MaxTextRemat{"minimal_offloaded", "full", {}, kKeepsOnHost},
};

}  // namespace stepcast
