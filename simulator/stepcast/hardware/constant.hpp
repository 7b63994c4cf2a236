// SPDX-License-Identifier: Apache-2.0
// A constant of a model as a profile holds it, described once: its name, unit, range and meaning,
// the factor of a cluster's scale that it follows, and where the value goes. Reading it, searching
// for it (`stepcast calibrate`), scaling it (cluster_scale.hpp) and saying what it is
// (`stepcast describe`, hardware_profiles/README.md) follow from the description.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "stepcast/base/dtype.hpp"
#include "stepcast/hardware/by_dtype.hpp"
#include "stepcast/hardware/cluster_scale.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

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
    owner.*member = numbers_by_dtype(reader.mapping(constant.key), constant.range);
    need_bf16(owner.*member);
  }
  template <typename Q>
  void operator()(PerDtype<Q> Owner::*member) const {
    owner.*member = quantities_by_dtype<Q>(reader.mapping(constant.key), range());
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

}  // namespace stepcast
