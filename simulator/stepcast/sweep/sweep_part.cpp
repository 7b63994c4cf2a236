// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_part.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// How many bytes are written before the disk is waited for.
constexpr std::uint64_t kSyncEvery = 256U << 20U;

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they lie in memory");
static_assert(std::numeric_limits<double>::is_iec559 && sizeof(double) == 8);

constexpr std::string_view kMagic = "STEPCAST";
// Magic, version, record and length.
constexpr std::size_t kHeaderStart = 8 + 4 + 4 + 4;
// Of a header's body: a sweep file of 4 MiB and its overrides.
constexpr std::uint32_t kLargestHeader = 64U << 20U;
// Of the reasons in one payload; its records are at most the plans of a chunk.
constexpr std::size_t kLargestReasons = 16U << 20U;

// How a file begins: how long its header is, the checksum included, or why it is no part.
struct HeaderStart {
  std::uint64_t length = 0;
  bool torn = false;  // it is the beginning of a header and no more
  std::string fault{};
};
struct FrameStart {
  std::int64_t chunk = 0;
  std::uint64_t length = 0;  // of the payload
};

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

template <typename Number>
void put(std::string& bytes, Number number) {
  std::array<char, sizeof(Number)> raw{};
  std::memcpy(raw.data(), &number, sizeof(Number));
  bytes.append(raw.data(), raw.size());
}

void put_text(std::string& bytes, std::string_view text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.append(text);
}

// Takes values from the front of bytes; `ok` is false, and all values are zero, once one is
// missing.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number take() {
    Number number{};
    const std::string_view raw = take_bytes(sizeof(Number));
    if (ok_) {
      std::memcpy(&number, raw.data(), sizeof(Number));
    }
    return number;
  }
  std::string take_text() { return std::string(take_bytes(take<std::uint32_t>())); }
  std::string_view take_bytes(std::size_t count) {
    ok_ = ok_ && count <= bytes_.size();
    const std::string_view taken = bytes_.substr(0, ok_ ? count : 0);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }
  [[nodiscard]] bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// Calls with every field of a record but the plan, in their fixed order.
template <typename Numbers, typename Call>
void each_number(Numbers& numbers, const Call& call) {
  call(numbers.tokens_per_second_per_gpu);
  call(numbers.step);
  call(numbers.model_rate_per_gpu);
  call(numbers.mfu);
  call(numbers.peak_memory);
  call(numbers.clock);
  call(numbers.power);
  call(numbers.time.compute);
  call(numbers.time.contention);
  for (auto& exposed : numbers.time.exposed) {
    call(exposed);
  }
  call(numbers.time.bubble);
  call(numbers.time.optimizer);
  call(numbers.time.host);
}
// A field of PlanNumbers that is not listed above changes its size.
static_assert(sizeof(PlanNumbers) == kRecordBytes);

constexpr std::int64_t kEveryPlan = -1;  // in place of the best that are asked for

double plain(double number) { return number; }
template <int B, int F, int S, int J>
double plain(Quantity<B, F, S, J> quantity) {
  return quantity.value();
}

void put_record(std::string& bytes, const PlanNumbers& numbers) {
  put(bytes, numbers.plan);
  each_number(numbers, [&bytes](const auto& number) { put(bytes, plain(number)); });
}

PlanNumbers take_record(Taker& taker) {
  PlanNumbers numbers;
  numbers.plan = taker.take<std::int64_t>();
  each_number(numbers, [&taker](auto& number) {
    number = std::remove_cvref_t<decltype(number)>(taker.take<double>());
  });
  return numbers;
}

bool sensible(const PartHeader& header) {
  constexpr std::int64_t kMostChunkPlans = 1 << 20;
  return header.grid.plans >= 0 && header.grid.plans <= kLargestSpace &&
         header.grid.chunk_plans >= 1 && header.grid.chunk_plans <= kMostChunkPlans &&
         header.shard.number >= 1 && header.shard.number <= header.shard.of &&
         header.shard.of <= kMostShards && header.top.value_or(0) >= 0;
}

std::string header_body(const PartHeader& header) {
  std::string body;
  put_text(body, header.digest);
  put(body, header.grid.plans);
  put(body, header.grid.chunk_plans);
  put(body, header.shard.number);
  put(body, header.shard.of);
  put(body, header.top.value_or(kEveryPlan));
  put_text(body, header.source.name);
  put_text(body, header.source.folder.string());
  put_text(body, header.source.text);
  put_text(body, header.source.version);
  put(body, static_cast<std::uint32_t>(header.source.overrides.size()));
  for (const Override& one : header.source.overrides) {
    put_text(body, one.assignment);
  }
  return body;
}

}  // namespace

