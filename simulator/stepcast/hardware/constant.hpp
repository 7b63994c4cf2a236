// SPDX-License-Identifier: Apache-2.0
// A constant of a model as a profile holds it, described once: its name, unit, range and meaning,
// the factor of a cluster's scale that it follows, and where the value goes. Reading it, searching
// for it (`stepcast calibrate`), scaling it (cluster_scale.hpp) and saying what it is
// (`stepcast describe`, hardware_profiles/README.md) follow from the description.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/hardware/cluster_scale.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// What numbers of hardware may be, in the unit that stands beside each. The ends lie a thousand
// times beyond any part that is built or announced; between them a step takes a finite time, in
// which no number of the others is lost.
namespace limits {

// Of a whole number of parts.
inline constexpr Range<double> kCounted{1.0, 1e6};
// A share or rate of nothing would make a kernel or a collective take for ever.
inline constexpr Range<double> kShare{0.01, 1.0};

inline constexpr Range<double> kMegahertz{1.0, 1e5};
inline constexpr Range<double> kMicroseconds{0.0, 1e6};
inline constexpr Range<double> kNanoseconds{0.0, 1e9};
inline constexpr Range<double> kFlopsPerClock{1.0, 1e7};
inline constexpr Range<double> kBytesPerClock{0.1, 1e6};
inline constexpr Range<double> kGigabytesPerSecond{1e-3, 1e7};
inline constexpr Range<double> kTerabytesPerSecond{1e-6, 1e4};
inline constexpr Range<double> kGigabitsPerSecond{1e-3, 1e7};
inline constexpr Range<double> kKibibytes{1.0, 1e8};
inline constexpr Range<double> kMebibytes{1e-3, 1e7};
inline constexpr Range<double> kGigabytes{0.1, 1e6};
inline constexpr Range<double> kWatts{1.0, 1e5};

// One NIC for 16 GPUs to 64 for each.
inline constexpr Range<double> kNicsPerGpu{0.0625, 64.0};
inline constexpr UnitRange kNicRate{kGigabitsPerSecond, "Gb/s"};
inline constexpr UnitRange kLinkRate{kGigabytesPerSecond, "GB/s"};
inline constexpr UnitRange kLatency{kMicroseconds, "us"};

}  // namespace limits

// A block-scaled format has the value of its plain twin unless the profile says otherwise.
template <typename T>
void inherit_block_format(PerDtype<T>& values) {
  if (!values[slot(Dtype::kFp8Block)]) {
    values[slot(Dtype::kFp8Block)] = values[slot(Dtype::kFp8)];
  }
}

// What read(reader, format) finds of each format in a mapping that has nothing else.
template <typename T, typename Read>
PerDtype<T> values_by_dtype(SourcedReader reader, const Read& read) {
  PerDtype<T> values;
  for (const DtypeInfo& dtype : kDtypes) {
    values[slot(dtype.dtype)] = read(reader, dtype.name);
  }
  reader.finish();
  inherit_block_format(values);
  return values;
}

template <typename Owner>
using ConstantMember =
    std::variant<double Owner::*, Seconds Owner::*, Bytes Owner::*, BytesPerSecond Owner::*,
                 Joules Owner::*, Hertz Owner::*, Watts Owner::*, FlopsPerCycle Owner::*,
                 std::int64_t Owner::*, std::optional<BytesPerSecond> Owner::*,
                 PerDtype<double> Owner::*, PerDtype<Joules> Owner::*, PerDtype<Hertz> Owner::*,
                 PerDtype<FlopsPerCycle> Owner::*>;

// Where a fit may look for a constant that has a value for each format.
struct FormatSearch {
  Dtype dtype;
  Range<double> range;  // in the constant's unit
};

// What there is to say of a constant, whatever struct holds it.
struct ConstantInfo {
  std::string_view key;
  std::string_view unit;  // as profiles write it; empty: a plain number
  Range<double> range;    // that a profile may give, in the unit
  // Where a fit may look, in the unit; nothing: it is set by hand. By format in `formats`.
  std::optional<Range<double>> searched;
  std::string_view meaning;
  Presence presence = Presence::kRequired;
  std::span<const FormatSearch> formats{};
  double ClusterScale::*scales_with = nullptr;  // null: no factor moves it
};

