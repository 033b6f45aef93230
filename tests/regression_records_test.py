#!/usr/bin/env python3
"""Regressions: records of what surely got dearer with a new version, through the real server.

REGRESSION_DEPLOYMENTS, REGRESSION_QUIET (without a change) and REGRESSION_SEED change what is tried; ./test --all tries
100 and 200."""
import json
import os
import random
import time
import unittest

from harness import Case, http, wait_until
from regression_data import DECOYS, HOUR, Deployment, settled

DEPLOYMENTS = int(os.environ.get("REGRESSION_DEPLOYMENTS", "12"))
QUIET = int(os.environ.get("REGRESSION_QUIET", "8"))
SEED = int(os.environ.get("REGRESSION_SEED", "11"))


def post(server, id, action, body=b""):
    return http("POST", f"{server.http}/api/v1/regressions/{id}/{action}", json.dumps(body).encode() if body else b"")


class Records(Case):
    def test_one_record_for_each_cause_and_none_for_decoys(self):
        rng = random.Random(SEED)
        deployments = []
        for i in range(DEPLOYMENTS):
            part = rng.uniform(0.02, 0.2) if i % 2 == 0 else 0
            deployments.append(Deployment(f"svc-{i:03}", rng.random(), part, DECOYS[i % 8 if i % 16 < 8 else 7 - i % 8]))
        with self.server("--retention", "90d", "--regressions-budget", "100") as server:
            now = time.time_ns()
            for one in deployments:
                one.send(server, now)
            server.flush()
            began = time.monotonic()
            answer = settled(server)
            print(f"{DEPLOYMENTS} deployments looked at in {time.monotonic() - began:.0f} s", flush=True)
            self.judge(server, deployments, answer)
            self.mix_is_said(deployments, answer)
            work = answer["watch"]
            self.assertEqual(work["failed"], 0, work)

    def judge(self, server, deployments, answer):
        right = reported = found = planted = held = 0
        wrong = []
        for one in deployments:
            records = [r for r in answer["regressions"] if r["service"] == one.service]
            of_v2 = [r for r in records if r["since"]["after"] == "v2"]
            hits = [r for r in of_v2 if r["function"]["name"] == one.changed]
            reported += len(of_v2)
            right += min(1, len(hits))
            if len(of_v2) != min(1, len(hits)):
                wrong.append(f"{one.service} ({one.decoy}, {one.truth():.3f} in {one.changed}): " + "; ".join(f"{r['kind']} {r['function']['name']} {r['change']['share']:+.3f} q {r['q']:.4f}" for r in of_v2))
            self.assertLessEqual(len(hits), 1, "one record for each cause")
            if one.rolled_back:
                bad = [r for r in records if r["since"]["after"] == "v2-bad"]
                reported += len(bad)
                right += sum(r["function"]["name"] == one.bad for r in bad)
                self.assertTrue(all(r["state"] == "gone" for r in bad), bad)
            if not one.changed:
                continue
            if hits:
                record = hits[0]
                self.assertEqual((record["state"], record["mode"], record["basis"]), ("open", "request", "endpoints"))
                held += record["change"]["share_low"] <= one.truth() <= record["change"]["share_high"]
                self.assertTrue(record["traces"]["after"] and record["endpoints"] == [f"GET /{one.change_key[0]}"], record)
            if hits or one.truth() >= self.detectable(server, one):
                planted += 1
                found += bool(hits)
                if not hits:
                    wrong.append(f"{one.service} ({one.decoy}): {one.truth():.3f} in {one.changed} was missed")
        print(f"precision {right} of {reported}, recall {found} of {planted} at or above detectable, {held} of {found} intervals hold\n" + "\n".join(wrong), flush=True)
        self.assertGreater(planted, 0)
        self.assertGreaterEqual(100 * right, 95 * reported, wrong)
        self.assertGreaterEqual(100 * found, 90 * planted, wrong)

    def detectable(self, server, one):
        """Of the function that is planted, as a share of the cost before, by the difference of both versions."""
        to = time.time_ns() // 10**6
        diff = server.ask("diff", query=f'{one.service}{{service.version="v2"}}', base_query=f'{one.service}{{service.version="v1"}}', mode="request", type="cpu", max_nodes=1,
                          **{"from": to - 26 * HOUR // 10**6, "to": to, "base_from": to - 30 * HOUR // 10**6, "base_to": to})
        row = next((row for row in diff["changes"] if row["name"] == one.changed), None)
        return row["self"]["detectable"] / diff["statistics"]["whole"]["before"] if row else 1

    def mix_is_said(self, deployments, answer):
        for one in deployments:
            if one.decoy == "mix":
                note = next(v["note"] for v in answer["versions"] if v["service"] == one.service)
                self.assertRegex(note, r"the mix of requests changed: GET /\d \d+ % → \d+ %")

    def test_deployments_without_change_have_none(self):
        rng = random.Random(SEED + 1)
        quiet = [Deployment(f"quiet-{i:03}", rng.random(), 0, ("none", "load", "mix", "differ", "slow")[i % 5]) for i in range(QUIET)]
        with self.server("--retention", "90d", "--regressions-budget", "100") as server:
            now = time.time_ns()
            for one in quiet:
                one.send(server, now)
            server.flush()
            answer = settled(server)
        any_of = {r["service"] for r in answer["regressions"]}
        print(f"{len(any_of)} of {QUIET} deployments without a change have a regression: {sorted(any_of)}", flush=True)
        self.assertLessEqual(len(any_of), max(1, 0.05 * QUIET) if QUIET < 20 else 0.05 * QUIET)

    def test_what_people_say_outlives_kill_9(self):
        one = Deployment("shop", 5, 0.2)
        other = Deployment("other", 6, 0.2)
        server = self.server("--retention", "90d", "--source-root", str(self.folder))
        now = time.time_ns()
        one.send(server, now)
        other.send(server, now)
        server.flush()
        first = settled(server)
        self.assertEqual({(r["service"], r["function"]["name"]) for r in first["regressions"]}, {("shop", one.changed), ("other", other.changed)}, first)
        shop = next(r for r in first["regressions"] if r["service"] == "shop")
        self.assertEqual((shop["looks"], shop["since"]["before"], shop["since"]["after"]), (4, "v1", "v2"))
        # Cards on home are the records.
        server.ask("worse", max_age=0)
        wait_until(lambda: not server.ask("worse")["looking"])
        cards = {card["service"]: card for card in server.ask("worse")["worse"]}
        self.assertEqual({c["regressions"][0] for c in cards.values()}, {r["id"] for r in first["regressions"]})
        self.assertEqual(cards["shop"]["causes"][0]["function"], shop["function"]["name"])
        self.assertEqual(cards["shop"]["sides"], shop["sides"])
        # The difference at its address says the same.
        self.assertEqual(server.ask(shop["address"][1:])["statistics"]["whole"], shop["whole"])
        # In the terminal.
        listed = server.cli("regressions", "shop", check=False)
        self.assertEqual(listed.returncode, 1, listed.stderr)
        self.assertRegex(listed.stdout, rf"▲ shop  \+\d+\.\d % of the CPU time before .* since v2: {one.changed}")
        self.assertIn(one.changed, server.cli("explain", "shop", "--since", "26h").stdout)
        # What is refused.
        for action, body, status in (("mute", b"", 400), ("mute", {"why": "later", "until": "yesterday"}, 400), ("acknowledge", {"until": "7d"}, 400), ("acknowledge", {"who": "me"}, 400)):
            self.assertEqual(post(server, shop["id"], action, body).status, status, (action, body))
        self.assertEqual(post(server, "0" * 16, "acknowledge").status, 404)
        self.assertEqual(post(server, "nonsense", "acknowledge").status, 404)
        self.assertEqual(server.get("/api/v1/regressions", state="shut").status, 400)
        acknowledged = post(server, shop["id"], "acknowledge", {"why": "known, #12", "by": "me"})
        self.assertEqual((acknowledged.status, acknowledged.json["state"]), (200, "acknowledged"))
        other_id = next(r["id"] for r in first["regressions"] if r["service"] == "other")
        self.assertIn("until", server.cli("regressions", "mute", other_id, "--why", "goes with #13", "--until", "7d").stdout)
        self.assertEqual(server.cli("regressions").returncode, 0, "nothing is open")
        self.assertEqual(server.ask("regressions", state="muted,acknowledged")["total"], 2)
        before = server.ask("regressions")
        server.kill()
        server.start()
        wait_until(lambda: server.ask("regressions")["total"] == 2)
        after = server.ask("regressions")
        self.assertEqual(after["regressions"], before["regressions"])
        self.assertEqual(after["versions"], before["versions"])
        self.assertEqual(settled(server)["regressions"], before["regressions"], "nothing is looked at twice")
        rows = json.loads(http("POST", server.http + "/api/v1/sql?format=json&since=1d", b"SELECT event, count() FROM regression_events WHERE kind = 'record' AND service = 'shop' GROUP BY event ORDER BY event").body)
        self.assertEqual([(e, int(n)) for e, n in rows["rows"]], [("acknowledged", 1), ("opened", 1), ("sharpened", 3)], rows)
        self.assertEqual(post(server, shop["id"], "reopen").json["state"], "open")
        self.assertEqual(server.cli("regressions", check=False).returncode, 1)
        metrics = server.get("/metrics").body.decode()
        self.assertIn("wherefore_regressions_open 1", metrics)
        self.assertIn("regressions", [part["part"] for part in server.ask("status")["parts"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
