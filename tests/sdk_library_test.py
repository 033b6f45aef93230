"""libwherefore as a library: what it exports and needs, in an external project, with invalid arguments, and in programs
where it cannot hook everything."""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from compiled import LINK_SHARED, NO_HOOKS, STATIC, compile_program, compile_text
from harness import BINARY, ROOT, Case
from preload import BUILD, LIBRARY, Profiled
from sdk_bytes import message, one

OLDEST_GLIBC = (2, 36)


class Library(Case):
    def symbols(self, *flags):
        return subprocess.run(["nm", "-D", *flags, str(LIBRARY)], check=True, capture_output=True, text=True).stdout.split("\n")

    def test_shows_what_the_list_says_and_nothing_else(self):
        listed = [line for line in (ROOT / "src/sdk/exported_symbols.txt").read_text().splitlines()
                  if line and not line.startswith("#")]
        shown = {line.split()[-1].split("@")[0] for line in self.symbols("--defined-only") if line}
        unlisted = {s for s in shown if s not in listed and not s.startswith("wherefore_")}
        self.assertEqual(unlisted, set())
        self.assertEqual({s for s in listed if "*" not in s} - shown, set(), "listed, but not there")
        declared = set(re.findall(r"\b(wherefore_\w+)\(", (ROOT / "include/wherefore/wherefore.h").read_text()))
        self.assertEqual(declared - shown, set(), "declared in the header, but not exported")

    def test_needs_no_newer_glibc_and_no_other_library(self):
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([\d.]+)", "\n".join(self.symbols("--undefined-only")))}
        self.assertLessEqual(max(versions)[:2], OLDEST_GLIBC)
        needed = subprocess.run(["readelf", "-dW", str(LIBRARY)], check=True, capture_output=True, text=True).stdout
        self.assertEqual(set(re.findall(r"NEEDED.*\[(.*?)\]", needed)) - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, set())
        self.assertIn("oldest glibc it runs on is %d.%d" % OLDEST_GLIBC, " ".join((ROOT / "docs/sdk.md").read_text().split()))

    def test_the_static_library_keeps_its_own_parts_to_itself(self):
        names = subprocess.run(["nm", "-g", "--defined-only", str(STATIC)], check=True, capture_output=True, text=True).stdout
        # Not "u": tables of constants that the linker unites anyway.
        self.assertNotRegex(names, r"(?m) [A-Zvw] (_ZN3fmt|_ZN9wherefore|deflate|lzma_|XXH)")
        self.assertRegex(names, r"(?m) B otel_thread_ctx_v1$| D otel_thread_ctx_v1$")

    def test_a_project_outside_builds_with_cmake_and_with_pkg_config(self):
        prefix = self.folder / "prefix"
        first = self.folder / "first"
        subprocess.run(["cmake", "--install", str(BUILD), "--component", "sdk", "--prefix", str(first)], check=True, capture_output=True)
        first.rename(prefix)  # no file may know where it was installed
        project = self.folder / "project"
        project.mkdir()
        (project / "main.cc").write_text("""#include <wherefore/profiler.h>
#include <wherefore/tracer.h>
#include <cstdio>
using wherefore::Profiler;
int main() {
  std::printf("%s\\n", Profiler::State(wherefore::Type::kCpu).why);
  auto profiler = Profiler::Start();
  { wherefore::Span span("outside"); }
  Profiler::Enable(wherefore::Type::kThreads, false);
  Profiler::SetRate(wherefore::Type::kCpu, 50);
  const auto cpu = Profiler::State(wherefore::Type::kCpu);
  std::printf("%d %g %s\\n", cpu.on, cpu.rate, Profiler::State(wherefore::Type::kThreads).why);
  std::printf("%s %d\\n", wherefore_version(), profiler.status());
}
""")
        (project / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.16)
