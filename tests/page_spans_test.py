#!/usr/bin/env python3
"""What only the page requests about spans and traces."""
import time
import unittest

import ui_data
from harness import Case, Profiles, one_profile, spans_request


class Spans(Case):
    def test_a_span_and_those_below(self):
        with self.server() as server:
            now = time.time_ns()
            trace, root, child, leaf = bytes(range(1, 17)), b"\1" * 8, b"\2" * 8, b"\3" * 8
            server.send(spans_request("svc", [{"trace": trace, "span": s, "parent": parent, "start": now, "end": now + 10**9}
                                              for s, parent in ((root, b""), (child, root), (leaf, child))]), "/v1/traces")
            p = Profiles("svc")
            p.profile([(p.stack("main", n), v, p.link(trace, s)) for n, v, s in (("a", 1, root), ("b", 10, child), ("c", 100, leaf))])
            server.send(p.encode())
            server.flush()
            total = lambda **more: int(server.ask(f"traces/{trace.hex()}/flame", type="samples", **more)["total"])
            self.assertEqual([total(), total(span=child.hex()), total(span=child.hex(), subtree="true"), total(span=root.hex(), subtree="true")],
                             [111, 10, 110, 111])
            self.assertEqual(server.get(f"/api/v1/traces/{trace.hex()}/flame", subtree="1").status, 400)

    def test_why_a_span_has_no_samples(self):
        with self.server() as server:
            now = time.time_ns()
            trace, other = b"\x0b" * 16, b"\x0c" * 16
            spans = {"bare": 40, "unlinked": 50, "linked": 4, "waiting": 900}
            for i, (service, ms) in enumerate(spans.items()):
                server.send(spans_request(service, [{"trace": trace, "span": bytes([i + 1]) * 8, "start": now - 10**9, "end": now - 10**9 + ms * 10**6}]), "/v1/traces")
            server.send(one_profile("unlinked", 3, time_ns=now - 5 * 10**9))
            server.send(one_profile("bare", 3, time_ns=now - 3600 * 10**9))  # profiled, but long before
            for service in ("linked", "waiting"):
                p = Profiles(service)
                p.profile([(p.stack("main"), 1, p.link(other, b"\x63" * 8))], now - 5 * 10**9)
                server.send(p.encode())
            server.flush()
            why = lambda i: server.ask(f"traces/{trace.hex()}/flame", span=(bytes([i + 1]) * 8).hex())["hint"]
            self.assertIn("bare sent no profiles around that time", why(0))
            self.assertIn("wherefore run --service bare", why(0))
            self.assertIn("unlinked was profiled (1 profile around", why(1))
            self.assertIn("does not link spans", why(1))
            self.assertIn("took 4 ms, and there is one sample per 10 ms of CPU time: too short", why(2))
            self.assertIn("took 900 ms with one sample per 10 ms of CPU time", why(3))
            self.assertIn("off-CPU profiles show waiting", why(3))
            whole = server.ask(f"traces/{trace.hex()}/flame")["hint"]
            for service in spans:
                self.assertIn(service, whole)
            self.assertIn("no such span", server.ask(f"traces/{trace.hex()}/flame", span="77" * 8)["hint"])

    def test_a_short_span_beside_an_inner_span_with_samples_was_too_short(self):
        """A profiler that links one inner span links all: samples of the others are not stored under the local root."""
        with self.server() as server:
            ui_data.send_traces(server, time.time_ns())
            server.flush()
            checkout, parse, db = (ui_data.span_id(11, n).hex() for n in (1, 2, 3))
            flame = lambda **more: server.ask(f"traces/{ui_data.trace_id(11).hex()}/flame", type="samples", **more)
            self.assertEqual(flame()["by_span"], {checkout: 2, parse: 14})
            answer = flame(span=db)
            self.assertNotIn("filed_under", answer)
            self.assertIn("took 3 ms, and there is one sample per 10 ms of CPU time: too short", answer["hint"])
            self.assertNotIn("local root", answer["hint"])

    def test_a_whole_trace_has_samples_of_profilers_that_know_only_spans(self):
        with self.server() as server:
            now = time.time_ns()
            trace, other, spans = b"\5" * 16, b"\6" * 16, [bytes([20 + i]) * 8 for i in range(3)]
            server.send(spans_request("svc", [{"trace": trace, "span": s, "parent": b"" if i == 0 else spans[0], "start": now + i * 10**6, "end": now + 10**9}
                                              for i, s in enumerate(spans)]), "/v1/traces")
            server.send(spans_request("svc", [{"trace": other, "span": b"elsewher", "start": now, "end": now + 10**9}]), "/v1/traces")
            p = Profiles("svc")
            p.profile([(p.stack("main", "a"), 1, p.link(trace, spans[0])), (p.stack("main", "b"), 10, p.link(bytes(16), spans[2])),
                       (p.stack("main", "c"), 100, p.link(bytes(16), b"elsewher"))], now)
            server.send(p.encode())
            server.flush()
            answer = server.ask(f"traces/{trace.hex()}/flame", type="samples")
            self.assertEqual((answer["total"], answer["by_span"]), (11, {spans[0].hex(): 1, spans[2].hex(): 10}))

    def test_a_search_lists_traces_however_many_spans_match(self):
        with self.server() as server:
            now = time.time_ns()
            many = [{"trace": b"\7" * 16, "span": i.to_bytes(8, "big"), "start": now - i, "end": now + 10**6} for i in range(1, 500)]
            server.send(spans_request("svc", many), "/v1/traces")
            server.send(spans_request("svc", [{"trace": bytes([9, i]) * 8, "span": bytes([i]) * 8, "start": now - 10**9, "end": now} for i in range(1, 5)]), "/v1/traces")
            server.flush()
            found = server.ask("traces", limit=3)["traces"]
            self.assertEqual([len(t["matched"]) for t in found], [20, 1, 1])
            self.assertEqual((found[0]["trace"], found[0]["spans"]), ((b"\7" * 16).hex(), 499))
            self.assertEqual(len(server.ask("traces", limit=10)["traces"]), 5)

    def test_spans_as_columns_and_one_by_one(self):
        with self.server() as server:
            now = time.time_ns()
            trace, root, child, lost = b"\5" * 16, b"\1" * 8, b"\2" * 8, b"\3" * 8
            server.send(spans_request("svc", [
                {"trace": trace, "span": root, "name": "a", "start": now, "end": now + 100},
                {"trace": trace, "span": child, "parent": root, "name": "b", "start": now + 10, "end": now + 20, "status": 2, "attributes": {"k": "v"}},
                {"trace": trace, "span": lost, "parent": b"nowhere!", "name": "a", "start": now + 30, "end": now + 31}]), "/v1/traces")
            server.flush()
            path = f"traces/{trace.hex()}"
            t = server.ask(path, format="columns")
            self.assertEqual((t["span"], t["parent"], t["status"], t["start"], t["duration"]), ([root.hex(), child.hex(), lost.hex()], [-1, 0, -2], [0, 2, 0], [0, 10, 30], [100, 10, 1]))
            self.assertEqual([t["strings"][n] for n in t["name"]], ["a", "b", "a"])
            self.assertEqual(int(t["start_ns"]), now)
            one = server.ask(path, span=child.hex())["spans"]
            self.assertEqual([(s["name"], s["attributes"]) for s in one], [("b", {"k": "v"})])
            self.assertEqual(server.get("/api/v1/" + path, format="rows").status, 400)

    def test_from_a_function_to_its_traces(self):
        with self.server() as server:
            now = time.time_ns()
            traces = [bytes([i]) * 16 for i in (1, 2, 3)]
            for i, trace in enumerate(traces):
                server.send(spans_request("svc", [{"trace": trace, "span": bytes([10 + i]) * 8, "name": f"op{i}", "start": now - i, "end": now - i + (i + 1) * 10**9, "parent": b"notcome!" if i == 1 else b""}]), "/v1/traces")
            p = Profiles("svc")
            f, other = p.stack("main", "f", "g"), p.stack("main", "h")
            p.profile([(f, 3, p.link(traces[0], bytes([10]) * 8)), (f, 7, p.link(traces[1], bytes([11]) * 8)), (p.stack("main", "f"), 1, p.link(traces[1], bytes([11]) * 8)),
                       (other, 50, p.link(traces[2], bytes([12]) * 8)), (f, 100),
                       (f, 5, p.link(bytes(16), bytes([12]) * 8)), (f, 2, p.link(bytes(16), b"nospan!!"))], now)
            p.profile([(f, 1000, p.link(traces[2], bytes([12]) * 8))], now - 7200 * 10**9)
            server.send(p.encode())
            server.flush()
            ask = lambda **more: server.ask("function-traces", **{"query": "svc", "type": "samples", "function": "f", **more})
            answer = ask()
            self.assertEqual([(t["trace"], t["value"], t["count"]) for t in answer["traces"]],
                             [(traces[1].hex(), 8, 8), (traces[2].hex(), 5, 5), (traces[0].hex(), 3, 3), ("", 2, 2)])
            self.assertEqual((answer["value"], answer["linked_value"], answer["found"]), (118, 18, 4))
            self.assertEqual([t["root_missing"] for t in answer["traces"]], [True, False, False, False])
            first = answer["traces"][0]
            self.assertEqual((first["root_name"], first["duration_ns"], [(s["name"], s["value"]) for s in first["seen_in"]]), ("op1", 2 * 10**9, [("op1", 8)]))
            cut = ask(limit=1)
            self.assertEqual((len(cut["traces"]), cut["found"], cut["linked_value"]), (1, 4, 18))
            orders = {sort: [t["trace"][:2] for t in ask(sort=sort)["traces"]] for sort in ("value", "duration", "time")}
            self.assertEqual(orders, {"value": ["02", "03", "01", ""], "duration": ["03", "02", "01", ""], "time": ["01", "02", "03", ""]})
            self.assertEqual([t["trace"] for t in ask(sort="duration", limit=1)["traces"]], [traces[2].hex()])
            self.assertEqual(server.get("/api/v1/function-traces", query="svc", function="f", sort="name").status, 400)
            self.assertEqual(ask(since="3h")["value"], 1118)
            self.assertEqual(ask(function="h")["traces"][0]["trace"], traces[2].hex())
            self.assertEqual([t["value"] for t in ask(module="")["traces"]], [8, 5, 3, 2])
            self.assertIn("no function is called", ask(module="libother.so")["hint"])
            self.assertIn("no function is called", ask(function="x")["hint"])
            server.send(one_profile("plain", 3, ("main", "f")))
            server.flush()
            self.assertIn("linked to a span", ask(query="plain")["hint"])
            self.assertEqual(server.get("/api/v1/function-traces", query="svc").status, 400)


if __name__ == "__main__":
    unittest.main(verbosity=1)