// As tables of constants say that no fit looks for one, and that a file may leave it out.
inline constexpr auto kByHand = std::nullopt;
inline constexpr auto kIfGiven = Presence::kOptional;

template <typename Owner>
struct Constant : ConstantInfo {
  ConstantMember<Owner> member;

  constexpr Constant(std::string_view its_key, std::string_view its_unit, Range<double> its_range,
                     std::optional<Range<double>> where_searched, std::string_view its_meaning,
                     ConstantMember<Owner> its_member, Presence its_presence = Presence::kRequired,
                     std::span<const FormatSearch> its_formats = {})
      : ConstantInfo{its_key,     its_unit,     its_range,   where_searched,
                     its_meaning, its_presence, its_formats, nullptr},
        member(its_member) {}

  // The same, following a factor.
  [[nodiscard]] constexpr Constant with(double ClusterScale::*factor) const {
    Constant result = *this;
    result.scales_with = factor;
    return result;
  }
};

// Reads one described constant into its place.
template <typename Owner>
struct ReadConstant {
  SourcedReader& reader;
  const Constant<Owner>& constant;
  Owner& owner;

  void operator()(double Owner::*member) const {
    const double before = owner.*member;
    owner.*member = required()
                        ? reader.number(constant.key, constant.range)
                        : reader.optional_number(constant.key, constant.range).value_or(before);
  }
  void operator()(std::int64_t Owner::*member) const {
    const Range<std::int64_t> range{static_cast<std::int64_t>(constant.range.lowest),
                                    static_cast<std::int64_t>(constant.range.highest)};
    owner.*member = required() ? reader.count(constant.key, range)
                               : reader.optional_count(constant.key, range).value_or(owner.*member);
  }
  void operator()(PerDtype<double> Owner::*member) const {
    owner.*member = values_by_dtype<double>(
        reader.mapping(constant.key), [this](SourcedReader& formats, std::string_view format) {
          return formats.optional_number(format, constant.range);
        });
    need_bf16(owner.*member);
  }
  template <typename Q>
  void operator()(PerDtype<Q> Owner::*member) const {
    owner.*member = values_by_dtype<Q>(reader.mapping(constant.key),
                                       [this](SourcedReader& formats, std::string_view format) {
                                         return formats.optional_quantity<Q>(format, range());
                                       });
    need_bf16(owner.*member);
  }
  template <typename Q>
  void operator()(std::optional<Q> Owner::*member) const {
    owner.*member = reader.optional_quantity<Q>(constant.key, range());
  }
  template <typename Q>
  void operator()(Q Owner::*member) const {
    const Q before = owner.*member;
    owner.*member = required()
                        ? reader.quantity<Q>(constant.key, range())
                        : reader.optional_quantity<Q>(constant.key, range()).value_or(before);
  }

 private:
  [[nodiscard]] UnitRange range() const { return {constant.range, constant.unit}; }
  [[nodiscard]] bool required() const { return constant.presence != Presence::kOptional; }
  template <typename Values>
  void need_bf16(const Values& values) const {
    if (constant.presence == Presence::kNeedsBf16 && reader.has(constant.key) &&
        !values[slot(Dtype::kBf16)].has_value()) {
      reader.reader().error(constant.key, "needs bf16, which other formats fall back to");
    }
  }
};

// Reads all constants of a table, in its order.
template <typename Owner>
void read_constants(SourcedReader& reader, std::span<const Constant<Owner>> constants,
                    Owner& owner) {
  for (const Constant<Owner>& constant : constants) {
    std::visit(ReadConstant<Owner>{reader, constant, owner}, constant.member);
  }
}

// Reads a mapping that holds the constants of a table and nothing else.
template <typename Owner>
void read_all(SourcedReader reader, std::span<const Constant<Owner>> constants, Owner& owner) {
  read_constants(reader, constants, owner);
  reader.finish();
}

