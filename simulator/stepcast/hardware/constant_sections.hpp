// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/hardware/constant.hpp"

namespace stepcast {

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

// Multiplies each constant of `owner` by the factor that it follows.
template <typename Owner>
class SectionScale {
 public:
  SectionScale(const ClusterScale& scale, Owner& owner) : scale_(&scale), owner_(&owner) {}

  void own(std::span<const Constant<Owner>> constants) {
    for (const Constant<Owner>& constant : constants) {
      if (constant.scales_with != nullptr) {
        const double factor = scale_->*constant.scales_with;
        std::visit([&](auto member) { multiply(factor, owner_->*member); }, constant.member);
      }
    }
  }
  template <typename Part, typename Parts>
  void part(std::string_view, Part Owner::*member, const Parts& parts) {
    SectionScale<Part> visit(*scale_, owner_->*member);
    parts(visit);
  }
  template <typename Part, typename Parts>
  void part(std::string_view, std::optional<Part> Owner::*member, const Parts& parts) {
    if (owner_->*member) {
      SectionScale<Part> visit(*scale_, *(owner_->*member));
      parts(visit);
    }
  }

 private:
  template <typename Q>
  static void multiply(double factor, Q& value) {
    value = factor * value;
  }
  // A count has no rate and no latency.
  static void multiply(double, std::int64_t&) {}
  template <typename Q>
  static void multiply(double factor, std::optional<Q>& value) {
    if (value) {
      multiply(factor, *value);
    }
  }
  template <typename Q>
  static void multiply(double factor, PerDtype<Q>& values) {
    for (std::optional<Q>& value : values) {
      multiply(factor, value);
    }
  }

  const ClusterScale* scale_;
  Owner* owner_;
};

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
