// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/stage_layout.hpp"

#include <charconv>
#include <optional>

#include "stepcast/base/each_of.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLongestLayout = 100'000;  // letters after expansion

// Expands repeats and groups of a layout text into plain letters.
class LayoutExpander {
 public:
  explicit LayoutExpander(std::string_view text) : text_(text) {}

  std::optional<std::string> expand() {
    std::optional<std::string> letters = sequence(0);
    if (letters && position_ < text_.size()) {
      fault_ = "a ')' has no '('";
      return std::nullopt;
    }
    return letters;
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  std::optional<std::string> sequence(int depth) {
    std::string letters;
    while (position_ < text_.size() && text_[position_] != ')') {
      const char c = text_[position_];
      if (c == ',' || c == ' ') {
        ++position_;
        continue;
      }
      const std::optional<std::string> item = element(depth);
      if (!item) {
        return std::nullopt;
      }
      letters += *item;
      if (letters.size() > kLongestLayout) {
        return failed("it expands to more than 100,000 layers");
      }
    }
    return letters;
  }

  std::optional<std::string> element(int depth) {
    constexpr int kDeepest = 16;
    const char c = text_[position_];
    std::optional<std::string> item;
    if (c == '(') {
      if (depth == kDeepest) {
        return failed("groups nest deeper than 16");
      }
      ++position_;
      item = sequence(depth + 1);
      if (item && (position_ >= text_.size() || text_[position_] != ')')) {
        return failed("a '(' has no ')'");
      }
    } else if (std::string_view("EtmL|").find(c) != std::string_view::npos) {
      item = std::string(1, c);
    } else {
      return failed("'" + std::string(1, c) + "' is none of E, t, m, L, |, *, ( and )");
    }
    if (!item) {
      return std::nullopt;
    }
    ++position_;
    return repeated(*item);
  }

  std::optional<std::string> repeated(const std::string& item) {
    if (position_ >= text_.size() || text_[position_] != '*') {
      return item;
    }
    std::size_t times = 0;
    const char* const end = text_.data() + text_.size();
    const auto [after, error] = std::from_chars(text_.data() + position_ + 1, end, times);
    if (error != std::errc{} || times == 0) {
      return failed("'*' needs a whole number after it");
    }
    // Empty groups count as well: repeating nothing takes time too.
    work_ += std::min(times, kLongestLayout + 1);
    if (work_ > kLongestLayout || times > kLongestLayout / std::max<std::size_t>(item.size(), 1)) {
      return failed("it expands to more than 100,000 layers");
    }
    position_ = static_cast<std::size_t>(after - text_.data());
    std::string letters;
    for (std::size_t i = 0; i < times; ++i) {
      letters += item;
    }
    return letters;
  }

  std::optional<std::string> failed(std::string fault) {
    fault_ = std::move(fault);
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t work_ = 0;  // repetitions so far
  std::string fault_;
};

std::vector<StageContent> with_ends(const std::vector<std::int64_t>& layers,
                                    std::int64_t mtp_layers) {
  std::vector<StageContent> stages =
      each_of(layers, [](std::int64_t count) { return StageContent{.layers = count}; });
  stages.front().embedding = true;
  stages.back().loss = true;
  stages.back().mtp_layers = mtp_layers;
  return stages;
}

LayoutResult even_layout(std::int64_t stages, std::int64_t layers, std::int64_t mtp_layers) {
  if (layers % stages != 0) {
    return {{},
            {{of_plan(std::to_string(layers) + " "), "layers do not divide into pp * vpp",
              of_plan(" = ", stages), " stages; give stage_layout: balanced, a list or a text"}}};
  }
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(stages), layers / stages);
  return {with_ends(counts, mtp_layers), {}};
}

// Every stage gets the same number of slots; the embedding and the loss (with its multi-token
// prediction modules) fill one slot each. What is left over goes to the middle stages.
LayoutResult balanced_layout(std::int64_t stages, std::int64_t layers, std::int64_t mtp_layers) {
  if (layers + 2 < stages) {
    return {{},
            {{of_plan(std::to_string(layers) + " "),
              "layers, embedding and loss are fewer than pp * vpp", of_plan(" = ", stages),
              " stages"}}};
  }
  const auto count = static_cast<std::size_t>(stages);
  std::vector<std::int64_t> slots(count, 0);
  if (stages > 1 && layers % stages != 0) {
    slots.front() = 1;
    slots.back() = 1 + mtp_layers;
  }
  // Every stage is filled up to a level; the first ones at it get one more of what is left.
  const auto below = [&slots](std::int64_t level) {
    std::int64_t sum = 0;
    for (const std::int64_t taken : slots) {
      sum += std::max<std::int64_t>(0, level - taken);
    }
    return sum;
  };
  std::int64_t level = (layers + 2 + mtp_layers) / stages;
  while (below(level) > layers) {
    --level;
  }
  std::int64_t left = layers - below(level);
  for (std::int64_t& stage : slots) {
    const bool one_more = left > 0 && stage <= level;
    left -= one_more ? 1 : 0;
    stage = std::max<std::int64_t>(0, level - stage) + (one_more ? 1 : 0);
  }
  return {with_ends(slots, mtp_layers), {}};
}

LayoutResult checked(LayoutResult result, std::int64_t stages, std::int64_t layers,
                     std::int64_t mtp_layers) {
  if (!result.reasons.empty()) {
    return result;
  }
  std::int64_t layers_found = 0;
  std::int64_t mtp_found = 0;
  for (const StageContent& stage : result.stages) {
    layers_found += stage.layers;
    mtp_found += stage.mtp_layers;
  }
  const auto complain = [&](const std::string& what, std::int64_t found, std::int64_t wanted) {
    if (found != wanted) {
      result.reasons.push_back({"stage_layout has", of_plan(" ", found),
                                " " + what + ", not " + std::to_string(wanted)});
    }
  };
  complain("stages", static_cast<std::int64_t>(result.stages.size()), stages);
  complain("layers", layers_found, layers);
  complain("multi-token prediction layers", mtp_found, mtp_layers);
  if (result.reasons.empty() && (!result.stages.front().embedding || !result.stages.back().loss)) {
    result.reasons.push_back({"stage_layout must begin with E and end with L"});
  }
  return result;
}

}  // namespace