// The constants of a file of profiles lie in mappings, and mappings in mappings. The struct that
// such a file is read into lists its parts once, in the order of the file:
//
//   constexpr auto kPartsOfFile = [](auto& visit) {
//     visit.part("ll", &File::ll, parts_of(kLl));
//     visit.own(kRest);
//   };
//
// and what reads, scales or lists the constants visits the parts in that order. A part that is a
// std::optional is one that a file may leave out.

// The parts of a struct that is one mapping of constants.
template <typename Owner>
constexpr auto parts_of(std::span<const Constant<Owner>> table) {
  return [table](auto& visit) { visit.own(table); };
}
template <typename Owner, std::size_t Count>
constexpr auto parts_of(const std::array<Constant<Owner>, Count>& table) {
  return parts_of(std::span<const Constant<Owner>>(table));
}

// Reads the constants of `owner`.
template <typename Owner>
class SectionReader {
 public:
  SectionReader(SourcedReader& reader, Owner& owner) : reader_(&reader), owner_(&owner) {}

  void own(std::span<const Constant<Owner>> constants) {
    read_constants(*reader_, constants, *owner_);
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, Part Owner::*member, const Parts& parts) {
    read(reader_->mapping(key), owner_->*member, parts);
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, std::optional<Part> Owner::*member, const Parts& parts) {
    if (std::optional<SourcedReader> inner = reader_->optional_mapping(key)) {
      read(std::move(*inner), (owner_->*member).emplace(), parts);
    }
  }

 private:
  template <typename Part, typename Parts>
  static void read(SourcedReader inner, Part& part, const Parts& parts) {
    SectionReader<Part> visit(inner, part);
    parts(visit);
    inner.finish();
  }

  SourcedReader* reader_;
  Owner* owner_;
};

// Hands each value of `owner` on: take(its place in the file, its description, the value).
template <typename Owner, typename Take>
class SectionValues {
 public:
  SectionValues(std::string prefix, Owner& owner, const Take& take)
      : prefix_(std::move(prefix)), owner_(&owner), take_(&take) {}

  void own(std::span<const Constant<Owner>> constants) {
    for (const Constant<Owner>& constant : constants) {
      const std::string key = prefix_ + std::string(constant.key);
      std::visit([&](auto member) { (*take_)(key, constant, owner_->*member); }, constant.member);
    }
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, Part Owner::*member, const Parts& parts) {
    visit(key, owner_->*member, parts);
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, std::optional<Part> Owner::*member, const Parts& parts) {
    if (owner_->*member) {
      visit(key, *(owner_->*member), parts);
    }
  }

 private:
  template <typename Part, typename Parts>
  void visit(std::string_view key, Part& part, const Parts& parts) {
    SectionValues<Part, Take> inner(prefix_ + std::string(key) + ".", part, *take_);
    parts(inner);
  }

  std::string prefix_;
  Owner* owner_;
  const Take* take_;
};

template <typename Owner, typename Parts, typename Take>
void for_each_value(const Parts& parts, const std::string& prefix, Owner& owner, const Take& take) {
  SectionValues visit(prefix, owner, take);
  parts(visit);
}

// A constant by its place in the file: "gemm.prologue_cycles".
struct PlacedConstant {
  std::string key;
  const ConstantInfo* constant;
};

// Lists the constants of `Owner`, whether or not a file gives them.
template <typename Owner>
class SectionList {
 public:
  SectionList(std::string prefix, std::vector<PlacedConstant>& all)
      : prefix_(std::move(prefix)), all_(&all) {}

  void own(std::span<const Constant<Owner>> constants) {
    for (const Constant<Owner>& constant : constants) {
      all_->push_back({prefix_ + std::string(constant.key), &constant});
    }
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, Part Owner::*, const Parts& parts) {
    list<Part>(key, parts);
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, std::optional<Part> Owner::*, const Parts& parts) {
    list<Part>(key, parts);
  }

 private:
  template <typename Part, typename Parts>
  void list(std::string_view key, const Parts& parts) {
    SectionList<Part> visit(prefix_ + std::string(key) + ".", *all_);
    parts(visit);
  }

  std::string prefix_;
  std::vector<PlacedConstant>* all_;
};

}  // namespace stepcast
