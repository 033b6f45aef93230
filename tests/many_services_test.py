#!/usr/bin/env python3
"""Many services: 3,000 and 100,000 of them. Lists are limited and say so, queries over all services stay within their
time and memory, and commands work. (The page: tests/ui_test.py.)

By hand: tests/many_services_test.py [Many.test_...]
"""
import concurrent.futures
import gzip
import time
import unittest

from harness import Case, field, fixed64, packed, resource, spans_request
from sdk_bytes import fields

SECONDS = 20  # a question over all of them, on a machine with other things to do; alone it is 1 to 4
AT_ONCE = 1000  # services in one request


def profiles(first, count, now):
    """One profile for each of `count` services; the higher its number the more CPU it uses."""
    dictionary = field(1, b"") + field(2, b"") + b"".join(field(2, field(3, field(1, i))) for i in (1, 2)) + field(3, b"")
    dictionary += field(3, field(1, 5)) + field(3, field(1, 6)) + field(4, b"")
    dictionary += b"".join(field(5, s) for s in ("", "samples", "count", "cpu", "nanoseconds", "main", "work"))
    dictionary += field(6, b"") + field(7, b"") + field(7, packed(1, [2, 1]))
    out = []
    for i in range(first, first + count):
        profile = field(1, field(1, 1) + field(2, 2)) + field(2, field(1, 1) + packed(4, [1 + i])) + fixed64(3, now)
        profile += field(4, 10 * 10**9) + field(5, field(1, 3) + field(2, 4)) + field(6, 10_000_000)
        scope = field(1, field(1, "test")) + field(2, profile)
        out.append(field(1, field(1, resource(name_of(i), **{"host.name": f"host-{i}"})) + field(2, scope)))
    return b"".join(out) + field(2, dictionary)


def name_of(i):
    return f"Service-{i:06}"


def send(server, count):
    now = time.time_ns() - 60 * 10**9

    def part(first):
        body = profiles(first, min(AT_ONCE, count - first), now)
        for _ in range(100):
            answer = server.send(body)
            if answer.status == 200:
                assert not answer.body, answer.body[:300]
                return
            assert answer.status in (429, 503), (answer.status, answer.body)  # a queue that is full: come back
            time.sleep(0.1)
        raise AssertionError("refused a hundred times")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(part, range(0, count, AT_ONCE)))
    server.flush()


def send_spans(server, count):
    """Five spans of each of `count` services."""
    start = time.time_ns() - 60 * 10**9
    for i in range(count):
        trace = bytes([1, *i.to_bytes(2, "big")]) + bytes(13)
        spans = [{"trace": trace, "span": bytes([2, *i.to_bytes(2, "big"), k]) + bytes(4), "name": f"op {k}", "start": start, "end": start + 1000} for k in range(5)]
        answer = server.send(spans_request(f"Traced-{i:04}", spans), path="/v1/traces")
        assert answer.status == 200, answer.body
    server.flush()


