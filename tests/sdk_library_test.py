"""libwherefore as others meet it: what it shows and needs, read from outside while it runs, built into a project outside,
preloaded by `wherefore run`, sending to a real server over http and https."""
import ctypes
import glob
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
import unittest

import harness
import sdk_bytes
from harness import BINARY, ROOT, field

BUILD = pathlib.Path(BINARY).parent
SHARED = BUILD / "libwherefore.so"
STATIC = BUILD / "libwherefore.a"
NO_HOOKS = BUILD / "libwherefore_nohooks.a"
OLDEST_GLIBC = (2, 36)
STATIC_FLAGS = ["-Wl,--export-dynamic-symbol=otel_thread_ctx_v1", "-Wl,--export-dynamic-symbol=wherefore_*"]


def compile_program(source, out, *flags):
    subprocess.run(["g++", "-std=c++17", "-O2", f"-I{ROOT}/include", str(source), "-o", str(out), *flags, "-pthread", "-ldl"],
                   check=True, timeout=120)
    return out


# --- a reader outside: ELF, ptrace, /proc/PID/mem ---

class Elf:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        phoff, = struct.unpack_from("<Q", self.data, 32)
        phentsize, phnum = struct.unpack_from("<HH", self.data, 54)
        self.headers = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phentsize) for i in range(phnum)]
        shoff, = struct.unpack_from("<Q", self.data, 40)
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize) for i in range(shnum)]

    def dynamic_symbol(self, name):
        """(number, type, value) in .dynsym, or None"""
        for kind, link, offset, size in ((s[1], s[6], s[4], s[5]) for s in self.sections):
            if kind != 11:  # SHT_DYNSYM
                continue
            strings = self.sections[link][4]
            for number in range(size // 24):
                st_name, info, _, shndx, value, _ = struct.unpack_from("<IBBHQQ", self.data, offset + number * 24)
                end = self.data.index(b"\0", strings + st_name)
                if self.data[strings + st_name:end] == name and shndx:
                    return number, info & 15, value
        return None

    def tls_descriptor(self, symbol):
        """Address of the GOT slot of R_X86_64_TLSDESC for that symbol."""
        for s in self.sections:
            if s[1] != 4:  # SHT_RELA
                continue
            for at in range(s[4], s[4] + s[5], 24):
                r_offset, info, _ = struct.unpack_from("<QQq", self.data, at)
                if info & 0xffffffff == 36 and info >> 32 == symbol:
                    return r_offset
        return None

    def static_tls(self, value):
        """Offset from the thread pointer in an executable (variant II)."""
        for kind, _, _, _, _, _, memsz, align in self.headers:
            if kind == 7:  # PT_TLS
                return value - (memsz + align - 1) // align * align
        raise AssertionError("no TLS segment")


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Stopped:
    """A thread under a ptrace stop: nothing of it moves while we look."""

    def __init__(self, tid):
        self.tid = tid

    def __enter__(self):
        assert libc.ptrace(16, self.tid, None, None) == 0, os.strerror(ctypes.get_errno())  # PTRACE_ATTACH
        os.waitpid(self.tid, 0x40000000)  # __WALL
        registers = (ctypes.c_ulonglong * 27)()
        assert libc.ptrace(12, self.tid, None, ctypes.byref(registers)) == 0  # PTRACE_GETREGS
        self.fs_base = registers[21]
        return self

    def __exit__(self, *unused):
        libc.ptrace(17, self.tid, None, None)  # PTRACE_DETACH


def read_memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def mappings(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        parts = line.split(None, 5)
        start, end = (int(x, 16) for x in parts[0].split("-"))
        yield start, end, int(parts[2], 16), parts[5].strip() if len(parts) > 5 else ""


def thread_pointer_slot(pid, fs_base):
    """(how it was found, address of this thread's otel_thread_ctx_v1)"""
    files = {}
    for start, _, offset, path in mappings(pid):
        if offset == 0 and path.startswith("/") and os.path.isfile(path):
            files.setdefault(path, start)
    executable = os.readlink(f"/proc/{pid}/exe")
    for path in sorted(files, key=lambda p: p != executable):
        elf = Elf(path)
        found = elf.dynamic_symbol(b"otel_thread_ctx_v1")
        if found is None:
            continue
        number, kind, value = found
        assert kind == 6, "the symbol is not a TLS one"
        if path == executable:
            return "static", fs_base + elf.static_tls(value)
        slot = elf.tls_descriptor(number)
        assert slot is not None, "no TLSDESC relocation for the symbol"
        offset, = struct.unpack("<q", read_memory(pid, files[path] + slot + 8, 8))
        return "tlsdesc", fs_base + offset
    raise AssertionError("nobody publishes otel_thread_ctx_v1")


def process_context(pid):
    for start, _, _, name in mappings(pid):
        if name.startswith(("[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX")):
            signature, version, size, time_ns, pointer = struct.unpack("<8sIIQQ", read_memory(pid, start, 32))
            return signature, version, time_ns, read_memory(pid, pointer, size)
    raise AssertionError("no process context")


class Outside(harness.Case):
    def check(self, program, way, environment=None):
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out") + "/", **(environment or {})})
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "fine")
        for first in (0x10, 0x20):
            tid = int(process.stdout.readline())
            with Stopped(tid) as thread:
                found, slot = thread_pointer_slot(process.pid, thread.fs_base)
                self.assertEqual(found, way)
                record, = struct.unpack("<Q", read_memory(process.pid, slot, 8))
                bytes_there = read_memory(process.pid, record, 28 + 8)
            self.assertEqual(record % 2, 0)
            expected = bytes(range(first, first + 16)) + bytes(range(first + 0x40, first + 0x48))
            expected += b"\x01\x01" + struct.pack("<H", 8) + b"\x00\x06/items"
            self.assertEqual(bytes_there, expected)
            signature, version, time_ns, payload = process_context(process.pid)
            self.assertEqual((signature, version), (b"OTEL_CTX", 2))
            self.assertGreater(time_ns, 0)
            self.assertIn(field(1, field(1, "service.name") + field(2, field(1, "svc"))), payload)
            schema = field(2, field(1, "threadlocal.schema_version") + field(2, field(1, "tlsdesc_v1_dev")))
            keys = field(2, field(1, "threadlocal.attribute_key_map") + field(2, field(5, field(1, field(1, "http.route")))))
            self.assertTrue(payload.endswith(schema + keys), payload)
            process.stdin.write("\n")
            process.stdin.flush()
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, errors)
        self.assertRegex(errors, r"^wherefore: profiling svc \(process \d+\): on: cpu")
        return errors

    def test_linked_shared(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "shared", str(SHARED),
                                  f"-Wl,-rpath,{BUILD}")
        self.check(program, "tlsdesc")

    def test_linked_statically_also_under_a_preload_which_stays_passive(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "static", str(STATIC), *STATIC_FLAGS)
        self.check(program, "static")
        errors = self.check(program, "static", {"LD_PRELOAD": str(SHARED)})
        self.assertEqual(errors.count("wherefore: profiling"), 1)

    def test_without_a_dynamic_linker_the_context_is_readable_as_static_pie(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "static-pie", "-static-pie", str(NO_HOOKS),
                                  *STATIC_FLAGS)
        self.check(program, "static")

    def test_preloaded(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "preloaded", "-DPRELOADED")
        self.check(program, "tlsdesc", {"LD_PRELOAD": str(SHARED), "OTEL_SERVICE_NAME": "svc"})


