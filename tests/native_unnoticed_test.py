"""What a careless profiler would break in a program: forks that never return, descriptors and signals that are not the
program's.

tests/sdk/unnoticed.cc, by LD_PRELOAD.
"""
import json
import signal
import subprocess
import unittest

from preload import PROGRAMS, Profiled, preload

PROGRAM = str(PROGRAMS / "unnoticed")


class Unnoticed(Profiled):
    def said(self, what, seconds, **environment):
        return json.loads(self.profiled(PROGRAM, what, str(seconds), WHEREFORE_UPLOAD_INTERVAL="1h", **environment).stdout)

    def test_a_program_that_ends_while_it_forks_ends(self):
        for _ in range(5):
            done = subprocess.run([PROGRAM, "exit-fork", "0.2"], env=preload(WHEREFORE_OUTPUT=str(self.folder / "out")), timeout=60)
            self.assertEqual(done.returncode, 7)

    def test_it_starts_and_stops_while_the_program_forks(self):
        self.assertEqual(self.said("start-fork", 1), {"starts": 1, "forks": 1})

    def test_a_program_that_closes_every_descriptor_has_its_own_to_itself(self):
        server = self.server()
        done = subprocess.run([PROGRAM, "descriptors", "0.3"], capture_output=True, text=True, timeout=60, check=True,
                              env=preload(WHEREFORE_UPLOAD_INTERVAL="1h", OTEL_SERVICE_NAME="closing",
                                          OTEL_EXPORTER_OTLP_ENDPOINT=server.otlp_http))
        self.assertEqual(json.loads(done.stdout), {"kept": 1, "flushed": 2, "written": 0, "changed": 0})
        server.flush()
        seen = int(server.ask("top", query="closing", type="cpu")["total"]) / 1e9
        self.assertAlmostEqual(seen, 0.6, delta=0.2)  # of both uploads

    def test_a_signal_it_waits_for_is_the_one_that_was_sent(self):
        said = self.said("sent-signal", 0.3, WHEREFORE_TYPES="cpu")
        unblocked = said.pop("BurnUnblocked")
        self.assertEqual(said, {"got": signal.SIGPROF, "by_kill": 1, "more": -1, "later": -1})
        # Before the signal, and again when it is let through.
        seen = int(self.rows("cpu")[0]["total"]) / 1e9
        self.assertAlmostEqual(seen, 0.3 + unblocked, delta=0.15)


if __name__ == "__main__":
    unittest.main(verbosity=2)
