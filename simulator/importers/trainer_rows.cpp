// SPDX-License-Identifier: Apache-2.0
// Published runs of Hugging Face's Trainer and of what stands on it: which set describes them, and
// what a row says of kernels beside it.
#include <algorithm>
#include <array>
#include <bit>

#include "frameworks/setting.hpp"
#include "importers/published_names.hpp"
#include "importers/published_run.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// How frameworks begin that run transformers' Trainer.
constexpr std::array<std::string_view, 9> kTrainers = {
    "trl",   "transformers",  "hugging face", "huggingface", "accelerate",
    "hf tr", "llama-factory", "llamafactory", "axolotl"};
// The words, apart from releases, of what such a framework's text may name: one with another word,
// as Unsloth or offload, ran something else.
constexpr std::string_view kWordsOfTrainers =
    "trl sfttrainer sft transformers hugging face huggingface hf trainer llama-factory "
    "llamafactory axolotl accelerate peft lora torch pytorch fsdp fsdp1 fsdp2 ddp deepspeed zero "
    "zero-1 zero-2 zero-3 zero1 zero2 zero3 stage ulysses sonicmoe experts fa2 fa3 torch.compile";

bool separates_names(char c) {
  return ascii::is_space(c) || std::string_view(",;+&()").find(c) != std::string_view::npos;
}

bool is_release(std::string_view word) {
  word.remove_prefix(word.starts_with('v') ? 1 : 0);
  return !word.empty() && ascii::is_digit(word.front());
}

bool names_what_trainers_run(std::string_view text) {
  const std::vector<std::string> words = words_in(text, separates_names);
  return std::ranges::all_of(words, [](const std::string& word) {
    return is_release(word) || is_among(kWordsOfTrainers, word);
  });
}

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

// Kernels that a row names are called by themselves.
void settle_attention(StatedObject& row, const std::string& framework, const DeviceSpec& device,
                      RunSoftware& software, Record& assumed) {
  if (software.changes.contains("attention")) {
    software.changes["attention_library"] = {{"name", "flash_attention"}};
    return;
  }
  const int month = month_of(row.object("source"));
  settle_scaled_attention(device, {torch_release(framework), month}, software, assumed);
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

// Of a micro-batch.
std::int64_t tokens_of_rank(StatedObject& row) {
  StatedObject& train = row.object("train");
  return train.required_count("seq_len") * train.degree("mbs") /
         row.object("parallel").degree("cp");
}

void run_liger(StatedObject& row, RunSoftware& software) {
  StatedObject& figures = row.object("model");
  for (const char* kernel : {"norm", "rope", "activation", "cross_entropy"}) {
    software.changes[kernel] = "fused";
  }
  software.changes["memory"]["keeps_norm_copies"] = false;
  software.changes["memory"]["loss_chunks"] = liger_chunks(
      tokens_of_rank(row), figures.required_count("vocab"), figures.required_count("hidden"));
}

void run_sonic(RunSoftware& software) {
  software.changes["permute"] = "fused";
  software.changes["permute_order"] = "blocks";
  software.changes["activation_in_product"] = true;
}

// TRL's own loss takes 256 tokens at a time (trl/trainer/sft_trainer.py,
// _CHUNKED_LM_HEAD_CHUNK_SIZE).
void run_chunked_loss(StatedObject& row, RunSoftware& software) {
  constexpr std::int64_t kChunk = 256;
  constexpr std::int64_t kMostChunks = 4096;
  const std::int64_t chunks = (tokens_of_rank(row) + kChunk - 1) / kChunk;
  software.changes["memory"]["loss_chunks"] = std::min(chunks, kMostChunks);
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
    return run_chunked_loss(row, software);
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
  for (std::size_t i = 0; i < words.size(); i += 2) {
    run_variant(words[i], i + 1 < words.size() ? words[i + 1] : "", row, software);
  }
  assumed.push_back("software: the variant that the notes list, " + std::string(pairs));
}

// SonicMoE and torch.compile where the framework's text or `overlap` names them.
void read_named(StatedObject& row, const std::string& framework, RunSoftware& software) {
  if (mentions(framework, "sonicmoe")) {
    run_sonic(software);
  }
  const bool compiled = row.object("train").object("overlap").flag("compile").value_or(false);
  if (compiled || mentions(framework, "torch.compile")) {
    for (const char* kernel : {"norm", "rope", "activation"}) {
      if (!software.changes.contains(kernel)) {
        software.changes[kernel] = "compiled";
      }
    }
    software.changes["host"] = {{"layers", "compiled"}};
  }
}

}  // namespace

// Until 2.10 PyTorch puts FlashAttention 2 before cuDNN on Hopper and Blackwell, whose own kernel
// traces of 2.11, which is of March 2026, run; on Ampere it runs FlashAttention 2 (sdp_utils.cpp,
// check_prefer_cudnn_attention).
void settle_scaled_attention(const DeviceSpec& device, const TorchDay& day, RunSoftware& software,
                             Record& assumed) {
  constexpr int kCudnnFirst = 211;
  constexpr int kMonthOfIt = 202603;
  const AttentionKernel native = device.architecture.attention.native;
  const bool before =
      day.release > 0 ? day.release < kCudnnFirst : day.month > 0 && day.month < kMonthOfIt;
  const bool on_ampere = native == AttentionKernel::kFlash2;
  if (on_ampere || (before && native == AttentionKernel::kCudnn)) {
    software.changes["attention"] = "flash2";
    assumed.push_back(
        std::string("software.attention flash2: what scaled_dot_product_attention ") +
        (on_ampere ? "runs on Ampere" : "of PyTorch before 2.11, which is of March 2026, runs"));
  }
}

std::string_view trainer_set(std::string_view framework) {
  const std::string text = ascii::lower_case(framework);
  const bool runs_trainer = std::ranges::any_of(
      kTrainers, [&](std::string_view beginning) { return text.starts_with(beginning); });
  if (!runs_trainer || !names_what_trainers_run(text)) {
    return {};
  }
  if (mentions(text, "deepspeed") || mentions(text, "zero")) {
    return "huggingface_deepspeed";  // of transformers 4 with DeepSpeed there is no set of its own
  }
  return mentions(text, "transformers 4") ? "huggingface_4" : "huggingface";
}

void settle_trainer(StatedObject& row, const DeviceSpec& device, RunSoftware& software,
                    Record& plan, Record& assumed) {
  if (family_of(software.base) != SourceFamily::kHuggingFace) {
    return;
  }
  const std::string framework = ascii::lower_case(row.object("train").text("framework"));
  settle_attention(row, framework, device, software, assumed);
  read_variant(row, software, assumed);
  read_named(row, framework, software);
  if (plan.value("tp", 1) > 1) {
    plan["sequence_parallel"] = false;  // transformers' plans keep whole sequences in their norms
  }
}

}  // namespace stepcast
