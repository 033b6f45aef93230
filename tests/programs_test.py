"""libwherefore preloaded into stock Debian programs: they work as before, and their profiles have names."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from harness import ROOT, free_port
from preload import LIBRARY, PROGRAMS, Profiled, estimate, preload


@contextlib.contextmanager
def running(command, environment, stop=signal.SIGTERM):
    program = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield program
    finally:
        program.send_signal(stop)
        try:
            program.wait(timeout=20)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


def connected(port, seconds=20):
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Debian(Profiled):
    """Stock Debian programs, stripped."""

    def need(self, program):
        path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin")
        if path is None:
            if os.environ.get("CI") == "true":
                self.fail(f"{program} is not installed")
            self.skipTest(f"{program} is not installed")
        return path

    def functions(self, type="cpu"):
        return set(self.rows(type)[1])

    def test_python(self):
        code = ("import json, threading, subprocess\n"
                "def work():\n"
                "    for i in range(400): json.loads(json.dumps(list(range(5000))))\n"
                "threads = [threading.Thread(target=work) for _ in range(2)]\n"
                "[t.start() for t in threads]; [t.join() for t in threads]\n"
                "print(subprocess.run(['/bin/echo', 'hello'], capture_output=True, text=True).stdout.strip())\n")
        done = self.profiled("/usr/bin/python3", "-c", code)
        self.assertEqual((done.stdout, done.stderr), ("hello\n", ""))
        self.assertIn("_PyEval_EvalFrameDefault", self.functions())
        self.assertTrue(any(name.startswith("python3") and "+0x" in name for name in self.functions()))

    def test_sqlite(self):
        sql = ("create table t(a, b); with recursive c(x) as (select 1 union all select x+1 from c where x < 300000)"
               " insert into t select x, hex(randomblob(8)) from c; create index i on t(b);"
               " select count(*), count(distinct b) > 1 from t;")
        done = self.profiled(self.need("sqlite3"), ":memory:", sql)
        self.assertEqual(done.stdout.strip(), "300000|1")
        self.assertIn("sqlite3_step", self.functions())

    def share_of(self, name):
        answer, rows = self.rows("cpu")
        return int(rows.get(name, {"total": 0})["total"]) / int(answer["total"])

    # Rules that only people write: CFA in another register, in memory, below the stack pointer.
    def test_stacks_through_openssls_assembly_are_complete(self):
        for arguments in (("rsa2048",), ("-bytes", "8192", "sha512"), ("-bytes", "8192", "-evp", "aes-128-gcm"), ("ecdsap256",)):
            for file in self.folder.glob("out*"):
                file.unlink()
            self.profiled(self.need("openssl"), "speed", "-seconds", "1", *arguments)
            self.assertLess(self.share_of("[incomplete]"), 0.01, arguments)
            self.assertGreater(self.share_of("main") or self.share_of("__libc_start_main"), 0.95, arguments)

    # No rules at all: what called it is found by looking at the stack, and that is said.
    def test_stacks_through_assembly_without_any_rules_are_recovered(self):
        width, height, frames = 640, 360, 80
        video = self.folder / "in.yuv"
        texture = bytes((x * y // 7 + x) % 256 for y in range(height) for x in range(width))
        noise = random.Random(1).randbytes(width * height)
        with open(video, "wb") as out:
            for n in range(frames):
                at = n * (5 * width + 3) % len(texture)
                luma = bytes(map(max, texture[at:] + texture[:at], noise[at:] + noise[:at]))
                out.write(luma + bytes([128 + n % 20]) * (width * height // 2))
        # Eight threads wait for each other all the time, from the start on, before there are tables to follow stacks with.
        for threads in (1, 8):
            with self.subTest(threads=threads):
                for file in self.folder.glob("out*"):
                    file.unlink()
                self.profiled(self.need("x264"), "--threads", str(threads), "--input-res", f"{width}x{height}", "--fps", "25",
                              "-o", os.devnull, str(video))
                self.assertLess(self.share_of("[incomplete]"), 0.05)
                self.assertGreater(self.share_of("[recovered]"), 0.1)

    def test_programs_that_may_not_have_threads(self):
        """The kernel refuses new user namespaces and others' mount namespaces to a process with threads."""
        for command in (["unshare", "--user", "id", "-u"], ["unshare", "--user", "--mount", "--pid", "--fork", "echo", "inside"],
                        ["nsenter", "--target", str(os.getpid()), "--mount", "echo", "inside"],
                        ["nsenter", "--target", "1", "--user", "echo", "inside"]):
            without = subprocess.run(command, capture_output=True, text=True, timeout=60)
            done = subprocess.run(command, env=preload(WHEREFORE_OUTPUT=str(self.folder / "out")), capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (without.returncode, without.stdout, without.stderr), command)

    def test_chromium(self):
        """Many processes, one of which exits if it finds a thread it did not start."""
        page = "data:text/html,<script>let s = 0; for (let i = 0; i < 1e8; i++) s += i % 7; document.write('sum ' + s)</script>"
        done = self.profiled(self.need("chromium"), "--headless", "--no-sandbox", f"--user-data-dir={self.folder / 'chromium'}", "--dump-dom", page)
        self.assertIn("sum 299999995", done.stdout)
        _, rows = self.rows("cpu")
        self.assertIn("ChromeMain", rows)

    def test_redis(self):
        port = free_port()
        command = [self.need("redis-server"), "--port", str(port), "--save", "", "--appendonly", "no", "--dir",
                   str(self.folder), "--bind", "127.0.0.1"]
        with running(command, preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_UPLOAD_INTERVAL="1s")):
            with connected(port) as client:
                script = b"local n = 0 for i = 1, 40000000 do n = n + i end return n"
                client.settimeout(60)
                client.sendall(b"*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n" % (len(script), script))
                self.assertEqual(client.recv(100), b":800000020000000\r\n")
                # A background save forks; the child must end well.
                client.sendall(b"*1\r\n$6\r\nBGSAVE\r\n")
                self.assertTrue(client.recv(100).startswith(b"+Background"))
                for _ in range(100):
                    client.sendall(b"*2\r\n$4\r\nINFO\r\n$11\r\npersistence\r\n")
                    info = client.recv(8192)
                    if b"rdb_bgsave_in_progress:0" in info:
                        break
                    time.sleep(0.05)
                self.assertIn(b"rdb_last_bgsave_status:ok", info)
        self.assertIn("aeMain", self.functions())
        self.assertTrue(any("+0x" in name for name in self.functions()), "what is not exported has no name")

    def test_nginx_and_its_workers(self):
        nginx = self.need("nginx")
        port = free_port()
        (self.folder / "page").mkdir()
        (self.folder / "page/index.html").write_text("<p>hello</p>" * 20000)
        config = self.folder / "nginx.conf"
        config.write_text(
            f"daemon off; worker_processes 2; pid {self.folder}/pid; error_log {self.folder}/error.log;\n"
            f"user root; env LD_PRELOAD; events {{}} http {{ access_log off; gzip on; gzip_types text/html; gzip_comp_level 9;\n"
            f"client_body_temp_path {self.folder}/b; proxy_temp_path {self.folder}/p; fastcgi_temp_path {self.folder}/f;\n"
            f"uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s;\n"
            f"server {{ listen 127.0.0.1:{port}; root {self.folder}/page; }} }}\n")
        environment = preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_UPLOAD_INTERVAL="1s")
        with running([nginx, "-c", str(config), "-p", str(self.folder), "-e", str(self.folder / "error.log")],
                     environment, stop=signal.SIGQUIT):
            connected(port).close()
            deadline = time.monotonic() + 40
            while time.monotonic() < deadline and len({f.name.split("-")[1] for f in self.folder.glob("out-*-profiles.otlp")}) < 2:
                with connected(port) as client:
                    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
                    head = client.recv(65536)
                    self.assertTrue(head.startswith(b"HTTP/1.1 200"), head[:100])
                    while client.recv(65536):
                        pass
        self.assertIn("deflate", self.functions())  # of zlib, in a worker

    def allocator(self, library):
        found = pathlib.Path("/usr/lib/x86_64-linux-gnu") / library
        if not found.exists():
            self.skipTest(f"{library} is not installed") if os.environ.get("CI") != "true" else self.fail(library)
        return found

    def test_an_allocation_counts_once_however_it_is_asked_for(self):
        for library in ("", "libtcmalloc_minimal.so.4", "libjemalloc.so.2"):
            with self.subTest(library):
                before = f":{self.allocator(library)}" if library else ""
                self.profiled(str(PROGRAMS / "allocations"), LD_PRELOAD=f"{LIBRARY}{before}")
                _, rows = self.rows("alloc_objects")
                ways = re.findall(r"^  ([A-Z]\w+)\(\);", (ROOT / "tests/sdk/allocations.cc").read_text(), re.M)
                self.assertEqual({way: int(rows[way]["total"]) for way in ways if way in rows}, {way: 16 for way in ways})
                for file in self.folder.glob("out*"):
                    file.unlink()

    def live_bytes_with(self, library):
        found = self.allocator(library)
        done = self.profiled(str(PROGRAMS / "truth"), "live", "0.5", LD_PRELOAD=f"{LIBRARY}:{found}")
        truth = json.loads(done.stdout)
        self.assert_live_bytes(truth)

    @estimate
    def test_tcmalloc_brings_its_own_new(self):
        self.live_bytes_with("libtcmalloc_minimal.so.4")

    @estimate
    def test_jemalloc_brings_its_own_new(self):
        self.live_bytes_with("libjemalloc.so.2")


if __name__ == "__main__":
    unittest.main(verbosity=2)
