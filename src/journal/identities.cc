// See identities.h.
#include "journal/identities.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/log.h"
#include "base/raw_bytes.h"
#include "journal/file.h"

namespace wherefore::journal {
namespace {

constexpr std::string_view kOldMagic{"WFIDS\0\0\2", 8};  // without tenants
constexpr std::string_view kMagic{"WFIDS\0\0\3", 8};
constexpr std::uint64_t kSmallFile = 1u << 20;
// Identity 16, time 8, rejected 8, service 8, (tenant 4,) message length 4.
constexpr std::size_t FixedBytes(IdentityForm form) {
  return form == IdentityForm::kWithTenant ? 48 : 44;
}

// The records of a file up to the first damaged one; `left` is the rest.
std::vector<IdentityRecord> ReadRecords(std::string_view file, std::string_view& left) {
  const auto form =
      file.starts_with(kOldMagic) ? IdentityForm::kWithoutTenant : IdentityForm::kWithTenant;
  std::vector<IdentityRecord> records;
  left = file.substr(std::min(kMagic.size(), file.size()));
  for (IdentityRecord record; TakeIdentity(left, form, record);) records.push_back(record);
  return records;
}

}  // namespace

void AppendIdentity(std::string& out, const IdentityRecord& record) {
  const std::size_t begin = out.size();
  AppendRaw(out, record.identity.low);
  AppendRaw(out, record.identity.high);
  AppendRaw(out, record.time_ns);
  AppendRaw(out, record.rejected);
  AppendRaw(out, record.service);
  AppendRaw(out, record.tenant);
  AppendRaw(out, static_cast<std::uint32_t>(record.message.size()));
  out += record.message;
  AppendRaw(out, Hash64(std::string_view(out).substr(begin)));
}

bool TakeIdentity(std::string_view& in, IdentityForm form, IdentityRecord& record) {
  const std::size_t fixed = FixedBytes(form);
  if (in.size() < fixed + 8) return false;
  const auto message = Load<std::uint32_t>(in, fixed - 4);
  if (message > in.size() - fixed - 8) return false;
  const std::size_t size = fixed + message;
  if (Hash64(in.substr(0, size)) != Load<std::uint64_t>(in, size)) return false;
  record.identity = {Load<std::uint64_t>(in, 0), Load<std::uint64_t>(in, 8)};
  record.time_ns = Load<std::int64_t>(in, 16);
  record.rejected = Load<std::uint64_t>(in, 24);
  record.service = Load<std::uint64_t>(in, 32);
  record.tenant = form == IdentityForm::kWithTenant ? Load<std::uint32_t>(in, 40) : 0;
  record.message = in.substr(fixed, message);
  in.remove_prefix(size + 8);
  return true;
}

void IdentityClock::ResumeFrom(std::int64_t newest_ns) {
  resumed_at_ns_ = newest_ns > 0 ? newest_ns : NowUnixNs();
  started_ns_ = MonotonicNs();
}

std::int64_t IdentityClock::Now() const {
  return resumed_at_ns_ + (MonotonicNs() - started_ns_);
}

Result<std::vector<IdentityRecord>> IdentityLog::Open(const std::string& path) {
  path_ = path;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    stale_ = true;
    return std::vector<IdentityRecord>();
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  std::string_view left;
  std::vector<IdentityRecord> records = ReadRecords(bytes, left);
  if (!left.empty()) {
    Log(LogLevel::kWarn, "identities.log ends in a damaged record; later ones are lost",
        {{"bytes", left.size()}});
  }
  file_bytes_ = bytes.size();
  stale_ = !left.empty() || !bytes.starts_with(kMagic);
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
  Entry entry{record.time_ns, record.service, record.tenant, 0};
  if (record.rejected != 0 || !record.message.empty()) {
    entry.answer = next_answer_++;
    answers_[entry.answer] = {.rejected = record.rejected, .message = std::move(record.message)};
  }
  if (entries_.insert_or_assign(record.identity, entry).second) order_.push_back(record.identity);
}

void Identities::ForgetServices(const std::set<TenantService>& services) {
  std::erase_if(entries_, [&](auto& item) {
    const Entry& entry = item.second;
    const bool forget = services.contains({entry.tenant, entry.service});
    // The message may name what was deleted.
    if (forget || entry.service == 0) {
      if (const auto answer = answers_.find(entry.answer); answer != answers_.end()) {
        answer->second.message.clear();
      }
    }
    if (forget) answers_.erase(entry.answer);
    return forget;
  });
}

template <typename Keep>
Result<> IdentityLog::Rewrite(Keep&& keep, std::string_view more) {
  std::string content(kMagic);
  std::error_code error;
  if (std::filesystem::exists(path_, error)) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string old, ReadWholeFile(path_));
    std::string_view left;
    for (IdentityRecord& record : ReadRecords(old, left)) {
      if (keep(record)) AppendIdentity(content, record);
    }
  }
  content += more;
  WHEREFORE_RETURN_IF_ERROR(ReplaceFile(path_, content));
  file_bytes_ = content.size();
  stale_ = false;
  return {};
}

Result<> IdentityLog::ForgetServices(const std::set<TenantService>& services) {
  return Rewrite(
      [&](IdentityRecord& record) {
        if (record.service == 0) record.message.clear();
        return !services.contains({record.tenant, record.service});
      },
      {});
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
  const bool grown = file_bytes_ > kSmallFile && now_ns > rewritten_ns_ + Identities::kLifetimeNs;
  if (stale_ || grown) {
    rewritten_ns_ = now_ns;
    return Rewrite(
        [&](const IdentityRecord& record) {
          return record.time_ns > now_ns - Identities::kLifetimeNs;
        },
        bytes);
  }
  WHEREFORE_ASSIGN_OR_RETURN(File file, File::Open(path_, O_WRONLY));
  WHEREFORE_RETURN_IF_ERROR(file.WriteAt(file_bytes_, bytes));
  WHEREFORE_RETURN_IF_ERROR(file.SyncData());
  file_bytes_ += bytes.size();
  return {};
}

}  // namespace wherefore::journal