project(outside CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(Wherefore REQUIRED)
add_executable(shared main.cc)
target_link_libraries(shared PRIVATE Wherefore::wherefore)
add_executable(static main.cc)
target_link_libraries(static PRIVATE Wherefore::static)
""")
        subprocess.run(["cmake", "-S", str(project), "-B", str(project / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"], check=True,
                       capture_output=True)
        subprocess.run(["cmake", "--build", str(project / "build")], check=True, capture_output=True)
        pkgconfig = glob.glob(str(prefix / "**/pkgconfig"), recursive=True)[0]
        for package, name, more in (("wherefore", "pkg", []), ("wherefore-static", "pkg-static", []),
                                    ("wherefore-nohooks", "pkg-nohooks", ["-static"])):
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], check=True, capture_output=True, text=True,
                                   env={**os.environ, "PKG_CONFIG_PATH": pkgconfig}).stdout.split()
            subprocess.run(["g++", "-std=c++17", str(project / "main.cc"), "-o", str(project / "build" / name), *more, *flags], check=True)
        library = str(pathlib.Path(pkgconfig).parent)
        for name in ("shared", "static", "pkg", "pkg-static", "pkg-nohooks"):
            out = self.folder / f"out-{name}"
            path = {"LD_LIBRARY_PATH": library} if name in ("shared", "pkg") else {}
            done = subprocess.run([str(project / "build" / name)], capture_output=True, text=True, timeout=30,
                                  env={**os.environ, **path, "WHEREFORE_OUTPUT": str(out) + "/"})
            before, state, version = done.stdout.splitlines()
            self.assertEqual((done.returncode, before, state), (0, "the profiler is not running", "1 50 switched off"), done.stderr)
            self.assertEqual(version.split()[1:], ["0"])
            self.assertTrue(list(out.glob("*-traces.otlp")), name)
        for name in ("static", "pkg-static"):
            symbols = subprocess.run(["nm", "-D", "--defined-only", str(project / "build" / name)], check=True, capture_output=True,
                                     text=True).stdout.split()
            for symbol in ("otel_thread_ctx_v1", "wherefore_start", "wherefore_flush"):
                self.assertIn(symbol, symbols, name)


class OneOperation(Case):
    def test_a_profile_of_one_operation_where_nothing_else_is_sampled(self):
        program = compile_text("""#include <wherefore/profiler.h>
#include <ctime>
volatile double sink;
[[gnu::noinline]] void Spin(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  while (std::clock() < end) for (int i = 0; i < 10000; ++i) sink = sink + i;
}
[[gnu::noinline]] void Before() { Spin(0.3); sink = 0; }
[[gnu::noinline]] void Wanted() { Spin(1); sink = 0; }
int main() {
  wherefore::Options options;
  options.manual_start = true;
  auto profiler = wherefore::Profiler::Start(options);
  Before();
  { wherefore::ScopedProfile profile("one.pb.gz"); Wanted(); }
  Before();
}
""", self.folder / "one", *LINK_SHARED)
        subprocess.run([str(program)], check=True, capture_output=True, cwd=self.folder, timeout=60, env={**os.environ, "WHEREFORE_OUTPUT": "out"})
        done = subprocess.run([BINARY, "top", "one.pb.gz", "--type", "cpu", "--json"], check=True, capture_output=True, text=True, cwd=self.folder)
        answer = json.loads(done.stdout)
        totals = {row["name"].split("(")[0]: int(row["total"]) / 1e9 for row in answer["rows"]}
        self.assertNotIn("Before", totals)
        self.assertAlmostEqual(totals["Wanted"], 1, delta=0.2)
        self.assertGreater(answer["count"], 40)  # a hundred a second, or what a busy machine leaves of it


class NotProfiled(Case):
    def test_one_operation_without_a_profiler_is_said_once(self):
        program = compile_text("""#include <wherefore/profiler.h>
#include <cstdio>
int main() {
  for (int i = 0; i < 3; ++i) { wherefore::ScopedProfile profile("one.pb.gz"); std::printf("%d\\n", profile.Stop()); }
}
""", self.folder / "one", *LINK_SHARED)
        for level, lines in (("", 1), ("warn", 1), ("error", 0)):
            done = subprocess.run([str(program)], check=True, capture_output=True, text=True, cwd=self.folder, timeout=60,
                                  env={**os.environ, **({"WHEREFORE_LOG": level} if level else {})})
            self.assertEqual(done.stdout, "3\n3\n3\n")
            self.assertEqual(done.stderr.count("no profiler runs"), lines, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), lines, done.stderr)

    def test_a_program_that_may_have_no_threads_is_told(self):
        program = compile_text("""#include <sys/resource.h>
#include <unistd.h>
int main(int, char** argv) {
  // Root may have as many as it likes.
  if (setgid(65534) != 0 || setuid(65534) != 0) return 77;
  const rlimit one = {1, 1};
  setrlimit(RLIMIT_NPROC, &one);
  setenv("LD_PRELOAD", argv[1], 1);
  execl("/bin/echo", "echo", "alive", nullptr);
}
""", self.folder / "limited", "-include", "cstdlib")
        if os.getuid() != 0:
            self.skipTest("only root can become somebody else, of whom no other process is counted")
        library = self.folder / LIBRARY.name
        shutil.copy(LIBRARY, library)
        self.folder.chmod(0o755)
        done = subprocess.run([str(program), str(library)], check=True, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "alive\n")
        self.assertIn("not profiling: the system gave no thread", done.stderr)


class Rates(Case):
    def test_those_of_code_that_make_no_sense_are_said_and_change_nothing(self):
        program = compile_text("""#include <wherefore/profiler.h>
#include <cmath>
#include <cstdio>
using wherefore::Profiler;
using wherefore::Type;
int main() {
  wherefore::Options options;
  options.Rate(Type::kCpu, 1e9).Rate(Type::kWall, 1e-30).Rate(Type::kHeap, 1e15).Rate(Type::kThreads, NAN).Rate(Type::kMutex, 5000);
  auto profiler = Profiler::Start(options);
  std::printf("%d", Profiler::SetRate(Type::kCpu, 1e-30) || Profiler::SetRate(Type::kThreads, 1e9));
  for (int type = 0; type < WHEREFORE_TYPE_COUNT; ++type) std::printf(" %g", Profiler::State(static_cast<Type>(type)).rate);
}
""", self.folder / "rates", *LINK_SHARED)
        done = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out")})
        self.assertEqual(done.stdout, "0 100 20 20 524288 5000 100000 60", done.stderr)
        frequency = "is not samples per second, from 0.001 to 10000"
        for text in (f"the rate of cpu in the program's options, 1000000000, {frequency}; ignored",
                     f"the rate of wall in the program's options, 1e-30, {frequency}; ignored",
                     "the rate of heap in the program's options, 1000000000000000, is not a size from 1 byte to 1TB, such as 512KB or 10MB; ignored",
                     "the rate of threads in the program's options, nan, is not a duration from 100ms to 24h; ignored",
                     f"a rate of 1e-30 for cpu {frequency}; it stays as it was",
                     "a rate of 1000000000 for threads is not a duration from 100ms to 24h; it stays as it was"):
            self.assertEqual(done.stderr.count(text), 1, f"{text}\n{done.stderr}")


class UnderAPreload(Profiled):
    PROGRAM = """#include <wherefore/profiler.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
using wherefore::Profiler;
using wherefore::Type;
volatile double sink;
[[gnu::noinline]] void Spin(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  while (std::clock() < end) for (int i = 0; i < 10000; ++i) sink = sink + i;
}
[[gnu::noinline]] int BeforeMain() {
  Spin(0.5);
  std::mutex mutex;
  mutex.lock();
  std::thread other([&] { mutex.lock(); mutex.unlock(); });
  usleep(200000);
  mutex.unlock();
  other.join();
  return 0;
}
static int before = BeforeMain();
[[gnu::noinline]] void InMain() { Spin(0.5); sink = 0; }
[[gnu::noinline]] void InChild() { Spin(0.5); sink = 0; }
Profiler Start(const char* name) {
  wherefore::Options options;
  options.service_name = name;
  options.max_stack_depth = 40;
  return Profiler::Start(options.Rate(Type::kCpu, 50).Disable(Type::kBlock).Disable(Type::kMutex));
}
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "none") == 0) { auto profiler = Profiler::Start(); InMain(); return profiler.status(); }
  const pid_t child = argc > 1 ? fork() : -1;
  if (child == 0) {
    auto profiler = Start("checkout-child");
    InChild();
    return profiler.status();
  }
  {
    auto profiler = Start("checkout");
    InMain();
    std::printf("%d %d %g %s\\n", profiler.status(), Start("second").status(), Profiler::State(Type::kCpu).rate,
                Profiler::State(Type::kBlock).why);
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  std::printf("%d %d\\n", Profiler::Running(), status);
}
"""

    def run_it(self, *arguments):
        program = compile_text(self.PROGRAM, self.folder / "program", *LINK_SHARED)
        done = self.profiled(str(program), *arguments, OTEL_SERVICE_NAME="environment", WHEREFORE_LOG="info", WHEREFORE_CPU_RATE="200",
                             WHEREFORE_MAX_OVERHEAD="100%")
        sent = b"".join(file.read_bytes() for file in self.folder.glob("out*profiles.otlp"))
        return done, sent

    def test_options_of_the_code_win_and_nothing_sampled_before_them_is_lost(self):
        done, sent = self.run_it()
        self.assertEqual(done.stdout, "0 2 50 switched off\n0 0\n")
        started = [line for line in done.stderr.splitlines() if ": on: " in line]
        self.assertEqual(len(started), 2, done.stderr)
        self.assertIn("profiling environment ", started[0])
        self.assertRegex(started[1], r"profiling checkout .*cpu 50 Hz.*off: .*block \(switched off\)")
        self.assertIn(b"checkout", sent)
        self.assertFalse(b"environment" in sent)
        _, rows = self.rows("cpu")
        for name in ("BeforeMain", "InMain"):
            self.assertAlmostEqual(int(rows[name]["total"]) / 1e9, 0.5, delta=0.15)
        self.assertFalse(b"contentions" in sent, "waits before main, of types the code wants none of")

    def test_code_that_says_nothing_changes_nothing_and_owns_it(self):
        done, sent = self.run_it("none")
        self.assertIn(b"environment", sent)
        self.assertIn("InMain", self.rows("cpu")[1])

    def test_a_forked_child_starts_by_its_own_options_and_sends_nothing_of_its_parents(self):
        done, sent = self.run_it("fork")
        self.assertEqual(done.stdout, "0 2 50 switched off\n0 0\n")
        self.assertIn(b"checkout-child", sent)
        _, rows = self.rows("cpu")
        for name in ("BeforeMain", "InMain", "InChild"):
            self.assertAlmostEqual(int(rows[name]["total"]) / 1e9, 0.5, delta=0.15, msg=name)


class RuntimeStatistics(Case):
    def test_spans_say_how_things_are_at_that_moment(self):
        program = compile_text("""#include <wherefore/profiler.h>
