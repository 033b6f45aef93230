#!/usr/bin/env python3
"""What an insight says it would save is what it saves: two real programs serve the same requests with a planted cost and
without it. The truth is the CPU time of both processes, as the kernel counts it. A missing or too old Go skips its test
with a message, and fails it with CI=true."""
import os
import pathlib
import shutil
import subprocess
import threading
import unittest

from compiled import LINK_SHARED, compile_program
from harness import ROOT, Case
from sdk_test import Example

HERE = ROOT / "tests/savings"
SERVICE = "saver"
# More work is a smaller sampling error: 1 for 25 to 30 s of CPU time with the planted cost.
WORK = float(os.environ.get("SAVINGS_WORK", "1"))
WITHIN = 0.2


class Savings(Case):
    def serve(self, variant, command, **environment):
        """(CPU seconds, findings, seconds observed) of a run, as a server of its own saw it."""
        with self.server(name=variant) as server:
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "WHEREFORE_"))}
            mine = {"OTEL_SERVICE_NAME": SERVICE, "OTEL_EXPORTER_OTLP_ENDPOINT": server.otlp_http, **environment}
            process = subprocess.Popen([*command, server.http], env=clean | mine, stdout=subprocess.DEVNULL)
            too_long = threading.Timer(250, process.kill)
            too_long.start()
            _, status, usage = os.wait4(process.pid, 0)
            too_long.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0, command)
            server.flush()
            findings = server.ask("insights", query=SERVICE, since="1h")["findings"]
            return usage.ru_utime + usage.ru_stime, findings, server.ask("overview", since="1h")["observed_ms"] / 1000

    def compare(self, rule, program, requests, **environment):
        requests = str(round(requests * WORK))
        without, findings, _ = self.serve("mended", [program, "mended", requests], **environment)
        self.assertNotIn(rule, [f["rule"] for f in findings], "what was mended is not found any more")
        with_it, findings, observed = self.serve("planted", [program, "planted", requests], **environment)
        self.assertIn(rule, [f["rule"] for f in findings])
        finding = next(f for f in findings if f["rule"] == rule)
        real = (with_it - without) / observed
        print(f"{rule}: {with_it:.1f} s of CPU time with, {without:.1f} s without, {observed:.1f} s observed: saves {real:.3f} cores, "
              f"said are {finding['cores_saved']:.3f} of {finding['cores']:.3f} ({100 * finding['share']:.1f} %, {100 * finding['low']:.1f} to "
              f"{100 * finding['high']:.1f}, {finding['observations']} observations): {100 * (finding['cores_saved'] / real - 1):+.1f} %", flush=True)
        self.assertAlmostEqual(finding["cores_saved"] / real, 1, delta=WITHIN)

    def test_cpp_regular_expression(self):
        program = compile_program(HERE / "regex.cc", self.folder / "regex", *LINK_SHARED)
        # A block of time for the interval is an eighth of the run: uploads are more often than that.
        self.compare("cpp-regex", str(program), 300_000, WHEREFORE_UPLOAD_INTERVAL="2s", WHEREFORE_LOG="warn")

    def test_go_regular_expression(self):
        if Example("go").skip():
            return
        # A program of its own with the example's modules.
        source = self.folder / "go"
        source.mkdir()
        for file in (HERE / "main.go", ROOT / "examples/go/go.mod", ROOT / "examples/go/go.sum"):
            shutil.copy(file, source)
        cache = pathlib.Path(os.environ.get("WHEREFORE_CACHE", pathlib.Path.home() / ".cache/wherefore")) / "examples/go"
        subprocess.run(["go", "build", "-buildvcs=false", "-o", str(self.folder / "saver"), "."], cwd=source, check=True, timeout=300,
                       env={**os.environ, "GOMODCACHE": str(cache / "mod"), "GOCACHE": str(cache / "build"), "GOFLAGS": "-modcacherw"})
        self.compare("go-regexp", str(self.folder / "saver"), 1_400_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
