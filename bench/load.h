// The benchmark's load: OTLP profile requests of synthetic services, written as protobuf bytes.
//
// A service is a random call tree. Its stacks are paths in it, so they share prefixes as in real
// programs: with Model::kNarrow 20,000 stacks have some 50,000 distinct paths, with Model::kWide,
// where a stack leaves the others half-way, 200,000. Samples are drawn from the stacks by Zipf's
// law. Every request has its own dictionary; one sample in ten is linked to a span of its own.
//
// A request depends only on (shape, service, instance, step), so the exact totals of any part of
// the load are known.
//
// Threads: Load is immutable once made; a RequestWriter belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace wherefore::bench {

enum class Model : std::uint8_t { kNarrow, kWide };

struct Shape {
  Model model = Model::kNarrow;
  int services = 20;
  int instances = 5;
  int functions = 4'000;  // per service
  int stacks = 20'000;    // per service
  int samples = 120;      // per profile, each with another stack
  int mean_depth = 26;
  std::uint64_t seed = 42;
  std::string prefix = "service";  // service i is called <prefix>-<i>
};

// xoshiro256**: a few instructions per number, so that the generator costs little compared with the
// server.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t Next();
  std::uint64_t Below(std::uint64_t limit) { return Next() % limit; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::array<std::uint64_t, 4> state_;
};

struct Service {
  std::string name;
  std::vector<std::string> function_names;
  std::vector<std::uint32_t> function_files;  // into file_entries
  // Names and files encoded as entries of a request's string table; names in one buffer, popular
  // ones together, because fetching them from all over memory was half the cost of a request.
  std::string name_entries;
  std::vector<std::uint32_t> name_begin;  // one more than there are functions
  std::vector<std::string> file_entries;
  std::vector<std::uint32_t> stack_functions;  // all stacks one after the other, leaf first
  std::vector<std::uint32_t> stack_begin;      // one more than there are stacks
};

class Load {
 public:
  explicit Load(Shape shape);
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Service& service(int index) const {
    return services_[static_cast<std::size_t>(index)];
  }
  // Popular stacks come first.
  [[nodiscard]] std::uint32_t DrawStack(Random& random) const;

 private:
  Shape shape_;
  std::vector<Service> services_;
  std::vector<double> cumulative_;
};

struct Link {
  std::array<std::uint8_t, 16> trace;
  std::array<std::uint8_t, 8> span;
  std::int64_t value;
};

// The content of a request, for checking answers.
struct Content {
  std::int64_t total = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> leaves;  // function, value of one sample
  std::vector<Link> links;
};

// Writes requests; reuses its buffers.
class RequestWriter {
 public:
  explicit RequestWriter(const Load& load);
  // Appends the request to `out`; `content` is replaced.
  void Write(int service, int instance, std::int64_t step, std::int64_t time_ns, std::string& out,
             Content& content);

 private:
  void DrawSamples(Random& random);
  std::uint32_t Location(const Service& service, std::uint32_t function);
  void WriteStack(const Service& service, std::uint32_t stack);
  void WriteProfile(std::int64_t time_ns, Random& random, Content& content, const Service& service);
  void WriteResource(const Service& service, int instance);

  const Load& load_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> samples_;  // stack, value
  // An entry whose mark is the current one has an index in this request's dictionary.
  std::uint32_t mark_ = 0;
  std::vector<std::uint32_t> stack_mark_, function_mark_, function_index_, file_mark_, file_index_;
  std::vector<std::size_t> stack_sample_;
  std::uint32_t next_string_ = 0, next_function_ = 0;
  std::string locations_, functions_, strings_, stacks_, links_, profile_, resource_;
};

}  // namespace wherefore::bench