std::string encode_header(const PartHeader& header) {
  const std::string body = header_body(header);
  STEPCAST_CHECK(body.size() <= kLargestHeader, "the header of a part is too large");
  std::string bytes(kMagic);
  put(bytes, kPartVersion);
  put(bytes, static_cast<std::uint32_t>(kRecordBytes));
  put(bytes, static_cast<std::uint32_t>(body.size()));
  bytes += body;
  put(bytes, checksum(bytes));
  return bytes;
}

std::string encode_frame(std::int64_t chunk, const ChunkResult& result) {
  std::string bytes;
  bytes.reserve(kFrameStart + 4096 + result.priced.size() * kRecordBytes);
  put(bytes, chunk);
  put(bytes, std::uint64_t{0});
  put(bytes, result.bounded);
  put(bytes, static_cast<std::uint32_t>(result.refused.size()));
  for (const auto& [reason, plans] : result.refused) {
    put_text(bytes, reason);
    put(bytes, plans);
  }
  put(bytes, static_cast<std::uint64_t>(result.priced.size()));
  for (const PlanNumbers& numbers : result.priced) {
    put_record(bytes, numbers);
  }
  const std::uint64_t length = bytes.size() - kFrameStart;
  std::memcpy(bytes.data() + sizeof(chunk), &length, sizeof(length));
  put(bytes, checksum(bytes));
  return bytes;
}

bool frame_is_whole(std::string_view frame) {
  if (frame.size() < kChecksum) {
    return false;
  }
  Taker end(frame.substr(frame.size() - kChecksum));
  return end.take<std::uint32_t>() == checksum(frame.substr(0, frame.size() - kChecksum));
}

namespace {

// `bytes` is the whole header. Nothing if the checksum or a length is wrong.
std::optional<PartHeader> decode_header(std::string_view bytes) {
  if (bytes.size() < kHeaderStart + kChecksum || !frame_is_whole(bytes)) {
    return std::nullopt;
  }
  Taker taker(bytes.substr(kHeaderStart, bytes.size() - kHeaderStart - kChecksum));
  PartHeader header;
  header.digest = taker.take_text();
  header.grid.plans = taker.take<std::int64_t>();
  header.grid.chunk_plans = taker.take<std::int64_t>();
  header.shard.number = taker.take<std::int64_t>();
  header.shard.of = taker.take<std::int64_t>();
  const auto top = taker.take<std::int64_t>();
  header.top = top == kEveryPlan ? std::nullopt : std::optional(top);
  header.source.name = taker.take_text();
  header.source.folder = taker.take_text();
  header.source.text = taker.take_text();
  header.source.version = taker.take_text();
  const auto overrides = taker.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < overrides && taker.ok(); ++i) {
    header.source.overrides.emplace_back(taker.take_text());
  }
  return taker.at_end() && sensible(header) ? std::optional(header) : std::nullopt;
}

// `bytes` has kFrameStart bytes. Nothing if no frame of this sweep begins so.
std::optional<FrameStart> frame_start(std::string_view bytes, const PartHeader& header) {
  Taker taker(bytes);
  FrameStart start;
  start.chunk = taker.take<std::int64_t>();
  start.length = taker.take<std::uint64_t>();
  if (!taker.ok() || start.chunk < 0 || start.chunk >= header.grid.chunks() ||
      shard_of(start.chunk, header.shard.of) != header.shard.number) {
    return std::nullopt;
  }
  const auto plans = static_cast<std::uint64_t>(header.grid.plans_of(start.chunk));
  return start.length <= kLargestReasons + plans * kRecordBytes ? std::optional(start)
                                                                : std::nullopt;
}

// Nothing if the payload does not say of every plan of the chunk what became of it.
std::optional<ChunkResult> decode_payload(std::string_view payload, std::int64_t chunk,
                                          const ChunkGrid& grid) {
  Taker taker(payload);
  ChunkResult result;
  std::int64_t left = grid.plans_of(chunk);
  result.bounded = taker.take<std::int64_t>();
  if (result.bounded < 0 || result.bounded > left) {
    return std::nullopt;
  }
  left -= result.bounded;
  const auto reasons = taker.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < reasons && taker.ok(); ++i) {
    const std::string reason = taker.take_text();
    const auto plans = taker.take<std::int64_t>();
    if (plans < 1 || plans > left || !result.refused.emplace(reason, plans).second) {
      return std::nullopt;
    }
    left -= plans;
  }
  const auto records = taker.take<std::uint64_t>();
  if (!taker.ok() || records != static_cast<std::uint64_t>(left) ||
      taker.left() != records * kRecordBytes) {
    return std::nullopt;
  }
  result.priced.reserve(records);
  std::int64_t next = grid.begin(chunk);
  for (std::uint64_t i = 0; i < records; ++i) {
    const PlanNumbers numbers = take_record(taker);
    if (numbers.plan < next || numbers.plan >= grid.end(chunk)) {
      return std::nullopt;
    }
    next = numbers.plan + 1;
    result.priced.push_back(numbers);
  }
  return result;
}

