// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/related_columns.hpp"

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

std::string as_money(const Value& value) {
  const double price = value.get<double>();
  return price >= 1.0 ? decimals(price, 2) : significant(price, 3);
}

constexpr auto kRelatedColumns = std::to_array<Column<RelatedColumn>>({
    {"label", "", member<&RelatedColumn::label>},
    {"options", "", [](const RelatedColumn& it) { return object_of(it.column.options); }},
    {"ratio", "ratio to",
     [](const RelatedColumn& it) {
       return it.projection().priced ? Value(ratio(it.projection(), it.reference->projection))
                                     : no_value();
     },
     as_number<3>},
    {"told_apart", "told apart from",
     [](const RelatedColumn& it) {
       return it.projection().priced && &it.column != it.reference
                  ? Value(can_be_told_apart(it.projection(), it.reference->projection))
                  : no_value();
     },
     as_yes_or_no},
    {"time_per_token_gpu_s", "time a token and GPU",
     [](const RelatedColumn& it) {
       return it.projection().priced ? value_of(it.column.time_per_token_gpu()) : no_value();
     },
     as_time},
    {"price_per_gpu_hour", "",
     [](const RelatedColumn& it) {
       return it.column.price_per_million_tokens() ? Value(it.projection().gpu_hour->price)
                                                   : no_value();
     }},
    {"price_per_million_tokens", "price a million tokens",
     [](const RelatedColumn& it) { return value_of(it.column.price_per_million_tokens()); },
     as_money},
});
constexpr Columns<RelatedColumn> kRelated{kRelatedColumns};

}  // namespace

const Columns<RelatedColumn>& related_columns() { return kRelated; }

}  // namespace stepcast
