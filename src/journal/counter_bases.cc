// See counter_bases.h.
#include "journal/counter_bases.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/raw_bytes.h"
#include "journal/file.h"

namespace wherefore::journal {
namespace {

using profile::CounterBase;
using profile::CounterMove;
using profile::CounterValues;

constexpr std::uint64_t kFileMagic = 0x314d55434657ULL;  // "WFCUM1"
constexpr std::size_t kFileHeadBytes = 24;               // magic, time, hash of the rest
constexpr std::size_t kValueBytes = 16;
constexpr const char* kNew = ".new";

void AppendValues(std::string& out, const CounterValues& values) {
  for (const auto& [key, value] : values) {
    AppendRaw(out, key);
    AppendRaw(out, value);
  }
}

CounterValues LoadValues(std::string_view bytes) {
  CounterValues values(bytes.size() / kValueBytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = {Load<std::uint64_t>(bytes, kValueBytes * i),
                 Load<std::int64_t>(bytes, kValueBytes * i + 8)};
  }
  return values;
}

}  // namespace

void AppendMoves(std::string& out, std::span<const CounterMove> moves) {
  AppendRaw(out, static_cast<std::uint32_t>(moves.size()));
  for (const CounterMove& move : moves) {
    AppendRaw(out, move.series.low);
    AppendRaw(out, move.series.high);
    AppendRaw(out, move.time_ns);
    AppendRaw(out, static_cast<std::uint32_t>(move.restarted ? 1 : 0));
    AppendRaw(out, static_cast<std::uint32_t>(move.values.size()));
    AppendValues(out, move.values);
  }
}

bool TakeMoves(std::string_view& in, std::vector<CounterMove>& moves) {
  constexpr std::size_t kFixedBytes = 32;
  if (in.size() < sizeof(std::uint32_t)) return false;
  const auto count = Load<std::uint32_t>(in, 0);
  in.remove_prefix(sizeof(count));
  for (std::uint32_t i = 0; i < count; ++i) {
    if (in.size() < kFixedBytes) return false;
    const std::size_t values = Load<std::uint32_t>(in, 28);
    if (values > (in.size() - kFixedBytes) / kValueBytes) return false;
    moves.push_back({.series = {Load<std::uint64_t>(in, 0), Load<std::uint64_t>(in, 8)},
                     .time_ns = Load<std::uint64_t>(in, 16),
                     .restarted = Load<std::uint32_t>(in, 24) != 0,
                     .values = LoadValues(in.substr(kFixedBytes, values * kValueBytes))});
    in.remove_prefix(kFixedBytes + values * kValueBytes);
  }
  return true;
}

std::string CounterFiles::Path(const Hash128& series) const {
  return fmt::format("{}/{:016x}{:016x}", directory_, series.high, series.low);
}

CounterBase CounterFiles::Load(const Hash128& series) const {
  const auto bytes = ReadWholeFile(Path(series));
  if (!bytes || bytes->size() < kFileHeadBytes) return {};
  const std::string_view rest = std::string_view(*bytes).substr(kFileHeadBytes);
  if (wherefore::Load<std::uint64_t>(*bytes, 0) != kFileMagic || rest.size() % kValueBytes != 0 ||
      wherefore::Load<std::uint64_t>(*bytes, 16) != Hash64(rest)) {
    return {};
  }
  return {
      .time_ns = wherefore::Load<std::uint64_t>(*bytes, 8), .values = LoadValues(rest), .late = {}};
}

Result<> CounterFiles::Write(std::span<const CounterMove> moves) {
  if (moves.empty()) return {};
  written_.clear();  // of an attempt that failed
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return ErrnoError(error.value(), "cannot create", directory_);
  std::map<Hash128, CounterBase> bases;
  for (const CounterMove& move : moves) {
    auto [base, added] = bases.try_emplace(move.series);
    if (added) base->second = Load(move.series);
    Apply(move, base->second);
  }
  for (const auto& [series, base] : bases) {
    std::string values;
    AppendValues(values, base.values);
    std::string bytes;
    AppendRaw(bytes, kFileMagic);
    AppendRaw(bytes, base.time_ns);
    AppendRaw(bytes, Hash64(values));
    bytes += values;
    const std::string path = Path(series);
    WHEREFORE_ASSIGN_OR_RETURN(File file, File::Open(path + kNew, O_WRONLY | O_CREAT | O_TRUNC));
    WHEREFORE_RETURN_IF_ERROR(file.WriteAt(0, bytes));
    written_.push_back(path);
  }
  return {};
}

Result<> CounterFiles::Publish() {
  if (written_.empty()) return {};
  for (const std::string& path : written_) {
    std::error_code error;
    std::filesystem::rename(path + kNew, path, error);
    if (error) return ErrnoError(error.value(), "cannot rename", path + kNew);
  }
  written_.clear();
  return SyncDirectory(directory_);
}

void CounterFiles::ForgetOld() {
  constexpr auto kForgetAfter = std::chrono::hours(24 * 30);
  std::error_code error;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (auto entry = std::filesystem::directory_iterator(directory_, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (now - entry->last_write_time(ignored) > kForgetAfter && !ignored) {
      std::filesystem::remove(entry->path(), ignored);
    }
  }
}

CounterBase& CounterBases::Change(const Hash128& series, std::uint64_t segment) {
  const auto [at, added] = entries_.try_emplace(series);
  Entry& entry = at->second;
  if (added) {
    uses_.push_front(series);
    entry.use = uses_.begin();
    entry.base = files_.Load(series);
  } else {
    uses_.splice(uses_.begin(), uses_, entry.use);
  }
  entry.last_segment = segment;
  before_.emplace_back(series, entry.base);
  return entry.base;
}

void CounterBases::PutBack(std::size_t mark) {
  while (before_.size() > mark) {
    auto& [series, base] = before_.back();
    entries_.at(series).base = std::move(base);
    before_.pop_back();
  }
}

void CounterBases::PutBack(std::size_t mark, std::set<Hash128> series) {
  for (std::size_t i = mark; i < before_.size() && !series.empty(); ++i) {
    const auto& [changed, base] = before_[i];
    if (series.erase(changed) > 0) entries_.at(changed).base = base;  // the oldest is what it was
  }
}

void CounterBases::Trim(std::uint64_t inserted_through, std::size_t max_bytes) {
  std::size_t bytes = 0;
  for (const auto& [series, entry] : entries_) bytes += entry.base.values.size() * kValueBytes;
  for (auto use = uses_.end(); bytes > max_bytes && use != uses_.begin();) {
    --use;
    const auto entry = entries_.find(*use);
    if (entry->second.last_segment > inserted_through) continue;
    bytes -= entry->second.base.values.size() * kValueBytes;
    entries_.erase(entry);
    use = uses_.erase(use);
  }
}

}  // namespace wherefore::journal
