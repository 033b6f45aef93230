#!/usr/bin/env python3
"""Programs that nobody asks anything have nothing to look at: no shipped rule fires at the five examples nor at the demo's
services. A missing or too old toolchain leaves its example out with a message, and fails with CI=true."""
import concurrent.futures
import os
import pathlib
import sys
import time
import unittest

from harness import BINARY, ROOT, Case
from sdk_test import LANGUAGES, Example

sys.path.insert(0, str(ROOT / "examples/demo"))
import demo  # noqa: E402

# The longer they are idle, the more their profiles say. An hour would be no different.
SECONDS = int(os.environ.get("IDLE_SECONDS", "60"))


class Idle(Case):
    def test_no_rule_fires(self):
        with self.server() as server, concurrent.futures.ThreadPoolExecutor(2) as two, concurrent.futures.ThreadPoolExecutor(len(LANGUAGES)) as all:
            examples = [example for example in two.map(Example, LANGUAGES) if not example.skip()]
            began = time.time()
            running = [all.submit(example.run, server.http, SECONDS, SECONDS + 60, IDLE="1") for example in examples]
            self.idle_demo(server)
            for future in running:
                self.assertEqual(future.result()["requests"], 0)
            server.flush()
            services = {s["name"]: s for s in server.ask("overview", since="1h")["services"]}
            self.assertLessEqual({f"shop-{example.language}" for example in examples} | set(demo.SERVICES), set(services))
            for name, service in sorted(services.items()):
                print(f"{name}: {service.get('cores', 0):.4f} cores, {', '.join(service['types'])}", flush=True)
            # Also without their start, which is work; what sends nothing then is not looked at.
            for since, fewest in ((began, len(services)), (began + SECONDS / 2, 1)):
                answer = server.ask("insights", **{"from": int(since * 1000)})
                self.assertGreaterEqual(answer["looked_at"], fewest)
                self.assertEqual(answer["looked_at"], answer["services"])
                for f in answer["findings"]:
                    print(f"{f['service']} {f['rule']} {f['function']['name']}: {100 * f['share']:.1f} % ({100 * f['low']:.1f} to {100 * f['high']:.1f}), "
                          f"{f['observations']} observations, {f['cores']:.4f} cores", flush=True)
                self.assertEqual([(f["service"], f["rule"]) for f in answer["findings"]], [])

    def idle_demo(self, server):
        release = demo.Release(str(pathlib.Path(BINARY).parent / "demo/v2/demo"),
                               {"OTEL_EXPORTER_OTLP_ENDPOINT": server.otlp_http, "WHEREFORE_LOG": "warn"})
        try:
            time.sleep(SECONDS)
        finally:
            release.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
