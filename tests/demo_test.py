"""The demo as ./run starts it: recorded, replayed as if it had just happened, continued live, and its tour in the
browser. The recording is as long as ./run's (DEMO_SECONDS per release): of much less no cause of what got worse is sure.
"""
import os
import signal
import subprocess
import time
import unittest

from harness import BINARY, ROOT, Case, wait_until
from regression_data import settled

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SECONDS = os.environ.get("DEMO_SECONDS", "60")
BUILD = os.path.dirname(BINARY)


class Demo(Case):
    def supervisor(self, *arguments, **more):
        return [str(ROOT / "examples/demo/demo.py"), arguments[0], "--build", BUILD, "--history",
                str(self.folder / "history"), *arguments[1:]]

    def test_the_story(self):
        subprocess.run(self.supervisor("record", "--seconds", SECONDS), check=True, timeout=400)
        again = time.monotonic()
        subprocess.run(self.supervisor("record", "--seconds", SECONDS), check=True, timeout=30)
        self.assertLess(time.monotonic() - again, 25, "a recording of the same programs is used again")
        self.the_cause_is_a_record()
        with self.server("--source-root", str(ROOT / "examples")) as server:
            live = subprocess.Popen(self.supervisor("live", "--server", server.http))
            self.addCleanup(lambda: live.poll() is None and live.kill())
            self.wait_for_live_data(server)
            self.both_releases_are_there(server)
            self.lines_are_known(server)
            self.the_slowest_request_is_explained(server)
            self.look(server)
            live.send_signal(signal.SIGTERM)
            self.assertEqual(live.wait(timeout=40), 0)
        left = subprocess.run(["pgrep", "-f", f"{BUILD}/demo/v"], capture_output=True, text=True).stdout.split()
        mine = [pid for pid in left if self.is_mine(pid)]
        self.assertEqual(mine, [], "the demo left processes behind")

    def the_cause_is_a_record(self):
        """What v2 does more of is known when v2 is a quarter of an hour old, once for each service that reads JSON."""
        with self.server(name="later") as server:
            # v2 began SECONDS before the end: its first look is due, the one after an hour is not.
            server.cli("push", "--replay", "--ago", "17m", *map(str, sorted((self.folder / "history").glob("*.otlp"))))
            answer = settled(server)
        found = {}
        for record in answer["regressions"]:
            print(f"{record['service']}: {record['sentence']}, q {record['q']:.2g}", flush=True)
            found.setdefault(record["service"], []).append(
                (record["state"], record["since"]["before"], record["since"]["after"], record["looks"], "Parser::ParseString" in record["own"]["function"]))
        once = [("open", "v1", "v2", 1, True)]
        self.assertEqual(found, {"orders": once, "storefront": once}, "inventory does what it did")
        self.assertEqual({(v["service"], v["before"], v["after"], v["looks"]) for v in answer["versions"]},
                         {(service, "v1", "v2", 1) for service in ("storefront", "orders", "inventory")})

    def is_mine(self, pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                return str(self.folder).encode() in environ.read()
        except OSError:
            return False

    def wait_for_live_data(self, server):
        """The history, of v1 and v2, is sent first; live profiles follow within their upload interval."""
        wait_until(lambda: {name for name, instances in self.instances(server).items() if instances >= 3} >=
                   {"storefront", "orders", "inventory"})

    def instances(self, server):
        return {service["name"]: service.get("instances", 0) for service in server.ask("overview", since="15m")["services"]}

    def both_releases_are_there(self, server):
        before = int(server.ask("top", query='orders{service.version="v1"}', type="cpu", since="15m")["total"])
        after = int(server.ask("top", query='orders{service.version="v2"}', type="cpu", since="15m")["total"])
        self.assertGreater(before, 0)
        self.assertGreater(after, 1.5 * before, "v2 is the one with the regression")
        for type in ("wall", "off_cpu", "alloc_space", "block"):
            self.assertGreater(server.total("orders", type), 0, type)
        locks = server.ask("top", query="inventory", type="mutex", since="15m", sort="total", limit=1000)
        keeper = sum(int(row["total"]) for row in locks["rows"] if "Stock::Reserve" in row["name"])
        self.assertGreater(keeper, 0.9 * int(locks["total"]), "whose lock makes others wait")

    def lines_are_known(self, server):
        listed = server.ask("list", query="orders", type="cpu", function="ParseString", since="15m")
        numbers = [line[0] for function in listed["functions"] for line in function["lines"]]
        self.assertTrue(any(number > 0 for number in numbers), listed)

    def the_slowest_request_is_explained(self, server):
        """By what v2 does more of: one new string per character. On a busy machine the slowest of all may be one of v1."""
        slowest = server.ask("traces", service="storefront", name="api-request", attribute="service.version=v2",
                             sort="duration", limit=1, since="15m")["traces"][0]
        said = server.cli("explain", slowest["trace"]).stdout
        print(said, flush=True)
        self.assertRegex(said, r"Since  (storefront|orders|inventory) v2 ")
        self.assertIn("ParseString", said)
        self.assertEqual(said.splitlines()[1][:7], "Where  ")

    def look(self, server):
        if not os.path.exists(CHROMIUM):
            self.assertNotEqual(os.environ.get("CI"), "true", "chromium is missing: tools/setup test installs it")
            return
        done = subprocess.run([str(ROOT / "tools/ui"), "node", str(ROOT / "ui/e2e/demo.mjs")], timeout=400,
                              env={**os.environ, "PAGE": server.http, "CHROMIUM": CHROMIUM, "TEMP_FOLDER": str(self.folder)})
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
