// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/trace_recording.hpp"

#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/base/printable.hpp"
#include "stepcast/base/text_list.hpp"
#include "trace_reader/foreign_traces.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLongestText = 4096;  // what counts of a kernel's name stands at its start
constexpr std::size_t kDeepest = 256;       // levels of lists and objects
constexpr double kLargestId = 9e15;         // whole numbers beyond it are none in a double

// Where the value of a key of an event or of its arguments goes; nowhere by itself.
using Place = std::variant<std::monostate, std::string TraceEvent::*, double TraceEvent::*,
                           std::int64_t TraceEvent::*, std::string CollectiveCall::*,
                           double CollectiveCall::*, std::int64_t CollectiveCall::*>;
struct KnownKey {
  std::string_view key;
  Place place;
};
constexpr std::string_view kArguments = "args";
constexpr std::string_view kInputDims = "Input Dims";
constexpr std::string_view kGrid = "grid";
constexpr std::string_view kBlock = "block";
constexpr std::array kEventKeys = {
    KnownKey{"ph", &TraceEvent::phase},     KnownKey{"cat", &TraceEvent::category},
    KnownKey{"name", &TraceEvent::name},    KnownKey{"pid", &TraceEvent::process},
    KnownKey{"tid", &TraceEvent::thread},   KnownKey{"ts", &TraceEvent::start},
    KnownKey{"dur", &TraceEvent::duration}, KnownKey{kArguments, {}},
};
constexpr std::array kArgumentKeys = {
    KnownKey{"correlation", &TraceEvent::correlation},
    KnownKey{"External id", &TraceEvent::external},
    KnownKey{"external id", &TraceEvent::external},
    KnownKey{kInputDims, {}},
    KnownKey{kGrid, {}},
    KnownKey{kBlock, {}},
    KnownKey{"Collective name", &CollectiveCall::name},
    KnownKey{"Process Group Name", &CollectiveCall::group},
    KnownKey{"Process Group Ranks", &CollectiveCall::members},
    KnownKey{"dtype", &CollectiveCall::dtype},
    KnownKey{"In msg nelems", &CollectiveCall::in_elements},
    KnownKey{"Out msg nelems", &CollectiveCall::out_elements},
    KnownKey{"Group size", &CollectiveCall::ranks},
    KnownKey{"Src Rank", &CollectiveCall::source},
    KnownKey{"Dst Rank", &CollectiveCall::destination},
};

// Null without the key.
template <typename Keys>
const KnownKey* field_of(const Keys& keys, std::string_view key) {
  const auto* const known = std::ranges::find(keys, key, &KnownKey::key);
  return known == keys.end() ? nullptr : known;
}

std::int64_t whole(double value) {
  return std::abs(value) <= kLargestId ? static_cast<std::int64_t>(value) : 0;
}

template <typename Member>
Member& place_in(TraceEvent& event, Member TraceEvent::*place) {
  return event.*place;
}
template <typename Member>
Member& place_in(TraceEvent& event, Member CollectiveCall::*place) {
  return event.collective.*place;
}

void put(std::string_view value, std::string& place) { place.assign(value); }
void put(double value, double& place) { place = value; }
void put(double value, std::int64_t& place) { place = whole(value); }
// A text where a number belongs, or the reverse, is left out.
void put(std::string_view /*value*/, double& /*place*/) {}
void put(std::string_view /*value*/, std::int64_t& /*place*/) {}
void put(double /*value*/, std::string& /*place*/) {}

// Follows where in the document it is. Depths: {1 "traceEvents": [2 {3 "args": {4.
class EventHandler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, EventHandler> {
 public:
  explicit EventHandler(const std::function<void(const TraceEvent&)>& take) : take_(take) {}

