"""`wherefore run`, which preloads libwherefore into a program, and `wherefore doctor`, which says beforehand what will work."""
import glob
import json
import os
import subprocess
import time
import unittest

from compiled import BUSY, NO_HOOKS, compile_text, run_cli
from harness import BINARY, Case, free_port
from preload import LIBRARY


class Run(Case):
    def setUp(self):
        super().setUp()
        self.program = compile_text(BUSY, self.folder / "busy")

    def test_profiles_arrive_and_the_program_is_itself(self):
        server = self.server()
        done = run_cli("--server", server.http, "run", "--types", "cpu", "--", str(self.program), "--version")
        self.assertEqual((done.returncode, done.stdout), (42, ""), done.stderr)
        self.assertIn(f"wherefore: {server.http}/s/busy?type=cpu", done.stderr)
        self.assertIn("on: cpu 100 Hz; off: wall", done.stderr)
        server.flush()
        top = server.ask("top", query="busy", type="cpu", since="1h")
        self.assertIn("Spin", json.dumps(top))

    def test_recordings_can_be_pushed(self):
        done = run_cli("run", "--output", str(self.folder / "recording"), str(self.program))
        self.assertEqual(done.returncode, 41, done.stderr)
        server = self.server()
        pushed = server.cli("push", *glob.glob(str(self.folder / "recording-*")))
        self.assertIn("busy:", pushed.stdout)

    def test_says_what_cannot_be_profiled_and_runs_it(self):
        static = compile_text(BUSY, self.folder / "static", "-static")
        done = run_cli("run", "--", str(static))
        self.assertEqual(done.returncode, 41)
        self.assertIn("is linked statically", done.stderr)
        self.assertIn("link libwherefore_nohooks.a", done.stderr)
        inside = compile_text("#include <wherefore/profiler.h>\nint main() { return wherefore::Profiler::Start().status(); }\n",
                              self.folder / "inside", "-static", "-s", "-Wl,--gc-sections", str(NO_HOOKS))
        done = run_cli("run", "--output", str(self.folder / "o"), "--", str(inside))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("profiling inside", done.stderr)
        self.assertNotIn("not profiled", done.stderr)
        os.chmod(self.program, 0o4755)
        done = run_cli("run", "--", str(self.program))
        self.assertEqual(done.returncode, 41)
        self.assertIn("is setuid or setgid", done.stderr)

    def test_exit_codes_and_signals_are_the_programs(self):
        self.assertEqual(run_cli("run", "--", "no-such-program").returncode, 127)
        self.assertEqual(run_cli("run").returncode, 2)
        environment = {**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "o")}
        self.assertEqual(run_cli("run", "--", "sh", "-c", "kill -TERM $$", env=environment).returncode, -15)
        self.assertEqual(run_cli("run", "--", "sh", "-c", "exit 7", env=environment).returncode, 7)

    def test_what_cannot_be_used_is_said_once(self):
        (self.folder / "file").write_text("")
        environment = {**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "o"), "WHEREFORE_STATE_DIR": str(self.folder / "file/state"),
                       "WHEREFORE_TYPE": "cpu", "OTEL_EXPORTER_OTLP_HEADERS": "x=1%0a2"}
        done = run_cli("run", "--", "sh", "-c", "/bin/true; exit 3", env=environment)
        self.assertEqual(done.returncode, 3)
        for text in ("WHEREFORE_TYPE is no setting of ours; ignored; is WHEREFORE_TYPES meant?",
                     f"cannot write to the state directory {self.folder}/file/state: Not a directory",
                     "the header 'x' has control characters in it; it is not sent"):
            self.assertEqual(done.stderr.count(text), 1, done.stderr)

    def test_a_server_that_is_gone_costs_nothing(self):
        begin = time.monotonic()
        done = run_cli("--server", f"http://127.0.0.1:{free_port()}", "run", "--", "/bin/true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no server at", done.stderr)
        self.assertLess(time.monotonic() - begin, 5)


class Doctor(Case):
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
        self.assertRegex(fine, rf"libwherefore \d+\.\d+\.\d+ can be loaded: {LIBRARY}")
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
        broken.write_bytes(LIBRARY.read_bytes()[:100_000])
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
        plain = compile_text(BUSY, self.folder / "plain")
        fine, wrong = self.doctor("--", str(plain), "--its", "own")
        self.assertEqual(wrong, "")
        self.assertIn(f"libwherefore can be preloaded into {plain}", fine)
        static = compile_text(BUSY, self.folder / "static", "-static")
        self.assertIn(f"{static} is linked statically", self.doctor("--program", str(static))[1])
        sanitized = compile_text(BUSY, self.folder / "sanitized", "-fsanitize=address")
        self.assertIn("is built with AddressSanitizer", self.doctor("--program", str(sanitized))[1])
        own = compile_text(BUSY + "extern \"C\" void* __libc_malloc(std::size_t);\n"
                           "extern \"C\" void* malloc(std::size_t n) { return __libc_malloc(n); }\n", self.folder / "own")
        self.assertIn(f"{own}: heap will be off: malloc is inside the executable", self.doctor("--program", str(own))[1])
        os.chmod(plain, 0o4755)
        self.assertIn("is setuid or setgid", self.doctor("--program", str(plain))[1])
        self.assertIn("cannot execute no-such-program", self.doctor("--program", "no-such-program")[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
