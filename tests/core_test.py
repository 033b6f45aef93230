#!/usr/bin/env python3
"""The core path from outside: OTLP in, durable, exact answers out; retries, links, traces, tenants."""
import calendar
import contextlib
import gzip
import json
import os
import pty
import re
import shutil
import subprocess
import threading
import time
import unittest
import urllib.parse
import zlib

from harness import (BINARY, PROTOBUF, ROOT, TRACES_METHOD, VECTOR, Case, Profiles, field, fixed64, http, one_profile,
                     spans_request, wait_until)

TRACE = bytes(range(1, 17))
SPAN = bytes(range(1, 9))


class Vector(Case):
    """The 215-byte vector of the OTLP facts."""

    def test_http_then_again_then_grpc_counts_once(self):
        with self.server() as server:
            first = server.send(VECTOR)
            self.assertEqual((first.status, first.body), (200, b""))
            server.flush()
            top = server.cli("top", "--service", "s", "--type", "samples", "--since", "3000d").stdout
            self.assertRegex(top, r"(?m)^ +3 +100.0 % .* main$")
            cpu = server.cli("top", "--service", "s", "--type", "cpu", "--since", "3000d").stdout
            self.assertRegex(cpu, r"(?m)^ +150 ms +100.0 % .* main$")
            self.assertEqual(server.send(VECTOR).status, 200)
            self.assertEqual(server.send_grpc(VECTOR)[0], 0)
            self.assertEqual(server.send(gzip.compress(VECTOR), headers={"content-encoding": "gzip"}).status, 200)
            server.flush()
            self.assertEqual(server.total("s"), 3)

    def test_grpc_into_an_empty_directory(self):
        with self.server() as server:
            status, _, body = server.send_grpc(VECTOR)
            self.assertEqual((status, body), (0, b""))
            server.flush()
            self.assertEqual(server.total("s"), 3)

    def test_survives_kill_right_after_the_answer(self):
        server = self.server()
        self.assertEqual(server.send(VECTOR).status, 200)
        server.kill()
        with server:
            server.flush()
            self.assertEqual(server.total("s"), 3)
            self.assertEqual(server.send(VECTOR).status, 200)  # the retry of a sender that never saw the answer
            server.flush()
            self.assertEqual(server.total("s"), 3)

    def test_on_a_terminal_only_our_own_lines_appear(self):
        ours, terminal = pty.openpty()
        written = []

        def read():
            with contextlib.suppress(OSError):  # how a terminal says that nobody has it open any more
                while chunk := os.read(ours, 4096):
                    written.append(chunk)

        reader = threading.Thread(target=read)
        reader.start()
        arguments = ["--data", str(self.folder / "data"), "--http-port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0"]
        process = subprocess.Popen([BINARY, "serve", *arguments], stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        try:
            wait_until(lambda: b"msg=serving" in b"".join(written), what="the server did not start")
            address = json.loads((self.folder / "data/addresses.json").read_text())["http"]
            for number in range(20):
                self.assertEqual(http("POST", address + "/v1development/profiles", one_profile(f"s{number}", 1),
                                      {"content-type": PROTOBUF}).status, 200)
        finally:
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 0)
            reader.join()
            os.close(ours)
        lines = b"".join(written).decode().splitlines()
        self.assertEqual([line for line in lines if not re.match(r"Wherefore \d|  \w|time=\S+ level=info |$", line)], [])

    def test_every_encoding_and_path(self):
        with self.server() as server:
            total = 0
            encodings = {"": lambda b: b, "gzip": gzip.compress, "deflate": zlib.compress}
            for i, (name, encode) in enumerate(encodings.items()):
                for path in ("/v1development/profiles", "/v1/profiles"):
                    total += i + 1
                    body = one_profile("enc", i + 1, names=("main", name + path))
                    headers = {"content-encoding": name} if name else {}
                    self.assertEqual(server.send(encode(body), path, headers).status, 200, name)
            self.assertEqual(server.send_grpc(one_profile("enc", 50), "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", "--gzip")[0], 0)
            # 4040 takes OTLP too.
            self.assertEqual(http("POST", server.http + "/v1development/profiles", one_profile("enc", 100), {"content-type": PROTOBUF}).status, 200)
            server.flush()
            self.assertEqual(server.total("enc"), total + 150)