  bool Default() { return token(); }  // null and bool
  bool Int(int value) { return number(value); }
  bool Uint(unsigned value) { return number(value); }
  bool Int64(std::int64_t value) { return number(static_cast<double>(value)); }
  bool Uint64(std::uint64_t value) { return number(static_cast<double>(value)); }
  bool Double(double value) { return number(value); }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view value(text, std::min<std::size_t>(size, kLongestText));
    if (captured_ != nullptr) {
      append(value);
    } else if (in_device() && head_key_ == "name") {
      head_.devices.back().says.name.assign(value);
    } else if (in_event() || in_arguments()) {
      put_in_field(value);
    }
    return token();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    const std::string_view key(text, size);
    if (depth_ == 1) {
      enter_section(key);
    } else if (in_event()) {
      field_ = field_of(kEventKeys, key);
    } else if (in_arguments()) {
      field_ = field_of(kArgumentKeys, key);
      const std::string_view foreign = field_ == nullptr ? trace_by_argument(key) : "";
      event_.foreign = foreign.empty() ? event_.foreign : foreign;
    } else {
      field_ = nullptr;
      head_key_.assign(key.substr(0, kLongestText));
    }
    return token();
  }
  bool StartObject() {
    ++depth_;
    if (in_event()) {
      event_ = {};
      arguments_ = false;
    } else if (events_ && depth_ == kInArguments) {
      arguments_ = is_field(kArguments);
    } else if (devices_ && depth_ == kInEvent && head_.devices.size() < kMostDevices) {
      head_.devices.emplace_back();
    }
    return token() && depth_ <= kDeepest;
  }
  bool StartArray() {
    ++depth_;
    list_ = list_ || tokens_ == 0;
    const bool list = events_ && arguments_ && depth_ == kInArguments + 1;
    if (captured_ != nullptr) {
      open_list();
    } else if (std::string* const text = list ? list_of_field() : nullptr; text != nullptr) {
      captured_ = text;
      captured_->clear();
      open_list();
    }
    return token() && depth_ <= kDeepest;
  }
  bool EndObject(rapidjson::SizeType /*members*/) {
    if (in_event()) {
      take_(event_);
    }
    field_ = nullptr;
    arguments_ = arguments_ && depth_ != kInArguments;
    --depth_;
    return token();
  }
  bool EndArray(rapidjson::SizeType /*elements*/) {
    if (captured_ != nullptr) {
      captured_->push_back(']');
      captured_ = depth_ == kInArguments + 1 ? nullptr : captured_;
    }
    --depth_;
    return token();
  }

  [[nodiscard]] std::size_t tokens() const { return tokens_; }
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] bool is_list() const { return list_; }
  // The first of those at the top.
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  [[nodiscard]] const TraceHead& head() const { return head_; }

 private:
  static constexpr std::size_t kInEvent = 3;
  static constexpr std::size_t kInArguments = 4;
  static constexpr std::size_t kMostDevices = 1024;
  static constexpr std::size_t kMostKeys = 16;
  static constexpr std::size_t kLongestKey = 40;

  bool token() {
    ++tokens_;
    return true;
  }

  void enter_section(std::string_view key) {
    if (keys_.size() < kMostKeys) {
      keys_.push_back(beginning_of(key, kLongestKey));
    }
    events_ = key == "traceEvents";
    devices_ = key == "deviceProperties";
    distributed_ = key == "distributedInfo";
    found_ = found_ || events_;
  }

  void separate() {
    if (!captured_->empty() && captured_->back() != '[') {
      captured_->push_back(',');
    }
  }
  void open_list() {
    separate();
    captured_->push_back('[');
  }
  // Lists that are longer than any that is read end where they are.
  void append(std::string_view value) {
    if (captured_->size() < kLongestText) {
      separate();
      captured_->append(value);
    }
  }

  [[nodiscard]] bool in_device() const {
    return devices_ && depth_ == kInEvent && !head_.devices.empty();
  }
  [[nodiscard]] bool in_event() const { return events_ && depth_ == kInEvent; }
  [[nodiscard]] bool in_arguments() const {
    return events_ && depth_ == kInArguments && arguments_;
  }
  // Where the list that the field holds is kept; null: nowhere.
  [[nodiscard]] std::string* list_of_field() {
    return is_field(kInputDims) ? &event_.input_dims
           : is_field(kGrid)    ? &event_.grid
           : is_field(kBlock)   ? &event_.block
                                : nullptr;
  }
  [[nodiscard]] bool is_field(std::string_view key) const {
    return field_ != nullptr && field_->key == key;
  }

  template <typename Value>
  void put_in_field(Value value) {
    const auto put_at = [&](const auto& place) {
      if constexpr (!std::is_same_v<decltype(place), const std::monostate&>) {
        put(value, place_in(event_, place));
      }
    };
    if (field_ != nullptr) {
      std::visit(put_at, field_->place);
    }
  }

  void put_in_device(double value) {
    TracedDevice& device = head_.devices.back();
    if (head_key_ == "id") {
      device.id = whole(value);
    } else if (head_key_ == "totalGlobalMem" && value > 0.0) {
      device.says.memory = Bytes(value);
    } else if (head_key_ == "numSms" && value > 0.0) {
      device.says.compute_units = whole(value);
    }
  }

  bool number(double value) {
    if (captured_ != nullptr) {
      append(std::to_string(whole(value)));
    } else if (in_event() || in_arguments()) {
      put_in_field(value);
    } else if (in_device()) {
      put_in_device(value);
    } else if (distributed_ && depth_ == 2) {
      head_.rank = head_key_ == "rank" ? whole(value) : head_.rank;
      head_.world = head_key_ == "world_size" ? whole(value) : head_.world;
    }
    return token();
  }
  const std::function<void(const TraceEvent&)>& take_;
  std::size_t depth_ = 0;
  std::size_t tokens_ = 0;
  bool events_ = false;  // inside this section of the document
  bool devices_ = false;
  bool distributed_ = false;
  bool found_ = false;
  bool list_ = false;
  bool arguments_ = false;
  std::vector<std::string> keys_;
  const KnownKey* field_ = nullptr;
  std::string head_key_;
  std::string* captured_ = nullptr;
  TraceEvent event_;
  TraceHead head_;
};

