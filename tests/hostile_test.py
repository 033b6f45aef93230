#!/usr/bin/env python3
"""Bad input: the right status, a message that names the place, and no effect on others."""
import gzip
import http.client as http_client_module
import os
import random
import socket
import subprocess
import time
import unittest
import urllib.parse

from harness import BINARY, PROTOBUF, VECTOR, Case, Profiles, field, http, one_profile, packed, wait_until

DAY = 86_400 * 10**9


class Hostile(Case):
    def check_alive(self, server, total):
        server.flush()
        self.assertEqual(server.total("good"), total)

    def test_broken_bodies_get_400_and_good_profiles_stay(self):
        with self.server() as server:
            self.assertEqual(server.send(one_profile("good", 1)).status, 200)
            for body in (VECTOR[:100], VECTOR[:-1], b"\xff" * 50, os.urandom(500), b"{}"):
                answer = server.send(body)
                self.assertEqual(answer.status, 400, body[:20])
                self.assertGreater(len(answer.body), 5)
            rng = random.Random(5)
            for _ in range(300):  # flipped bits: any status, never a crash
                damaged = bytearray(VECTOR)
                for _ in range(rng.randrange(1, 5)):
                    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
                self.assertIn(server.send(bytes(damaged)).status, (200, 400))
            # One profile with a bad index, one good one in the same request.
            p = Profiles("good")
            good = p.stack("main", "ok")
            p.profile([(good, 5)]).profile([(77, 1)]).profile([(-3, 1)])
            answer = server.send(p.encode())
            self.assertEqual(answer.status, 200)
            self.assertIn(b"stack_index", answer.body)
            json_answer = http("POST", server.otlp_http + "/v1development/profiles", b'{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"samples":[{"stackIndex":5,"values":[1]}]}]}]}]}', {"content-type": "application/json"})
            self.assertEqual(json_answer.status, 200, json_answer.body)
            self.assertEqual(int(json_answer.json["partialSuccess"]["rejectedProfiles"]), 1)
            self.check_alive(server, 6)
            refused = server.get("/metrics").body.decode()
            self.assertRegex(refused, r'wherefore_refused_total\{[^}]*\} [1-9]')

    def test_bombs_deep_json_and_wrong_types(self):
        with self.server() as server:
            server.send(one_profile("good", 1))
            bomb = gzip.compress(b"\0" * 100_000_000, 9)
            self.assertEqual(server.send(bomb, headers={"content-encoding": "gzip"}).status, 413)
            self.assertEqual(server.send(b"x" * (65 << 20)).status, 413)
            deep = b'{"resourceProfiles":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
            as_json = lambda body: http("POST", server.otlp_http + "/v1/traces", body, {"content-type": "application/json"})
            self.assertEqual(as_json(deep).status, 400)
            self.assertEqual(as_json(b'{"resourceSpans": 5}').status, 400)
            self.assertEqual(as_json(b'{"resourceSpans": [').status, 400)
            nested = b'{"a":' * 5000 + b"1" + b"}" * 5000
            self.assertEqual(as_json(nested).status, 400)
            value = field(1, "x")
            for _ in range(2000):
                value = field(6, field(1, field(1, "k") + field(2, value)))
            deep_value = field(1, field(1, field(1, field(1, "k") + field(2, value))))
            self.assertIn(server.send(deep_value).status, (200, 400))
            self.assertEqual(http("POST", server.otlp_http + "/v1/traces", b"x", {"content-type": "text/plain"}).status, 415)
            self.assertEqual(server.send(b"abc", headers={"content-encoding": "br"}).status, 415)
            self.assertEqual(server.send(b"abc", headers={"content-encoding": "gzip"}).status, 400)
            self.assertEqual(http("GET", server.otlp_http + "/v1/traces").status, 405)
            for path in ("/v1/metrics", "/v1/logs"):
                answer = server.send(b"", path)
                self.assertEqual(answer.status, 404)
                self.assertIn(b"profiles and traces", answer.body)
            status, message, _ = server.send_grpc(b"", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")
            self.assertEqual(status, 12)
            self.assertIn("profiles and traces", message)
            self.assertEqual(server.send_grpc(b"\xff\xff")[0], 3)
            memory = server.get("/metrics").body.decode()
            resident = float(next(l for l in memory.splitlines() if l.startswith("wherefore_memory_anonymous_bytes ")).split()[1])
            self.assertLess(resident, 900e6)
            self.check_alive(server, 1)

    def test_invalid_utf8_and_huge_counts(self):
        with self.server() as server:
            server.send(one_profile("good", 1))
            p = Profiles("utf")
            p.strings.append("x")
            p.profile([(p.stack("main"), 1)])
            body = p.encode().replace(b"main", b"m\xff\xfen")
            answer = server.send(body)
            self.assertEqual(answer.status, 200)
            self.assertIn(b"UTF-8", answer.body)
            huge = field(1, field(2, field(2, field(2, packed(4, [1] * 1_000_000)))))
            self.assertIn(server.send(huge).status, (200, 400))
            overflow = Profiles("over")
            stack = overflow.stack("main")
            overflow.profile([field(1, stack) + packed(4, [2**63 - 1, 2**63 - 1])])
            self.assertEqual(server.send(overflow.encode()).status, 200)
            for path, name in (("services", "search"), ("flame", "search"), ("series", "by"), ("labels", "query"), ("list", "function")):
                answer = server.get(f"/api/v1/{path}?{name}=x%ff")
                self.assertEqual((answer.status, answer.json["error"]["message"]), (400, f"parameter '{name}': byte 2 is not UTF-8 (0xff)"))
            self.check_alive(server, 1)

    def test_absurd_timestamps_get_their_answer_and_harm_nobody(self):
        with self.server() as server:
            server.send(one_profile("good", 1))
            now = time.time_ns()
            p = Profiles("old")
            stack = p.stack("main")
            days = 10_000
            for day in range(days):
                p.profile([(stack, 1)], now - day * DAY)
            answer = server.send(p.encode(), timeout=120)
            self.assertEqual(answer.status, 200, answer.body[:300])
            self.assertIn(b"more than 60 days or months in one request", answer.body)
            most = 60
            for begin in range(0, days, most):  # in smaller pieces all of it is taken
                p = Profiles("old")
                stack = p.stack("main", "again")
                for day in range(begin, min(begin + most, days)):
                    p.profile([(stack, 1)], now - day * DAY)
                answer = server.send(p.encode(), timeout=120)
                self.assertEqual(answer.status, 200, answer.body[:300])
            far = Profiles("future")
            far.profile([(far.stack("main"), 1)], 7_258_118_400 * 10**9)  # the year 2200
            answer = server.send(far.encode())
            self.assertEqual(answer.status, 200)
            self.assertIn(b"future", answer.body)
            zero = Profiles("zero")
            zero.profile([(zero.stack("main"), 4)], 0)
            self.assertEqual(server.send(zero.encode()).status, 200)
            start = time.monotonic()
            self.assertEqual(server.send(one_profile("good", 2)).status, 200)
            self.assertLess(time.monotonic() - start, 5)
            self.check_alive(server, 3)
            self.assertEqual(server.total("zero"), 4)
            accepted = server.total("old", **{"from": "1990-01-01"})
            before_2000 = sum(1 for d in range(days) if now - d * DAY < 946_684_800 * 10**9)
            self.assertEqual(accepted, most + days - before_2000)

    def test_another_origin_can_neither_post_nor_read(self):
        with self.server() as server:
            server.send(one_profile("good", 1))
            evil = {"Origin": "http://evil.example", "content-type": PROTOBUF}
            self.assertEqual(http("POST", server.otlp_http + "/v1development/profiles", one_profile("good", 50), evil).status, 403)
            self.assertEqual(http("POST", server.http + "/api/v1/flush", b"", evil).status, 403)
            self.assertEqual(http("GET", server.http + "/api/v1/services", headers=evil).status, 403)
            self.assertEqual(http("GET", server.http + "/api/v1/services", headers={"Host": "evil.example:4040"}).status, 403)
            own = {"Origin": server.http, "content-type": PROTOBUF}
            answer = http("POST", server.otlp_http + "/v1development/profiles", one_profile("good", 5), {"content-type": PROTOBUF})
            self.assertEqual(answer.status, 200)
            self.assertNotIn("access-control-allow-origin", {k.lower() for k in answer.headers})
            self.assertEqual(http("GET", server.http + "/api/v1/services", headers=own).status, 200)
            self.check_alive(server, 6)

    def test_slow_and_broken_connections(self):
        with self.server() as server:
            host, port = server.otlp_http.removeprefix("http://").rsplit(":", 1)
            open_sockets = []
            for _ in range(50):
                s = socket.create_connection((host, int(port)))
                s.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc")
                open_sockets.append(s)
            with socket.create_connection((host, int(port))) as s:
                s.sendall(b"\x16\x03\x01 not http at all\r\n\r\n")
                self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 400"))
            self.assertEqual(server.send(one_profile("good", 1)).status, 200)
            for s in open_sockets:
                s.close()
            connection = http_client(server)
            connection.putrequest("POST", "/v1development/profiles")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.putheader("Content-Type", PROTOBUF)
            connection.endheaders()
            body = one_profile("good", 2)
            for i in range(0, len(body), 7):
                piece = body[i:i + 7]
                connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            connection.send(b"0\r\n\r\n")
            self.assertEqual(connection.getresponse().status, 200)
            self.check_alive(server, 3)

    def test_idle_connections_leave_descriptors_for_log_and_engine(self):
        with self.server(within=("prlimit", "--nofile=1024:1024")) as server:
            ports = [address.rsplit(":", 1)[1] for address in (server.http, server.otlp_http, server.otlp_grpc)]
            idle = [socket.create_connection(("127.0.0.1", int(ports[i % 3]))) for i in range(2200)]
            for value in range(1, 6):  # each becomes a segment of the log and inserts
                self.assertEqual(server.send(one_profile("good", value)).status, 200)
                server.flush()
            self.assertEqual(server.get("/ready").status, 200)
            self.assertEqual(server.send_grpc(one_profile("good", 5))[0], 0)
            self.check_alive(server, 20)
            for s in idle:
                s.close()

    def test_stalled_bodies_give_way(self):
        with self.server() as server:
            host, port = server.otlp_http.removeprefix("http://").rsplit(":", 1)
            stalled = []
            for _ in range(8):
                s = socket.create_connection((host, int(port)))
                s.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (64 << 20))
                s.sendall(b"x" * ((64 << 20) - 1))
                stalled.append(s)
            start = time.monotonic()
            wait_until(lambda: server.send(one_profile("good", 1)).status == 200, 30)
            waited = time.monotonic() - start
            print(f"  eight stalled bodies of 64 MB: the next request was taken after {waited:.1f} s")
            self.assertLess(waited, 5)
            for s in stalled:
                s.close()
            self.check_alive(server, 1)

    def test_backups_are_written_below_the_root_only(self):
        backups = self.folder / "backups"
        (backups / "old").mkdir(parents=True)
        (backups / "out").symlink_to(self.folder)
        ask = lambda server, target: http("POST", server.http + "/api/v1/backup?" + urllib.parse.urlencode({"target": str(target)}), b"")
        with self.server() as server:
            answer = ask(server, backups / "x")
            self.assertEqual(answer.status, 501)
            self.assertIn(b"--backup-root", answer.body)
            done = server.cli("backup", str(backups / "x"), check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--backup-root", done.stderr)
        with self.server("--backup-root", str(backups)) as server:
            server.send(one_profile("good", 1))
            for target in (server.data / "wal/000999.log", self.folder / "x", "../x", "out/x", "old/../../x", "out/data/wal/x", "", "."):
                answer = ask(server, target)
                self.assertEqual(answer.status, 400, (target, answer.body))
            self.assertFalse((self.folder / "x").exists())
            self.assertIn("x is not below", server.cli("backup", "../x", check=False).stderr)
            self.assertIn('"target":"%s"' % (backups / "new"), server.cli("backup", "new").stdout)
            self.assertTrue((backups / "new/manifest").exists())
        inside = subprocess.run([BINARY, "serve", "--data", str(server.data), "--backup-root", str(server.data / "wal"), "--http-port", "0",
                                 "--otlp-grpc-port", "0", "--otlp-http-port", "0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(inside.returncode, 2)
        self.assertIn("--backup-root", inside.stderr)
        with self.server() as server:
            self.check_alive(server, 1)

    def test_second_server_on_the_same_directory_says_who_holds_it(self):
        with self.server() as server:
            second = subprocess.run([BINARY, "serve", "--data", str(server.data), "--http-port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0"],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(second.returncode, 3)
            self.assertIn(str(server.process.pid), second.stderr)
            self.assertEqual(server.send(one_profile("good", 1)).status, 200)

    def test_port_in_use_and_listening_elsewhere(self):
        with self.server() as server:
            port = server.http.rsplit(":", 1)[1]
            taken = subprocess.run([BINARY, "serve", "--data", str(self.folder / "other"), "--http-port", port, "--otlp-grpc-port", "0", "--otlp-http-port", "0"],
                                   capture_output=True, text=True, timeout=60)
            self.assertEqual(taken.returncode, 3)
            self.assertIn(port, taken.stderr)
        opened = subprocess.run([BINARY, "serve", "--data", str(self.folder / "other"), "--listen", "0.0.0.0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(opened.returncode, 2)
        self.assertIn("--token", opened.stderr)


# An allocator of its own, and one that only counts and passes on.
ALLOCATOR = r"""
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char* next; static char* end;
void* malloc(size_t size) {
  size = (size + 31) & ~(size_t)15;
  char* at = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (at == 0 || (size_t)(end - at) < size) {
    const size_t chunk = size > (64u << 20) ? size : (64u << 20);
    at = mmap(0, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    end = at + chunk;
  }
  next = at + size;
  *(size_t*)at = size - 16;
  return at + 16;
}
void free(void* p) {}
void* calloc(size_t n, size_t size) { return malloc(n * size); }
void* realloc(void* p, size_t size) {
  void* other = malloc(size);
  if (p) { size_t before = *(size_t*)((char*)p - 16); memcpy(other, p, before < size ? before : size); }
  return other;
}
void* memalign(size_t alignment, size_t size) { return (void*)(((size_t)malloc(size + alignment) + alignment) & -alignment); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** p, size_t alignment, size_t size) { *p = memalign(alignment, size); return 0; }
"""
PASSES_ON = r"""
#include <stddef.h>
void* __libc_malloc(size_t); void __libc_free(void*);
static size_t count;
void* malloc(size_t size) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); return __libc_malloc(size); }
void free(void* p) { __libc_free(p); }
"""


class Preloaded(Case):
    def library(self, name, text):
        source, out = self.folder / f"{name}.c", self.folder / f"lib{name}.so"
        source.write_text(text)
        subprocess.run(["cc", "-O1", "-fno-builtin", "-w", "-shared", "-fPIC", "-o", str(out), str(source)], check=True)
        return str(out)

    def test_beside_another_allocator_the_server_refuses_with_a_sentence(self):
        installed = [path for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2")
                     if os.path.exists(path := "/usr/lib/x86_64-linux-gnu/" + name)]
        for library in [self.library("own", ALLOCATOR), *installed]:
            done = subprocess.run([BINARY, "serve", "--data", str(self.folder / "x")], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "LD_PRELOAD": library})
            self.assertEqual(done.returncode, 3, (library, done.stderr))
            self.assertEqual(done.stderr, f"error: open store: memory comes from {library}, and the embedded ClickHouse would crash beside it; "
                                          "start without it (env -u LD_PRELOAD, /etc/ld.so.preload)\n")
            # What needs no store works.
            self.assertEqual(subprocess.run([BINARY, "--version"], capture_output=True, env={**os.environ, "LD_PRELOAD": library}).returncode, 0)

    def test_beside_hooks_that_pass_on_it_works(self):
        os.environ["LD_PRELOAD"] = self.library("hook", PASSES_ON)
        try:
            server = self.server()
        finally:
            del os.environ["LD_PRELOAD"]
        with server:
            self.assertEqual(server.send(one_profile("good", 1)).status, 200)


def http_client(server):
    return http_client_module.HTTPConnection(server.otlp_http.removeprefix("http://"), timeout=30)


if __name__ == "__main__":
    unittest.main(verbosity=1)