class Answers(Case):
    def test_flame_top_series_and_labels_are_exact(self):
        with self.server() as server:
            now = time.time_ns()
            for minute in range(10):
                for version in ("v1", "v2"):
                    p = Profiles("shop", **{"service.version": version})
                    fast, slow = p.stack("main", "fast"), p.stack("main", "slow", "parse")
                    p.profile([(fast, 3), (slow, minute + 1)], now - minute * 60 * 10**9)
                    self.assertEqual(server.send(p.encode()).status, 200)
            server.flush()
            flame = server.ask("flame", query="shop", type="samples")
            self.assertEqual(flame["total"], 2 * (30 + 55))
            names = [flame["functions"][f][0] for f in flame["function"]]
            self.assertEqual(dict(zip(names, flame["self"])), {"total": 0, "main": 0, "fast": 60, "slow": 0, "parse": 110})
            self.assertEqual(server.total('shop{service.version="v2"}'), 85)
            self.assertEqual(server.total('shop{service.version!~"v[12]"}'), 0)
            self.assertEqual(server.total('{service_name=~"sh.*"}', type="cpu"), 170 * 10_000_000)
            series = server.ask("series", query="shop", type="samples", by="service.version", step="1m")
            self.assertEqual({g["labels"]["service.version"]: sum(g["values"]) for g in series["groups"]}, {"v1": 85, "v2": 85})
            self.assertIn("service.version", server.ask("labels", query="shop")["labels"])
            self.assertEqual(server.ask("labels/service.version/values", query="shop")["values"], ["v1", "v2"])
            # A pruned graph still adds up, and says what it left out.
            pruned = server.ask("flame", query="shop", type="samples", min_share="0.5")
            self.assertEqual(sum(pruned["self"]), 170)
            self.assertIn("other", [f[0] for f in pruned["functions"]])
            hint = server.ask("top", query="shop", type="wall")["hint"]
            self.assertIn("samples", hint)

    def test_series_and_heat_map_say_what_matches_and_where_nothing_was_stored(self):
        with self.server() as server:
            start = (time.time_ns() // (60 * 10**9) - 20) * 60 * 10**9
            p = Profiles("shop")
            fast, parse = p.stack("main", "fast"), p.stack("main", "slow", "parse")
            for minute, samples in ((0, [(fast, 3), (parse, 5)]), (1, [(fast, 0)]), (4, [(parse, 7)])):
                p.profile(samples, start + minute * 60 * 10**9)
            self.assertEqual(server.send(p.encode()).status, 200)
            server.flush()
            where = {"query": "shop", "type": "samples", "from": start, "to": start + 6 * 60 * 10**9, "step": "1m"}
            series = server.ask("series", **where, search="PARSE")
            self.assertEqual(series["groups"][0]["values"], [8, 0, 0, 0, 7, 0])
            self.assertEqual(series["groups"][0]["gaps"], [[2, 2], [5, 1]])
            self.assertEqual(series["search"]["values"], [5, 0, 0, 0, 7, 0])
            self.assertNotIn("search", server.ask("series", **where))
            matched = lambda **more: server.ask("series", **where, **more)["search"]["values"]
            self.assertEqual(matched(search="main", lens="drop:parse"), [3, 0, 0, 0, 0, 0])
            self.assertEqual(matched(search="slow", lens="hide:slow"), [0] * 6)
            self.assertEqual(matched(search="."), series["groups"][0]["values"])
            cells = server.ask("heatmap", **where, search="parse")["cells"]
            self.assertEqual([(c[0], *c[2:]) for c in cells], [(0, 1, 5, 8), (1, 1, 0, 0), (4, 1, 7, 7)])
            self.assertEqual({len(c) for c in server.ask("heatmap", **where)["cells"]}, {3})
            for path in ("series", "heatmap"):
                for wrong, message in (({"lens": "drop:parse"}, "search"), ({"search": "("}, "search"), ({"lens": "what", "search": "x"}, "lens")):
                    answer = http("GET", f"{server.http}/api/v1/{path}?" + urllib.parse.urlencode({**where, **wrong}))
                    self.assertEqual(answer.status, 400, wrong)
                    self.assertIn(message, answer.json["error"]["message"])
            overview = server.ask("overview", **{"from": start, "to": start + 6 * 60 * 10**9})
            shop = overview["services"][0]
            missing = sum(count for _, count in shop["cpu_gaps"])
            self.assertTrue(0 < missing < len(shop["cpu"]) - sum(1 for v in shop["cpu"] if v > 0), "0 that was measured is no gap")
            # A line of text tells them apart too: nothing used is "_", nothing stored a blank.
            line = server.cli("query", "shop", "--type", "samples", "--from", str(start // 10**9), "--to", str(start // 10**9 + 360), "--step", "1m").stdout.splitlines()[-1]
            self.assertTrue(line.rstrip().endswith("█_  ▇"), line)

    def test_an_empty_answer_names_a_range_that_has_been_and_the_labels_there_are(self):
        with self.server() as server:
            server.send(one_profile("shop", 3, **{"service.version": "v1", "host.name": "h0"}))
            server.send(one_profile("many", 3, **{f"label{i:02d}": "x" for i in range(12)}))
            server.send(one_profile("bare", 3))
            server.flush()
            hint = lambda query, **more: server.ask("top", query=query, type="samples", **more)["hint"]
            said = hint('shop{service.version="v9"}')
            self.assertIn("with these labels; there are: host.name, service.version", said)
            end = re.search(r" and (\S+?)(\.\d+)?Z ", said).group(1)
            self.assertLessEqual(calendar.timegm(time.strptime(end, "%Y-%m-%dT%H:%M:%S")), time.time())
            self.assertRegex(hint('many{no="v9"}'), r"there are: label00, .*label09 and 2 more$")
            self.assertIn("there are no labels", hint('bare{no="v9"}'))
            # Who asks for the future is answered with it.
            later = time.gmtime(time.time() + 1800)
            ahead = [time.strftime("%Y-%m-%dT%H:%M:%SZ", later), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3000))]
            self.assertIn("between {} and {}".format(*ahead), hint("shop", **{"from": ahead[0], "to": ahead[1]}))

    def test_a_time_that_cannot_be_is_refused_by_its_name(self):
        with self.server() as server:
            for time_ in ("99999999999", "9999999999999", "33658-09-27T01:46:40Z", "+033658-09-27T01:46:40Z", "9999-12-31", "soon"):
                for name in ("from", "to"):
                    answer = server.get("/api/v1/top", **{name: time_})
                    self.assertEqual(answer.status, 400, (name, time_))
                    self.assertIn(f"parameter '{name}': '{time_}' is not a time from 1970 to 2261", answer.json["error"]["message"])
            self.assertIn("'base_from'", server.get("/api/v1/diff", base_from="99999999999").json["error"]["message"])
            self.assertEqual(server.get("/api/v1/top", **{"from": "0", "to": "9223372036854775807"}).status, 200)

    def test_lines_of_functions_of_one_name_in_two_modules_are_apart(self):
        with self.server() as server:
            p = Profiles("twin")
            one, other = ("f", "/opt/lib/libone.so"), ("f", "/opt/lib/libother.so")
            p.file(one, "/build/f.c", 5)
            p.file(other, "/build/f.c", 7)
            p.profile([(p.stack("main", one), 3), (p.stack("main", other), 40), (p.stack("main", one, other), 500)])
            server.send(p.encode())
            server.flush()
            rows = lambda **more: {r["module"]: (r["self"], r["total"], r["lines"])
                                   for r in server.ask("list", query="twin", type="samples", function="^f$", **more)["functions"]}
            both = {"libone.so": (3, 503, [[5, 3, 503]]), "libother.so": (540, 540, [[7, 540, 540]])}
            self.assertEqual(rows(), both)
            self.assertEqual(rows(module=""), {})  # functions without a module: none has this name
            for module, row in both.items():
                self.assertEqual(rows(module=module), {module: row})
            none = server.ask("list", query="twin", type="samples", function="^f$", module="libno.so")
            self.assertEqual(none["functions"], [])
            self.assertIn("in module 'libno.so'", none["hint"])

    def test_spans_link_to_their_samples(self):
        with self.server() as server:
            now = time.time_ns()
            p = Profiles("web")
            other = p.link(TRACE, bytes(8 * [9]))
            p.profile([(p.stack("main", "mine"), 7, p.link(TRACE, SPAN)), (p.stack("main", "theirs"), 5, other),
                       (p.stack("main", "idle"), 100)], now)
            self.assertEqual(server.send(p.encode()).status, 200)
            spans = spans_request("web", [
                {"trace": TRACE, "span": SPAN, "name": "GET /", "start": now, "end": now + 10**9, "attributes": {"http.route": "/"}},
                {"trace": TRACE, "span": bytes(8 * [9]), "parent": SPAN, "name": "db", "start": now + 10**6, "end": now + 2 * 10**6, "status": 2}])
            self.assertEqual(server.send(spans, "/v1/traces").status, 200)
            self.assertEqual(server.send_grpc(spans, TRACES_METHOD)[0], 0)
            server.flush()
            trace = server.ask("traces/" + TRACE.hex())
            self.assertEqual([s["name"] for s in trace["spans"]], ["GET /", "db"])
            whole = server.ask(f"traces/{TRACE.hex()}/flame", type="samples")
            self.assertEqual((whole["total"], whole["by_span"]), (12, {SPAN.hex(): 7, "0909090909090909": 5}))
            one = server.ask(f"traces/{TRACE.hex()}/flame", type="samples", span=SPAN.hex())
            self.assertEqual((one["total"], [f[0] for f in one["functions"]]), (7, ["total", "main", "mine"]))
            for search, found in [({"service": "web"}, 1), ({"name": "db"}, 1), ({"min_duration": "500ms"}, 1), ({"min_duration": "2s"}, 0),
                                  ({"status": "error"}, 1), ({"status": "ok"}, 0), ({"attribute": "http.route=/"}, 1), ({"attribute": "http.route=/x"}, 0)]:
                self.assertEqual(len(server.ask("traces", **search)["traces"]), found, search)
            self.assertEqual(server.get("/api/v1/traces/" + "ab" * 16).status, 404)
            text = server.cli("trace", TRACE.hex()).stdout
            self.assertIn("db", text)
            self.assertIn("error", text)
            self.assertRegex(text, r"GET /  web .* 70 ms profiled\n +" + SPAN.hex() + r"  mine 100\.0 %\n  db  web .* 50 ms profiled\n +0909090909090909  theirs 100\.0 %\n")
            self.assertIn("; profiled: cpu\n", text)

    def test_a_trace_in_the_terminal_says_what_its_spans_were_doing(self):
        with self.server() as server:
            now = time.time_ns()
            ids = [bytes([i + 1] * 8) for i in range(14)]
            p = Profiles("web")
            p.profile([(p.stack("main", f), v + i, p.link(TRACE, id)) for i, id in enumerate(ids[:12]) for f, v in [("a", 40), ("b", 30), ("c", 20), ("d", 10)]], now)
            p.profile([(p.stack("main", "sleep"), 250 * 10**6, p.link(TRACE, ids[0]))], now, of=("wall", "nanoseconds"))
            server.send(p.encode())
            server.send(spans_request("web", [{"trace": TRACE, "span": id, "name": f"op{i}", "start": now + i, "end": now + 10**9} for i, id in enumerate(ids)]), "/v1/traces")
            server.flush()
            trace = lambda *more, check=True: server.cli("trace", TRACE.hex(), *more, check=check)
            lines = trace().stdout.splitlines()
            functions = [line for line in lines if "a 3" in line or "a 4" in line]
            self.assertEqual(len(functions), 10)  # of those with most
            self.assertRegex(functions[-1], f"^    {ids[11].hex()}  a 35.4 % · b 28.5 % · c 21.5 % · …$")
            self.assertIn("2 more spans were profiled; --span ID", lines[-1])
            self.assertLessEqual(max(map(len, lines)), 130)

            wall = trace("--type", "wall").stdout
            self.assertIn("profiled: wall", wall)
            self.assertIn("  250 ms profiled\n", wall)
            self.assertIn("sleep 100.0 %", wall)

            one = trace("--span", ids[1].hex()).stdout
            self.assertIn("1 span, ", one)
            self.assertNotIn("op2", one)
            self.assertRegex(one, r"cpu: total 1\.04 s, 104 observations")
            self.assertRegex(one, r"410 ms +39\.4 % +\S+ +410 ms +39\.4 %  a\n")
            nothing = trace("--span", ids[13].hex(), check=False)
            self.assertEqual(nothing.returncode, 1)
            self.assertEqual(nothing.stderr.strip(), server.ask(f"traces/{TRACE.hex()}/flame", span=ids[13].hex())["hint"])
            none = trace("--type", "mutex", check=False)
            self.assertEqual(none.stderr.strip(), server.ask(f"traces/{TRACE.hex()}/flame", type="mutex")["hint"])
            missing = trace("--span", "ab" * 8, check=False)
            self.assertEqual((missing.returncode, missing.stdout), (1, ""))
            self.assertIn("no span abababababababab in trace", missing.stderr)
            self.assertEqual([s["name"] for s in json.loads(trace("--json", "--span", ids[3].hex()).stdout)["spans"]], ["op3"])

    def test_sides_of_unequal_length_are_compared_by_what_they_have_in_common(self):
        with self.server() as server:
            now = time.time_ns()
            minute = 60 * 10**9
            for version, minutes, values in (("v1", 1, (60, 40)), ("v2", 14, (80, 20))):
                p = Profiles("orders", version=version)
                for i in range(minutes):
                    p.profile([(p.stack("main", f), v) for f, v in zip(("parse", "send"), values)], now - (20 if version == "v1" else 15 - i) * minute)
                server.send(p.encode())
            server.flush()
            diff = lambda *more: server.cli("diff", "orders{version=v1}", "orders{version=v2}", *more).stdout
            shares = diff()
            self.assertIn("cpu: before 1 s, after 14 s, change +13 s\nshares of each side's whole, changes in points: two selections seldom", shares)
            self.assertRegex(shares, r"(?m)^ +\+20\.0 +60\.0 % +80\.0 % +\+20\.0  parse$")
            self.assertRegex(shares, r"(?m)^ +-20\.0 +40\.0 % +20\.0 % +-20\.0  send$")
            self.assertNotIn("main", shares)  # all of it before, all of it after
            raw = diff("--mode", "raw")
            self.assertRegex(raw, r"(?m)^as they are$")
            self.assertRegex(raw, r"(?m)^ +\+2\.4 s +400 ms +2\.8 s +\+2\.4 s  send$")
            self.assertIn("per second of each side (60 min and 60 min): ", diff("--mode", "rate"))
            exact = json.loads(diff("--json"))
            self.assertEqual((exact["mode"], exact["total_before"], exact["total_after"], exact["seconds_after"]), ("share", 10**9, 14 * 10**9, 3600))
            self.assertEqual({r["name"]: (r["self_before"], r["self_after"]) for r in exact["rows"]}["send"], (400 * 10**6, 2800 * 10**6))

            at = lambda minutes: str(now - minutes * minute)
            times = lambda base, *more: server.cli("diff", "orders", "--from", at(16), "--to", at(0), "--base-from", at(base), "--base-to", at(16), *more).stdout
            longer = times(20)
            self.assertIn("\nper second of each side (4 min and 16 min): before 4.17 ms, after 14.6 ms, change +10.4 ms: the sides are not equally long", longer)
            self.assertRegex(longer, r"(?m)^ +\+9\.17 ms +2\.5 ms +11\.7 ms +\+9\.17 ms  parse$")
            self.assertIn("\nas they are: both sides are equally long\n", times(32))

    def test_a_stored_profile_comes_back_by_its_id(self):
        with self.server() as server:
            id = bytes(range(16, 32))
            p = Profiles("byid", zone="a")
            p.profile([(p.stack("main", "f"), 3, p.link(TRACE, SPAN))], id=id)
            self.assertEqual(server.send(p.encode()).status, 200)
            server.flush()
            self.assertEqual([r["id"] for r in server.ask("profiles", query="byid")["profiles"]], [id.hex()])
            back = server.get("/api/v1/profiles/" + id.hex(), format="otlp-json").json
            profile = back["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]
            self.assertEqual(profile["profileId"], id.hex())
            self.assertEqual([int(v) for v in profile["samples"][0]["values"]], [3])
            self.assertIn(TRACE.hex(), json.dumps(back))
            self.assertEqual(server.get("/api/v1/profiles/" + "00" * 16).status, 404)

    def test_tenants_are_kept_apart_only_when_asked(self):
        with self.server("--tenants") as server:
            for tenant, value in (("a", 1), ("b", 10)):
                self.assertEqual(server.send(one_profile("t", value), headers={"X-Scope-OrgID": tenant}).status, 200)
            server.flush()
            for tenant, value in (("a", 1), ("b", 10)):
                answer = http("GET", server.http + "/api/v1/top?query=t&type=samples", headers={"X-Scope-OrgID": tenant})
                self.assertEqual(answer.json["total"], value)
            self.assertEqual(server.total("t"), 0)
        with self.server(name="plain") as server:
            self.assertEqual(server.send(one_profile("t", 1), headers={"X-Scope-OrgID": "a"}).status, 200)
            server.flush()
            self.assertEqual(server.total("t"), 1)

    def test_delete_backup_restore(self):
        with self.server() as server:
            for service, value in (("keep", 5), ("leak", 7)):
                server.send(one_profile(service, value, names=("main", "secret_" + service)))
            server.flush()
            server.cli("backup", str(self.folder / "backup"))
            done = server.cli("delete", "leak", "--from", "-1d", "--to", "now", "--yes")
            self.assertIn('"samples":1', done.stdout)
            self.assertEqual((server.total("keep"), server.total("leak")), (5, 0))
            self.assertNotIn("leak", [s["name"] for s in server.ask("services", since="1d")["services"]])
            server.send(one_profile("leak", 9, names=("main", "fresh")))
            server.flush()
            self.assertEqual(server.total("leak"), 9)
        restored = self.folder / "restored"
        done = subprocess.run([BINARY, "restore", str(self.folder / "backup"), "--data", str(restored)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with self.server(name="restored") as server:
            self.assertEqual((server.total("keep"), server.total("leak")), (5, 7))


class Files(Case):
    def test_a_name_that_two_types_share_is_refused_with_both(self):
        def pprof(period):
            texts = ("", "delay", "nanoseconds", period, "count", "main")
            return (field(1, field(1, 1) + field(2, 2)) + field(11, field(1, 3) + field(2, 4)) +
                    field(2, field(1, b"\x01") + field(2, b"\x07")) + field(4, field(1, 1) + field(4, field(1, 1))) +
                    field(5, field(1, 1) + field(2, 5)) + b"".join(field(6, text) for text in texts))

        files = [self.folder / "mutex.pb", self.folder / "block.pb"]
        for file, period in zip(files, ("contentions", "block")):
            file.write_bytes(pprof(period))
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True)
        for command in (["top"], ["list", "main"]):
            done = run(*command, *map(str, files), "--type", "delay")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("name one: block:delay:nanoseconds:block:count, mutex:delay:nanoseconds:contentions:count", done.stderr)
        for type in ("mutex", "block", "block:delay:nanoseconds:block:count"):
            self.assertRegex(run("top", *map(str, files), "--type", type).stdout, r"total 7\b|total 7 ns")
        self.assertEqual(run("top", str(files[0]), "--type", "delay").returncode, 0)

    def test_a_pprof_file_of_several_types_is_shown_one_by_one(self):
        """Rows are there for any of them; how often each was observed only where the file tells."""
        texts = ("", "cpu", "nanoseconds", "alloc_space", "bytes", "main", "burn", "alloc")
        value_type = lambda type, unit: field(1, type) + field(2, unit)
        rows = [((2, 1), (30 * 10**6, 0)), ((3, 1), (0, 300 << 20))]
        varint = lambda n: bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
        both = b"".join(field(2, field(1, bytes(stack)) + field(2, b"".join(map(varint, values)))) for stack, values in rows)
        file = self.folder / "operation.pb"
        file.write_bytes(field(1, value_type(1, 2)) + field(1, value_type(3, 4)) + field(11, value_type(1, 2)) + field(12, 10**7) + both +
                         b"".join(field(4, field(1, i) + field(4, field(1, i))) + field(5, field(1, i) + field(2, 4 + i)) for i in (1, 2, 3)) +
                         b"".join(field(6, text) for text in texts))
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True, check=True).stdout
        space = run("top", str(file), "--type", "alloc_space")
        self.assertIn("alloc_space: total 300 MiB, observations unknown\n", space)
        self.assertRegex(space, r"(?m)^ +300 MiB +100\.0 % +300 MiB +100\.0 %  alloc$")  # and no error of the share
        self.assertNotIn("burn", space)
        self.assertNotIn("other", space)
        self.assertNotIn("burn", run("tree", str(file), "--type", "alloc_space", "--min-share", "0"))
        exact = json.loads(run("top", str(file), "--type", "alloc_space", "--json"))
        self.assertNotIn("count", exact)
        self.assertEqual([(r["name"], r["total"]) for r in exact["rows"]], [("alloc", 300 << 20), ("main", 300 << 20)])
        cpu = run("top", str(file))
        self.assertIn("cpu: total 30 ms, 3 observations\n", cpu)
        self.assertNotIn("alloc", cpu)
        file.write_bytes(file.read_bytes().replace(field(2, field(1, bytes(rows[0][0])) + field(2, varint(30 * 10**6) + b"\0")), b""))
        none = subprocess.run([BINARY, "top", str(file)], capture_output=True, text=True)
        self.assertEqual((none.returncode, none.stdout, none.stderr), (1, "", f"{file} has nothing of type 'cpu' in it\n"))

    def test_files_without_a_server_and_pushed(self):
        folded = self.folder / "a.folded"
        folded.write_text("main;parse;tokenize 30\nmain;parse 12\nmain;send 8\n")
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True)
        top = run("top", str(folded), "--type", "samples")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertRegex(top.stdout, r"(?m)^ +30 +60.0 % .* tokenize")
        self.assertIn("main", run("flame", str(folded), "--type", "samples").stdout)
        later = self.folder / "b.folded"
        later.write_text("main;parse;tokenize 50\nmain;send 8\n")
        diff = run("diff", str(folded), str(later), "--type", "samples")
        self.assertRegex(diff.stdout, r"(?m)^ +\+20 .* tokenize")
        with self.server() as server:
            pushed = server.cli("push", str(folded), "--service", "fold").stdout
            command = next(l for l in pushed.splitlines() if "wherefore top" in l).split()
            again = subprocess.run([BINARY, *command[1:]], capture_output=True, text=True)
            self.assertRegex(again.stdout, r"(?m)^ +30 +60.0 % .* tokenize", pushed)
            exported = server.cli("query", "fold", "--format", "folded").stdout
            self.assertEqual(sorted(exported.split("\n")), sorted(folded.read_text().split("\n")))
            for kind in ("svg", "speedscope", "pprof", "otlp"):
                out = self.folder / kind
                server.cli("query", "fold", "--format", kind, "-o", str(out))
                self.assertGreater(out.stat().st_size, 50, kind)
            speedscope = json.loads((self.folder / "speedscope").read_text())
            self.assertEqual(speedscope["profiles"][0]["endValue"], 50)

    def test_check_names_the_violation(self):
        good, bad = self.folder / "good.otlp", self.folder / "bad.otlp"
        good.write_bytes(VECTOR)
        p = Profiles()
        bad.write_bytes(p.profile([(99, 1)]).encode())
        run = lambda *a: subprocess.run([BINARY, "check", *a], capture_output=True, text=True)
        self.assertEqual(run(str(good)).returncode, 0)
        found = run(str(bad))
        self.assertEqual(found.returncode, 1)
        self.assertIn("samples[0].stack_index", found.stdout)
        self.assertEqual(run(str(self.folder / "none")).returncode, 3)

    def test_usage_errors_and_help(self):
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True)
        self.assertEqual(run("nonsense").returncode, 2)
        self.assertEqual(run("top", "x", "--server", "http://127.0.0.1:1").returncode, 3)
        for command in ("serve", "push", "query", "top", "list", "tree", "flame", "diff", "trace", "check", "doctor", "delete", "backup", "restore"):
            self.assertIn("EXAMPLES", run(command, "--help").stdout, command)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("push", run("completion", shell).stdout)