// The stream as RapidJSON reads one. It ends early where no token does for long, since the reader
// holds a whole token.
class BlockStream {
 public:
  using Ch = char;

  BlockStream(std::istream& stream, const EventHandler& handler)
      : stream_(*stream.rdbuf()), handler_(handler) {
    refill();
  }

  [[nodiscard]] Ch Peek() const { return *next_; }
  Ch Take() {
    const Ch taken = *next_;
    if (next_ != end_ && ++next_ == end_) {
      refill();
    }
    return taken;
  }
  [[nodiscard]] std::size_t Tell() const { return read_ - static_cast<std::size_t>(end_ - next_); }
  // Of streams that are written to.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch /*byte*/) {}
  void Flush() {}
  std::size_t PutEnd(Ch* /*begin*/) { return 0; }

  [[nodiscard]] bool ended() const { return next_ == end_; }
  [[nodiscard]] bool endless() const { return blocks_ > kMostBlocks; }
  [[nodiscard]] std::string_view start() const { return start_; }

 private:
  static constexpr std::size_t kBlock = 1U << 16U;
  static constexpr std::size_t kMostBlocks = 256;  // without the end of a token

  void refill() {
    blocks_ = tokens_ == handler_.tokens() ? blocks_ + 1 : 0;
    tokens_ = handler_.tokens();
    const std::streamsize got =
        endless() ? 0 : stream_.sgetn(block_.data(), static_cast<std::streamsize>(kBlock));
    block_[static_cast<std::size_t>(got)] = '\0';  // how RapidJSON knows the end
    if (read_ == 0) {
      start_.assign(block_.data(), std::min(static_cast<std::size_t>(got), kSignatureBytes));
    }
    read_ += static_cast<std::size_t>(got);
    next_ = block_.data();
    end_ = next_ + got;
  }

  std::streambuf& stream_;
  const EventHandler& handler_;
  std::array<char, kBlock + 1> block_{};
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  std::size_t read_ = 0;
  std::size_t tokens_ = 0;
  std::size_t blocks_ = 0;
  std::string start_;
};

std::string is_called(std::string_view what) { return "the file is " + std::string(what); }

std::string fault_in(const BlockStream& input, const EventHandler& handler, const std::string& file,
                     std::size_t at) {
  if (input.endless()) {
    return "a text of more than 16 MiB is in no trace; give the trace as the profiler wrote it";
  }
  if (input.start().empty()) {
    return "the file is empty; give the trace as the profiler wrote it";
  }
  const bool binary = handler.keys().empty();
  for (const std::string_view what :
       {binary ? trace_by_beginning(input.start()) : std::string_view(),
        binary ? trace_by_name(file) : std::string_view(), trace_by_keys(handler.keys())}) {
    if (!what.empty()) {
      return is_called(what);
    }
  }
  if (input.ended()) {
    return "the text ends at byte " + std::to_string(at) + ", before the trace does: it is cut off";
  }
  return "this is no JSON text: it is wrong at byte " + std::to_string(at) +
         "; give the trace as the profiler wrote it";
}

// Of a whole JSON text.
std::string fault_without_events(const EventHandler& handler) {
  if (handler.is_list()) {
    return is_called(kListOfEvents);
  }
  const std::string_view known = trace_by_keys(handler.keys());
  if (!known.empty()) {
    return is_called(known);
  }
  constexpr std::size_t kTold = 5;
  std::vector<std::string> keys = handler.keys();
  const bool more = keys.size() > kTold;
  keys.resize(std::min(keys.size(), kTold));
  return "the file has no list 'traceEvents' and is no trace" +
         (keys.empty() ? "" : " (its keys are " + text_list(keys) + (more ? ", ...)" : ")")) +
         "; give what export_chrome_trace of PyTorch's profiler wrote";
}

}  // namespace

TraceHead read_trace_events(std::istream& stream, const std::string& file,
                            const std::function<void(const TraceEvent&)>& take) {
  EventHandler handler(take);
  BlockStream input(stream, handler);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result =
      reader.Parse<rapidjson::kParseNanAndInfFlag>(input, handler);
  if (result.IsError()) {
    throw ConfigError({file, 0, 0}, fault_in(input, handler, file, result.Offset()));
  }
  if (!handler.found()) {
    throw ConfigError({file, 0, 0}, fault_without_events(handler));
  }
  return handler.head();
}

std::vector<std::string> keys_at_top(std::istream& stream) {
  const std::function<void(const TraceEvent&)> pass_over = [](const TraceEvent& /*event*/) {};
  EventHandler handler(pass_over);
  BlockStream input(stream, handler);
  rapidjson::Reader reader;
  reader.Parse<rapidjson::kParseNanAndInfFlag>(input, handler);
  return handler.keys();
}

}  // namespace stepcast
