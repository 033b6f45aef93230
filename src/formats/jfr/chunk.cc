#include "formats/jfr/chunk.h"

#include <fmt/format.h>

namespace wherefore::formats {

namespace {

struct PoolSpec {
  std::string_view type;
  std::array<JfrTypes::Wanted, 2> fields;
};

// What is read from each pool, in the order of JfrChunk::Pool.
constexpr std::array<PoolSpec, JfrChunk::kPools> kSpecs = {{
    {"java.lang.String", {}},
    {"jdk.types.Symbol", {{{"string", 0, true}}}},
    {"java.lang.Class", {{{"name", 0}}}},
    {"jdk.types.Method", {{{"type", 0}, {"name", 1}}}},
    {"java.lang.Thread", {{{"javaName", 0, true}, {"osName", 1, true}}}},
    {"jdk.types.ThreadState", {{{"name", 0, true}}}},
    {"jdk.types.FrameType", {{{"description", 0, true}}}},
    {"jdk.types.StackTrace", {}},
}};

constexpr std::array<JfrTypes::Wanted, 3> kFrameFields = {
    {{"method", 0}, {"lineNumber", 1}, {"type", 2}}};

}  // namespace

void JfrPool::Sort() {
  // Keys are normally strictly ascending, but checkpoints may repeat an entry.
  if (std::ranges::is_sorted(entries_, std::ranges::less_equal{}, &Entry::key)) return;
  std::ranges::stable_sort(entries_, {}, &Entry::key);
  const auto rest = std::ranges::unique(entries_, {}, &Entry::key);
  entries_.erase(rest.begin(), rest.end());
}

Error JfrChunk::Corrupt(std::string_view what, std::size_t at, std::string_view reason) const {
  return Error(Code::kCorrupt, fmt::format("JFR: chunk {}, {} at offset {}: {}", number_, what,
                                           offset_ + at, reason));
}

Result<JfrChunk> JfrChunk::Read(std::string_view file, std::size_t offset, std::size_t number) {
  JfrChunk chunk;
  chunk.offset_ = offset;
  chunk.number_ = number;
  WHEREFORE_RETURN_IF_ERROR(chunk.ReadHeader(file.substr(offset)));
  WHEREFORE_RETURN_IF_ERROR(chunk.ReadTypes());
  chunk.PlanPools();
  WHEREFORE_RETURN_IF_ERROR(chunk.ReadPools());
  return chunk;
}

Result<> JfrChunk::ReadHeader(std::string_view file) {
  const auto wrong = [this](std::string_view reason) { return Corrupt("header", 0, reason); };
  if (file.size() < kHeaderBytes) return wrong("it ends early");
  JfrCursor in(file, 0, false);
  if (in.Fixed(4) != 0x464c5200) return wrong("it does not begin with FLR");
  const std::uint64_t major = in.Fixed(2);
  const std::uint64_t minor = in.Fixed(2);
  if (major != 2) return wrong(fmt::format("version {}.{} is not one of 2.x", major, minor));
  header_.size = in.Fixed(8);
  in.Fixed(8);  // offset of the last constant pool
  header_.metadata = in.Fixed(8);
  header_.start_ns = in.Long();
  header_.duration_ns = in.Long();
  in.Fixed(8);  // start in ticks
  header_.ticks_per_second = in.Long();
  header_.compressed = (in.Fixed(4) & 1) != 0;
  if (header_.size == 0) return wrong("its size is 0: the recording was not finished");
  if (header_.size < kHeaderBytes || header_.size > file.size()) {
    return wrong(fmt::format("its size {} does not fit into the {} bytes that are left",
                             header_.size, file.size()));
  }
  bytes_ = file.substr(0, header_.size);
  return {};
}

Result<> JfrChunk::ReadTypes() {
  JfrCursor in = At(header_.metadata);
  const std::int64_t size = in.Int();
  const std::int64_t type = in.Long();
  const auto wrong = [this](std::string_view reason) {
    return Corrupt("metadata event", header_.metadata, reason);
  };
  if (header_.metadata < kHeaderBytes || !in.ok() || type != 0 || size <= 0 ||
      static_cast<std::uint64_t>(size) > bytes_.size() - header_.metadata) {
    return wrong("there is none in this chunk");
  }
  const std::size_t end = header_.metadata + static_cast<std::size_t>(size);
  JfrCursor body(bytes_.substr(0, end), in.at(), header_.compressed);
  const std::string reason = types_.Read(body);
  if (!reason.empty()) return wrong(reason);
  return {};
}

void JfrChunk::PlanPools() {
  pool_types_.fill(-1);
  for (const JfrTypes::Type& type : types_.types()) {
    for (std::size_t p = 0; p < kPools; ++p) {
      if (type.name != kSpecs[p].type || types_.Find(type.id) != &type) continue;
      pool_types_[p] = type.id;
      plans_[p] = types_.Plan(type, kSpecs[p].fields);
      if (p == kStrings) plans_[p] = {{.kind = JfrStep::Kind::kString, .slot = 0}};
    }
  }
  const JfrTypes::Type* traces = types_.Find(pool_types_[kStackTraces]);
  frames_step_ = traces == nullptr ? 0 : types_.FindField(*traces, "frames");
  const std::vector<JfrStep>& steps = plans_[kStackTraces];
  const bool usable = frames_step_ < steps.size() && steps[frames_step_].array &&
                      steps[frames_step_].kind == JfrStep::Kind::kStruct;
  if (!usable) {
    frames_step_ = steps.size();
    return;
  }
  frame_plan_ = types_.Plan(types_.types()[steps[frames_step_].type], kFrameFields);
  if (frame_plan_.empty()) frames_step_ = steps.size();
}

Result<> JfrChunk::ReadPools() {
  constexpr std::int64_t kCheckpoint = 1;
  WHEREFORE_RETURN_IF_ERROR(EachEvent([this](std::int64_t type, JfrCursor in) {
    return type == kCheckpoint ? ReadCheckpoint(in) : std::string();
  }));
  for (JfrPool& pool : pools_) pool.Sort();
  return {};
}

std::string JfrChunk::ReadCheckpoint(JfrCursor& in) {
  in.Long();  // start
  in.Long();  // duration
  in.Long();  // distance to the previous one
  in.Byte();  // kind
  const std::int64_t pools = in.Int();
  for (std::int64_t p = 0; p < pools && in.ok(); ++p) {
    const std::int64_t id = in.Long();
    const std::int64_t count = in.Int();
    if (count <= 0 || !in.ok()) continue;
    const JfrTypes::Type* type = types_.Find(id);
    if (type == nullptr)
      return fmt::format("constant pool of class {}, which is not described", id);
    const auto known = std::ranges::find(pool_types_, id);
    const auto which = static_cast<std::size_t>(known - pool_types_.begin());
    for (std::int64_t i = 0; i < count && in.ok(); ++i) {
      const std::int64_t key = in.Long();
      if (which < kPools) pools_[which].Add(key, in.at());
      types_.Skip(in, *type);
    }
    if (!in.ok()) {
      return fmt::format("the constant pool of {} does not fit into it", type->name.substr(0, 100));
    }
  }
  return in.ok() ? "" : "the constant pools end early";
}

std::string JfrChunk::Text(const JfrText& text) {
  if (text.form != JfrText::Form::kPooled) return JfrUtf8(text, header_.compressed);
  const JfrPool::Entry* entry = pools_[kStrings].Find(text.pooled);
  JfrRow row;
  if (entry == nullptr || !ReadEntry(kStrings, *entry, row)) return {};
  return JfrUtf8(row.texts[0], header_.compressed);  // "" if that is pooled again
}

std::string JfrChunk::NameIn(Pool which, std::int64_t key) {
  const JfrPool::Entry* entry = pools_[which].Find(key);
  JfrRow row;
  if (entry == nullptr || !ReadEntry(which, *entry, row)) return {};
  return Text(row.texts[0]);
}

}  // namespace wherefore::formats
