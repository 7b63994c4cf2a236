// SPDX-License-Identifier: Apache-2.0
// Settings of a plain struct, each named once: one list of keys and members serves for reading them
// from a mapping and for writing those that differ from another value of the struct.
//
//   template <typename Settings>
//   void host_settings(Settings& host) {
//     host.quantity("kernel", &HostWork::kernel, kHostTime);
//     host.quantity("step", &HostWork::step, kHostTime);
//   }
//
//   SettingReader host(reader, spec);             // changes what the mapping names, keeps the rest
//   host_settings(host);
//   SettingWriter changes(writer, spec, base);    // writes what differs from `base`
//   host_settings(changes);
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// What a choice may be: every value of the enumeration unless a list of them is given.
template <typename E>
using Choices = std::type_identity_t<std::span<const NamedValue<E>>>;

template <typename Struct>
class SettingReader {
 public:
  SettingReader(MappingReader& reader, Struct& value) : reader_(&reader), value_(&value) {}

  void flag(std::string_view key, bool Struct::*member) {
    value_->*member = reader_->optional_flag(key).value_or(value_->*member);
  }
  void flag(std::string_view key, std::optional<bool> Struct::*member) {
    if (const std::optional<bool> given = reader_->optional_flag(key)) {
      value_->*member = given;
    }
  }
  void count(std::string_view key, std::int64_t Struct::*member, Range<std::int64_t> range) {
    value_->*member = reader_->optional_count(key, value_->*member, range);
  }
  void number(std::string_view key, double Struct::*member, Range<double> range) {
    value_->*member = reader_->optional_number(key, value_->*member, range);
  }
  void number(std::string_view key, std::optional<double> Struct::*member, Range<double> range) {
    if (const ConfigNode* written = reader_->take(key)) {
      value_->*member = reader_->number(key, *written, range);
    }
  }
  template <typename Q>
  void quantity(std::string_view key, Q Struct::*member, const UnitRange& range) {
    value_->*member = reader_->optional_quantity<Q>(key, value_->*member, range);
  }
  template <typename Q>
  void quantity(std::string_view key, std::optional<Q> Struct::*member, const UnitRange& range) {
    if (const ConfigNode* written = reader_->take(key)) {
      value_->*member = reader_->quantity<Q>(key, *written, range);
    }
  }
  template <typename E>
  void choice(std::string_view key, E Struct::*member, Choices<E> choices = enum_names<E>()) {
    value_->*member = reader_->optional_choice<E>(key, choices, value_->*member);
  }
  template <typename E>
  void choice(std::string_view key, std::optional<E> Struct::*member,
              Choices<E> choices = enum_names<E>()) {
    if (const ConfigNode* written = reader_->take(key)) {
      value_->*member = reader_->choice<E>(key, *written, choices);
    }
  }
  // A mapping of settings inside this one.
  template <typename Inner, typename Visit>
  void inside(std::string_view key, Inner Struct::*member, const Visit& visit) {
    if (std::optional<MappingReader> mapping = reader_->optional_mapping(key)) {
      SettingReader<Inner> inner(*mapping, value_->*member);
      visit(inner);
      mapping->finish();
    }
  }

 private:
  MappingReader* reader_;
  Struct* value_;
};

template <typename Struct>
class SettingWriter {
 public:
  SettingWriter(ConfigWriter& writer, const Struct& value, const Struct& base)
      : writer_(&writer), value_(&value), base_(&base) {}

  template <typename Held>
  void flag(std::string_view key, Held Struct::*member) {
    plain(key, member);
  }
  void count(std::string_view key, std::int64_t Struct::*member, Range<std::int64_t> /*range*/) {
    plain(key, member);
  }
  template <typename Held>
  void number(std::string_view key, Held Struct::*member, Range<double> /*range*/) {
    plain(key, member);
  }
  template <typename Held>
  void quantity(std::string_view key, Held Struct::*member, const UnitRange& /*range*/) {
    if (const auto* const value = changed(member)) {
      writer_->quantity(key, *value);
    }
  }
  template <typename E>
  void choice(std::string_view key, E Struct::*member, Choices<E> choices = enum_names<E>()) {
    named(key, changed(member), choices);
  }
  template <typename E>
  void choice(std::string_view key, std::optional<E> Struct::*member,
              Choices<E> choices = enum_names<E>()) {
    named(key, changed(member), choices);
  }
  template <typename Inner, typename Visit>
  void inside(std::string_view key, Inner Struct::*member, const Visit& visit) {
    ConfigWriter mapping;
    SettingWriter<Inner> inner(mapping, value_->*member, base_->*member);
    visit(inner);
    if (!mapping.empty()) {
      writer_->field(key, mapping.take());
    }
  }

 private:
  // The value where it differs from that of the base; null where it does not, or is not there.
  template <typename Value>
  [[nodiscard]] const Value* changed(Value Struct::*member) const {
    return value_->*member != base_->*member ? &(value_->*member) : nullptr;
  }
  template <typename Value>
  [[nodiscard]] const Value* changed(std::optional<Value> Struct::*member) const {
    const std::optional<Value>& value = value_->*member;
    return value != base_->*member && value ? &*value : nullptr;
  }
  template <typename Held>
  void plain(std::string_view key, Held Struct::*member) {
    if (const auto* const value = changed(member)) {
      writer_->field(key, *value);
    }
  }

  template <typename E>
  void named(std::string_view key, const E* value, Choices<E> choices) {
    const auto choice = value == nullptr
                            ? choices.end()
                            : std::ranges::find(choices, *value, &NamedValue<E>::value);
    if (choice != choices.end()) {
      writer_->field(key, choice->name);
    }
  }

  ConfigWriter* writer_;
  const Struct* value_;
  const Struct* base_;
};

}  // namespace stepcast
