// SPDX-License-Identifier: Apache-2.0
#include "importers/stated_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/decimal_text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kFirstWords = 300;  // bytes: what is taken from a text stands there
constexpr BytesPerSecond kGigabit(1e9 / 8.0);

struct RateUnit {
  std::string_view name;
  BytesPerSecond rate;
  bool beside_network = false;  // a unit of memory too, where no network is named beside it
};
// The longer of two that begin alike first.
constexpr std::array kUnits = {
    RateUnit{"Gbit/s", kGigabit},
    RateUnit{"Gb/s", kGigabit},
    RateUnit{"Gbps", kGigabit},
    RateUnit{"gbps", kGigabit},
    RateUnit{"Gbe", kGigabit},
    RateUnit{"GbE", kGigabit},
    RateUnit{"Gb", kGigabit},
    RateUnit{"GB/s", BytesPerSecond(1e9)},
    RateUnit{"GBps", BytesPerSecond(1e9)},
    RateUnit{"GiB/s", BytesPerSecond(1073741824.0)},
    RateUnit{"G", kGigabit, true},
    RateUnit{"Tb/s", 1e3 * kGigabit},
    RateUnit{"Tbps", 1e3 * kGigabit},
    RateUnit{"TB/s", BytesPerSecond(1e12)},
};
// A port of four lanes.
constexpr std::array kGenerations = {
    RateUnit{"xdr", 800.0 * kGigabit}, RateUnit{"ndr", 400.0 * kGigabit},
    RateUnit{"hdr", 200.0 * kGigabit}, RateUnit{"edr", 100.0 * kGigabit},
    RateUnit{"fdr", 56.0 * kGigabit},
};
constexpr std::array<std::string_view, 6> kNoNetwork = {"nvlink", "nvswitch", "xgmi",
                                                        "pcie",   "hbm",      "infinity fabric"};
constexpr std::array<std::string_view, 13> kNetworks = {
    "infiniband", "roce", "rdma", "ethernet", "efa", "nic",      "ib",
    "connectx",   "cx",   "ndr",  "hdr",      "edr", "slingshot"};
constexpr std::array<std::string_view, 4> kOfGpu = {"per gpu", "/gpu", "a gpu", "each gpu"};
constexpr std::array<std::string_view, 8> kOfNode = {
    "per node", "/node", "a node", "node-node", "each node", "per host", "per server", "per tray"};
constexpr std::array<std::string_view, 6> kNics = {"nic", "port", "hca", "connectx", "cx", "rail"};

template <std::size_t N>
bool mentions_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// A rate, and how many NICs a text gives it to.
struct StatedRate {
  BytesPerSecond rate;
  std::int64_t nics = 0;  // 0: not said
};

// Reads one part of a text from left to right.
class RateScanner {
 public:
  explicit RateScanner(std::string_view text)
      : text_(text), network_(mentions_any(ascii::lower_case(text), kNetworks)) {}

  std::vector<StatedRate> rates() {
    while (at_ < text_.size()) {
      if (!begins_word()) {
        ++at_;
      } else if (ascii::is_digit(text_[at_])) {
        take_number();
      } else {
        take_word();
      }
    }
    if (rates_.empty() && generation_ > BytesPerSecond{}) {
      rates_.push_back({generation_, nics_of_generation_});
    }
    return std::move(rates_);
  }

 private:
  // "7" of "CX-7" and "2" of "Thor2" begin none.
  [[nodiscard]] bool begins_word() const {
    const char before = at_ == 0 ? ' ' : text_[at_ - 1];
    return ascii::is_alphanumeric(text_[at_]) && !ascii::is_alphanumeric(before) && before != '-' &&
           before != '.';
  }

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  void skip_blank() { at_ += rest().starts_with(' ') ? 1 : 0; }

  void take_number() {
    std::size_t end = at_;
    while (end < text_.size() && (ascii::is_digit(text_[end]) || text_[end] == '.')) {
      ++end;
    }
    const double number = leading_decimal(std::string(text_.substr(at_, end - at_)));
    at_ = end;
    skip_blank();
    if (is_times()) {
      ++at_;
      skip_blank();
      nics_ = count_of(number);
      if (at_ < text_.size() && ascii::is_digit(text_[at_])) {
        take_number();
      }
    } else if (const RateUnit* const unit = unit_here(); unit != nullptr) {
      at_ += unit->name.size();
      rates_.push_back({number * unit->rate, nics_});
      nics_ = 0;
    } else if (names_nics()) {
      nics_ = count_of(number);
    }
  }

