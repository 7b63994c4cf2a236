// SPDX-License-Identifier: Apache-2.0
// What is wrong with a command line whatever the command, found after it is parsed, and the files
// that the command reads, as its words name them, so that none of them is written over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stepcast::cli {

// Words of a command line may name a file by themselves (train.sh), behind a key (model=mine.yaml),
// behind a backend (gemm=measured:a.jsonl,b.jsonl) or as the folder of a config.json; relative ones
// lie where the user is or beside another file of the line. Standard input may be a file as well.
// What lies in these files may name others: the model of an experiment, what a script sources.
class ReadFiles {
 public:
  ReadFiles();
  void add(const std::string& word);

  // Why a file may not be written, as a message says it; empty if nothing reads it.
  [[nodiscard]] std::string why_kept(const std::filesystem::path& output) const;

 private:
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  std::vector<std::string> words_;
};

// The files that the command reads. Throws ConfigError where the value of an option is empty or
// holds a control character, as a variable of a shell that is not set leaves it, where a file that
// is read would be written, and where two outputs are one file.
ReadFiles check_options(const CLI::App& program);

}  // namespace stepcast::cli
