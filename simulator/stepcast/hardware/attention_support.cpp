// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/attention_support.hpp"

#include <algorithm>
#include <charconv>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 6> kLibraryTitles = {
    "no library", "Transformer Engine", "Transformer Engine for JAX", "Transformer Engine for ROCm",
    "PyTorch",    "flash-attn"};
constexpr std::array<std::string_view, 5> kFeatureTitles = {
    "heads of this dimension", "heads of two dimensions", "sinks", "a sliding window",
    "documents kept apart"};

AttentionRow read_row(const ConfigNode& node, const SourceTable& sources,
                      Diagnostics& diagnostics) {
  constexpr Range<std::int64_t> kHead{1, 4096};
  MappingReader reader(node, "rows", diagnostics);
  AttentionRow row;
  row.library =
      reader.required_choice<AttentionLibraryName>("library", enum_names<AttentionLibraryName>());
  row.kernel = reader.required_choice<AttentionKernel>("kernel", enum_names<AttentionKernel>());
  row.fuses = reader.required_choice<AttentionFeature>("fuses", enum_names<AttentionFeature>());
  row.architectures = reader.optional_texts("on");
  row.version = read_release(reader, "version").value_or(Release{});
  row.cudnn = read_release(reader, "cudnn").value_or(Release{});
  if (row.fuses == AttentionFeature::kHeads || row.fuses == AttentionFeature::kUnequalHeads) {
    row.d_qk = reader.required_count("d_qk", kHead);
    row.d_v = reader.optional_count("d_v", row.d_qk, kHead);
  }
  row.source = reader.required_text("source");
  if (const auto source = sources.find(row.source); source != sources.end()) {
    row.cited = source->second;
  } else if (reader.good({"source"})) {
    reader.error("source", "is '" + row.source + "', which 'sources' does not have");
  }
  row.note = reader.optional_text("note");
  reader.finish();
  return row;
}

// What a later release of the library runs in a kernel's place, where it has one.
constexpr AttentionKernel newer_of(AttentionKernel kernel) {
  return kernel == AttentionKernel::kCudnn ? AttentionKernel::kCudnn917 : kernel;
}

// A release that is not stated is the newest, which has all that the table knows.
bool reaches(const std::optional<Release>& has, const Release& needs) {
  return !has || !(*has < needs);
}

bool is_on(const AttentionRow& row, const Architecture& architecture) {
  const auto named = [&](const std::string& name) {
    return name == architecture.name || name == architecture.kernels;
  };
  return row.architectures.empty() ||
         std::any_of(row.architectures.begin(), row.architectures.end(), named);
}

bool fits_heads(const AttentionRow& row, const AttentionTraits& traits) {
  return traits.d_qk <= row.d_qk && traits.d_v <= row.d_v;
}

// A question to the table: one kernel of one library on one architecture.
class Kernels {
 public:
  Kernels(const AttentionSupport& support, const AttentionSoftware& software,
          const AttentionTraits& traits, const Architecture& architecture)
      : support_(support), software_(software), traits_(traits), architecture_(architecture) {}

  [[nodiscard]] bool fuses(AttentionKernel kernel, AttentionFeature feature) const {
    return any(kernel, feature, [&](const AttentionRow& row) { return in_release(row); });
  }
  // The first feature of the model that the kernel does not fuse.
  [[nodiscard]] std::optional<AttentionFeature> lacks(AttentionKernel kernel) const {
    std::vector<AttentionFeature> needs = {
        traits_.d_qk == traits_.d_v ? AttentionFeature::kHeads : AttentionFeature::kUnequalHeads};
    if (traits_.sinks) {
      needs.push_back(AttentionFeature::kSinks);
    }
    if (traits_.window) {
      needs.push_back(AttentionFeature::kSlidingWindow);
    }
    const auto missing = std::ranges::find_if(
        needs, [&](AttentionFeature feature) { return !fuses(kernel, feature); });
    return missing == needs.end() ? std::nullopt : std::optional(*missing);
  }
  // ", which it does from 2.8 with cuDNN 9.13.1"; nothing if it never does.
  [[nodiscard]] std::string since(AttentionKernel kernel, AttentionFeature feature) const {
    for (const AttentionRow& row : support_) {
      if (is_of(row, kernel, feature)) {
        const std::string library = row.version == Release{} ? "" : " " + text_of(row.version);
        const std::string cudnn =
            row.cudnn == Release{} ? "" : " cuDNN " + text_of(row.cudnn) + " on";
        return ", which it does from" + library + (library.empty() || cudnn.empty() ? "" : " and") +
               (cudnn.empty() ? " on" : cudnn);
      }
    }
    return "";
  }

 private:
  [[nodiscard]] bool is_of(const AttentionRow& row, AttentionKernel kernel,
                           AttentionFeature feature) const {
    const bool heads =
        feature == AttentionFeature::kHeads || feature == AttentionFeature::kUnequalHeads;
    return row.library == software_.library && row.kernel == kernel && row.fuses == feature &&
           is_on(row, architecture_) && (!heads || fits_heads(row, traits_));
  }
  [[nodiscard]] bool in_release(const AttentionRow& row) const {
    return reaches(software_.version, row.version) && reaches(software_.cudnn, row.cudnn);
  }
  template <typename Condition>
  [[nodiscard]] bool any(AttentionKernel kernel, AttentionFeature feature,
                         const Condition& holds) const {
    return std::ranges::any_of(support_, [&](const AttentionRow& row) {
      return is_of(row, kernel, feature) && holds(row);
    });
  }

