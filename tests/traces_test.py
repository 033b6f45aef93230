#!/usr/bin/env python3
"""Lists of traces: what is found, in which order, and that a list agrees with the trace's own page."""
import time
import unittest

import ui_data
from harness import Case, Profiles, spans_request

SECOND, MS = 10**9, 10**6


def trace_id(i):
    return bytes([5, i]) * 8


def span_id(i, n=0):
    return bytes([6, i, n]) + bytes(4) + b"\x01"


class Lists(Case):
    def assert_same_as_the_trace_says(self, server, trace):
        """A row of a list against traces/{trace} and traces/{trace}/flame."""
        columns = server.ask(f"traces/{trace['trace']}", format="columns")
        self.assertEqual((trace["spans"], trace["errors"], trace["start_ns"]),
                         (len(columns["span"]), columns["status"].count(2), columns["start_ns"]))
        self.assertEqual(int(trace["duration_ns"]), max(int(s) + int(d) for s, d in zip(columns["start"], columns["duration"])))
        own = server.ask(f"traces/{trace['trace']}/flame")
        if not trace["profiled"]:
            self.assertIn("hint", own)
            return
        first = trace["profiled"][0]
        self.assertEqual((first["type"], first["unit"], first["value"], first["count"]), (own["type"], own["unit"], own["total"], own["count"]))
        for profile in trace["profiled"]:
            same = server.ask(f"traces/{trace['trace']}/flame", type=profile["type"])
            self.assertEqual((profile["unit"], profile["value"], profile["count"]), (same["unit"], same["total"], same["count"]), profile)

    def test_the_slowest_are_found_however_old_they_are(self):
        with self.server() as server:
            now = time.time_ns()
            slow = {3, 17, 29}
            server.send(spans_request("svc", [
                {"trace": trace_id(i), "span": span_id(i), "start": now - (100 - i) * SECOND, "end": now - (100 - i) * SECOND + (900 + i if i in slow else 10) * MS}
                for i in range(60)]), "/v1/traces")
            server.flush()
            found = server.ask("traces", sort="duration", limit=3, matched=0)["traces"]
            self.assertEqual([t["trace"] for t in found], [trace_id(i).hex() for i in (29, 17, 3)])
            newest = server.ask("traces", limit=3, matched=0)["traces"]
            self.assertEqual([t["trace"] for t in newest], [trace_id(i).hex() for i in (59, 58, 57)])
            self.assertEqual(server.get("/api/v1/traces", sort="size").status, 400)

    def test_most_cpu_and_most_samples_are_found_among_all_that_match(self):
        with self.server() as server:
            now = time.time_ns()
            server.send(spans_request("svc", [
                {"trace": trace_id(i), "span": span_id(i), "start": now - (100 - i) * SECOND, "end": now - (100 - i) * SECOND + 10 * MS} for i in range(60)]), "/v1/traces")
            p = Profiles("svc")  # the second has most, the oldest a little
            p.profile([(p.stack("main"), 9, p.link(trace_id(1), span_id(1))), (p.stack("main"), 2, p.link(trace_id(0), span_id(0))), (p.stack("main"), 5, p.link(trace_id(40), span_id(40)))],
                      now - 100 * SECOND)
            server.send(p.encode())
            server.flush()
            for sort in ("cpu", "samples"):
                answer = server.ask("traces", sort=sort, limit=4, matched=1)
                self.assertEqual([t["trace"] for t in answer["traces"]], [trace_id(i).hex() for i in (1, 40, 0, 59)], sort)
                self.assertEqual([len(t["matched"]) for t in answer["traces"]], [1] * 4)
                self.assertNotIn("looked_at", answer)
                for trace in answer["traces"]:
                    self.assert_same_as_the_trace_says(server, trace)
            # Only of what matches.
            self.assertEqual([t["trace"] for t in server.ask("traces", sort="cpu", limit=1, matched=0, to=str(now - 99 * SECOND + SECOND // 2))["traces"]], [trace_id(1).hex()])

    def test_a_trace_without_its_root_says_so(self):
        with self.server() as server:
            now = time.time_ns()
            server.send(spans_request("svc", [
                {"trace": trace_id(0), "span": span_id(0), "start": now - SECOND, "end": now}, {"trace": trace_id(0), "span": span_id(0, 1), "parent": span_id(0), "start": now - SECOND, "end": now},
                {"trace": trace_id(1), "span": span_id(1, 1), "parent": span_id(1), "name": "half", "start": now - SECOND, "end": now}]), "/v1/traces")
            server.flush()
            said = {t["trace"]: (t["root_missing"], t["root_name"]) for t in server.ask("traces")["traces"]}
            self.assertEqual(said[trace_id(1).hex()], (True, "half"))
            self.assertIs(said[trace_id(0).hex()][0], False)

    def test_a_length_that_cannot_be_read_is_named(self):
        with self.server() as server:
            for name in ("min_duration", "max_duration"):
                refused = server.get("/api/v1/traces", **{name: "abc"})
                self.assertEqual(refused.status, 400)
                self.assertRegex(refused.json["error"]["message"], f"parameter '{name}'.*abc")

    def test_profiles_that_are_on_their_way_are_waited_for(self):
        with self.server() as server:
            now = time.time_ns()
            rows = [{"trace": trace_id(i), "span": span_id(i), "start": now - (30 - 20 * i) * SECOND, "end": now - (29 - 20 * i) * SECOND} for i in range(2)]
            server.send(spans_request("svc", rows), "/v1/traces")
            p = Profiles("svc")
            p.profile([(p.stack("main"), 5, p.link(trace_id(9), span_id(9)))], now - 35 * SECOND)  # 10 s of it: over before the second span
            server.send(p.encode())
            server.flush()
            seen, fresh = (server.ask(f"traces/{trace_id(i).hex()}/flame") for i in range(2))
            self.assertNotIn("arriving", seen)
            self.assertNotIn("arrived", seen["hint"])
            self.assertIs(fresh["arriving"], True)
            self.assertIn("has not arrived yet", fresh["hint"])

    def test_samples_and_their_cpu_time_are_what_the_trace_s_page_shows(self):
        with self.server() as server:
            now = time.time_ns()
            spans = lambda i: [{"trace": trace_id(i), "span": span_id(i, n), "parent": span_id(i) if n else b"", "start": now - (10 - i) * SECOND + n, "end": now - (9 - i) * SECOND}
                               for n in range(3)]
            rows = sum((spans(i) for i in range(6)), [])
            rows[3 * 4]["attributes"] = {"pyroscope.profile.id": b"elsewher".hex()}
            server.send(spans_request("svc", rows), "/v1/traces")
            p = Profiles("svc")
            a, b = p.stack("main", "a"), p.stack("main", "b")
            p.profile([(a, 3, p.link(trace_id(0), span_id(0))), (b, 4, p.link(trace_id(0), span_id(0, 2))), (a, 50),        # cpu and waiting
                       (a, 7, p.link(trace_id(2), span_id(2))),                                                        # cpu only
                       (a, 11, p.link(bytes(16), span_id(3, 1))), (b, 2, p.link(trace_id(3), span_id(3))),             # a profiler that knows only spans, beside one that knows traces
                       (a, 13, p.link(bytes(16), b"elsewher")), (a, 17, p.link(bytes(16), b"nobody's"))], now - 10 * SECOND)
            p.profile([(a, 25 * MS, p.link(trace_id(0), span_id(0))), (b, 5 * MS, p.link(trace_id(0), span_id(0, 1))),
                       (b, 480 * MS, p.link(trace_id(1), span_id(1)))], now - 10 * SECOND, of=("off_cpu", "nanoseconds"))
            server.send(p.encode())
            server.flush()
            found = {t["trace"]: t for t in server.ask("traces", limit=100)["traces"]}
            self.assertEqual(len(found), 6)
            for trace in found.values():
                self.assert_same_as_the_trace_says(server, trace)
            profiled = [{p["type"]: (p["value"], p["count"]) for p in found[trace_id(i).hex()]["profiled"]} for i in range(6)]
            self.assertEqual(profiled[0]["cpu"], (70 * MS, 7))
            self.assertEqual((profiled[0]["off_cpu"][0], profiled[1]["off_cpu"][0]), (30 * MS, 480 * MS))
            self.assertEqual([p.get("cpu", (0, 0))[1] for p in profiled], [7, 0, 7, 13, 13, 0])
            self.assertEqual(profiled[5], {})

    def test_spans_that_matched_are_listed_as_far_as_they_are_asked_for(self):
        with self.server() as server:
            now = time.time_ns()
            server.send(spans_request("svc", [{"trace": trace_id(i), "span": span_id(i, n), "start": now - 1000 * i - n, "end": now, "attributes": {"n": str(n)}}
                                              for i in range(3) for n in range(30)]), "/v1/traces")
            server.flush()
            ask = lambda **more: [(t["trace"], [s["attributes"]["n"] for s in t["matched"]]) for t in server.ask("traces", **more)["traces"]]
            self.assertEqual(ask(matched=2), [(trace_id(i).hex(), ["0", "1"]) for i in range(3)])
            self.assertEqual(ask(matched=0, limit=2), [(trace_id(i).hex(), []) for i in range(2)])
            self.assertEqual([len(spans) for _, spans in ask()], [20, 20, 20])
            self.assertEqual(ask(attribute="n=7"), [(trace_id(i).hex(), ["7"]) for i in range(3)])
            self.assertEqual(server.get("/api/v1/traces", matched=21).status, 400)

    def test_a_large_trace_is_summed_up_as_its_page_does(self):
        with self.server() as server:
            now = time.time_ns()
            ui_data.send_large_trace(server, now, 30_000)
            ui_data.send_traces(server, now)
            server.flush()
            found = server.ask("traces", limit=200, matched=0)["traces"]
            self.assertEqual(len(found), 1 + ui_data.TRACES)
            for trace in found:
                self.assert_same_as_the_trace_says(server, trace)
            large = next(t for t in found if t["trace"] == ui_data.LARGE_TRACE.hex())
            self.assertEqual((large["root_service"], large["root_name"], large["spans"]), ("batch", "batch job", 30_000))


if __name__ == "__main__":
    unittest.main()
