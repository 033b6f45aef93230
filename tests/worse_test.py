#!/usr/bin/env python3
"""What got worse, service by service: cards equal the difference of the same sides."""
import json
import os
import random
import shlex
import time
import unittest

from harness import Case, Profiles, field, packed, spans_request, wait_until

SECOND = 10**9


class Worse(Case):
    def send(self, server, service, versions, begin, requests=60, spans=True):
        """versions: (version, samples of parse in a request). Ten minutes each, three pods, one after the other."""
        rng = random.Random(service)
        for number, (version, parse) in enumerate(versions):
            start = begin + number * 600 * SECOND
            for pod in range(3):
                labels = {"host.name": f"{version}-{pod}"}
                if version:
                    labels["service.version"] = version
                p = Profiles(service, **labels)
                p.file("parse", "/src/json.cc", 110)
                for slot in range(4):
                    at = start + slot * 120 * SECOND
                    ids = [(os.urandom(16), os.urandom(8)) for _ in range(requests)]
                    samples = []
                    for trace, span in ids:
                        for names, value in ((("main", "parse", "std::string::append"), rng.gauss(parse, 0.5)), (("main", "render"), rng.gauss(3, 0.5)), (("main", "serve"), rng.gauss(6, 0.5))):
                            link = field(3, p.link(trace, span)) if spans else b""
                            samples.append(field(1, p.stack(*names)) + link + packed(4, [max(1, round(value))]))
                    p.profile(samples, at)
                    if spans:
                        rows = [dict(trace=t, span=s, name="GET /", kind=2, start=at + SECOND, end=at + SECOND + int(parse * 10**7)) for t, s in ids]
                        self.assertEqual(server.send(spans_request(service, rows, **labels), "/v1/traces").status, 200)
                self.assertEqual(server.send(p.encode()).status, 200)

    def settled(self, server, **parameters):
        server.ask("worse", max_age=0)
        wait_until(lambda: not server.ask("worse")["looking"])
        return server.ask("worse", **parameters)

    def test_what_got_worse_equals_the_difference(self):
        # Regression records would take the place of what is worked out (regression_records_test.py).
        with self.server("--regressions-budget", "0") as server:
            begin = time.time_ns() - 1500 * SECOND
            self.send(server, "shop", [("v1", 4), ("v2", 8)], begin)
            self.send(server, "same", [("v1", 4), ("v2", 4)], begin)
            self.send(server, "better", [("v1", 8), ("v2", 4)], begin)
            self.send(server, "new", [("v1", 4)], begin)
            self.send(server, "plain", [("v1", 4), ("v2", 8)], begin, spans=False)
            answer = self.settled(server)
            self.assertEqual((answer["looked_at"], answer["services"]), (5, 5))
            worse = {one["service"]: one for one in answer["worse"]}
            others = {one["service"]: one for one in answer["others"]}
            self.assertEqual(set(worse), {"shop", "plain"}, answer)
            self.assertEqual({name: one["verdict"] for name, one in others.items()}, {"same": "same", "better": "better", "new": "unknown"})
            self.assertEqual([one["service"] for one in answer["worse"]], [one["service"] for one in sorted(answer["worse"], key=lambda one: -one["cost"]["low"])])
            shop = worse["shop"]
            self.assertEqual((shop["mode"], shop["since"]["before"], shop["since"]["after"], shop["since"]["label"]), ("request", "v1", "v2", "service.version"))
            self.assertRegex(shop["sentence"], r"CPU per request .* → .* \(×1\.\d.*\) since v2: std::string::append in parse")
            self.assertEqual(shop["causes"][0]["own"]["function"], "parse")
            self.assertEqual(shop["endpoints"], ["GET /"])
            self.assertEqual((shop["latency"]["p50_ns_before"], shop["latency"]["p99_ns_after"]), (40_000_000, 80_000_000))
            self.assertTrue(shop["causes"][0]["traces"])
            self.assertEqual(worse["plain"]["mode"], "share")
            self.assertRegex(others["same"]["sentence"], r"nothing surely got worse since v2; a change of CPU per request of \d+\.\d % would have been seen")
            self.assertIn("no profiles in the hour before", others["new"]["sentence"])
            for one in [*answer["worse"], others["same"], others["better"]]:
                sides = one["sides"]
                diff = server.ask("diff", query=sides["query"], base_query=sides["base_query"], mode=one["mode"], type="cpu", max_nodes=1,
                                  **{"from": sides["from_ms"], "to": sides["to_ms"], "base_from": sides["base_from_ms"], "base_to": sides["base_to_ms"]})
                self.assertEqual(diff["statistics"]["whole"], one["whole"], one["service"])
                for mine, theirs in zip(one["causes"], diff["causes"]):
                    for key in ("function", "kind", "change", "low", "high", "share_of_before"):
                        self.assertEqual(mine[key], theirs[key], (one["service"], key))
                self.assertEqual(len(one["causes"]), min(3, len(diff["causes"])))
            # The command on the card is the one that says so.
            said = json.loads(server.cli(*shlex.split(shop["command"])[1:], "--json").stdout)
            self.assertEqual(said["requests_after"], shop["requests_after"])
            self.assertAlmostEqual(said["causes"][0]["share_of_before"], shop["causes"][0]["share_of_before"], places=6)

    def test_in_the_terminal(self):
        with self.server() as server:
            self.assertIn("no service sent profiles", server.cli("worse", "--max-age", "0").stdout)
            begin = time.time_ns() - 1500 * SECOND
            self.send(server, "shop", [("v1", 4), ("v2", 8)], begin)
            self.send(server, "same", [("v1", 4), ("v2", 4)], begin)
            done = server.cli("worse", "--max-age", "0", check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("1 of 2 services got worse", done.stdout)
            self.assertRegex(done.stdout, r"▲ shop  CPU per request .*\n  \+\d\.\d\d cores .* p99 40 ms → 80 ms\n  in GET /\n")
            self.assertNotIn("same  nothing", done.stdout)
            self.assertIn("same  nothing surely got worse", server.cli("worse", "--all", check=False).stdout)
            quiet = server.cli("worse", "--search", "same")
            self.assertEqual(quiet.returncode, 0)
            self.assertEqual(server.get("/api/v1/worse", max_age="soon").status, 400)


if __name__ == "__main__":
    unittest.main()
