#!/usr/bin/env python3
"""What is stored and kept, and what insights lead to, in a real browser (ui/e2e/kept.mjs): days of several kinds, a real
Go program's profile, retention by kind."""
import time
import unittest

from harness import ROOT, SPAN, TRACE, Profiles, one_profile, spans_request, wait_until
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
            self.send_pattern(server)
            server.send(one_profile("quiet", 5, time_ns=time.time_ns() - 60 * 10**9))
            for _ in range(20):  # once would be next to nothing, of which no finding is made
                server.cli("push", str(ROOT / "tests/golden/go_cpu.pb.gz"), "--service", "go", "--now")
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

    def send_pattern(self, server):
        """A known pattern below own code, in ten profiles of the last half hour."""
        for minute in range(10):
            p = Profiles("shop", **{"service.version": "v2", "telemetry.sdk.language": "cpp"})
            p.profile([(p.stack("main", "handle", "Index::find", "std::_Rb_tree<int, Row>::find(int const&)"), 30), (p.stack("main", "work"), 70)], time.time_ns() - (3 * minute + 1) * 60 * 10**9)
            self.assertEqual(server.send(p.encode()).status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=1)