class Regressions(Case):
    """One test per defect that was found from outside."""

    def test_the_script_that_starts_everything_says_what_it_does_at_once(self):
        for flag in (("--help",), ("-h",), ("--no-demo", "--help")):
            done = subprocess.run([str(ROOT / "run"), *flag], capture_output=True, text=True, timeout=10)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for text in ("--no-demo", "three C++ services", "wherefore serve --help"):
                self.assertIn(text, done.stdout)

    def test_config_file_counts_and_mistakes_in_it_are_usage_errors(self):
        config = self.folder / "c.conf"
        config.write_text('# ours\ntoken = "abc"\nretention: 7d\n')
        with self.server("--config", str(config)) as server:
            self.assertEqual(http("GET", server.http + "/api/v1/status").status, 401)
            status = http("GET", server.http + "/api/v1/status", headers={"Authorization": "Bearer abc"})
            self.assertIn(b"7 d", status.body)
        for text in ("nonsense = 1\n", "http-port = many\n", "just words\n"):
            config.write_text(text)
            done = subprocess.run([BINARY, "serve", "--config", str(config), "--data", str(self.folder / "x")], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("c.conf:1", done.stderr)
        self.assertEqual(subprocess.run([BINARY, "serve", "--config", "/no/such/file"], capture_output=True).returncode, 2)

    def test_delete_forgets_only_requests_of_what_was_deleted(self):
        with self.server() as server:
            kept, gone = one_profile("kept", 5), one_profile("gone", 3)
            for body in (kept, gone):
                server.send(body)
            server.cli("delete", "gone", "--from", "-1d", "--to", "now", "--yes")
            for body in (kept, gone):
                server.send(body)
            server.flush()
            self.assertEqual((server.total("kept"), server.total("gone")), (5, 3))
            now = time.time_ns()
            server.send(spans_request("only-spans", [{"trace": TRACE, "span": SPAN, "start": now, "end": now + 2**63 + 5}]), "/v1/traces")
            server.flush()
            self.assertGreater(int(server.ask("traces/" + TRACE.hex())["spans"][0]["duration_ns"]), 0)
            self.assertIn('"spans":1', server.cli("delete", "only-spans", "--from", "-1d", "--to", "-0s", "--yes").stdout)
            self.assertEqual(server.get("/api/v1/traces/" + TRACE.hex()).status, 404)

    def test_senseless_options_are_refused_with_a_sentence(self):
        folded = self.folder / "a.folded"
        folded.write_text("main;f 3\n")
        for arguments, words in ((("serve", "--data", str(self.folder / "x"), "--retention", "0d"), "would keep nothing"),
                                 (("serve", "--data", str(self.folder / "x"), "--query-memory", "1MB"), "at least 16MiB"),
                                 (("serve", "--data", str(self.folder / "x"), "--query-memory", "much"), "is not a size"),
                                 (("top", str(folded), "--limit", "-5"), "range"),
                                 (("diff", str(folded), str(folded), "--limit", "-1"), "range"),
                                 (("flame", str(folded), "--rows", "-1"), "range")):
            done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "x").exists())

    def test_doctor_prints_one_json_document(self):
        with self.server() as server:
            report = json.loads(server.cli("--json", "doctor").stdout)
            self.assertEqual(report["problems"], 0)
            self.assertTrue(all(c["state"] == "ok" for c in report["checks"]))
        done = subprocess.run([BINARY, "--json", "--server", "http://127.0.0.1:1", "doctor"], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, json.loads(done.stdout)["problems"]), (1, 1))

    def test_a_question_stays_within_its_memory(self):
        """20,000 different stacks 30 frames deep need more than the limit; small questions go on."""
        folded = self.folder / "many.folded"
        with folded.open("w") as out:
            for i in range(20_000):
                out.write("main;" + ";".join(f"f{i}_{d}" for d in range(30)) + " 1\n")
        with self.server() as server:
            server.send(one_profile("small", 5))
            server.cli("push", str(folded), "--service", "many")
            self.assertEqual(server.total("many"), 20_000)
        with self.server("--query-memory", "32MiB") as server:
            for path in ("flame?query=many", "top?query=many", "export?query=many&format=pprof", "export?query=many&format=folded",
                         "export?query=many&format=speedscope", "list?query=many&function=f1_1"):
                answer = http("GET", server.http + "/api/v1/" + path + "&type=samples&since=1d")
                self.assertEqual(answer.status, 429, (path, answer.body[:300]))
                self.assertIn(b"--query-memory", answer.body)
            self.assertEqual(server.total("small"), 5)

    def test_delete_by_label_takes_spans_and_leaves_no_name(self):
        now = time.time_ns()
        spans = [{"trace": bytes([i + 1] * 16), "span": bytes([i + 1] * 8), "start": now, "end": now + 5, "name": f"op{i}", "attributes": a}
                 for i, a in enumerate(({"user": "secret-user-name"}, {"user": "fine", "zone": "eu-1"}, {"zone": "us-1"}, {}))]
        with self.server() as server:
            server.send(spans_request("shop", spans), "/v1/traces")
            server.send(spans_request("other", [dict(spans[0], trace=bytes([9] * 16))]), "/v1/traces")
            server.send(one_profile("shop", 5, names=("main", "fine_function")))
            server.flush()

            def delete(selector):
                return json.loads(server.cli("delete", selector, "--from", "-1d", "--to", "-0s", "--yes").stdout)["spans"]

            def left():
                return [i for i in range(4) if server.get("/api/v1/traces/" + spans[i]["trace"].hex()).status == 200]

            self.assertEqual(delete('shop{user="nobody"}'), 0)
            self.assertEqual(delete('shop{zone=~"us-.*",user=""}'), 1)
            self.assertEqual(left(), [0, 1, 3])
            self.assertEqual(delete('shop{user="secret-user-name"}'), 1)
            self.assertEqual(left(), [1, 3])
            self.assertEqual(delete('{user="secret-user-name"}'), 1)  # of the other service
            self.assertEqual(server.total("shop"), 5)
            self.assertEqual(delete('shop{zone!~"eu.*",user!="fine"}'), 1)
            self.assertEqual(left(), [1])
            self.assertEqual(server.total("shop"), 0, "profiles without these labels match too")

    def test_names_do_not_reach_the_terminal_raw(self):
        with self.server() as server:
            server.send(one_profile("esc\x1b[31m", 1, names=("main", "ev\x1b]0;pwn\x07il\nline")))
            server.flush()
            for command in (["top", "{}", "--type", "samples"], ["tree", "{}"], ["flame", "{}"], ["list", "ev", "{}"], ["query"], ["query", "{}", "--by", "service.name"]):
                out = server.cli(*command).stdout
                self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f]", command)

    def test_cpu_of_counts_with_different_periods_is_added_up_as_time(self):
        with self.server() as server:
            for period, value in ((10_000_000, 2), (50_000_000, 2)):
                p = Profiles("mix")
                p.profile([(p.stack("main"), value)])
                body = p.encode()
                server.send(body.replace(field(6, 10_000_000), field(6, period)) if period != 10_000_000 else body)
            server.flush()
            self.assertEqual(server.total("mix", type="cpu"), 120_000_000)
            out = self.folder / "mix.pb.gz"
            server.cli("query", "mix", "--type", "cpu", "--format", "pprof", "-o", str(out))
            top = json.loads(server.cli("top", str(out), "--json").stdout)
            self.assertEqual((top["type"], top["total"]), ("cpu", 120_000_000))

    def test_exports_keep_to_the_rules_and_averages_stay_averages(self):
        with self.server() as server:
            now = time.time_ns()
            for i in range(4):
                p = Profiles("heap")
                p.strings[1:5] = ["inuse_space", "bytes", "space", "bytes2"]
                p.profile([(p.stack("main"), 1000)], now - i * 10**9)
                server.send(p.encode())
            server.flush()
            self.assertEqual(server.get("/api/v1/export", query="heap", type="inuse_space", format="folded").body, b"main 1000\n")
            out = self.folder / "back.otlp"
            out.write_bytes(server.get("/api/v1/export", query="heap", format="otlp").body)
            checked = subprocess.run([BINARY, "check", str(out)], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            self.assertNotIn("orphan", checked.stdout)
            self.assertEqual(server.get("/api/v1/export", query="heap", format="otlp", lens="my-code").status, 400)
            self.assertEqual(server.get("/api/v1/flame", query="heap", format="xml").status, 400)
            self.assertEqual(server.get("/api/v1/profiles/" + "00" * 16).status, 404)

    def test_kept_payloads_come_back(self):
        with self.server("--keep-payload") as server:
            id = bytes(range(3, 19))
            p = Profiles("kept")
            p.profile([(p.stack("main"), 1)], id=id, extra=field(9, "pprof") + field(10, b"\x1f\x8b the file"))
            server.send(p.encode())
            server.flush()
            back = server.get("/api/v1/profiles/" + id.hex(), format="otlp").body
            self.assertIn(field(9, "pprof") + field(10, b"\x1f\x8b the file"), back)

    def test_events_and_links_of_spans_come_back(self):
        with self.server() as server:
            now = time.time_ns()
            event = field(11, fixed64(1, now + 7) + field(2, "retry") + field(3, field(1, "n") + field(2, field(3, 2))))
            link = field(13, field(1, bytes(range(2, 18))) + field(2, bytes(8 * [7])))
            server.send(spans_request("ev", [{"trace": TRACE, "span": SPAN, "start": now, "end": now + 9, "extra": event + link}]), "/v1/traces")
            server.flush()
            span = server.ask("traces/" + TRACE.hex())["spans"][0]
            self.assertEqual([(e["name"], e["attributes"]) for e in span["events"]], [("retry", {"n": "2"})])
            self.assertEqual(span["links"][0]["span"], "07" * 8)
            self.assertEqual(span["scope"], "test")

    def test_selection_mistakes_and_odd_files(self):
        run = lambda *a: subprocess.run([BINARY, *a], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(run("push", "/").returncode, 3)
        self.assertEqual(run("top", "a", "b").returncode, 2)
        self.assertEqual(run("top", "a", "--service", "b").returncode, 2)
        (self.folder / "v.otlp.gz").write_bytes(gzip.compress(VECTOR))
        self.assertIn("main", run("top", "v.otlp.gz", "--type", "samples").stdout)
        (self.folder / "f.folded.gz").write_bytes(gzip.compress(b"main;foo 3\n"))
        self.assertIn("ROUTINE foo", run("list", "foo", "f.folded.gz").stdout)
        for command in (["top"], ["tree"], ["flame"]):
            done = run(*command, "f.folded.gz", "--lens", "focus:nowhere")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "the lens 'focus:nowhere' takes all of it away\n"), command)
        self.assertIn("takes all of it away", run("diff", "f.folded.gz", "f.folded.gz", "--lens", "focus:nowhere").stderr)
        deep = ";".join(f"f{i}" for i in range(3000)) + " 1\n"
        (self.folder / "deep.folded").write_text(deep)
        self.assertLess(len(run("tree", "deep.folded").stdout), 1_000_000)
        with self.server() as server:
            (self.folder / "good").write_bytes(b"\x7fELF not a profile")
            server.send(one_profile("good", 3))
            server.flush()
            done = subprocess.run([BINARY, "top", "good", "--type", "samples", "--server", server.http], capture_output=True, text=True, cwd=self.folder)
            self.assertIn("work", done.stdout, done.stderr)