  // "x" or "*" that no word goes on from: "8 x 400", "8x400", "8x ConnectX-7".
  [[nodiscard]] bool is_times() const {
    const std::string_view left = rest();
    return !left.empty() && (left[0] == 'x' || left[0] == 'X' || left[0] == '*') &&
           (left.size() == 1 || !ascii::is_letter(left[1]));
  }

  [[nodiscard]] const RateUnit* unit_here() const {
    const auto* const unit = std::ranges::find_if(kUnits, [this](const RateUnit& known) {
      const std::string_view left = rest();
      return (network_ || !known.beside_network) && left.starts_with(known.name) &&
             (left.size() == known.name.size() || !ascii::is_alphanumeric(left[known.name.size()]));
    });
    return unit == kUnits.end() ? nullptr : &*unit;
  }

  [[nodiscard]] bool names_nics() const {
    const std::string next = ascii::lower_case(rest().substr(0, 10));
    return std::ranges::any_of(kNics, [&](std::string_view nic) { return next.starts_with(nic); });
  }

  static std::int64_t count_of(double number) {
    constexpr double kMost = 1024.0;
    return number >= 1.0 && number <= kMost && number == std::floor(number)
               ? static_cast<std::int64_t>(number)
               : 0;
  }

  void take_word() {
    std::size_t end = at_;
    while (end < text_.size() && ascii::is_alphanumeric(text_[end])) {
      ++end;
    }
    const std::string word = ascii::lower_case(text_.substr(at_, end - at_));
    at_ = end;
    const auto* const known = std::ranges::find(kGenerations, word, &RateUnit::name);
    if (known != kGenerations.end() && nics_ > 0) {
      generation_ = known->rate;
      nics_of_generation_ = nics_;
    }
  }

  std::string_view text_;
  bool network_ = false;  // named by the text
  std::size_t at_ = 0;
  std::int64_t nics_ = 0;  // that were counted and have no rate yet
  BytesPerSecond generation_;
  std::int64_t nics_of_generation_ = 0;
  std::vector<StatedRate> rates_;
};

// A text cut at what separates its parts, with a sign of multiplication as "x".
std::vector<std::string> parts_of(std::string_view published) {
  std::string text(published.substr(0, kFirstWords));
  for (const std::string_view from : {"\u00d7", " and ", " And "}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, from.size(), from.starts_with(' ') ? ";" : "x");
    }
  }
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ';' || c == ',' || c == '+') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Of one GPU; nothing where the part does not say whose the rate is.
std::optional<BytesPerSecond> rate_of_gpu(const StatedRate& stated, std::string_view part,
                                          std::int64_t gpus_per_node) {
  const std::string words = ascii::lower_case(part);
  const auto all = static_cast<double>(std::max<std::int64_t>(1, stated.nics)) * stated.rate;
  if (mentions_any(words, kOfGpu)) {
    return all;
  }
  if (stated.nics > 0 || mentions_any(words, kOfNode)) {
    return all / static_cast<double>(gpus_per_node);
  }
  return std::nullopt;
}

bool is_lone_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return ascii::is_digit(c) || c == '.' || c == ' ';
  });
}

}  // namespace

StatedNetwork stated_network(std::string_view text, std::int64_t gpus_per_node,
                             BytesPerSecond usual) {
  constexpr std::string_view kRemedy = "; write it as 8 x 400 Gb/s per node or 400 Gb/s per GPU";
  const auto question = [&](std::string_view what) {
    return StatedNetwork{std::nullopt, "the network '" + std::string(text.substr(0, kFirstWords)) +
                                           "' " + std::string(what) + std::string(kRemedy)};
  };
  if (is_lone_number(text)) {
    return question("has no unit");
  }
  StatedNetwork network;
  for (const std::string& part : parts_of(text)) {
    if (mentions_any(ascii::lower_case(part), kNoNetwork)) {
      continue;
    }
    for (const StatedRate& stated : RateScanner(part).rates()) {
      std::optional<BytesPerSecond> rate = rate_of_gpu(stated, part, gpus_per_node);
      if (!rate && stated.rate == usual) {
        rate = usual;
      }
      if (!rate) {
        return question("does not say whether a NIC, a GPU or a node has the rate");
      }
      if (network.of_gpu && *network.of_gpu != *rate) {
        return question("states more than one rate");
      }
      network.of_gpu = rate;
    }
  }
  return network;
}

}  // namespace stepcast
