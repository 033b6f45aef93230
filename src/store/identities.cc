// See identities.h.
#include "store/identities.h"

#include <fcntl.h>

#include <filesystem>

#include "base/log.h"
#include "store/file.h"
#include "store/raw_bytes.h"

namespace wherefore::store {
namespace {

constexpr std::string_view kMagic{"WFIDS\0\0\2", 8};
constexpr std::uint64_t kSmallFile = 1u << 20;
constexpr std::size_t kFixedBytes =
    44;  // identity 16, time 8, rejected 8, service 8, message length 4

}  // namespace

void AppendIdentity(std::string& out, const IdentityRecord& record) {
  const std::size_t begin = out.size();
  AppendRaw(out, record.identity.low);
  AppendRaw(out, record.identity.high);
  AppendRaw(out, record.time_ns);
  AppendRaw(out, record.rejected);
  AppendRaw(out, record.service);
  AppendRaw(out, static_cast<std::uint32_t>(record.message.size()));
  out += record.message;
  AppendRaw(out, Hash64(std::string_view(out).substr(begin)));
}

bool TakeIdentity(std::string_view& in, IdentityRecord& record) {
  if (in.size() < kFixedBytes + 8) return false;
  const auto message = Load<std::uint32_t>(in, kFixedBytes - 4);
  if (message > in.size() - kFixedBytes - 8) return false;
  const std::size_t size = kFixedBytes + message;
  if (Hash64(in.substr(0, size)) != Load<std::uint64_t>(in, size)) return false;
  record.identity = {Load<std::uint64_t>(in, 0), Load<std::uint64_t>(in, 8)};
  record.time_ns = Load<std::int64_t>(in, 16);
  record.rejected = Load<std::uint64_t>(in, 24);
  record.service = Load<std::uint64_t>(in, 32);
  record.message = in.substr(kFixedBytes, message);
  in.remove_prefix(size + 8);
  return true;
}

Result<std::vector<IdentityRecord>> IdentityLog::Open(const std::string& path,
                                                      std::int64_t now_ns) {
  path_ = path;
  std::vector<IdentityRecord> records;
  if (std::filesystem::exists(path)) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
    std::string_view in(bytes);
    if (in.starts_with(kMagic)) in.remove_prefix(kMagic.size());
    IdentityRecord record;
    while (TakeIdentity(in, record)) {
      if (record.time_ns > now_ns - Identities::kLifetimeNs) records.push_back(record);
    }
    if (!in.empty()) {
      Log(LogLevel::kWarn, "identities.log ends in a damaged record; later ones are lost",
          {{"bytes", in.size()}});
    }
  }
  std::string content(kMagic);
  for (const IdentityRecord& record : records) AppendIdentity(content, record);
  file_bytes_ = content.size();
  rewritten_ns_ = now_ns;
  WHEREFORE_RETURN_IF_ERROR(ReplaceFile(path, content));
  return records;
}

std::optional<profile::WriteAnswer> Identities::Find(const Hash128& identity,
                                                     std::int64_t now_ns) const {
  const auto found = entries_.find(identity);
  if (found == entries_.end() || found->second.time_ns <= now_ns - kLifetimeNs) return std::nullopt;
  profile::WriteAnswer answer;
  if (found->second.answer != 0) answer = answers_.at(found->second.answer);
  answer.repeated = true;
  return answer;
}

void Identities::Add(IdentityRecord record) {
  Forget(record.time_ns);
  Entry entry{record.time_ns, record.service, 0};
  if (record.rejected != 0 || !record.message.empty()) {
    entry.answer = next_answer_++;
    answers_[entry.answer] = {.rejected = record.rejected, .message = std::move(record.message)};
  }
  if (entries_.insert_or_assign(record.identity, entry).second) order_.push_back(record.identity);
}

void Identities::ForgetServices(const std::set<std::uint64_t>& services) {
  std::erase_if(entries_, [&](auto& entry) {
    const bool forget = services.contains(entry.second.service);
    // A message may name what was deleted.
    if (forget || entry.second.service == 0) {
      if (const auto answer = answers_.find(entry.second.answer); answer != answers_.end()) {
        answer->second.message.clear();
      }
    }
    if (forget) answers_.erase(entry.second.answer);
    return forget;
  });
}

Result<> IdentityLog::ForgetServices(const std::set<std::uint64_t>& services) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string old, ReadWholeFile(path_));
  std::string_view in = std::string_view(old).substr(std::min(kMagic.size(), old.size()));
  std::string content(kMagic);
  IdentityRecord record;
  while (TakeIdentity(in, record)) {
    if (services.contains(record.service)) continue;
    if (record.service == 0) record.message.clear();
    AppendIdentity(content, record);
  }
  WHEREFORE_RETURN_IF_ERROR(ReplaceFile(path_, content));
  file_bytes_ = content.size();
  return {};
}

void Identities::Forget(std::int64_t now_ns) {
  while (!order_.empty()) {
    const auto oldest = entries_.find(order_.front());
    if (oldest != entries_.end()) {
      if (oldest->second.time_ns > now_ns - kLifetimeNs && entries_.size() < kMaxEntries) return;
      answers_.erase(oldest->second.answer);
      entries_.erase(oldest);
    }
    order_.pop_front();
  }
}

Result<> IdentityLog::Append(std::span<const IdentityRecord> records, std::int64_t now_ns) {
  if (records.empty()) return {};
  std::string bytes;
  for (const IdentityRecord& record : records) AppendIdentity(bytes, record);
  if (file_bytes_ > kSmallFile && now_ns > rewritten_ns_ + Identities::kLifetimeNs) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string old, ReadWholeFile(path_));
    std::string_view in = std::string_view(old).substr(kMagic.size());
    std::string content(kMagic);
    IdentityRecord record;
    while (TakeIdentity(in, record)) {
      if (record.time_ns > now_ns - Identities::kLifetimeNs) AppendIdentity(content, record);
    }
    content += bytes;
    WHEREFORE_RETURN_IF_ERROR(ReplaceFile(path_, content));
    file_bytes_ = content.size();
    rewritten_ns_ = now_ns;
    return {};
  }
  WHEREFORE_ASSIGN_OR_RETURN(File file, File::Open(path_, O_WRONLY));
  WHEREFORE_RETURN_IF_ERROR(file.WriteAt(file_bytes_, bytes));
  WHEREFORE_RETURN_IF_ERROR(file.SyncData());
  file_bytes_ += bytes.size();
  return {};
}

}  // namespace wherefore::store