std::string bytes_at(const ReadAt& read, std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  bytes.resize(read(offset, bytes.data(), bytes.size()));
  return bytes;
}

HeaderStart header_start(const ReadAt& read, std::uint64_t size) {
  HeaderStart foreign{0, false,
                      "this is no part of a sweep; give what sweep wrote with --shard or --pieces"};
  HeaderStart torn{0, true, "the part ends within its header; remove it and run the sweep again"};
  const std::string bytes = bytes_at(read, 0, std::min<std::uint64_t>(size, kHeaderStart));
  if (bytes.size() < kHeaderStart) {
    return kMagic.starts_with(bytes.substr(0, kMagic.size())) ? torn : foreign;
  }
  Taker taker(bytes);
  if (taker.take_bytes(kMagic.size()) != kMagic) {
    return foreign;
  }
  const auto version = taker.take<std::uint32_t>();
  const auto record = taker.take<std::uint32_t>();
  const auto body = taker.take<std::uint32_t>();
  if (version != kPartVersion || record != kRecordBytes) {
    return {0, false,
            "a part of format version " + std::to_string(version) +
                ", written by another version of the program, which reads " +
                std::to_string(kPartVersion) + "; run the sweep again"};
  }
  if (body > kLargestHeader) {
    return foreign;
  }
  const std::uint64_t length = kHeaderStart + body + kChecksum;
  return length > size ? torn : HeaderStart{length};
}

PartHeader read_header(const ReadAt& read, std::uint64_t size, const std::string& name,
                       std::uint64_t& end) {
  const HeaderStart start = header_start(read, size);
  if (!start.fault.empty()) {
    throw ConfigError({name, 0, 0}, start.fault);
  }
  std::optional<PartHeader> header = decode_header(bytes_at(read, 0, start.length));
  if (!header) {
    throw ConfigError({name, 0, 0},
                      "the part's header is damaged; remove it and run the sweep again");
  }
  end = start.length;
  return *std::move(header);
}

// The frame at `offset`; nothing if it is not whole.
std::optional<FrameStart> whole_frame(const ReadAt& read, std::uint64_t offset, std::uint64_t size,
                                      const PartHeader& header) {
  constexpr std::uint64_t kAround = kFrameStart + kChecksum;
  if (size - offset < kAround) {
    return std::nullopt;
  }
  const auto start = frame_start(bytes_at(read, offset, kFrameStart), header);
  if (!start || start->length > size - offset - kAround ||
      !frame_is_whole(bytes_at(read, offset, kAround + start->length))) {
    return std::nullopt;
  }
  return start;
}

}  // namespace

bool ends_within_header(const ReadAt& read, std::uint64_t size) {
  return header_start(read, size).torn;
}

PartTable read_part_table(const ReadAt& read, std::uint64_t size, const std::string& name) {
  PartTable table;
  table.header = read_header(read, size, name, table.end);
  while (const auto frame = whole_frame(read, table.end, size, table.header)) {
    // The first of two is kept; they are the same, since a chunk follows from its number.
    table.places.try_emplace(frame->chunk,
                             PartTable::Place{table.end + kFrameStart, frame->length});
    table.end += kFrameStart + frame->length + kChecksum;
  }
  table.cut = size - table.end;
  return table;
}

ChunkResult read_chunk(const ReadAt& read, const PartTable& table, std::int64_t chunk,
                       const std::string& name) {
  const auto place = table.places.find(chunk);
  STEPCAST_CHECK(place != table.places.end(), "a chunk that is not in the part");
  auto result = decode_payload(bytes_at(read, place->second.payload, place->second.length), chunk,
                               table.header.grid);
  if (!result) {
    throw ConfigError({name, 0, 0}, "chunk " + std::to_string(chunk) +
                                        " of the part does not say what became of each of its "
                                        "plans; remove the part and run the sweep again");
  }
  return *std::move(result);
}

std::string same_sweep_fault(const PartHeader& found, const PartHeader& header) {
  if (found.digest != header.digest || found.grid != header.grid) {
    return "a part of another sweep, or of other profiles or another version of the program; "
           "remove "
           "it to start again";
  }
  if (found.top == header.top) {
    return "";
  }
  const auto kept = [](const PartHeader& part) {
    return part.top ? "for the " + std::to_string(*part.top) + " best plans" : "for every plan";
  };
  return "the part is " + kept(found) + ", not " + kept(header) +
         "; go on with the options that it was begun with, or remove it";
}