class Library(harness.Case):
    def symbols(self, *flags):
        return subprocess.run(["nm", "-D", *flags, str(SHARED)], check=True, capture_output=True, text=True).stdout.split("\n")

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
        needed = subprocess.run(["readelf", "-dW", str(SHARED)], check=True, capture_output=True, text=True).stdout
        self.assertEqual(set(re.findall(r"NEEDED.*\[(.*?)\]", needed)) - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, set())
        self.assertIn("oldest glibc it\n  runs on is %d.%d" % OLDEST_GLIBC, (ROOT / "docs/sdk.md").read_text())

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


class OneOperation(harness.Case):
    def test_a_profile_of_one_operation_where_nothing_else_is_sampled(self):
        (self.folder / "one.cc").write_text("""#include <wherefore/profiler.h>
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
""")
        program = compile_program(self.folder / "one.cc", self.folder / "one", str(SHARED), f"-Wl,-rpath,{SHARED.parent}")
        subprocess.run([str(program)], check=True, capture_output=True, cwd=self.folder, timeout=60, env={**os.environ, "WHEREFORE_OUTPUT": "out"})
        done = subprocess.run([BINARY, "top", "one.pb.gz", "--type", "cpu", "--json"], check=True, capture_output=True, text=True, cwd=self.folder)
        answer = json.loads(done.stdout)
        totals = {row["name"].split("(")[0]: int(row["total"]) / 1e9 for row in answer["rows"]}
        self.assertNotIn("Before", totals)
        self.assertAlmostEqual(totals["Wanted"], 1, delta=0.2)
        self.assertGreater(answer["count"], 40)  # a hundred a second, or what a busy machine leaves of it


