// SPDX-License-Identifier: Apache-2.0
// The fuzz targets. Each reads bytes and throws std::logic_error if the product breaks its promise;
// anything else that escapes is a fault of the product as well. libFuzzer runs them through
// entry.cpp, one program that its name tells what to fuzz, and stepcast_tests replays corpus/ and
// regressions/ (replay_test.cpp).
//
//   cmake --workflow --preset fuzz
//   build/fuzz/tests/fuzz_config tests/fuzz/corpus/config -max_total_time=600
//
// A crash becomes a file in regressions/<target>/, named after what it does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stepcast::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void promise(bool kept, const std::string& what) {
  if (!kept) {
    throw std::logic_error(what);
  }
}

// parse_piece_task: a claim that reads back to itself, or nothing.
int fuzz_claim(const std::uint8_t* data, std::size_t size);
// parse_config: a tree, or a ConfigError whose every line has a place and a message.
int fuzz_config(const std::uint8_t* data, std::size_t size);
// parse_json_object: a tree of what nlohmann::json reads, every value of which stands at its place,
// or errors with a place.
int fuzz_json(const std::uint8_t* data, std::size_t size);
// read_model: a model whose text reads back to the same text, or a ConfigError.
int fuzz_model(const std::uint8_t* data, std::size_t size);
// parse_quantity: a finite value whose text parses back to it, or a fault.
int fuzz_quantity(const std::uint8_t* data, std::size_t size);
// parse_point: settings and a figure above 0, or a ConfigError.
int fuzz_point(const std::uint8_t* data, std::size_t size);
// parse_layout: at most 100,000 layers, or a reason.
int fuzz_layout(const std::uint8_t* data, std::size_t size);
// read_operator: an operator with a finite price, or errors whose every one has a place.
int fuzz_operator(const std::uint8_t* data, std::size_t size);
// read_record, read_imported: a run or an operator, or a ConfigError.
int fuzz_record(const std::uint8_t* data, std::size_t size);
// read_sweep: a space whose every index is a request, or a ConfigError.
int fuzz_sweep(const std::uint8_t* data, std::size_t size);
// parse_csv: rows of as many fields as the header, or errors with a place.
int fuzz_table(const std::uint8_t* data, std::size_t size);
// read_recording, measured_step: times within the step and every kernel in one row, or a
// ConfigError.
int fuzz_trace(const std::uint8_t* data, std::size_t size);
// SqliteDatabase, read_recording of an export of Nsight Systems, of a database of rocprofv3: the
// same.
int fuzz_nsys(const std::uint8_t* data, std::size_t size);
int fuzz_rocpd(const std::uint8_t* data, std::size_t size);
// Simulator::project of an experiment that the bytes choose: an answer whose numbers are finite and
// add up, or an InputError.
int fuzz_project(const std::uint8_t* data, std::size_t size);
// read_part_table, read_chunk: chunks that account for each of their plans, or a ConfigError.
int fuzz_part(const std::uint8_t* data, std::size_t size);
// import_torchtitan of a TOML file, import_maxtext: fuzz/imports.hpp.
int fuzz_torchtitan(const std::uint8_t* data, std::size_t size);
int fuzz_maxtext(const std::uint8_t* data, std::size_t size);
// import_torchtitan of a Python file: the same.
int fuzz_python_recipe(const std::uint8_t* data, std::size_t size);
// import_hf_config: a model whose text reads back to it, or a ConfigError.
int fuzz_hf(const std::uint8_t* data, std::size_t size);

// recognized_file: a format whose sign stands in a line of the text, or nothing.
int fuzz_format(const std::uint8_t* data, std::size_t size);

// import_megatron, import_primus, import_megatron_bridge, import_mlperf: an experiment, or a
// ConfigError, in time and memory that follow the size of the text.
int fuzz_megatron(const std::uint8_t* data, std::size_t size);
int fuzz_primus(const std::uint8_t* data, std::size_t size);
int fuzz_recipe(const std::uint8_t* data, std::size_t size);
int fuzz_mlperf(const std::uint8_t* data, std::size_t size);
// import_nemo, of the same text as data and as a script: the same.
int fuzz_nemo(const std::uint8_t* data, std::size_t size);

// import_deepspeed, import_accelerate, import_axolotl, import_llamafactory, import_trl, each of the
// same text, as data, a script and Python: the same.
int fuzz_trainer(const std::uint8_t* data, std::size_t size);
int fuzz_trainer_script(const std::uint8_t* data, std::size_t size);
int fuzz_trainer_python(const std::uint8_t* data, std::size_t size);

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};
inline constexpr std::array kTargets = {Target{"claim", fuzz_claim},
                                        Target{"config", fuzz_config},
                                        Target{"format", fuzz_format},
                                        Target{"hf", fuzz_hf},
                                        Target{"json", fuzz_json},
                                        Target{"layout", fuzz_layout},
                                        Target{"maxtext", fuzz_maxtext},
                                        Target{"megatron", fuzz_megatron},
                                        Target{"mlperf", fuzz_mlperf},
                                        Target{"model", fuzz_model},
                                        Target{"nemo", fuzz_nemo},
                                        Target{"nsys", fuzz_nsys},
                                        Target{"operator", fuzz_operator},
                                        Target{"part", fuzz_part},
                                        Target{"point", fuzz_point},
                                        Target{"primus", fuzz_primus},
                                        Target{"project", fuzz_project},
                                        Target{"python_recipe", fuzz_python_recipe},
                                        Target{"quantity", fuzz_quantity},
                                        Target{"recipe", fuzz_recipe},
                                        Target{"record", fuzz_record},
                                        Target{"rocpd", fuzz_rocpd},
                                        Target{"sweep", fuzz_sweep},
                                        Target{"table", fuzz_table},
                                        Target{"torchtitan", fuzz_torchtitan},
                                        Target{"trace", fuzz_trace},
                                        Target{"trainer", fuzz_trainer},
                                        Target{"trainer_python", fuzz_trainer_python},
                                        Target{"trainer_script", fuzz_trainer_script}};

}  // namespace stepcast::fuzz