SweepPart::SweepPart(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw ConfigError({file_.string(), 0, 0}, "cannot open the part: " + system_reason(errno));
  }
  try {
    table_ = read_part_table(reader(), size(), file_.string());
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SweepPart::SweepPart(std::filesystem::path file, const PartHeader& header, Existing existing)
    : file_(std::move(file)) {
  open_to_write(existing);
  try {
    lock();
    start(header);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SweepPart::~SweepPart() { ::close(descriptor_); }

void SweepPart::open_to_write(Existing existing) {
  const int fresh = existing == Existing::kRefuse ? O_EXCL : 0;
  constexpr mode_t kMode = 0666;
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | fresh, kMode);
  if (descriptor_ >= 0) {
    return;
  }
  throw ConfigError(
      {file_.string(), 0, 0},
      errno == EEXIST ? "the file exists; if it is of a sweep that was interrupted, go on from it "
                        "with --resume, else remove it"
                      : "cannot write the part: " + system_reason(errno));
}

// Where the file system has no locks, the user keeps two processes from one part.
void SweepPart::lock() const {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw ConfigError({file_.string(), 0, 0}, "another process writes this part; let it end first");
  }
}

// What was torn while its header was written has nothing to go on from.
void SweepPart::start(const PartHeader& header) {
  const std::uint64_t bytes = size();
  if (!ends_within_header(reader(), bytes)) {
    table_ = read_part_table(reader(), bytes, file_.string());
    check_continues(header);
    if (table_.cut > 0 && ::ftruncate(descriptor_, static_cast<off_t>(table_.end)) != 0) {
      file_fault(file_, "cannot cut the part", errno);
    }
    return;
  }
  if (::ftruncate(descriptor_, 0) != 0) {
    file_fault(file_, "cannot write the part", errno);
  }
  const std::string encoded = encode_header(header);
  append(encoded, 0);
  table_.header = header;
  table_.end = encoded.size();
}

void SweepPart::check_continues(const PartHeader& header) const {
  const PartHeader& found = table_.header;
  if (std::string other = same_sweep_fault(found, header); !other.empty()) {
    throw ConfigError({file_.string(), 0, 0}, std::move(other));
  }
  if (found.shard != header.shard) {
    throw ConfigError({file_.string(), 0, 0}, "the part is shard " + to_text(found.shard) +
                                                  ", not " + to_text(header.shard));
  }
}

std::int64_t SweepPart::missing_chunks() const {
  return std::ssize(chunks_of(header().grid, header().shard)) - table_.chunks();
}

std::uint64_t SweepPart::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    file_fault(file_, "cannot read the part", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw ConfigError({file_.string(), 0, 0},
                      "a part of a sweep is a file; this is something else");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

ReadAt SweepPart::reader() const {
  return [this](std::uint64_t offset, char* to, std::size_t length) {
    std::size_t got = 0;
    while (got < length) {
      const ssize_t more =
          ::pread(descriptor_, to + got, length - got, static_cast<off_t>(offset + got));
      if (more == 0) {
        break;
      }
      if (more < 0 && errno != EINTR) {
        file_fault(file_, "cannot read the part", errno);
      }
      got += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
    }
    return got;
  };
}

ChunkResult SweepPart::read(std::int64_t chunk) const {
  return read_chunk(reader(), table_, chunk, file_.string());
}

// Writes at `to`, the end of the file; takes back what was written if not all could be.
void SweepPart::append(const std::string& bytes, std::uint64_t to) const {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t more = ::pwrite(descriptor_, bytes.data() + written, bytes.size() - written,
                                  static_cast<off_t>(to + written));
    if (more < 0 && errno != EINTR) {
      const int error = errno;
      [[maybe_unused]] const int taken = ::ftruncate(descriptor_, static_cast<off_t>(to));
      file_fault(file_, "cannot write the part", error);
    }
    written += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
  }
}

void SweepPart::keep(std::int64_t chunk, ChunkResult result) {
  const std::string frame = encode_frame(chunk, result);
  const std::scoped_lock lock(mutex_);
  append(frame, table_.end);
  table_.places[chunk] = {table_.end + kFrameStart, frame.size() - kFrameStart - kChecksum};
  table_.end += frame.size();
  unsynced_ += frame.size();
  if (unsynced_ >= kSyncEvery) {
    sync();
  }
}

void SweepPart::sync() {
  if (::fdatasync(descriptor_) != 0) {
    file_fault(file_, "cannot write the part", errno);
  }
  unsynced_ = 0;
}

void SweepPart::unlink() const { ::unlink(file_.c_str()); }

}  // namespace stepcast