class Rates(harness.Case):
    def test_those_of_code_that_make_no_sense_are_said_and_change_nothing(self):
        (self.folder / "rates.cc").write_text("""#include <wherefore/profiler.h>
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
""")
        program = compile_program(self.folder / "rates.cc", self.folder / "rates", str(SHARED), f"-Wl,-rpath,{SHARED.parent}")
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


class NullArguments(harness.Case):
    def test_every_function_takes_null_for_every_pointer_running_or_not(self):
        header = ROOT / "include/wherefore/wherefore.h"
        done = subprocess.run(["/usr/bin/python3", str(ROOT / "tests/sdk/null_arguments.py"), str(header), str(self.folder / "log")],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LD_PRELOAD": str(SHARED), "WHEREFORE_OUTPUT": str(self.folder / "out"), "WHEREFORE_LOG": "error"})
        log = (self.folder / "log").read_text().splitlines()
        self.assertEqual(done.returncode, 0, f"{done.stderr} in {log[-1:]}")
        declared = set(re.findall(r"\b(wherefore_\w+)\(", header.read_text()))
        self.assertEqual({line.split()[0] for line in log}, declared, "not all were tried")


class FullyStatic(harness.Case):
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


class NotFirstInLine(harness.Case):
    """Whose functions the host calls is decided when it starts."""

    def said(self, program, *arguments, **environment):
        done = subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out"), **environment})
        return done.stdout, done.stderr

    def test_opened_by_dlopen_it_sees_no_locks_and_says_so(self):
        (self.folder / "opens.cc").write_text("""#include <wherefore/wherefore.h>
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
""")
        program = compile_program(self.folder / "opens.cc", self.folder / "opens")
        out, log = self.said(program, str(SHARED))
        self.assertEqual(out, "0 0 1\n", log)
        why = r"pthread_mutex_lock comes from \S+/libc\.so\.6, which is loaded before libwherefore"
        self.assertRegex(log, rf"on: cpu .*, block [^(]*\(input and output only: {why}\), threads .*; off: heap \(malloc comes from [^)]*\), mutex \({why}\)")

    def test_behind_a_library_that_calls_it_locks_are_seen(self):
        (self.folder / "wraps.cc").write_text("""#include <dlfcn.h>
#include <pthread.h>
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto next = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return next(mutex);
}
""")
        library = compile_program(self.folder / "wraps.cc", self.folder / "wraps.so", "-shared", "-fPIC", "-fno-threadsafe-statics")
        _, log = self.said("/bin/true", LD_PRELOAD=f"{library}:{SHARED}")
        self.assertRegex(log, r"on: cpu .*, mutex every [^(]*, block every [^(]*, threads [^(]*; to files")


BUSY = """#include <cstdlib>
__attribute__((noinline)) double Spin(long n) { volatile double x = 0; for (long i = 0; i < n; ++i) x = x + i * 0.5; return x; }
int main(int argc, char**) { Spin(400'000'000); return 40 + argc; }
"""


class Run(harness.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "busy.cc").write_text(BUSY)
        self.program = compile_program(self.folder / "busy.cc", self.folder / "busy")

    def run_cli(self, *arguments, **more):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60, **more)

    def test_profiles_arrive_and_the_program_is_itself(self):
        server = self.server()
        done = self.run_cli("--server", server.http, "run", "--types", "cpu", "--", str(self.program), "--version")
        self.assertEqual((done.returncode, done.stdout), (42, ""), done.stderr)
        self.assertIn(f"wherefore: {server.http}/s/busy?type=cpu", done.stderr)
        self.assertIn("on: cpu 100 Hz; off: wall", done.stderr)
        server.flush()
        top = server.ask("top", query="busy", type="cpu", since="1h")
        self.assertIn("Spin", json.dumps(top))

    def test_pprof_pages_can_be_pushed_while_it_runs(self):
        port = harness.free_port()
        process = subprocess.Popen([BINARY, "run", "--output", str(self.folder / "o"), "--pprof", str(port), "--", str(self.program)],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "/debug/pprof/" in line:
                break
        base = f"http://127.0.0.1:{port}/debug/pprof/"
        for page in ("profile?seconds=0.5", "wall?seconds=0.3", "heap", "allocs", "mutex", "block", "threads"):
            answer = harness.http("GET", base + page)
            self.assertEqual((answer.status, answer.body[:2]), (200, b"\x1f\x8b"), page)
            if page.startswith("profile"):
                (self.folder / "cpu.pb.gz").write_bytes(answer.body)
        self.assertEqual(process.wait(timeout=60), 41)
        process.stderr.close()
        top = self.run_cli("top", str(self.folder / "cpu.pb.gz"))
        self.assertIn("Spin", top.stdout, top.stderr)

    def test_pages_open_in_go_tool_pprof_with_what_go_shows(self):
        """Bytes and time; left to itself it takes the last, which is how often."""
        go = shutil.which("go")
        if go is None:
            self.assertNotEqual(os.environ.get("CI"), "true", "go is not installed")
            self.skipTest("go is not installed")
        pages = {"blocks": {"heap": "inuse_space", "allocs": "alloc_space", "heap?seconds=0.5": "inuse_space", "allocs?seconds=0.5": "alloc_space"},
                 "turns": {"mutex": "delay", "block": "delay", "profile?seconds=0.5": "cpu"}}
        for what, shown in pages.items():
            port = harness.free_port()
            process = subprocess.Popen([BINARY, "run", "--output", str(self.folder / "o"), "--pprof", str(port), "--", str(BUILD / "tests/truth"), what, "60"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "WHEREFORE_HEAP_RATE": "10KB"})
            self.addCleanup(process.wait)
            self.addCleanup(process.stderr.close)
            self.addCleanup(process.kill)
            for line in process.stderr:
                if "/debug/pprof/" in line:
                    break
            for page, type in shown.items():
                url = f"http://127.0.0.1:{port}/debug/pprof/{page}"
                harness.wait_until(lambda: sdk_bytes.read_pprof(harness.http("GET", url).body)[2])
                file = self.folder / "page.pb.gz"
                file.write_bytes(harness.http("GET", url).body)
                done = subprocess.run([go, "tool", "pprof", "-top", str(file)], capture_output=True, text=True, timeout=60)
                self.assertIn(f"Type: {type}\n", done.stdout, f"{page}: {done.stderr}")
                checked = self.run_cli("check", "--strict", str(file))
                self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_a_page_is_empty_while_nothing_was_seen_and_missing_where_the_type_is_off(self):
        port = harness.free_port()
        process = subprocess.Popen([BINARY, "run", "--types", "mutex,cpu", "--output", str(self.folder / "o"), "--pprof", str(port),
                                    "--", "sleep", "60"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "/debug/pprof/" in line:
                break
        base = f"http://127.0.0.1:{port}/debug/pprof/"
        before = time.time_ns()
        answer = harness.http("GET", base + "mutex")
        self.assertEqual(answer.status, 200, answer.body)
        types, period_type, samples = sdk_bytes.read_pprof(answer.body)
        self.assertEqual((types, period_type), ([("delay", "nanoseconds"), ("contentions", "count")], ("contentions", "count")))
        self.assertEqual(samples, [])
        time_ns, = (value for number, value in sdk_bytes.fields(gzip.decompress(answer.body)) if number == 9)
        self.assertLess(abs(before - time_ns), 60e9)
        off = harness.http("GET", base + "heap")
        self.assertEqual((off.status, off.body), (404, b"heap is off: switched off\n"))
        wrong = harness.http("GET", base + "profile?seconds=abc")
        self.assertEqual((wrong.status, wrong.body), (400, b"seconds must be a number\n"))

    def test_pages_are_answered_while_profiles_are_taken_for_others(self):
        port = harness.free_port()
        process = subprocess.Popen([BINARY, "run", "--output", str(self.folder / "o"), "--pprof", str(port), "--", "sleep", "600"],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "/debug/pprof/" in line:
                break
        base = f"http://127.0.0.1:{port}/debug/pprof/"
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        for client in clients:
            self.addCleanup(client.close)
            client.sendall(b"GET /debug/pprof/profile?seconds=600 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        harness.wait_until(lambda: harness.http("GET", base + "wall?seconds=0.6").status == 503)
        refused = harness.http("GET", base + "profile?seconds=1")
        self.assertEqual(refused.status, 503)
        self.assertIn(b"4 profiles are being taken already", refused.body)
        for page in ("heap", "allocs", "threads", ""):
            self.assertEqual(harness.http("GET", base + page).status, 200, page)
        for client in clients:
            client.close()
        # Whoever hangs up makes room for others, nine minutes early.
        harness.wait_until(lambda: harness.http("GET", base + "profile?seconds=0.6").status == 200)

    def test_recordings_can_be_pushed(self):
        done = self.run_cli("run", "--output", str(self.folder / "recording"), str(self.program))
        self.assertEqual(done.returncode, 41, done.stderr)
        server = self.server()
        pushed = server.cli("push", *glob.glob(str(self.folder / "recording-*")))
        self.assertIn("busy:", pushed.stdout)

    def test_says_what_cannot_be_profiled_and_runs_it(self):
        static = compile_program(self.folder / "busy.cc", self.folder / "static", "-static")
        done = self.run_cli("run", "--", str(static))
        self.assertEqual(done.returncode, 41)
        self.assertIn("is linked statically", done.stderr)
        self.assertIn("link libwherefore_nohooks.a", done.stderr)
        (self.folder / "inside.cc").write_text("#include <wherefore/profiler.h>\n"
                                               "int main() { return wherefore::Profiler::Start().status(); }\n")
        inside = compile_program(self.folder / "inside.cc", self.folder / "inside", "-static", "-s", "-Wl,--gc-sections", str(NO_HOOKS))
        done = self.run_cli("run", "--output", str(self.folder / "o"), "--", str(inside))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("profiling inside", done.stderr)
        self.assertNotIn("not profiled", done.stderr)
        os.chmod(self.program, 0o4755)
        done = self.run_cli("run", "--", str(self.program))
        self.assertEqual(done.returncode, 41)
        self.assertIn("is setuid or setgid", done.stderr)

    def test_exit_codes_and_signals_are_the_programs(self):
        self.assertEqual(self.run_cli("run", "--", "no-such-program").returncode, 127)
        self.assertEqual(self.run_cli("run").returncode, 2)
        environment = {**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "o")}
        self.assertEqual(self.run_cli("run", "--", "sh", "-c", "kill -TERM $$", env=environment).returncode, -15)
        self.assertEqual(self.run_cli("run", "--", "sh", "-c", "exit 7", env=environment).returncode, 7)

    def test_what_cannot_be_used_is_said_once(self):
        (self.folder / "file").write_text("")
        environment = {**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "o"), "WHEREFORE_STATE_DIR": str(self.folder / "file/state"),
                       "WHEREFORE_TYPE": "cpu", "OTEL_EXPORTER_OTLP_HEADERS": "x=1%0a2"}
        done = self.run_cli("run", "--", "sh", "-c", "/bin/true; exit 3", env=environment)
        self.assertEqual(done.returncode, 3)
        for text in ("WHEREFORE_TYPE is no setting of ours; ignored; is WHEREFORE_TYPES meant?",
                     f"cannot write to the state directory {self.folder}/file/state: Not a directory",
                     "the header 'x' has control characters in it; it is not sent"):
            self.assertEqual(done.stderr.count(text), 1, done.stderr)

    def test_a_server_that_is_gone_costs_nothing(self):
        begin = time.monotonic()
        done = self.run_cli("--server", f"http://127.0.0.1:{harness.free_port()}", "run", "--", "/bin/true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no server at", done.stderr)
        self.assertLess(time.monotonic() - begin, 5)


class Doctor(harness.Case):
    def doctor(self, *arguments, **environment):
        """state -> what and fix, of the checks about libwherefore and programs."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "WHEREFORE_"))}
        done = subprocess.run([BINARY, "--json", "--server", "http://127.0.0.1:1", "doctor", *arguments], capture_output=True,
                              text=True, timeout=60, env={**plain, **environment})
        self.assertEqual((done.returncode, done.stderr), (1, ""))  # there is no server
        report = json.loads(done.stdout)
        found = {"ok": [], "problem": []}
        for check in report["checks"][1:]:
            found[check["state"]].append(f"{check['what']} -> {check['fix']}")
        self.assertEqual(report["problems"], 1 + len(found["problem"]))
        return "\n".join(found["ok"]), "\n".join(found["problem"])

    def test_all_is_well(self):
        fine, wrong = self.doctor()
        self.assertEqual(wrong, "")
        self.assertRegex(fine, rf"libwherefore \d+\.\d+\.\d+ can be loaded: {SHARED}")
        self.assertIn("on here: cpu, wall, off_cpu, heap, mutex, block, threads", fine)
        self.assertRegex(fine, r"highest CPU rate: \d+ Hz")
        self.assertIn("crash markers: none are kept", fine)

    def test_this_environment_counts(self):
        fine, wrong = self.doctor(WHEREFORE_TYPES="cpu,heap", WHEREFORE_TYPE="x")
        self.assertIn("on here: cpu, heap ", fine)
        self.assertIn("mutex is off: switched off", fine)
        self.assertIn("WHEREFORE_TYPE is no setting of ours", wrong)
        self.assertIn("does not start in this environment: off: OTEL_SDK_DISABLED", self.doctor(OTEL_SDK_DISABLED="true")[1])

    def test_a_library_that_cannot_be_loaded(self):
        broken = self.folder / "libwherefore.so"
        broken.write_text("no library")
        self.assertRegex(self.doctor("--library", str(broken))[1], f"{broken} cannot be loaded: ERROR: ld.so: .*file too short")
        broken.write_bytes(SHARED.read_bytes()[:100_000])
        self.assertIn(f"{broken} cannot be loaded: ", self.doctor("--library", str(broken))[1])
        self.assertIn("no library at", self.doctor("--library", str(self.folder / "none.so"))[1])

    def test_crash_markers_are_named(self):
        (self.folder / "wherefore-crash-0123abcd").write_text("heap")
        wrong = self.doctor(WHEREFORE_STATE_DIR=str(self.folder))[1]
        self.assertIn("crashed the program with build id 0123abcd in 'heap'", wrong)
        self.assertIn(f"remove {self.folder}/wherefore-crash-0123abcd", wrong)
        fine, wrong = self.doctor("--program", "/bin/true", WHEREFORE_STATE_DIR=str(self.folder))
        self.assertEqual(wrong, "")  # it is another program's
        self.assertIn("crash markers: none in", fine)
        self.assertEqual(self.doctor(WHEREFORE_STATE_DIR=str(self.folder / "none"))[1], "")
        self.assertFalse((self.folder / "none").exists())
        (self.folder / "file").write_text("")
        self.assertIn("cannot use", self.doctor(WHEREFORE_STATE_DIR=str(self.folder / "file/state"))[1])

    def test_a_program_is_looked_at(self):
        (self.folder / "busy.cc").write_text(BUSY)
        plain = compile_program(self.folder / "busy.cc", self.folder / "plain")
        fine, wrong = self.doctor("--", str(plain), "--its", "own")
        self.assertEqual(wrong, "")
        self.assertIn(f"libwherefore can be preloaded into {plain}", fine)
        static = compile_program(self.folder / "busy.cc", self.folder / "static", "-static")
        self.assertIn(f"{static} is linked statically", self.doctor("--program", str(static))[1])
        sanitized = compile_program(self.folder / "busy.cc", self.folder / "sanitized", "-fsanitize=address")
        self.assertIn("is built with AddressSanitizer", self.doctor("--program", str(sanitized))[1])
        (self.folder / "own.cc").write_text(BUSY + "extern \"C\" void* __libc_malloc(std::size_t);\n"
                                            "extern \"C\" void* malloc(std::size_t n) { return __libc_malloc(n); }\n")
        own = compile_program(self.folder / "own.cc", self.folder / "own")
        self.assertIn(f"{own}: heap will be off: malloc is inside the executable", self.doctor("--program", str(own))[1])
        os.chmod(plain, 0o4755)
        self.assertIn("is setuid or setgid", self.doctor("--program", str(plain))[1])
        self.assertIn("cannot execute no-such-program", self.doctor("--program", "no-such-program")[1])


class Https(harness.Case):
    """The system's libssl behind the library's own client, against Python's TLS."""

    def start(self, certificate):
        bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1], bodies

    def send_until(self, port, happened, **environment):
        """Profiles a program that sleeps until happened(what it said so far); that is what it returns."""
        said = self.folder / "said"
        with said.open("w") as stderr, subprocess.Popen(
                [BINARY, "run", "--types", "cpu", "--", "sleep", "60"], stderr=stderr, stdin=subprocess.DEVNULL,
                env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{port}", "WHEREFORE_UPLOAD_INTERVAL": "200ms",
                     **environment}) as program:
            try:
                harness.wait_until(lambda: happened(said.read_text()))
            finally:
                program.terminate()
        return said.read_text()

    def start_trusted(self):
        """As start, and the file of the certificate to trust."""
        if not shutil.which("openssl"):
            self.skipTest("needs the openssl command to make a certificate")
        certificate = self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", str(self.folder / "key.pem"), "-out", str(self.folder / "c.pem")],
                       check=True, capture_output=True)
        certificate.write_text((self.folder / "key.pem").read_text() + (self.folder / "c.pem").read_text())
        return *self.start(certificate), str(self.folder / "c.pem")

    def test_the_last_profile_goes_out_before_openssl_ends(self):
        """OpenSSL takes itself down at exit, before libraries say goodbye: whoever used it first."""
        port, bodies, trusted = self.start_trusted()
        work = "import time; end = time.process_time() + 1\nwhile time.process_time() < end: sum(range(1000))"
        for use, interval in (("import ssl; ssl.create_default_context()\n", "60s"), ("", "200ms")):
            bodies.clear()
            done = subprocess.run(["/usr/bin/python3", "-c", use + work], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env={
                "PATH": os.environ["PATH"], "LD_PRELOAD": str(SHARED), "OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{port}",
                "OTEL_EXPORTER_OTLP_CERTIFICATE": trusted, "WHEREFORE_UPLOAD_INTERVAL": interval, "WHEREFORE_TYPES": "cpu"})
            self.assertTrue(bodies, done.stderr)
            self.assertNotIn("warning", done.stderr)

    def test_verified_https(self):
        port, bodies, trusted = self.start_trusted()
        said = self.send_until(port, lambda _: bodies, OTEL_EXPORTER_OTLP_CERTIFICATE=trusted)
        self.assertEqual({path for path, _ in bodies}, {"/v1development/profiles"}, said)
        arrived = len(bodies)
        self.send_until(port, lambda text: "certificate" in text)
        self.assertEqual(len(bodies), arrived, "sent to a server nobody vouches for")


if __name__ == "__main__":
    unittest.main(verbosity=2)