  const AttentionSupport& support_;
  const AttentionSoftware& software_;
  const AttentionTraits& traits_;
  const Architecture& architecture_;
};

// What runs on the architecture where a software set names a kernel that it does not have.
AttentionKernel existing(AttentionKernel wanted, const Architecture& architecture) {
  return wanted == AttentionKernel::kUnfused || architecture.attention.kernel(wanted)
             ? wanted
             : architecture.attention.native;
}

// Whether the table says anything of the library on the architecture: heads of any dimension.
bool knows(const AttentionSupport& support, AttentionLibraryName library,
           const Architecture& architecture) {
  return std::ranges::any_of(support, [&](const AttentionRow& row) {
    return row.library == library && row.fuses == AttentionFeature::kHeads &&
           is_on(row, architecture);
  });
}

AttentionKernel instead_of(const AttentionSupport& support, const AttentionSoftware& software,
                           const Kernels& kernels) {
  for (const AttentionRow& row : support) {
    if (row.library == software.library && !kernels.lacks(row.kernel)) {
      return row.kernel;
    }
  }
  return AttentionKernel::kUnfused;
}

}  // namespace

std::string_view title(AttentionLibraryName library) { return entry(kLibraryTitles, library); }

std::optional<Release> read_release(MappingReader& reader, std::string_view key) {
  const std::string written = reader.optional_text(key);
  const std::optional<Release> release = parse_release(written);
  if (!written.empty() && !release) {
    reader.error(key, "must be a release, as 9.13.1");
  }
  return release;
}

std::optional<Release> parse_release(std::string_view text) {
  Release release;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t& part : release.parts) {
    const auto [stop, fault] = std::from_chars(at, end, part);
    if (fault != std::errc{} || part < 0) {
      return std::nullopt;
    }
    if (stop == end) {
      return release;
    }
    if (*stop != '.') {
      return std::nullopt;
    }
    at = stop + 1;
  }
  return std::nullopt;
}

std::string text_of(const Release& release) {
  std::size_t last = release.parts.size() - 1;
  while (last > 1 && release.parts[last] == 0) {
    --last;
  }
  std::string text;
  for (std::size_t i = 0; i <= last; ++i) {
    text += (i == 0 ? "" : ".") + std::to_string(release.parts[i]);
  }
  return text;
}

std::string text_of(const AttentionSoftware& software) {
  std::string text(title(software.library));
  text += software.version ? " " + text_of(*software.version) : "";
  text += software.cudnn ? " with cuDNN " + text_of(*software.cudnn) : "";
  return text;
}

AttentionSupport load_attention_support(const std::filesystem::path& file) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  const SourceTable sources = read_sources(top, "sources");
  AttentionSupport support;
  const ConfigNode* rows = top.take_required("rows");
  if (rows != nullptr && rows->kind != ConfigNode::Kind::kSequence) {
    top.error("rows", "must be a list");
  } else if (rows != nullptr) {
    support.reserve(rows->items.size());
    for (const ConfigNode& item : rows->items) {
      support.push_back(read_row(item, sources, diagnostics));
    }
  }
  top.finish();
  diagnostics.throw_if_any();
  return support;
}

AttentionChoice choose_attention(const AttentionSupport& support, const AttentionSoftware& software,
                                 AttentionKernel wanted, const AttentionTraits& traits,
                                 const Architecture& architecture) {
  if (wanted != AttentionKernel::kUnfused &&
      architecture.attention.native == AttentionKernel::kUnfused) {
    return {AttentionKernel::kUnfused, false,
            "no kernel is known that fuses attention on " + architecture.name};
  }
  AttentionChoice choice{wanted, false, ""};
  if (software.library == AttentionLibraryName::kDirect || wanted == AttentionKernel::kUnfused ||
      !knows(support, software.library, architecture)) {
    choice.documents = wanted == AttentionKernel::kFlex;
    return choice;
  }
  const Kernels kernels(support, software, traits, architecture);
  const AttentionKernel asked = existing(wanted, architecture);
  const std::optional<AttentionFeature> missing = kernels.lacks(asked);
  if (missing) {
    choice.kernel = instead_of(support, software, kernels);
    choice.reason = std::string(name(asked)) + " of " + text_of(software) + " does not fuse " +
                    std::string(entry(kFeatureTitles, *missing)) + kernels.since(asked, *missing);
  }
  AttentionKernel runs = missing ? choice.kernel : asked;
  const AttentionKernel newer = newer_of(runs);
  if (newer != runs && existing(newer, architecture) == newer && !kernels.lacks(newer)) {
    choice.kernel = newer;
    runs = newer;
  }
  choice.documents = kernels.fuses(runs, AttentionFeature::kDocuments);
  return choice;
}

}  // namespace stepcast
