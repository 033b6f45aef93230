#!/usr/bin/env python3
"""Regressions in a real browser (ui/e2e/regressions.mjs), found by the real server in generated deployments."""
import time
import unittest

from harness import wait_until
from regression_data import Deployment
from ui_test import WithBrowser


class RegressionsPage(WithBrowser):
    def test_from_a_row_to_a_trace(self):
        with self.server("--retention", "90d", "--regressions-budget", "100", "--evidence", "0") as server:
            now = time.time_ns()
            for name, seed in (("shop", 5), ("other", 6)):
                Deployment(name, seed, 0.2).send(server, now)
            server.flush()
            server.ask("regressions", max_age=0)
            wait_until(lambda: not server.ask("regressions", limit=1)["looking"], 120, "looks are still due")
            server.ask("worse", max_age=0)
            wait_until(lambda: not server.ask("worse")["looking"], 120, "it still looks")
            self.browse(server, "regressions.mjs", 200)


if __name__ == "__main__":
    unittest.main(verbosity=1)