class Many(Case):
    def quick(self, server, path, **parameters):
        begin = time.monotonic()
        answer = server.ask(path, since="1h", **parameters)
        self.assertLess(time.monotonic() - begin, SECONDS, path)
        return answer

    def lists_of(self, server, count):
        """Checks what holds for every list, however many services there are."""
        last = name_of(count - 1)
        overview = self.quick(server, "overview")
        self.assertEqual(overview["total"], count)
        self.assertEqual([s["name"] for s in overview["services"]], [name_of(count - 1 - i) for i in range(100)])
        self.assertEqual(overview["services"][0]["top"][0]["name"], "work")
        whole = count * (count + 1) / 2 / 100  # seconds of CPU; all were seen in the same ten
        self.assertAlmostEqual(overview["cores"], whole / 10, delta=whole / 1000)
        self.assertAlmostEqual(overview["services"][0]["cores"], count / 100 / 10, delta=count / 1e5)
        self.assertEqual(overview["observed_ms"], 10_000)
        self.assertIn(sum(overview["step_observed_ms"]), (10_000, 10_001))  # each step rounds up
        found = self.quick(server, "overview", search=last.lower(), limit=5)
        self.assertEqual((found["total"], [s["name"] for s in found["services"]]), (1, [last]))
        self.assertEqual((found["services"][0]["instances"], found["observed_ms"]), (1, 10_000))
        self.assertEqual(self.quick(server, "overview", search="nobody")["services"], [])

        services = self.quick(server, "services")
        self.assertEqual((services["total"], len(services["services"])), (count, 1000))
        self.assertEqual(services["services"][0]["name"], name_of(0))
        self.assertEqual([t["name"] for t in services["services"][0]["types"]], ["cpu", "samples"])
        one = self.quick(server, "services", query=last, limit=5)
        self.assertEqual((one["total"], one["services"][0]["name"], one["services"][0]["profiles"]), (1, last, 1))
        some = self.quick(server, "services", search="ICE-00000")
        self.assertEqual((some["total"], len(some["services"])), (10, 10))
        self.assertEqual(self.quick(server, "labels"), {"total": 2, "labels": ["host.name", "service.name"]})
        values = self.quick(server, "labels/host.name/values", limit=3)
        self.assertEqual((values["total"], values["values"]), (count, ["host-0", "host-1", "host-10"]))
        self.assertEqual(self.quick(server, "labels/service_name/values", search=last[2:])["values"], [last])

        # By a regular expression they are as many ids in the statement.
        for query in ("", '{service_name=~"Service-.*"}'):
            top = self.quick(server, "top", query=query, type="samples")
            self.assertEqual((top["total"], [r["name"] for r in top["rows"]]), (count * (count + 1) // 2, ["work", "main"]))

    def stacks_of(self, server, count):
        """Queries that look at the stacks of all services."""
        whole = count * (count + 1) // 2
        for query in ("", '{service_name=~"Service-.*"}'):
            series = self.quick(server, "series", query=query, type="samples", search="work")
            self.assertEqual(sum(map(int, series["groups"][0]["values"])), whole, query)
            self.assertEqual(sum(map(int, series["search"]["values"])), whole, query)
        none = self.quick(server, "series", query="", type="samples", search="nobody")
        self.assertEqual(sum(map(int, none["search"]["values"])), 0)
        heat = self.quick(server, "heatmap", query="", type="samples", search="work")
        self.assertEqual(sum(cell[2] for cell in heat["cells"]), count)
        listed = self.quick(server, "list", query="", type="samples", function="work")
        self.assertEqual((int(listed["total"]), [(f["name"], int(f["total"])) for f in listed["functions"]]), (whole, [("work", whole)]))
        traces = self.quick(server, "function-traces", query="", type="samples", function="work")
        self.assertEqual((int(traces["value"]), traces["found"]), (whole, 0))
        begin = time.monotonic()
        file = server.get("/api/v1/export", query="", type="samples", format="pprof", since="1h")
        self.assertLess(time.monotonic() - begin, SECONDS, "export")
        self.assertEqual(file.status, 200, file.body[:300])
        self.assertEqual(sum(number == 2 for number, _ in fields(gzip.decompress(file.body))), count, "a sample of each")

    def test_three_thousand(self):
        with self.server() as server:
            send(server, 3000)
            self.lists_of(server, 3000)
            self.stacks_of(server, 3000)
            most = self.quick(server, "overview", limit=1000)["services"]
            self.assertEqual([s["top"][0]["name"] for s in most], ["work"] * 1000)
            self.assertEqual(len(self.quick(server, "services", limit=10_000)["services"]), 3000)
            for path, most in (("services", 10_000), ("labels", 10_000), ("overview", 1000), ("span-names", 10_000)):
                for wrong in (0, most + 1, "x"):
                    answer = server.get("/api/v1/" + path, limit=wrong)
                    self.assertEqual((answer.status, f"from 1 to {most}" in answer.json["error"]["message"]), (400, True), path)
                self.assertEqual(server.get("/api/v1/" + path, search="x" * 1001).status, 400)
            self.assertEqual(server.get("/api/v1/services", query='{a="b"}').status, 400)
            self.commands(server)

    def commands(self, server):
        listed = server.cli("query")
        self.assertEqual((len(listed.stdout.splitlines()), listed.stderr), (1000, "2,000 more: --search TEXT lists those with it in their name, --limit N more\n"))
        self.assertEqual(len(server.cli("query", "--limit", "2000").stdout.splitlines()), 2000)
        found = server.cli("query", "--search", "service-00123")
        self.assertEqual((len(found.stdout.splitlines()), found.stderr), (10, ""))
        self.assertIn("no such profiles", server.cli("query", "--search", "nobody").stdout)
        hosts = server.cli("query", "--label", "host.name", "--search", "HOST-29", "--limit", "100")
        self.assertEqual((len(hosts.stdout.splitlines()), hosts.stderr[:8]), (100, "11 more:"))
        self.assertEqual(server.cli("query", name_of(1), "--search", "x", check=False).returncode, 2)

    def test_names_of_spans(self):
        with self.server() as server:
            send_spans(server, 30)
            names = self.quick(server, "span-names", limit=7)
            self.assertEqual((names["total"], len(names["spans"]), names["services_total"], len(names["services"])), (150, 7, 30, 7))
            names = self.quick(server, "span-names", service="Traced-0007", search="OP 3")
            self.assertEqual((names["total"], names["spans"]), (1, [{"service": "Traced-0007", "name": "op 3"}]))
            self.assertEqual(self.quick(server, "span-names", search="traced-002")["services"], [f"Traced-002{i}" for i in range(10)])
            overview = self.quick(server, "overview", search="traced-002", limit=4)
            self.assertEqual((overview["total"], [s["name"] for s in overview["services"]]), (10, [f"Traced-002{i}" for i in range(4)]))

    def test_a_hundred_thousand(self):
        with self.server("--query-memory", "256MiB") as server:
            send(server, 100_000)
            self.lists_of(server, 100_000)
            self.stacks_of(server, 100_000)


if __name__ == "__main__":
    unittest.main(verbosity=1)
