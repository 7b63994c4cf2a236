// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_vocabulary.hpp"

#include <algorithm>

#include "frameworks/known_model.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kOurVocabulary = "model.vocabulary";
// Between those of Llama 2 and of Nemotron 4 and Gemma, where most of today's are.
constexpr VocabularyRange kUsualRange{32'000, 256'000};
constexpr std::int64_t kUsualVocabulary = 128'000;

// "tokenizerllama3" of "tokenizer_llama-3".
std::string plain(std::string_view written) {
  std::string text = ascii::lower_case(std::string(written));
  std::erase_if(text, [](char c) { return c == '-' || c == '_' || c == ' '; });
  return text;
}

class VocabularyFields {
 public:
  VocabularyFields(const MegatronFields& fields, ModelSpec& model)
      : fields_(fields), settings_(fields.settings()), words_(fields.words()), model_(model) {}

  std::optional<VocabularyRange> read() {
    read_names();
    const std::optional<std::int64_t> size = fields_.count(kOurVocabulary);
    const std::int64_t padded = settings_.count("padded_vocab_size", kOurVocabulary).value_or(0);
    const std::int64_t extra = settings_.count("vocab_extra_ids", kOurVocabulary).value_or(0);
    const std::int64_t added = settings_.count("extra_vocab_size", kOurVocabulary).value_or(0);
    if (size || padded > 0) {
      model_.vocabulary = size.value_or(padded) + extra;
      if (model_.vocabulary < 1) {
        settings_.error("vocab_size", "must be at least 1");
        model_.vocabulary = 1;
      }
      return std::nullopt;
    }
    if (fields_.source().model_is_named && model_.vocabulary > 0) {
      model_.vocabulary += extra;
      return std::nullopt;
    }
    const std::optional<VocabularyRange> range = by_tokenizer(added);
    model_.vocabulary += extra;
    return range;
  }

 private:
  void read_names() {
    for (const std::string_view key : {"tokenizer_model", "tokenizer_name_or_path"}) {
      path_ += settings_.text(key, {}).value_or("") + " ";
    }
    for (const std::string_view key : {"tokenizer_type", "patch_tokenizer_type"}) {
      type_ += settings_.text(key, {}).value_or("") + " ";
    }
    const bool has_vocabulary = settings_.has("vocab_file");
    has_merges_ = has_vocabulary && settings_.has("merge_file");
    file_ = settings_.peek("vocab_file");
  }

  // GPT-2's kind of files with another name than GPT-2's; a placeholder or nothing is none.
  [[nodiscard]] bool has_own_files() const {
    return has_merges_ && file_.ends_with(".json") && file_.find('<') == std::string::npos &&
           plain(file_).find("gpt2") == std::string::npos;
  }

  // "nordic_tokenizer_131072/vocab.json", the folder and the file.
  [[nodiscard]] std::int64_t tokens_in_name() const {
    constexpr std::string_view kDigits = "0123456789";
    const std::size_t file = std::min(file_.rfind('/'), file_.size());
    const std::size_t folder = file == 0 ? std::string::npos : file_.rfind('/', file - 1);
    std::int64_t found = 0;
    for (std::size_t at = folder == std::string::npos ? 0 : folder; at < file_.size();) {
      const std::size_t begin = std::min(file_.find_first_of(kDigits, at), file_.size());
      at = std::min(file_.find_first_not_of(kDigits, begin), file_.size());
      const auto number = whole_number_in(std::string_view(file_).substr(begin, at - begin));
      const bool fits =
          number && *number >= kUsualRange.lowest / 4 && *number <= kUsualRange.highest * 2;
      found = fits ? *number : found;
    }
    return found;
  }

  std::optional<VocabularyRange> by_own_files() {
    if (const std::int64_t tokens = tokens_in_name(); tokens > 0) {
      assume(tokens, "the number in the name of vocab_file; give vocab_size if it is another");
      return std::nullopt;
    }
    assume(words_vocabulary("gpt2"),
           "as GPT-2's, but vocab_file and merge_file do not have its name; give vocab_size");
    return kUsualRange;
  }

  std::optional<VocabularyRange> by_tokenizer(std::int64_t added) {
    const VocabularySize* const own = added > 0 ? own_size() : nullptr;
    const VocabularySize* const of_path = size_within(path_);
    const VocabularySize* const of_type = size_within(type_);
    if (own != nullptr) {
      assume(own->tokens + added, "the tokenizer's with extra_vocab_size");
    } else if (of_path != nullptr) {
      assume(of_path->tokens, kOfModel);
    } else if (has_own_files()) {
      return by_own_files();
    } else if (of_type != nullptr) {
      return by_type(*of_type);
    } else if (has_merges_) {
      assume(words_vocabulary("gpt2"), "a vocabulary and a file of merges: GPT-2's");
    } else {
      return by_sizes();
    }
    return std::nullopt;
  }

  // A tokenizer that reads any file has the size of that file, whatever its type is called.
  std::optional<VocabularyRange> by_type(const VocabularySize& size) {
    const std::string file = std::string(path_.substr(path_.rfind('/') + 1));
    const bool other_file = plain(path_).find_first_not_of(' ') != std::string::npos &&
                            !plain(path_).empty() && !plain(file).starts_with("tokenizer.model");
    if (!other_file) {
      assume(size.tokens, kOfModel);
      return std::nullopt;
    }
    assume(size.tokens, "by the type of the tokenizer, whose file is not read");
    return kUsualRange;
  }

  std::optional<VocabularyRange> by_sizes() {
    const auto& data = fields_.source().shipped;
    const std::optional<ModelSpec> same = data ? shipped_of_sizes(model_, *data) : std::nullopt;
    if (same) {
      assume(same->vocabulary, "that of " + same->name + ", whose sizes these are");
      return std::nullopt;
    }
    assume(kUsualVocabulary, "nothing says it, give vocab_size");
    return kUsualRange;
  }

  void assume(std::int64_t tokens, std::string note) {
    model_.vocabulary = tokens;
    settings_.assume(std::string(kOurVocabulary), std::to_string(tokens), std::move(note));
  }

  [[nodiscard]] const VocabularySize* size_within(std::string_view written) const {
    const std::string name = plain(written);
    const auto& sizes = words_.vocabularies();
    const auto found = std::find_if(
        sizes.begin(), sizes.end(),
        [&name](const VocabularySize& size) { return name.find(size.name) != std::string::npos; });
    return found == sizes.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::int64_t words_vocabulary(std::string_view name) const {
    const VocabularySize* const size = size_within(name);
    STEPCAST_CHECK(size != nullptr, "no vocabulary of " + std::string(name));
    return size->tokens;
  }

  [[nodiscard]] const VocabularySize* own_size() const {
    const auto& sizes = words_.own_vocabularies();
    const auto found = std::find_if(sizes.begin(), sizes.end(), [this](const VocabularySize& size) {
      return type_.find(size.name) != std::string::npos;
    });
    return found == sizes.end() ? nullptr : &*found;
  }

  static constexpr const char* kOfModel = "the tokenizer's, of the model that it belongs to";
  const MegatronFields& fields_;
  FrameworkReader& settings_;
  const FrameworkWords& words_;
  ModelSpec& model_;
  std::string path_;
  std::string type_;
  std::string file_;  // of vocab_file
  bool has_merges_ = false;
};

}  // namespace

std::optional<VocabularyRange> read_megatron_vocabulary(const MegatronFields& fields,
                                                        ModelSpec& model) {
  return VocabularyFields(fields, model).read();
}

}  // namespace stepcast