class Pprof(Case):
    """Real programs' files in, out, and `go tool pprof` sees no difference."""

    def top(self, file, *flags):
        done = subprocess.run(["go", "tool", "pprof", "-top", *flags, str(file)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipIf(shutil.which("go") is None and not os.environ.get("CI"), "go is not installed")
    def test_go_tool_pprof_prints_the_same_for_original_and_export(self):
        with self.server() as server:
            for name, types in (("go_cpu", ["cpu", "samples"]), ("cpp_cpu", ["cpu", "samples"]),
                                ("go_heap", ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"])):
                original = ROOT / f"tests/golden/{name}.pb.gz"
                server.cli("push", str(original), "--service", name)
                back = self.folder / f"{name}.pb.gz"
                server.cli("query", name, "--since", "3000d", "--format", "pprof", "-o", str(back))
                same = self.top(back)
                if "Time:" not in self.top(original):  # a file without a time is of when it arrived
                    same = "".join(l for l in same.splitlines(True) if not l.startswith("Time:"))
                self.assertEqual(self.top(original), same, name)
                for type in types:
                    rows = [self.top(f, "-sample_index=" + type).split("flat  flat%")[1] for f in (original, back)]
                    self.assertEqual(*rows, (name, type))


class OpenApi(Case):
    """docs/openapi.json against the running server: every route is there, every answer has its shape."""

    def shape(self, schema, value, where):
        if "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if "oneOf" in schema:
            self.assertIsInstance(value, (int, str), where)
            return
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "number": (int, float)}
        if "type" in schema:
            self.assertIsInstance(value, kinds[schema["type"]], where)
        for key in schema.get("required", []):
            self.assertIn(key, value, where)
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                self.shape(inner, value[key], f"{where}.{key}")
        if "items" in schema:
            for item in value[:50]:
                self.shape(schema["items"], item, where + "[]")

    def compatible(self, server, method, url, path):
        """Routes with clients of their own: tests/grafana_test.py asks the questions, here the route must exist."""
        answer = http(method.upper(), server.http + url, b"{}" if method == "post" else None, {"content-type": "application/json"})
        self.assertNotIn(answer.status, (405, 415, 500), (path, answer.body))
        self.assertFalse(answer.status == 404 and b'"error":' in answer.body, (path, answer.body))
        self.assertEqual(http("PUT", server.http + url, b"").status, 405, path)

    def test_routes_and_answers_match_the_description(self):
        self.document = json.loads((ROOT / "docs/openapi.json").read_text())
        (self.folder / "main.cc").write_text("int main() {}\n")
        with self.server("--source-root", str(self.folder)) as server:
            now = time.time_ns()
            p = Profiles("svc")
            p.file("main", "/build/main.cc")
            id = bytes(range(1, 17))
            p.profile([(p.stack("main", "f"), 3, p.link(TRACE, SPAN))], id=id)
            server.send(p.encode())
            server.send(spans_request("svc", [{"trace": TRACE, "span": SPAN, "start": now, "end": now + 5}]), "/v1/traces")
            server.flush()
            self.assertEqual(json.loads(server.get("/openapi.json").body), self.document)
            fill = {"{trace}": TRACE.hex(), "{id}": id.hex(), "{name}": "service.name", "{service}": "svc"}
            values = {"function": "main", "query": "svc", "from": "-1d", "to": "now", "file": "/build/main.cc", "target": str(self.folder / "b")}
            for path, methods in self.document["paths"].items():
                for method, operation in methods.items():
                    real = path
                    for placeholder, value in fill.items():
                        real = real.replace(placeholder, value)
                    if real.startswith("/v1"):
                        self.assertNotEqual(http("POST", server.http + real, b"", {"content-type": PROTOBUF}).status, 405, path)
                        continue
                    if "tags" in operation:
                        self.compatible(server, method, real, path)
                        continue
                    needed = {q["name"]: values[q["name"]] for q in operation["parameters"] if q["in"] == "query" and q["required"]}
                    url = server.http + real + "?" + "&".join(f"{k}={v}" for k, v in needed.items())
                    body = {"/api/v1/adhoc": b"main;work 3\n"}.get(path, b"")
                    answer = http(method.upper(), url, body if method == "post" else None)
                    self.assertEqual(answer.status, 200, (path, answer.body))
                    kind = answer.headers["content-type"].split(";")[0]
                    self.assertIn(kind, operation["responses"]["200"]["content"], path)
                    schema = operation["responses"]["200"]["content"].get("application/json", {}).get("schema")
                    if kind == "application/json" and schema and schema.get("format") != "binary":
                        self.shape(schema, answer.json, path)
                    other = http("PUT", server.http + real, b"")
                    self.assertEqual(other.status, 405, path)
                    wrong = http(method.upper(), server.http + real + "?no_such_parameter=1", b"" if method == "post" else None)
                    if real.startswith("/api/v1/") and operation["parameters"]:
                        self.assertEqual(wrong.status, 400, path)
                        self.shape({"$ref": "#/components/schemas/Error"}, wrong.json, path)


if __name__ == "__main__":
    unittest.main(verbosity=1)
