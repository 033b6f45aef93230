#!/usr/bin/env python3
"""Sums by hour, retention by kind and pins, as users meet them: answers over two days before and after hours are summed up, beside late
data, deletes and kill -9; what is dropped and what stays."""
import random
import subprocess
import time
import unittest

from harness import BINARY, SPAN, TRACE, Case, Profiles, http, spans_request, wait_until

HOUR = 3600 * 10**9
DAY = 24 * HOUR


class Hours(Case):
    def put(self, server, start, seed, hours=range(50), count=60):
        """Profiles at random times of some hours."""
        chance = random.Random(seed)
        p = Profiles("shop", **{"service.version": f"v{seed % 2}", "pod": f"p{seed % 3}"})
        stacks = [p.stack("main", f"g{i % 3}", f"f{i}") for i in range(9)]
        for _ in range(count):
            at = start + chance.choice(hours) * HOUR + chance.randrange(HOUR)
            p.profile([(chance.choice(stacks), chance.randrange(1000)) for _ in range(5)], at)
        self.assertEqual(server.send(p.encode()).status, 200)

    def top(self, server, start, hours, **more):
        answer = server.ask("top", **{"query": "shop", "type": "samples", "from": str(start), "to": str(start + hours * HOUR), **more})
        return answer, {row["name"]: (int(row["self"]), int(row["total"])) for row in answer["rows"]}

    def in_days(self, server, start, **more):
        """The same from samples: ranges under two days, added up."""
        whole, total = {}, 0
        for first, hours in ((0, 25), (25, 25)):
            answer, rows = self.top(server, start + first * HOUR, hours, **more)
            total += int(answer["total"])
            self.assertEqual(answer["tier"], "raw")
            for name, (own, below) in rows.items():
                before = whole.get(name, (0, 0))
                whole[name] = (before[0] + own, before[1] + below)
        return total, whole

    def same(self, server, start):
        for query in ("shop", "shop{service.version=v1}", "shop{service.version!=v1}", "shop{pod=p1}"):
            answer, rows = self.top(server, start, 50, query=query)
            total, whole = self.in_days(server, start, query=query)
            self.assertEqual((int(answer["total"]), rows), (total, whole), query)
            if "pod" in query:
                self.assertEqual(answer["tier"], "raw")
        answer, _ = self.top(server, start, 50)
        line = server.ask("series", query="shop", type="samples", step="1h", **{"from": str(start), "to": str(start + 50 * HOUR)})
        self.assertEqual(sum(int(v) for group in line["groups"] for v in group["values"]), int(answer["total"]))
        flame = server.ask("flame", query="shop", type="samples", **{"from": str(start), "to": str(start + 50 * HOUR)})
        self.assertEqual((int(flame["total"]), flame["tier"]), (int(answer["total"]), answer["tier"]))
        return answer.get("tier_hours", 0)

    def test_two_days_are_the_same_from_hours_and_from_samples(self):
        start = time.time_ns() // HOUR * HOUR - 51 * HOUR
        server = self.server("--hours-wait", "1s")
        with server:
            for seed in range(3):
                self.put(server, start, seed)
            wait_until(lambda: self.same(server, start) > 40, what="hours are not summed up")
        for life in range(3):
            with server:
                self.put(server, start, 10 + life, hours=(3, 9, 30))
                self.same(server, start)
                if life == 1:
                    server.cli("delete", "shop{pod=p1}", "--from", str(start + 5 * HOUR + 7), "--to", str(start + 12 * HOUR), "--yes")
                    self.same(server, start)
                time.sleep(random.Random(life).random() * 2)  # kill at some moment of summing up
                server.kill()
            with server:
                self.same(server, start)
        with server:
            wait_until(lambda: self.same(server, start) > 40, what="hours are not summed up again")
            hours = http("POST", server.http + "/api/v1/sql", b"SELECT count(), sum(total) FROM function_hours WHERE function = '[all]' AND type = 'cpu'").json["rows"][0]
            self.assertGreater(hours[0], 40)
            self.assertEqual(int(hours[1]), int(server.ask("top", query="shop", type="cpu", **{"from": str(start), "to": str(start + 50 * HOUR)})["total"]))

    def test_retention_by_kind_and_pins(self):
        start = time.time_ns() // DAY * DAY - 12 * DAY + 2 * HOUR
        server = self.server("--hours-wait", "1s")
        with server:
            for day in range(12):
                at = start + day * DAY
                p = Profiles("shop")
                p.profile([(p.stack("main", "f"), 100 + day, p.link(TRACE, SPAN))], at)
                server.send(p.encode())
                server.send(spans_request("shop", [{"trace": TRACE, "span": bytes([day + 1] * 8), "start": at, "end": at + 5}]), "/v1/traces")
            pinned = server.cli("pin", "shop", "--from", str(start + 3 * DAY), "--to", str(start + 3 * DAY + HOUR), "--why", "incident 42").stdout
            self.assertIn("incident 42", pinned)
            self.assertIn("incident 42", server.cli("pin", "--list").stdout)
            wait_until(lambda: self.days(server).get("hours", 0) == 12, what="hours are not summed up")
        server.arguments = ("--hours-wait", "1s", "--retention", "spans=7d,links=9d,samples=10d,hours=400d")
        with server:
            # Over half of a kind would not go at once; what goes is what is too old.
            wait_until(lambda: self.days(server) == {"spans": 8, "links": 9, "samples": 10, "hours": 12, "profiles and names": 12}, seconds=150,
                       what=f"dropped otherwise: {self.days(server)}")
            answer, rows = self.top(server, start - HOUR, 12 * 24)
            self.assertEqual(int(answer["total"]), sum(100 + day for day in range(12)), "what samples were is in the hours")
            self.assertEqual(answer["tier"], "hours")
            self.assertEqual(self.top(server, start - 2 * HOUR, 4)[0]["tier"], "hours", "short, but its samples are gone")
            labelled, _ = self.top(server, start - HOUR, 12 * 24, query="shop{pod!=x}")
            self.assertIn("labels other than", labelled["hint"])
            kept = server.ask("storage")["days"]
            self.assertEqual({d["kind"] for d in kept if d["pinned"]}, {"spans", "links", "samples", "hours", "profiles and names"})
            facts = {p["part"]: p["facts"] for p in server.ask("status")["parts"]}
            self.assertIn("goes", facts["kept"]["samples"])
            refused = server.cli("delete", "shop", "--from", str(start), "--to", str(start + 60), "--yes", check=False)
            self.assertIn("--whole-hours", refused.stderr)
            server.cli("delete", "shop", "--from", str(start), "--to", str(start + 60), "--yes", "--whole-hours")
            self.assertEqual(int(self.top(server, start - HOUR, 12 * 24)[0]["total"]), sum(100 + day for day in range(1, 12)))
            server.cli("pin", "--remove", pinned.split()[0])
            self.assertEqual(server.ask("pins")["pins"], [])

    def days(self, server):
        found = {}
        for day in server.ask("storage")["days"]:
            found[day["kind"]] = found.get(day["kind"], 0) + 1
        return found

    def test_a_retention_that_says_nothing_sensible_is_refused(self):
        for arguments, words in ((("--retention", "spans=3d,liks=7d"), "at character 10: 'liks'"), (("--retention", "hours=0d"), "would keep nothing"),
                                 (("--tenant-retention", "a:3d"), "needs --tenants"), (("--tenants", "--tenant-retention", "3d"), "expected a tenant"),
                                 (("--hours-wait", "0s"), "at least 1s")):
            done = subprocess.run([BINARY, "serve", "--data", str(self.folder / "x"), *arguments], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
