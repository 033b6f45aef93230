#!/usr/bin/env python3
"""Exporters into a real server: the benchmark's load through a queue on disk, merged and compressed,
by each protocol; every sample is there once, whatever way it took."""
import os
import re
import subprocess
import time
import unittest

from harness import ROOT, Case

FORWARD = os.environ.get("WHEREFORE_BENCH_FORWARD", str(ROOT / "build/release/bench/bench_forward"))
SERVICES = 4


class Exporters(Case):
    def forward(self, kind, endpoint, queue):
        done = subprocess.run([FORWARD, "--services", str(SERVICES), "--requests", "200", "--time", str(self.now),
                               "--kind", kind, "--to", endpoint, "--queue", str(queue)],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("0 refused", done.stdout)
        return int(re.search(r"total (\d+)$", done.stdout, re.M)[1]), done.stdout

    def stored(self, server):
        total = 0
        for i in range(SERVICES):
            answer = server.ask("top", query=f"service-{i}", type="samples", since="1h")
            total += int(answer["total"])
        return total

    def test_every_way_delivers_everything(self):
        self.now = time.time_ns()
        for kind in ("otlphttp", "otlp", "pyroscope"):
            with self.subTest(kind), self.server(name=kind) as server:
                endpoint = {"otlphttp": server.otlp_http, "otlp": "http://" + server.otlp_grpc,
                            "pyroscope": server.http}[kind]
                queue = self.folder / ("queue-" + kind)
                sent, said = self.forward(kind, endpoint, queue)
                self.assertEqual(self.stored(server), sent, said)
                # The queue knows what it had: nothing is sent again.
                self.forward(kind, endpoint, queue)
                self.assertEqual(self.stored(server), sent)


if __name__ == "__main__":
    unittest.main()
