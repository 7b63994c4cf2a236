// SPDX-License-Identifier: Apache-2.0
#include "frameworks/maxtext_words.hpp"

#include <string>

#include "frameworks/setting_reader.hpp"

namespace stepcast {
namespace {

// What a model of MaxText's list has of its own changes nothing where the file repeats it.
void leave_out_attention(FrameworkReader& settings, const AttentionSpec& attention) {
  const auto word = [](bool is_on) { return is_on ? "true" : "false"; };
  settings.not_carried("sliding_window_size", "attention over a window of another width",
                       std::to_string(attention.sliding_window));
  settings.not_carried("attention_sink", "learned logits of heads", word(attention.sinks));
  settings.not_carried("attention_bias", "biases of queries, keys and values",
                       word(attention.qkv_bias));
  settings.not_carried("use_qk_norm", "norms of queries and keys",
                       word(attention.qk_norm != QkNorm::kNone));
}

}  // namespace

void leave_out_maxtext_keys(FrameworkReader& settings, const FrameworkWords& words,
                            const AttentionSpec& attention) {
  constexpr std::string_view kMask = "trainable_parameters_mask";
  if (const auto trained = settings.texts(kMask, {}); trained && !trained->empty()) {
    settings.leave_out(kMask, trained->front(), "a part of the weights is trained; here all");
  }
  leave_out_attention(settings, attention);
  words.read_rest(settings);
}

}  // namespace stepcast
