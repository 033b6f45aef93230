#!/usr/bin/env python3
"""What is stored and kept, in a real browser (ui/e2e/kept.mjs): days of several kinds, retention by kind."""
import time
import unittest

from harness import SPAN, TRACE, Profiles, spans_request, wait_until
from hours_test import DAY, HOUR
from ui_test import WithBrowser

DAYS = 6


class KeptPage(WithBrowser):
    def test_a_server_without_anything(self):
        with self.server() as server:
            self.browse(server, "kept.mjs", 100, PART="nothing")

    def test_what_is_stored_kept_and_found(self):
        with self.server("--retention", "spans=20d,links=20d,samples=30d,hours=400d", "--hours-wait", "1s") as server:
            start = time.time_ns() // DAY * DAY - (DAYS - 1) * DAY
            for day in range(DAYS):
                self.send_day(server, min(start + day * DAY + 2 * HOUR, time.time_ns() - 60 * 10**9), day)
            server.flush()
            wait_until(lambda: sum(d["kind"] == "hours" for d in server.ask("storage")["days"]) >= DAYS - 1, 60, "hours are not summed up")
            self.browse(server, "kept.mjs", 200, PART="data", FROM=str((start + DAY + 2 * HOUR) // 10**6), TRACE=TRACE.hex())

    def send_day(self, server, at, day):
        p = Profiles("shop", **{"service.version": "v1"})
        p.profile([(p.stack("main", "work"), 100 + day, p.link(TRACE, SPAN))], at)
        self.assertEqual(server.send(p.encode()).status, 200)
        spans = [{"trace": TRACE, "span": SPAN, "name": "GET /", "start": at, "end": at + 10**8}] if day == DAYS - 1 else []
        spans.append({"trace": bytes([day + 1] * 16), "span": bytes([day + 1] * 8), "name": "GET /", "start": at, "end": at + 10**8})
        self.assertEqual(server.send(spans_request("shop", spans), "/v1/traces").status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=1)
