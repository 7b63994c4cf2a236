// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a framework's file, each once; keeps what became of every one of them.
//
//   FrameworkReader settings(read_arguments(text), diagnostics);
//   plan.tp = settings.count("tensor_model_parallel_size", "plan.tp", 1);
//   settings.without_effect("lr wandb_*");
//   settings.not_carried("moe_z_loss_coeff", "a loss of some FLOPs that is not priced");
//   settings.finish(Unknown::kRefused);
//
// A problem is recorded and reading goes on, as in config/mapping_reader.hpp. Where a key stands
// several times the last one counts, as in argparse and in shells.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/setting.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/plan/uncarried_saving.hpp"

namespace stepcast {

// What became of one key of a framework's file.
enum class ImportOutcome {
  kCarried,        // stands in the experiment
  kDefaulted,      // was absent: the framework's own default stands in the experiment
  kWithoutEffect,  // changes nothing that is predicted: data, logging, learning rates
  kNotCarried,     // changes the result, and nothing here prices it
  kAssumed,        // follows from nothing in the file
};

struct ImportRemark {
  ImportOutcome outcome = ImportOutcome::kCarried;
  std::string name;   // the framework's key
  std::string value;  // as written, or the default
  std::string ours;   // the key that it became; empty: none
  std::string note;   // what it means for the result
  Location where;
  std::optional<MemoryPart> saves{};  // of memory, what it lowers though nothing here says so
};

// Of the keys whose outcome it is.
std::size_t count_of(const std::vector<ImportRemark>& remarks, ImportOutcome outcome);

// A key that changes the result if it is there with a value other than `neutral`.
struct UnpricedKey {
  std::string_view name;
  std::string_view meaning;
  std::string_view neutral = "false";
  std::optional<MemoryPart> saves{};  // what it lowers of memory
};

// A key whose value hangs on something that nobody said.
// Whether a key stands there, only what it says, or the latter where what follows from it is
// assumed, and told so, without it.
enum class DoubtOf { kPresence, kValue, kAssumed };
struct SettingDoubt {
  std::string name;  // the framework's key; empty: any of them
  DoubtOf of = DoubtOf::kPresence;
  std::string cause;   // "the script's argument $1 is not given"
  std::string remedy;  // "give TP=VALUE"
  // Nothing stands there unless somebody says something: more arguments of a command line.
  bool usually_nothing = false;
  Location where;
};

// What becomes of keys that nobody asked for: an error each, or a remark.
enum class UnknownSettings { kRefused, kRemarked };

// Whether a name is one of those that are meant.
using SettingNames = std::function<bool(std::string_view)>;

class FrameworkReader {
 public:
  FrameworkReader(std::vector<Setting> settings, Diagnostics& diagnostics);

  // What counts where a key is absent, from a file that others share: no remark, and no error
  // where nobody asks for it.
  void add_defaults(std::vector<Setting> settings);

  [[nodiscard]] bool has(std::string_view name) const;
  // What stands there, of a key that decides nothing by itself; empty if it is absent.
  [[nodiscard]] std::string peek(std::string_view name) const;
  [[nodiscard]] Location location(std::string_view name) const;
  [[nodiscard]] Diagnostics& diagnostics() const { return *diagnostics_; }

  // The value of `name`, which becomes our key `ours`; empty if it is absent, null or "None".
  // `ours` may be empty where a key only helps to read others.
  std::optional<std::int64_t> count(std::string_view name, std::string_view ours);
  std::optional<double> number(std::string_view name, std::string_view ours);
  // From 0 to 1.
  std::optional<double> share(std::string_view name, std::string_view ours);
  std::optional<bool> flag(std::string_view name, std::string_view ours);
  std::optional<std::string> text(std::string_view name, std::string_view ours);
  // As it stood, a list in one line.
  std::optional<std::string> as_written(std::string_view name, std::string_view ours);
  // A list, or a text with commas or blanks between its items.
  std::optional<std::vector<std::string>> texts(std::string_view name, std::string_view ours);

  // The same with the framework's default, which becomes a remark.
  std::int64_t count_or(std::string_view name, std::string_view ours, std::int64_t fallback);
  std::string text_or(std::string_view name, std::string_view ours, std::string_view fallback);
  // A switch that is off where it is absent, in every framework: no remark.
  bool is_on(std::string_view name, std::string_view ours);