#include <wherefore/tracer.h>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
using wherefore::Type;
void Ask(const char* name) { wherefore::Span span(name); errno = 77; span.AddRuntimeStatistics(); if (errno != 77) std::puts("errno"); }
int main() {
  wherefore::Options options;
  auto profiler = wherefore::Profiler::Start(options.Rate(Type::kHeap, 65536));
  Ask("start");
  std::vector<std::unique_ptr<char[]>> held(50000);
  for (auto& block : held) block = std::make_unique<char[]>(1000);
  Ask("held");
  for (auto& block : held) block.reset();
  Ask("freed");
  std::mutex mutex;
  std::unique_lock hold(mutex);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { const std::lock_guard wait(mutex); });
  Ask("threads");
  wherefore::Profiler::Enable(Type::kHeap, false);
  Ask("off");
  hold.unlock();
  for (auto& thread : threads) thread.join();
}
""", self.folder / "program", *LINK_SHARED)
        done = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out") + "/"})
        self.assertEqual(done.stdout, "")
        told = {}
        for file in (self.folder / "out").glob("*-traces.otlp"):
            for resource in map(message, message(file.read_bytes())[1]):
                for span in (message(raw) for scope in map(message, resource[2]) for raw in scope[2]):
                    pairs = [message(pair) for pair in span[9]]
                    told[one(span, 5).decode()] = {one(pair, 1).decode(): one(message(one(pair, 2)), 3) for pair in pairs}
        self.assertEqual({name: seen["runtime.threads"] for name, seen in told.items()},
                         {"start": 1, "held": 1, "freed": 1, "threads": 4, "off": 4})
        self.assertLess(told["start"]["runtime.heap_alloc"], 5e6)
        self.assertAlmostEqual(told["held"]["runtime.heap_alloc"], 50.4e6, delta=10e6)  # 760 samples: within 15 % all but never
        self.assertAlmostEqual(told["held"]["runtime.heap_objects"], 50000, delta=10000)
        self.assertLess(told["freed"]["runtime.heap_alloc"], 5e6)
        self.assertEqual([key for key in told["off"] if key.startswith("runtime.")], ["runtime.threads"])


class NullArguments(Case):
    def test_every_function_takes_null_for_every_pointer_running_or_not(self):
        header = ROOT / "include/wherefore/wherefore.h"
        done = subprocess.run(["/usr/bin/python3", str(ROOT / "tests/sdk/null_arguments.py"), str(header), str(self.folder / "log")],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LD_PRELOAD": str(LIBRARY), "WHEREFORE_OUTPUT": str(self.folder / "out"), "WHEREFORE_LOG": "error"})
        log = (self.folder / "log").read_text().splitlines()
        self.assertEqual(done.returncode, 0, f"{done.stderr} in {log[-1:]}")
        declared = set(re.findall(r"\b(wherefore_\w+)\(", header.read_text()))
        self.assertEqual({line.split()[0] for line in log}, declared, "not all were tried")


class FullyStatic(Case):
    def test_cpu_wall_threads_and_links_work_and_the_rest_says_why_not(self):
        program = compile_program(ROOT / "tests/sdk/static_program.cc", self.folder / "static", "-static", str(NO_HOOKS))
        headers = subprocess.run(["readelf", "-lW", str(program)], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("INTERP", headers)
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out"), "WHEREFORE_THREADS_RATE": "1s"})
        self.assertEqual((done.returncode, done.stdout), (0, "0\n"), done.stderr)
        on, off = done.stderr.split("; off: ")
        self.assertRegex(on, r"on: cpu .*wall .*block every .*\(input and output only: .*\), threads")
        self.assertRegex(off, r"heap \(there are no hooks in a fully static program\), mutex \(there are no hooks")
        files = sorted(str(file) for file in self.folder.glob("out*profiles.otlp"))
        for type, name in (("cpu", "SpinHere"), ("wall", "WaitHere"), ("off_cpu", "WaitHere"), ("threads", "main")):
            top = subprocess.run([BINARY, "top", *files, "--type", type, "--json", "--limit", "1000"], check=True,
                                 capture_output=True, text=True)
            self.assertTrue([row for row in json.loads(top.stdout)["rows"] if name in row["name"]], f"{name} in {type}")
        self.assertIn(bytes(range(0x90, 0xa0)), b"".join(pathlib.Path(file).read_bytes() for file in files))


class NotFirstInLine(Case):
    """Which functions the host calls is decided at its start."""

    def said(self, program, *arguments, **environment):
        done = subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out"), **environment})
        return done.stdout, done.stderr

    def test_opened_by_dlopen_it_sees_no_locks_and_says_so(self):
        program = compile_text("""#include <wherefore/wherefore.h>
