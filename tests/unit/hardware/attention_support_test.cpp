// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/attention_support.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/profile_cache.hpp"

namespace stepcast::attention_support_test {
namespace {

using test::contains_text;
using test::data_root;
using Kernel = AttentionKernel;
using Library = AttentionLibraryName;

constexpr AttentionTraits kLlama{128, 128, false, false};
constexpr AttentionTraits kLatent{192, 128, false, false};
constexpr AttentionTraits kGptOss{64, 64, true, true};

const AttentionSupport& shipped() {
  static const AttentionSupport support = load_attention_support(data_root().attention_libraries());
  return support;
}

AttentionSoftware released(Library library, std::string_view version, std::string_view cudnn = {}) {
  return {library, parse_release(version), cudnn.empty() ? std::nullopt : parse_release(cudnn)};
}

AttentionChoice chosen(const AttentionSoftware& software, Kernel wanted,
                       const AttentionTraits& traits, const std::string& architecture) {
  Architecture part = test::shipped_architecture(architecture);
  part.name = part.kernels = architecture;
  return choose_attention(shipped(), software, wanted, traits, part);
}

}  // namespace

TEST_CASE("every row of the table cites a source", "[unit]") {
  CHECK(shipped().size() > 40);
  for (const AttentionRow& row : shipped()) {
    CHECK(!row.cited.empty());
  }
}

TEST_CASE("releases compare number by number", "[unit]") {
  CHECK(parse_release("9.13.1") > parse_release("9.13"));
  CHECK(parse_release("2.10") > parse_release("2.9"));
  CHECK(parse_release("2.9.0") == parse_release("2.9"));
  CHECK(text_of(*parse_release("9.13.1.0")) == "9.13.1");
  CHECK(text_of(*parse_release("2")) == "2.0");
  for (const char* wrong : {"", "2.", ".2", "2.x", "1.2.3.4.5", "-1.2"}) {
    CHECK_FALSE(parse_release(wrong));
  }
}

TEST_CASE("sinks run fused from the release that learnt them", "[unit]") {
  const auto runs = [](std::string_view version, std::string_view cudnn) {
    return chosen(released(Library::kTransformerEngine, version, cudnn), Kernel::kCudnn, kGptOss,
                  "sm90");
  };
  // The container of September 2025, the one of November, and a new one with an old cuDNN.
  CHECK(runs("2.7", "9.11").kernel == Kernel::kUnfused);
  CHECK_THAT(runs("2.7", "9.11").reason,
             contains_text("cudnn of Transformer Engine 2.7 with cuDNN 9.11 does not fuse sinks, "
                           "which it does from 2.8 and cuDNN 9.13.1 on"));
  CHECK(runs("2.9", "9.13.1").kernel == Kernel::kCudnn);
  CHECK(runs("2.9", "9.13.1").reason.empty());
  CHECK(runs("2.8", "9.10.2").kernel == Kernel::kUnfused);
  // Not stated: the newest.
  CHECK(chosen({Library::kTransformerEngine, {}, {}}, Kernel::kCudnn, kGptOss, "sm100").kernel ==
        Kernel::kCudnn917);
  CHECK(chosen(released(Library::kTransformerEngineRocm, "2.2"), Kernel::kAiter, kGptOss, "gfx950")
            .kernel == Kernel::kUnfused);
}

TEST_CASE("cuDNN 9.17 has other kernels for Blackwell, under the same name", "[unit]") {
  const auto runs = [](std::string_view cudnn, const char* part) {
    return chosen(released(Library::kTransformerEngine, "2.12", cudnn), Kernel::kCudnn, kLlama,
                  part);
  };
  CHECK(runs("9.13.1", "sm100").kernel == Kernel::kCudnn);
  CHECK(runs("9.17", "sm100").kernel == Kernel::kCudnn917);
  CHECK(runs("9.22", "sm100").kernel == Kernel::kCudnn917);
  CHECK(runs("9.22", "sm100").reason.empty());
  CHECK(runs("9.22", "sm90").kernel == Kernel::kCudnn);
}

TEST_CASE("latent attention runs where its two dimensions are known", "[unit]") {
  const auto runs = [](std::string_view version, std::string_view cudnn, const char* part) {
    return chosen(released(Library::kTransformerEngine, version, cudnn), Kernel::kCudnn, kLatent,
                  part)
        .kernel;
  };
  CHECK(runs("2.9", "9.13.1", "sm90") == Kernel::kCudnn);
  CHECK(runs("2.9", "9.10", "sm100") == Kernel::kUnfused);
  CHECK(runs("2.9", "9.11", "sm100") == Kernel::kCudnn);
  CHECK(runs("2.9", "9.13.1", "sm80") == Kernel::kUnfused);
  CHECK(
      chosen(released(Library::kFlashAttention, "3.0"), Kernel::kFlash2, kLatent, "sm90").kernel ==
      Kernel::kFlash3);
}

TEST_CASE("what a kernel lacks another one of the library may have", "[unit]") {
  const AttentionSoftware pytorch = released(Library::kPyTorch, "2.9");
  CHECK(chosen(pytorch, Kernel::kFlash2, kLlama, "sm90").kernel == Kernel::kFlash2);
  const AttentionChoice windowed =
      chosen(pytorch, Kernel::kFlash2, {128, 128, false, true}, "sm90");
  CHECK(windowed.kernel == Kernel::kFlex);
  CHECK_THAT(windowed.reason,
             contains_text("flash2 of PyTorch 2.9 does not fuse a sliding window"));
  CHECK(chosen(released(Library::kPyTorch, "2.4"), Kernel::kFlash2, kGptOss, "sm90").kernel ==
        Kernel::kUnfused);
}

TEST_CASE("documents are kept apart by kernels that have such a mask", "[unit]") {
  const AttentionSoftware pytorch = released(Library::kPyTorch, "2.9");
  CHECK_FALSE(chosen(pytorch, Kernel::kFlash2, kLlama, "sm90").documents);
  CHECK(chosen(pytorch, Kernel::kFlex, kLlama, "sm90").documents);
  CHECK(chosen({Library::kTransformerEngine, {}, {}}, Kernel::kCudnn, kLlama, "sm100").documents);
  CHECK_FALSE(chosen({Library::kTransformerEngine, {}, parse_release("9.5")}, Kernel::kCudnn,
                     kLlama, "sm90")
                  .documents);
}

TEST_CASE("without a library, or on a part it does not know, the kernel runs that was asked for",
          "[unit]") {
  CHECK(chosen({}, Kernel::kFlash2, kGptOss, "sm90").kernel == Kernel::kFlash2);
  CHECK(chosen({Library::kTransformerEngine, {}, {}}, Kernel::kCudnn, kGptOss, "gfx942").kernel ==
        Kernel::kCudnn);
  CHECK(chosen({Library::kPyTorch, {}, {}}, Kernel::kUnfused, kLlama, "sm90").kernel ==
        Kernel::kUnfused);
}

TEST_CASE("an architecture without fused kernels runs products around a softmax, and says why",
          "[unit]") {
  for (const Library library : {Library::kDirect, Library::kTransformerEngine, Library::kPyTorch}) {
    const AttentionChoice choice = chosen({library, {}, {}}, Kernel::kFlash2, kLlama, "sm70");
    CHECK(choice.kernel == Kernel::kUnfused);
    CHECK_FALSE(choice.documents);
    CHECK(choice.reason == "no kernel is known that fuses attention on sm70");
    CHECK(chosen({library, {}, {}}, Kernel::kUnfused, kLlama, "sm70").reason.empty());
  }
}

TEST_CASE("an older release never fuses what a newer one does not", "[property]") {
  const auto traits = GENERATE(kLlama, kLatent, kGptOss);
  const std::string part = GENERATE("sm80", "sm90", "sm100");
  bool fused = false;
  for (const char* version : {"1.0", "1.9", "1.13", "2.5", "2.8", "2.9", "2.14", "2.18"}) {
    const AttentionSoftware software = released(Library::kTransformerEngine, version, "9.25");
    const bool now = chosen(software, Kernel::kCudnn, traits, part).kernel != Kernel::kUnfused;
    CHECK((now || !fused));
    fused = now;
  }
}

}  // namespace stepcast::attention_support_test
