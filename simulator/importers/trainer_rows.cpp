// SPDX-License-Identifier: Apache-2.0
// Published runs of Hugging Face's Trainer and of what stands on it: which set describes them, and
// what a row says of kernels beside it.
#include <algorithm>
#include <array>
#include <bit>

#include "importers/published_names.hpp"
#include "importers/published_run.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// How frameworks begin that run transformers' Trainer.
constexpr std::array<std::string_view, 8> kTrainers = {
    "trl",   "transformers",  "hugging face", "huggingface",
    "hf tr", "llama-factory", "llamafactory", "axolotl"};

[[noreturn]] void refuse_variant(const std::string& key, const std::string& value) {
  throw RefusedRow{"feature unsupported: the variant '" + key + " " + value + "' of Trainer"};
}

// The release of PyTorch that a text names, "torch 2.10", as 210; 0 without one.
int torch_release(const std::string& framework) {
  const std::optional<std::string_view> release = behind(framework, "torch ");
  if (!release || !release->starts_with("2.")) {
    return 0;
  }
  const std::string_view minor = first_digits(release->substr(2), 2);
  return minor.empty() ? 0 : 200 + digits_value(minor);
}

// Until 2.10 PyTorch puts FlashAttention 2 before cuDNN on Hopper; traces of 2.11 run cuDNN.
// Kernels that a row names are called by themselves.
void settle_attention(const std::string& framework, RunSoftware& software, Record& assumed) {
  if (software.changes.contains("attention")) {
    software.changes["attention_library"] = {{"name", "flash_attention"}};
    return;
  }
  const int release = torch_release(framework);
  if (release > 0 && release < 211) {
    software.changes["attention"] = "flash2";
    assumed.push_back(
        "software.attention flash2: what scaled_dot_product_attention of PyTorch before 2.11 runs");
  }
}

// Liger's loss takes the tokens in as many parts as hold its logits in the bytes of their hidden
// values (liger_kernel/ops/fused_linear_cross_entropy.py).
std::int64_t liger_chunks(std::int64_t tokens, std::int64_t vocabulary, std::int64_t hidden) {
  const auto parts_of = [](std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
  };
  const std::int64_t wider = parts_of(vocabulary, hidden);
  const auto chunk =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(parts_of(tokens, wider))));
  return parts_of(tokens, chunk);
}

void run_liger(StatedObject& row, RunSoftware& software) {
  StatedObject& train = row.object("train");
  StatedObject& figures = row.object("model");
  const std::int64_t tokens =
      train.required_count("seq_len") * train.degree("mbs") / row.object("parallel").degree("cp");
  for (const char* kernel : {"norm", "rope", "activation", "cross_entropy"}) {
    software.changes[kernel] = "fused";
  }
  software.changes["memory"]["keeps_norm_copies"] = false;
  software.changes["memory"]["loss_chunks"] =
      liger_chunks(tokens, figures.required_count("vocab"), figures.required_count("hidden"));
}

void run_sonic(RunSoftware& software) {
  software.changes["permute"] = "fused";
  software.changes["permute_order"] = "blocks";
  software.changes["activation_in_product"] = true;
}

void run_variant(const std::string& key, const std::string& value, StatedObject& row,
                 RunSoftware& software) {
  const bool usual = (key == "attention" && value == "sdpa") ||
                     (key == "liger" && value == "false") ||
                     (key == "experts" && value == "grouped_mm");
  if (usual) {
    return;
  }
  if ((key == "liger" && value == "true") || (key == "loss" && value == "liger")) {
    return run_liger(row, software);
  }
  if (key == "experts" && value == "sonicmoe") {
    return run_sonic(software);
  }
  if (key == "loss" && value == "chunked") {
    software.changes["memory"]["loss_chunks"] = 64;
    return;
  }
  refuse_variant(key, value);
}

// The list "variant: attention sdpa, liger True; ..." of a row's notes: words in pairs.
void read_variant(StatedObject& row, RunSoftware& software, Record& assumed) {
  const std::string notes = ascii::lower_case(row.text("notes"));
  const std::optional<std::string_view> list = behind(notes, "variant: ");
  if (!list) {
    return;
  }
  const std::string_view pairs = list->substr(0, list->find(';'));
  const std::vector<std::string> words =
      words_in(pairs, [](char c) { return c == ' ' || c == ','; });
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    run_variant(words[i], words[i + 1], row, software);
  }
  assumed.push_back("software: the variant that the notes list, " + std::string(pairs));
}

// SonicMoE and torch.compile where the framework's text or `overlap` names them.
void read_named(StatedObject& row, const std::string& framework, RunSoftware& software) {
  if (mentions(framework, "sonicmoe")) {
    run_sonic(software);
  }
  if (mentions(framework, "torch.compile")) {
    for (const char* kernel : {"norm", "rope", "activation"}) {
      if (!software.changes.contains(kernel)) {
        software.changes[kernel] = "compiled";
      }
    }
    software.changes["host"] = {{"layers", "compiled"}};
  }
  row.object("train").object("overlap").ignore("compile");
}

}  // namespace

std::string_view trainer_set(std::string_view framework) {
  const std::string text = ascii::lower_case(framework);
  const bool runs_trainer = std::ranges::any_of(
      kTrainers, [&](std::string_view beginning) { return text.starts_with(beginning); });
  if (!runs_trainer) {
    return {};
  }
  return mentions(text, "deepspeed") || mentions(text, "zero-") ? "huggingface_deepspeed"
                                                                : "huggingface";
}

void settle_trainer(StatedObject& row, RunSoftware& software, Record& plan, Record& assumed) {
  if (family_of(software.base) != FrameworkFamily::kHuggingFace) {
    return;
  }
  const std::string framework = ascii::lower_case(row.object("train").text("framework"));
  settle_attention(framework, software, assumed);
  read_variant(row, software, assumed);
  read_named(row, framework, software);
  if (plan.value("tp", 1) > 1) {
    plan["sequence_parallel"] = false;  // transformers' plans keep whole sequences in their norms
  }
}

}  // namespace stepcast
