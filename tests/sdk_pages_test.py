"""The pprof pages of a program with libwherefore, used by a browser, `go tool pprof` and our own commands."""
import gzip
import os
import shutil
import socket
import subprocess
import time
import unittest
from urllib.parse import urlsplit

import sdk_bytes
from compiled import BUSY, LINK_SHARED, compile_text, run_cli
from harness import BINARY, Case, free_port, http, wait_until
from preload import PROGRAMS

GO = shutil.which("go")


class Pages(Case):
    def start(self, *command, options=(), **environment):
        """Runs a program until the test ends; returns its process, and the URL of its pages once they are served."""
        port = free_port()
        process = subprocess.Popen([BINARY, "run", *options, "--output", str(self.folder / "o"), "--pprof", str(port), "--", *command],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "/debug/pprof/" in line:
                break
        return process, f"http://127.0.0.1:{port}/debug/pprof/"

    def test_pprof_pages_can_be_pushed_while_it_runs(self):
        process, base = self.start(str(compile_text(BUSY, self.folder / "busy")))
        for page in ("profile?seconds=0.5", "wall?seconds=0.3", "heap", "allocs", "mutex", "block", "threads"):
            answer = http("GET", base + page)
            self.assertEqual((answer.status, answer.body[:2]), (200, b"\x1f\x8b"), page)
            if page.startswith("profile"):
                (self.folder / "cpu.pb.gz").write_bytes(answer.body)
        self.assertEqual(process.wait(timeout=60), 41)
        top = run_cli("top", str(self.folder / "cpu.pb.gz"))
        self.assertIn("Spin", top.stdout, top.stderr)

    def need_go(self):
        if GO is None:
            self.assertNotEqual(os.environ.get("CI"), "true", "go is not installed")
            self.skipTest("go is not installed")

    def test_pages_open_in_go_tool_pprof_with_what_go_shows(self):
        """Bytes and time; by default it would show the last type, which is a count."""
        self.need_go()
        pages = {"blocks": {"heap": "inuse_space", "allocs": "alloc_space", "heap?seconds=0.5": "inuse_space", "allocs?seconds=0.5": "alloc_space"},
                 "turns": {"mutex": "delay", "block": "delay", "profile?seconds=0.5": "cpu"}}
        for what, shown in pages.items():
            _, base = self.start(str(PROGRAMS / "truth"), what, "60", WHEREFORE_HEAP_RATE="10KB")
            for page, type in shown.items():
                url = base + page
                wait_until(lambda: sdk_bytes.read_pprof(http("GET", url).body)[2])
                file = self.folder / "page.pb.gz"
                file.write_bytes(http("GET", url).body)
                done = subprocess.run([GO, "tool", "pprof", "-top", str(file)], capture_output=True, text=True, timeout=60)
                self.assertIn(f"Type: {type}\n", done.stdout, f"{page}: {done.stderr}")
                checked = run_cli("check", "--strict", str(file))
                self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_go_tool_pprof_shows_our_names_and_looks_for_no_others(self):
        """For a thread's lambda it would find a name that it shows as empty."""
        self.need_go()
        program = compile_text("""#include <wherefore/profiler.h>
#include <ctime>
#include <thread>
volatile double sink;
int main() {
  wherefore::Options options;
  options.manual_start = true;
  auto profiler = wherefore::Profiler::Start(options);
  wherefore::ScopedProfile profile("cpu.pb.gz");
  std::thread([] {
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 2;
    while (std::clock() < end) for (int i = 0; i < 100000; ++i) sink = sink + i;
  }).join();
}
""", self.folder / "lambda", "-g", *LINK_SHARED)
        subprocess.run([str(program)], check=True, capture_output=True, cwd=self.folder, timeout=60, env={**os.environ, "WHEREFORE_OUTPUT": "out"})
        shown = [subprocess.run([GO, "tool", "pprof", *more, "-top", "cpu.pb.gz"], check=True, capture_output=True, text=True, timeout=60,
                                cwd=self.folder).stdout for more in ([], ["-symbolize=none"])]
        self.assertIn("std::thread::_State_impl", shown[1])
        self.assertEqual(shown[0], shown[1])

    def test_a_page_is_empty_while_nothing_was_seen_and_missing_where_the_type_is_off(self):
        _, base = self.start("sleep", "60", options=("--types", "mutex,cpu"))
        before = time.time_ns()
        answer = http("GET", base + "mutex")
        self.assertEqual(answer.status, 200, answer.body)
        types, period_type, samples, _ = sdk_bytes.read_pprof(answer.body)
        self.assertEqual((types, period_type), ([("delay", "nanoseconds"), ("contentions", "count")], ("contentions", "count")))
        self.assertEqual(samples, [])
        time_ns, = (value for number, value in sdk_bytes.fields(gzip.decompress(answer.body)) if number == 9)
        self.assertLess(abs(before - time_ns), 60e9)
        off = http("GET", base + "heap")
        self.assertEqual((off.status, off.body), (404, b"heap is off: switched off\n"))
        wrong = http("GET", base + "profile?seconds=abc")
        self.assertEqual((wrong.status, wrong.body), (400, b"seconds must be a number\n"))

    def test_pages_are_answered_while_profiles_are_taken_for_others(self):
        _, base = self.start("sleep", "600")
        clients = [socket.create_connection(("127.0.0.1", urlsplit(base).port)) for _ in range(4)]
        for client in clients:
            self.addCleanup(client.close)
            client.sendall(b"GET /debug/pprof/profile?seconds=600 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: http("GET", base + "wall?seconds=0.6").status == 503)
        refused = http("GET", base + "profile?seconds=1")
        self.assertEqual(refused.status, 503)
        self.assertIn(b"4 profiles are being taken already", refused.body)
        for page in ("heap", "allocs", "threads", ""):
            self.assertEqual(http("GET", base + page).status, 200, page)
        for client in clients:
            client.close()
        # Whoever hangs up makes room for others, nine minutes early.
        wait_until(lambda: http("GET", base + "profile?seconds=0.6").status == 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
