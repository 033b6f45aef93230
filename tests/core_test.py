#!/usr/bin/env python3
"""The core path from outside: OTLP in, durable, exact answers out; retries, links, traces, tenants."""
import calendar
import contextlib
import gzip
import json
import os
import pty
import re
import subprocess
import threading
import time
import unittest
import urllib.parse
import zlib

from harness import (BINARY, PROTOBUF, SPAN, TRACE, TRACES_METHOD, VECTOR, Case, Profiles, http, one_profile,
                     spans_request, wait_until)


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
            self.assertIn("  250 ms ± 119 ms in 25 looks\n", wall)
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
            self.assertIn("cpu: before 1 s, after 14 s, change +13 s\nshares of each side's total, changes in percentage points: two selections seldom", shares)
            self.assertRegex(shares, r"(?m)^ +\+20\.0 +60\.0 % +80\.0 % +\+20\.0 +\+\d+\.\d to \+\d+\.\d +more +more  parse$")
            self.assertRegex(shares, r"(?m)^ +-20\.0 +40\.0 % +20\.0 % +-20\.0 +-\d+\.\d to -\d+\.\d +less +less  send$")
            self.assertNotRegex(shares, r"(?m)  main$")  # no row: all of it before, all of it after
            raw = diff("--mode", "raw")
            self.assertRegex(raw, r"(?m)^as they are$")
            self.assertRegex(raw, r"(?m)^ +\+2\.4 s +400 ms +2\.8 s +\+2\.4 s  send$")
            self.assertIn("per second of observed time (10 s and 2.33 min): before 100 ms, after 100 ms, change 0 ns", diff("--mode", "rate"))
            exact = json.loads(diff("--json"))
            self.assertEqual((exact["mode"], exact["total_before"], exact["total_after"], exact["seconds_after"]), ("share", 10**9, 14 * 10**9, 140))
            self.assertEqual({r["name"]: (r["self_before"], r["self_after"]) for r in exact["rows"]}["send"], (400 * 10**6, 2800 * 10**6))

            at = lambda minutes: str(int(now - minutes * minute))
            times = lambda base, middle, to=0: server.cli("diff", "orders", "--from", at(middle), "--to", at(to), "--base-from", at(base), "--base-to", at(middle)).stdout
            longer = times(20, 16)
            self.assertIn("\nper second of observed time (10 s and 2.33 min): before 100 ms, after 100 ms, change 0 ns: the sides differ in observed time", longer)
            self.assertRegex(longer, r"(?m)^ +\+20 ms +60 ms +80 ms +\+20 ms +\? +\?  parse$")
            self.assertIn("\nas they are: both sides have the same observed time\n", times(15.5, 8.5, 1.5))

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
        with self.server("--backup-root", str(self.folder)) as server:
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


if __name__ == "__main__":
    unittest.main(verbosity=1)
