// SPDX-License-Identifier: Apache-2.0
// The files that a command reads, as its words name them, so that none of them is written over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace stepcast::cli