  // Whether a switch is off that is on where it is absent: on it is left to whoever reads the rest.
  bool is_off(std::string_view name, std::string_view ours);

  // Puts the value of `name` in the place of `held`, which stays where it is absent.
  void take_over(std::string_view name, std::string_view ours, std::int64_t& held) {
    held = count(name, ours).value_or(held);
  }
  void take_over(std::string_view name, std::string_view ours, bool& held) {
    held = flag(name, ours).value_or(held);
  }

  // Keys that change nothing that is predicted, with blanks between them; a name that ends in '*'
  // stands for all that begin so.
  void without_effect(std::string_view names);
  void without_effect(const SettingNames& are_meant);
  // Names that are known though nothing is read of them, for suggestions; those that end in '*' are
  // none.
  void also_known(std::string_view names);
  // A key, or a map of keys, that changes the result if it is not neutral.
  void not_carried(std::string_view name, std::string_view meaning,
                   std::string_view neutral = "false", std::optional<MemoryPart> saves = {});
  void not_carried(std::span<const UnpricedKey> keys);
  // Keys of what nothing here is: the first with a value other than `usual` is an error, which says
  // why, unless `why` is empty. Whether there is one.
  bool refuse_rest(const SettingNames& are_meant, std::string_view usual, const std::string& why);
  // A key that was read, and changes more than ours can say.
  void leave_out(std::string_view name, std::string value, std::string note);
  // A key of ours that follows from nothing in the file.
  void assume(std::string ours, std::string value, std::string note);

  void error(std::string_view name, std::string message) const;
  // What is wrong with a key that is not there is told at this file, and what is no value of its
  // key with the way to give one: for readers that take NAME=VALUE.
  void tell_absent_at(std::string file) { file_ = std::move(file); }
  void remark(ImportRemark remark) { remarks_.push_back(std::move(remark)); }

  // Tells of these in finish(), as far as they could change what is predicted.
  void add_doubts(std::vector<SettingDoubt> doubts) { doubts_ = std::move(doubts); }

  // What nobody asked for is an error or a remark, with the nearest key that somebody asked for.
  // Throws ConfigError for doubts alone, where they are refused: other problems follow from them.
  void finish(UnknownSettings unknown);
  // In the order of the file, then what was defaulted or assumed.
  std::vector<ImportRemark> take_remarks();

 private:
  struct Held {
    Setting setting;
    bool asked = false;
    bool is_switch = false;  // which needs no value
  };
  // Where the setting of a name is held; behind the last one if there is none.
  [[nodiscard]] std::size_t place_of(std::string_view name) const;
  void add(ImportOutcome outcome, const Setting& setting, std::string_view ours,
           std::string_view note);
  const Setting* take(std::string_view name, std::string_view ours);
  // The keys of a map `name` that nobody asked for: the first is told as what is not carried.
  void leave_out_map(std::string_view name, std::string_view meaning);
  void take_default(std::string_view name, std::string_view ours, std::string fallback);
  // What `read` makes of the value, which must be what is expected.
  template <typename Read>
  auto value_as(std::string_view name, std::string_view ours, const char* expected, Read read)
      -> decltype(read(ConfigNode{}));
  void refuse(const Setting& setting, const std::string& expected) const;
  void settle_doubts(UnknownSettings unknown);
  // Whether a doubt is one of what is predicted, and if so whether it is more than a remark.
  enum class DoubtWeight { kNone, kRemark, kError };
  [[nodiscard]] DoubtWeight weight_of(const SettingDoubt& doubt) const;
  // Doubts of one cause, with the names that it decides.
  struct Told {
    SettingDoubt doubt;
    std::vector<std::string> names;
    DoubtWeight weight = DoubtWeight::kRemark;
  };
  [[nodiscard]] std::vector<Told> told_doubts() const;

  std::vector<Held> settings_;
  std::vector<std::string> asked_;  // every name that was asked for, for suggestions
  std::vector<ImportRemark> remarks_;
  std::vector<SettingDoubt> doubts_;
  std::string file_;
  Diagnostics* diagnostics_;
};

}  // namespace stepcast
