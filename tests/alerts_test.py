#!/usr/bin/env python3
"""Alerts with Debian's Alertmanager and a webhook: states, restarts after kill -9, silences, dry runs, rules that change."""
import datetime
import json
import random
import shutil
import subprocess
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import ROOT, Case, Profiles, field, free_port, http, resource, wait_until

SECOND = 10**9
PODS = 4


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Hook:
    """A webhook. What came is in `calls`; `status` is what it answers."""

    def __init__(self, port=0):
        self.calls, self.status = [], 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if hook.status == 200:
                    hook.calls.append((self.path, body, dict(self.headers)))
                self.send_response(hook.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def alerts(self, path="/hook"):
        """(status, service, startsAt, endsAt, fingerprint) in the order they came."""
        return [(a["status"], a["labels"]["service"], a["startsAt"], a["endsAt"], a["fingerprint"]) for at, body, _ in self.calls if at == path for a in body["alerts"]]


class Alertmanager:
    """Debian's, on a free port of loopback, which tells a webhook at once."""

    def __init__(self, folder, hook):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = folder / "alertmanager.yml"
        config.write_text(f"""
route: {{receiver: hook, group_by: ['...'], group_wait: 1s, group_interval: 1s, repeat_interval: 4h}}
receivers: [{{name: hook, webhook_configs: [{{url: 'http://127.0.0.1:{hook.port}/am', send_resolved: true}}]}}]
""")
        self.process = subprocess.Popen(["prometheus-alertmanager", f"--config.file={config}", f"--storage.path={folder}/am", f"--web.listen-address=127.0.0.1:{self.port}",
                                         "--cluster.listen-address="], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.is_ready, 60, "Alertmanager did not get ready")

    def is_ready(self):
        try:
            return http("GET", self.url + "/-/ready").status == 200
        except OSError:
            return False

    def alerts(self):
        return http("GET", self.url + "/api/v2/alerts").json

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Load:
    """Profiles of some services, every second, with a share of the samples in `hot`."""

    def __init__(self, server, **shares):
        self.server, self.shares, self.paused, self.stopped = server, shares, False, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopped.wait(1):
            if self.paused:
                continue
            for service, share in self.shares.items():
                try:
                    self.server.send(request(service, [(share, time.time_ns(), 250)]))
                except OSError:
                    pass  # the server is away

    def stop(self):
        self.stopped.set()
        self.thread.join()


def request(service, profiles, version=None):
    """Profiles of every pod in one request. profiles: (share of `hot`, start, samples[, random numbers])."""
    p, bodies = Profiles(service), b""
    hot_stack, cold_stack = p.stack("main", "hot", "loop"), p.stack("main", "cold")
    for pod in range(PODS):
        p.profiles = []
        for share, at, samples, *rng in profiles:
            hot = sum(rng[0].random() < share for _ in range(samples)) if rng else round(samples * share)
            p.profile([(stack, n) for stack, n in ((hot_stack, hot), (cold_stack, samples - hot)) if n], at)
        labels = {"host.name": f"pod-{pod}", **({"service.version": version} if version else {})}
        scope = field(1, field(1, "test")) + b"".join(field(2, profile) for profile in p.profiles)
        bodies += field(1, field(1, resource(service, **labels)) + field(2, scope))
    p.profiles = []
    return bodies + p.encode()


def rules(*entries, receivers=(), **group):
    """A file of rules; JSON is YAML."""
    every = {"name": "test", "every": "5s", "delay": "2s", **group}
    return json.dumps({"receivers": list(receivers), "groups": [{**every, "rules": list(entries)}]})


def hot(select="shop", **more):
    return {"alert": "Hot", "select": select, "function": "^hot$", "over": "20s", "when": "above 30%", "labels": {"severity": "page"}, **more}


class Alerts(Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "alerts.yaml"

    def hook(self, port=0):
        hook = Hook(port)
        self.addCleanup(hook.close)
        return hook

    def alertmanager(self, hook):
        if not shutil.which("prometheus-alertmanager"):
            self.fail("prometheus-alertmanager is missing: tools/setup test installs it")
        am = Alertmanager(self.folder, hook)
        self.addCleanup(am.stop)
        return am

    def load(self, server, **shares):
        load = Load(server, **shares)
        self.addCleanup(load.stop)
        return load

    def alert(self, server, service="shop", state=None):
        for one in server.ask("alerts")["alerts"]:
            if one["service"] == service and state in (None, one["state"]):
                return one
        return None

    def history(self, server, **parameters):
        return [(e["state"], e["service"], e["time"]) for e in reversed(server.ask("alerts/history", since="1d", **parameters)["events"])]

    def test_states_reach_alertmanager_and_webhook(self):
        hook = self.hook()
        am = self.alertmanager(hook)
        token = self.folder / "token"
        token.write_text("secret-of-hook\n")
        self.file.write_text(rules(hot(**{"for": "10s", "annotations": {"summary": "{{ $labels.service }}: {{ $value }} in hot", "runbook": "look"}}),
                                   receivers=({"alertmanager": am.url}, {"webhook": f"http://127.0.0.1:{hook.port}/hook", "token_file": str(token)})))
        begun = time.time()
        with self.server("--alerts", str(self.file)) as server:
            load = self.load(server, shop=0.6, calm=0.6)
            pending = wait_until(lambda: self.alert(server, state="pending"), what="it did not become pending")
            self.assertEqual(am.alerts(), [], "nobody is told of what is pending")
            self.assertEqual(server.cli("alerts", check=False).returncode, 0)
            firing = wait_until(lambda: self.alert(server, state="firing"))
            self.assertGreaterEqual(moment(firing["startsAt"]) - moment(pending["activeAt"]), 10)
            told = wait_until(am.alerts, what="Alertmanager was not told")
            self.assertEqual(len(told), 1)
            labels = {"alertname": "Hot", "service": "shop", "severity": "page"}
            self.assertEqual(told[0]["labels"], labels)
            self.assertEqual(told[0]["fingerprint"], firing["fingerprint"], "the same arithmetic")
            self.assertEqual(moment(told[0]["startsAt"]), moment(firing["startsAt"]))
            self.assertAlmostEqual(moment(told[0]["endsAt"]), time.time() + 240, delta=75)
            self.assertRegex(told[0]["annotations"]["summary"], "^shop: [456][0-9.]* % in hot$")
            self.assertIn("/s/shop?", told[0]["generatorURL"])
            self.assertIn("search=%5Ehot%24", told[0]["generatorURL"])
            wait_until(lambda: hook.alerts())
            path, body, headers = [call for call in hook.calls if call[0] == "/hook"][0]
            self.assertEqual((body["version"], body["status"], body["commonLabels"], body["truncatedAlerts"]), ("4", "firing", labels, 0))
            self.assertEqual(body["alerts"][0]["endsAt"], "0001-01-01T00:00:00Z")
            self.assertEqual({k.lower(): v for k, v in headers.items()}["authorization"], "Bearer secret-of-hook")
            self.assertEqual(server.cli("alerts", check=False).returncode, 1)
            self.assertIn("wherefore_alerts_firing 1", server.get("/metrics").body.decode())
            self.assertIn("1 firing", str([p for p in server.ask("status")["parts"] if p["part"] == "alerts"]))
            pin, = wait_until(lambda: server.ask("pins")["pins"], what="its days were not pinned")
            self.assertEqual((pin["service"], pin["why"]), ("shop", "alert Hot"))
            self.assertTrue(moment(pin["from"]) <= moment(firing["startsAt"]) <= moment(pin["to"]), pin)
            self.assertGreaterEqual(moment(pin["until"]), time.time() + 14 * 86400 - 60)
            load.shares["shop"] = 0.1
            wait_until(lambda: not self.alert(server), what="it was not resolved")
            ended = wait_until(lambda: [a for a in hook.alerts() if a[0] == "resolved"])[0]
            through_am = wait_until(lambda: [a for a in hook.alerts("/am") if a[0] == "resolved"], what="Alertmanager did not hear that it ended")[0]
            self.assertEqual(ended[4], firing["fingerprint"])
            self.assertEqual([moment(t) for t in ended[2:4]], [moment(t) for t in through_am[2:4]])
            self.assertEqual(moment(ended[2]), moment(firing["startsAt"]))
            load.stop()
            history = self.history(server)
            self.assertEqual([(state, service) for state, service, _ in history], [(s, "shop") for s in ("pending", "firing", "resolved")])
            self.assertEqual(moment(history[2][2]), moment(ended[3]))
            # What would have fired is what fired: the same times.
            dry = json.loads(server.cli("alerts", "test", str(self.file), "--json", "--step", "5s", "--from", str(int(begun) - 60), check=False).stdout)
            fired = [t for t in dry["times"] if t["state"] == "firing"]
            self.assertEqual([(t["service"], t["from"], t["to"]) for t in fired], [("shop", history[1][2], history[2][2])], dry)
            self.assertEqual([a[0] for a in hook.alerts()], ["firing", "resolved"])

    def test_kill_9_while_it_fires_and_the_receiver_is_away(self):
        hook = self.hook()
        self.file.write_text(rules(hot("{service.name=~\"shop|cart\"}", over="10s"), receivers=({"webhook": f"http://127.0.0.1:{hook.port}/hook"},)))
        server = self.server("--alerts", str(self.file))
        load = self.load(server, shop=0.6, cart=0.1)
        wait_until(hook.alerts, what="the webhook was not told")
        first = self.alert(server, state="firing")
        wait_until(lambda: "firing" in [e[0] for e in self.history(server, deliveries="true") if e[1] == "shop"][1:], what="the delivery was not noted")
        hook.status = 503
        load.shares["cart"] = 0.6
        second = wait_until(lambda: self.alert(server, "cart", "firing"))
        wait_until(lambda: server.ask("alerts")["receivers"][0].get("problem"), what="no problem with the receiver")
        for _ in range(2):
            server.kill()
            server.start()
            again = wait_until(lambda: self.alert(server, state="firing"), what="it did not fire after the restart")
            self.assertEqual([again[k] for k in ("fingerprint", "startsAt")], [first[k] for k in ("fingerprint", "startsAt")])
            cart = wait_until(lambda: self.alert(server, "cart", "firing"))
            self.assertEqual([cart[k] for k in ("fingerprint", "startsAt")], [second[k] for k in ("fingerprint", "startsAt")])
        self.assertEqual([a[:2] for a in hook.alerts()], [("firing", "shop")])
        hook.status = 200
        wait_until(lambda: len(hook.alerts()) > 1, 90, "what happened meanwhile was lost")
        load.shares.update(shop=0.1, cart=0.1)
        wait_until(lambda: len(hook.alerts()) >= 4, what="the ends were lost")
        server.kill()
        server.start()
        wait_until(lambda: server.ask("alerts")["rules"][0].get("judgedAt"))
        time.sleep(3)  # time to tell it twice
        told = sorted((service, status) for status, service, *_ in hook.alerts())
        self.assertEqual(told, [(s, state) for s in ("cart", "shop") for state in ("firing", "resolved")], "each once")
        for name, alert in (("shop", first), ("cart", second)):
            for status, service, starts, ends, fingerprint in hook.alerts():
                if service == name:
                    self.assertEqual((starts, fingerprint), (alert["startsAt"], alert["fingerprint"]))

    def test_a_silence_holds(self):
        hook = self.hook()
        self.file.write_text(rules(hot("{}", over="10s"), receivers=({"webhook": f"http://127.0.0.1:{hook.port}/hook"},)))
        server = self.server("--alerts", str(self.file))
        load = self.load(server, shop=0.6, cart=0.1, other=0.1)
        wait_until(lambda: self.alert(server, state="firing"))
        wait_until(hook.alerts)
        silence = server.cli("alerts", "silence", "Hot", "service=~cart|brief", "--for", "1h", "--comment", "known").stdout.strip()
        load.shares["cart"] = 0.6
        load.shares["brief"] = 0.6
        quiet = wait_until(lambda: self.alert(server, "cart", "firing"))
        wait_until(lambda: self.alert(server, "brief", "firing"))
        self.assertEqual(quiet["silencedBy"], [silence])
        server.kill()
        server.start()
        wait_until(lambda: self.alert(server, "cart", "firing"))
        load.shares["brief"] = 0.1
        wait_until(lambda: not self.alert(server, "brief"))
        load.shares["other"] = 0.6
        wait_until(lambda: len(hook.alerts()) == 2, what="what is not silenced was not told")
        self.assertEqual({a[1] for a in hook.alerts()}, {"shop", "other"})
        self.assertIn(silence, server.cli("alerts", "silences").stdout)
        self.assertEqual(server.cli("alerts", check=False).returncode, 1)
        server.cli("alerts", "unsilence", silence)
        wait_until(lambda: len(hook.alerts()) == 3, what="it was not told when the silence ended")
        self.assertEqual(hook.alerts()[2][:3], ("firing", "cart", quiet["startsAt"]))
        self.assertEqual(server.cli("alerts", "unsilence", "unknown", check=False).returncode, 3)
        for bad in ({"matchers": [], "endsAt": "2099-01-01T00:00:00Z"}, {"matchers": [{"name": "service", "value": ".*", "isRegex": True}], "endsAt": "2099-01-01T00:00:00Z"},
                    {"matchers": [{"name": "service", "value": "("}]}, {"matchers": [{"name": "a", "value": "(", "isRegex": True}], "endsAt": "2099-01-01T00:00:00Z"}, []):
            answer = http("POST", server.http + "/api/v1/silences", json.dumps(bad).encode())
            self.assertEqual(answer.status, 400, answer.body)

    def test_a_value_at_its_bound_fires_at_most_once_a_day(self):
        server = self.server()
        now = time.time_ns()
        for service, share, seed in (("edge", 0.3, 1), ("edge2", 0.3, 2), ("above", 0.36, 4)):
            rng = random.Random(seed)
            for hour in range(25):
                at = [now - (25 - hour) * 3600 * SECOND + minute * 60 * SECOND for minute in range(60)]
                self.assertEqual(server.send(request(service, [(share, t, 100, rng) for t in at])).status, 200)
        server.flush()
        self.file.write_text(rules(hot("{}", over="10m"), every="1m"))
        dry = http("POST", server.http + "/api/v1/alerts/test?since=24h", self.file.read_bytes(), timeout=300)
        self.assertEqual(dry.status, 200, dry.body)
        fired = [t["service"] for t in dry.json["times"] if t["state"] == "firing"]
        for service in ("edge", "edge2"):
            self.assertLessEqual(fired.count(service), 1, fired)
        self.assertEqual(fired.count("above"), 1, "what is above fires, and stays")

    def test_rules_change_and_mistakes_do_not(self):
        self.file.write_text(rules(hot(over="10s")))
        server = self.server("--alerts", str(self.file))
        load = self.load(server, shop=0.6, cart=0.6)
        wait_until(lambda: self.alert(server, state="firing"))
        self.file.write_text("groups:\n  - name: test\n    rules:\n      - alert: Hot\n        wehn: above 20%\n")
        wait_until(lambda: server.ask("alerts")["problems"], what="the mistake was not said")
        self.assertIn(f"{self.file}:5:9", server.ask("alerts")["problems"][0])
        self.assertIn("`wehn`", server.ask("alerts")["problems"][0])
        self.assertTrue(self.alert(server, state="firing"))
        check = server.cli("alerts", "check", str(self.file), check=False)
        self.assertEqual(check.returncode, 1)
        self.assertIn(":5:9", check.stderr)
        self.file.write_text(rules(hot("cart", over="10s")))
        wait_until(lambda: self.alert(server, "cart", "firing"))
        self.assertEqual(server.ask("alerts")["problems"], [])
        wait_until(lambda: not self.alert(server), what="an alert without a rule still fires")
        # Through the API, durably.
        given = self.folder / "given.yaml"
        given.write_text(rules({**hot(over="10s"), "alert": "Given"}, name="mine"))
        server.cli("alerts", "set", str(given))
        wait_until(lambda: self.alert(server, state="firing"))
        server.kill()
        server.start()
        wait_until(lambda: self.alert(server, state="firing"))
        self.assertEqual({r["from"] for r in server.ask("alerts")["rules"]}, {str(self.file), "api"})
        server.cli("alerts", "remove", "mine")
        wait_until(lambda: not self.alert(server))
        given.write_text(rules(hot(), name="test"))
        self.assertIn("change it there", server.cli("alerts", "set", str(given), check=False).stderr)
        load.stop()
        broken = self.folder / "broken.yaml"
        broken.write_text("groups: 5\n")
        with self.assertRaises(AssertionError) as raised:
            self.server("--alerts", str(broken), name="other")
        self.assertIn("broken.yaml:1:9", str(raised.exception))

    def test_a_gap_and_the_end_of_it(self):
        hook = self.hook()
        self.file.write_text(rules({"alert": "Gone", "select": "{}", "when": "gap 20s"}, receivers=({"webhook": f"http://127.0.0.1:{hook.port}/hook"},)))
        server = self.server("--alerts", str(self.file))
        load = self.load(server, shop=0.5, cart=0.5)
        wait_until(lambda: server.ask("alerts")["rules"][0]["services"] == 2)
        del load.shares["cart"]
        wait_until(lambda: self.alert(server, "cart", "firing"), what="the gap was not seen")
        self.assertIsNone(self.alert(server))
        load.shares["cart"] = 0.5
        wait_until(lambda: [a for a in hook.alerts() if a[0] == "resolved"], what="it did not end")

    def test_the_example_of_anomalies(self):
        example = ROOT / "examples/alerts/anomalies.yaml"
        server = self.server("--retention", "30d")
        now = time.time_ns() // (300 * SECOND) * 300 * SECOND
        rng = random.Random(5)
        for service, today, gone in (("usual", 1.0, False), ("dear", 3.0, False), ("stopped", 1.0, True)):
            for day in range(7, -1, -1):
                end = now - day * 86400 * SECOND
                day_factor = rng.uniform(0.9, 1.1)
                at = [end - 3 * 3600 * SECOND + minute * 60 * SECOND for minute in range(180)]
                if day == 0 and gone:
                    at = at[:-30]
                for k in range(0, len(at), 60):
                    profiles = [(0.2, t, round(200 * day_factor * (today if day == 0 and end - t < 5400 * SECOND else 1)), rng) for t in at[k:k + 60]]
                    self.assertEqual(server.send(request(service, profiles)).status, 200)
        server.flush()
        dry = server.cli("alerts", "test", str(example), "--since", "2h", "--json", check=False)
        self.assertEqual(dry.returncode, 1, dry.stderr)
        fired = {(t["alert"], t["service"]) for t in json.loads(dry.stdout)["times"] if t["state"] == "firing"}
        self.assertEqual(fired, {("CpuAnomaly", "dear"), ("ProfilesStopped", "stopped")})
        self.assertEqual(server.cli("alerts", "check", str(example)).stdout, "4 rules, no mistakes\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