#include <dlfcn.h>
#include <cstdio>
int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return std::puts(dlerror()), 1;
  const int started = reinterpret_cast<decltype(&wherefore_start)>(dlsym(library, "wherefore_start"))(nullptr);
  const auto state = reinterpret_cast<decltype(&wherefore_get_type_state)>(dlsym(library, "wherefore_get_type_state"));
  wherefore_type_state mutex = {}, block = {};
  mutex.size = block.size = sizeof mutex;
  state(WHEREFORE_MUTEX, &mutex);
  state(WHEREFORE_BLOCK, &block);
  std::printf("%d %d %d\\n", started, mutex.on, block.on);
}
""", self.folder / "opens")
        out, log = self.said(program, str(LIBRARY))
        self.assertEqual(out, "0 0 1\n", log)
        why = r"pthread_mutex_lock comes from \S+/libc\.so\.6, which is loaded before libwherefore"
        self.assertRegex(log, rf"on: cpu .*, block [^(]*\(input and output only: {why}\), threads .*; off: heap \(malloc comes from [^)]*\), mutex \({why}\)")

    def test_behind_a_library_that_calls_it_locks_are_seen(self):
        library = compile_text("""#include <dlfcn.h>
#include <pthread.h>
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto next = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return next(mutex);
}
""", self.folder / "wraps.so", "-shared", "-fPIC", "-fno-threadsafe-statics")
        _, log = self.said("/bin/true", LD_PRELOAD=f"{library}:{LIBRARY}")
        self.assertRegex(log, r"on: cpu .*, mutex every [^(]*, block every [^(]*, threads [^(]*; to files")


if __name__ == "__main__":
    unittest.main(verbosity=2)
