// SPDX-License-Identifier: Apache-2.0
// `stepcast trace`.
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/output_file.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast::cli {
namespace {

constexpr int kLevel = 1;                  // traces repeat themselves: higher levels gain little
constexpr int kGzip = 15 + 16;             // the largest window, in the format of gzip
constexpr int kMemory = 8;                 // zlib's usual
constexpr std::size_t kBlock = 1U << 18U;  // bytes

// The same text gives the same bytes: the header has no time and no name.
class GzipText {
 public:
  using Sink = std::function<void(std::string_view)>;

  explicit GzipText(Sink sink) : sink_(std::move(sink)), stream_(new z_stream_s{}), block_(kBlock) {
    const int status =
        deflateInit2(stream_.get(), kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY);
    STEPCAST_CHECK(status == Z_OK, "zlib cannot compress");
  }

  void write(std::string_view text) {
    // zlib does not write what it reads, and its interface knows no const.
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT
    stream_->avail_in = static_cast<uInt>(text.size());
    deflate_all(Z_NO_FLUSH);
  }

  void finish() {
    stream_->next_in = nullptr;
    stream_->avail_in = 0;
    deflate_all(Z_FINISH);
  }

 private:
  struct End {
    void operator()(z_stream_s* stream) const {
      deflateEnd(stream);
      delete stream;  // NOLINT(cppcoreguidelines-owning-memory): this is its owner
    }
  };

  void deflate_all(int flush) {
    do {
      stream_->next_out = reinterpret_cast<Bytef*>(block_.data());  // NOLINT
      stream_->avail_out = static_cast<uInt>(block_.size());
      const int status = deflate(stream_.get(), flush);
      STEPCAST_CHECK(status != Z_STREAM_ERROR, "zlib's state is damaged");
      sink_({block_.data(), block_.size() - stream_->avail_out});
    } while (stream_->avail_out == 0);
  }

  Sink sink_;
  std::unique_ptr<z_stream_s, End> stream_;
  std::vector<char> block_;
};

struct TraceOptions {
  ExperimentOptions experiment;
  std::string out;
  std::optional<std::int64_t> rank;
  std::string ranks;
};

using WriteTrace = std::function<void(const TakeText&)>;

void write_trace(const WriteTrace& write, const std::string& name) {
  OutputFile file(name);
  const auto to_file = [&file](std::string_view text) { file.write(text); };
  if (name.ends_with(".gz")) {
    GzipText gzip(to_file);
    write([&gzip](std::string_view text) { gzip.write(text); });
    gzip.finish();
  } else {
    write(to_file);
  }
  file.keep();
}

// One of the ranks of each pipeline rank, named as TraceLens looks for the traces of a job.
std::string file_of(std::int64_t number, const std::filesystem::path& folder,
                    const ReadFiles& read) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw ConfigError({folder.string(), 0, 0}, "cannot make the folder: " + error.message());
  }
  const std::string name = "rank" + std::to_string(number) + "_trace.json.gz";
  if (const std::string why = read.why_kept(folder / name); !why.empty()) {
    throw ConfigError({"--out " + folder.string(), 0, 0},
                      "writes '" + name + "' in it, which " + why);
  }
  return (folder / name).string();
}

int run_trace(const TraceOptions& options, const GlobalOptions& global) {
  const bool all = !options.ranks.empty();
  if (all && options.out.empty()) {
    throw ConfigError({"--out -", 0, 0}, "is one file; with --ranks give a folder");
  }
  const Simulator simulator = simulator_of(global);
  TraceSettings settings{options.rank.value_or(0), all, {}};
  settings.file = [&](std::int64_t number, const WriteTrace& write) {
    write_trace(write, all ? file_of(number, options.out, global.read) : options.out);
  };
  const Report traced = asked({{"rank", "--rank"}}, [&] {
    return simulator.trace(source_of(options.experiment, simulator), settings);
  });
  std::fputs(traced.text.c_str(), stderr);
  return traced.feasible ? kDone : kPlanCannotRun;
}

}  // namespace

void add_trace(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "trace", "the projected step of a rank as a trace of PyTorch's profiler");
  auto options = std::make_shared<TraceOptions>();
  add_experiment_options(*command, options->experiment);
  add_out_option(*command, options->out,
                 "the file to write, compressed if its name ends in .gz; with --ranks all a "
                 "folder, for rank0_trace.json.gz and so on; Perfetto and TraceLens open it")
      ->required();
  CLI::Option* rank =
      command
          ->add_option("--rank", options->rank,
                       "a rank of the world, as Megatron counts (tp, cp, dp, pp); left out: 0")
          ->check(whole_number({0, kAnyWhole.highest}));
  command
      ->add_option("--ranks", options->ranks,
                   "all: one trace for each pipeline rank, which ranks that differ in tp, cp or dp "
                   "share")
      ->check(CLI::IsMember({"all"}))
      ->excludes(rank);
  on_choice(*command, run, [options, &global] { return run_trace(*options, global); });
}

}  // namespace stepcast::cli