LayoutResult parse_layout(std::string_view text) {
  LayoutExpander expander(text);
  const std::optional<std::string> letters = expander.expand();
  if (!letters) {
    return {{}, {{"stage_layout '" + std::string(text.substr(0, 60)) + "': " + expander.fault()}}};
  }
  LayoutResult result;
  result.stages.emplace_back();
  for (const char c : *letters) {
    StageContent& stage = result.stages.back();
    switch (c) {
      case 'E':
        stage.embedding = true;
        break;
      case 't':
        ++stage.layers;
        break;
      case 'm':
        ++stage.mtp_layers;
        break;
      case 'L':
        stage.loss = true;
        break;
      default:
        result.stages.emplace_back();
    }
  }
  return result;
}

std::vector<std::string> layout_faults(const std::string& layout) {
  return layout.empty() || layout == "even" || layout == "balanced"
             ? std::vector<std::string>()
             : each_of(parse_layout(layout).reasons, &Reason::text);
}

LayoutResult stage_layout(const PlanRequest& request, std::int64_t vpp, std::int64_t layers,
                          std::int64_t mtp_layers) {
  const std::int64_t stages = request.pp * vpp;
  if (!request.stage_layers.empty()) {
    return checked({with_ends(request.stage_layers, mtp_layers), {}}, stages, layers, mtp_layers);
  }
  const bool divides = layers % stages == 0;
  if (request.layout == "even" || (request.layout.empty() && divides)) {
    return even_layout(stages, layers, mtp_layers);
  }
  if (request.layout == "balanced" || request.layout.empty()) {
    return balanced_layout(stages, layers, mtp_layers);
  }
  return checked(parse_layout(request.layout), stages, layers, mtp_layers);
}

}  // namespace stepcast
