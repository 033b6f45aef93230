#!/usr/bin/env python3
"""Scraping net/http/pprof of a real Go program, and `push` with its URL."""
import json
import os
import shutil
import subprocess
import unittest

from harness import Case, free_port, http, wait_until

PROGRAM = r"""
package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

var sink [][]byte

//go:noinline
func hotLoop(until time.Time) (n uint64) {
	for time.Now().Before(until) {
		for i := uint64(0); i < 100000; i++ {
			n = n*31 + i
		}
	}
	return n
}

//go:noinline
func allocateALot() {
	sink = nil
	for i := 0; i < 64; i++ {
		sink = append(sink, make([]byte, 256<<10))
	}
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	var mutex sync.Mutex
	for i := 0; i < 2; i++ {
		go func() {
			for {
				mutex.Lock()
				hotLoop(time.Now().Add(5 * time.Millisecond))
				allocateALot()
				mutex.Unlock()
			}
		}()
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], nil))
}
"""


class Scrape(Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("go"):
            if os.environ.get("CI") == "true":
                self.fail("go is missing")
            print("skipped: go is missing")
            self.skipTest("go is missing")
        (self.folder / "main.go").write_text(PROGRAM)
        subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=self.folder, check=True,
                       env={**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "CGO_ENABLED": "0"})

    def program(self):
        port = free_port()
        process = subprocess.Popen([self.folder / "program", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        self.addCleanup(process.kill)

        def up():
            try:
                return http("GET", f"http://127.0.0.1:{port}/debug/pprof/cmdline").status == 200
            except OSError:
                return False
        wait_until(up)
        return process, f"127.0.0.1:{port}"

    def test_a_program_is_scraped_its_file_watched_and_its_end_noticed(self):
        process, address = self.program()
        targets = self.folder / "targets.json"
        targets.write_text("[]")
        config = self.folder / "scrape.yml"
        config.write_text("global: {scrape_interval: 3s, scrape_timeout: 2s}\n"
                          "scrape_configs:\n"
                          "  - job_name: go\n"
                          "    file_sd_configs: [{files: ['targets.json']}]\n"
                          "    relabel_configs:\n"
                          "      - {source_labels: [tier], target_label: level, regex: 'f(.*)', replacement: 'F$1'}\n"
                          "    profiling_config: {pprof_config: {threadcreate: {enabled: true}}}\n")
        with self.server("--scrape-config", str(config)) as server:
            targets.write_text(json.dumps([{"targets": [address], "labels": {"service_name": "shop", "tier": "front"}}]))

            def types():
                server.flush()
                found = [s for s in server.ask("services", since="1h")["services"] if s["name"] == "shop"]
                return {t["id"] for t in found[0]["types"]} if found else set()
            wanted = {"process_cpu:cpu:nanoseconds:cpu:nanoseconds", "memory:alloc_space:bytes:space:bytes",
                      "memory:inuse_space:bytes:space:bytes", "goroutines:goroutine:count:goroutine:count",
                      "mutex:delay:nanoseconds:contentions:count", "block:delay:nanoseconds:contentions:count"}
            wait_until(lambda: wanted <= types())
            wait_until(lambda: server.total('shop{level="Front"}', "alloc_space") > 0)  # the second scrape has a difference
            server.flush()
            top = server.ask("top", query="shop", type="cpu", since="1h")
            names = [f["name"] for f in top["rows"][:3]]
            self.assertIn("main.hotLoop", names, top["rows"][:5])
            status = server.cli("doctor").stdout
            self.assertIn(address, status)
            self.assertIn(f'wherefore_scrape_up{{job="go",instance="{address}"}} 1',
                          server.get("/metrics").body.decode())
            process.kill()
            process.wait()
            wait_until(lambda: "fails" in server.cli("doctor", check=False).stdout)

    def test_push_takes_an_address(self):
        _, address = self.program()
        with self.server() as server:
            out = server.cli("push", f"http://{address}/debug/pprof/profile?seconds=1", "--service", "shop").stdout
            self.assertIn("wherefore top --service shop --type cpu", out)
            self.assertIn("main.hotLoop", server.cli("top", "--service", "shop", "--type", "cpu").stdout)
            for _ in range(2):  # counted since the program began: the second one adds its difference only
                server.cli("push", f"http://{address}/debug/pprof/mutex", "--service", "counted")
            served = http("GET", f"http://{address}/debug/pprof/mutex?debug=0").body
            (self.folder / "mutex.pb.gz").write_bytes(served)
            now = server.cli("--json", "top", str(self.folder / "mutex.pb.gz"), "--type", "contentions").stdout
            self.assertLessEqual(server.total("counted", "mutex_count"), int(json.loads(now)["total"]))
            wrong = server.cli("push", f"http://{address}/debug/pprof/nothing", check=False)
            self.assertNotEqual(wrong.returncode, 0)
            self.assertIn("404", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
