#!/usr/bin/env python3
"""A matrix of damaged files: what is reported, what still works, what can be written afterwards, and what a repair
recovers.

No damage may go unreported or stop the server: every case must answer queries and accept writes, and either nothing is
missing or the status, the log and a mark on the answers say what. With -v the table is printed."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import struct
import time
import unittest
import urllib.parse

from harness import TRACE, Case, Profiles, Server, field, http, packed, one_profile, spans_request, wait_until

NOW = time.time_ns() - 120 * 10**9  # so that a range around it ends in the past
EACH, ROUNDS = 40, 3  # profiles of 10 a round; each round is one part of each table
WHOLE = EACH * ROUNDS * 10
DAY = {"from": str(NOW // 10**9 - 3600), "to": str(NOW // 10**9 + 60)}
PROFILE = bytes(range(16))  # the id of the last profile of `pay`


def flip(path, at=None, bit=4):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= bit
    path.write_bytes(bytes(data))


def last_part(data, table):
    parts = (data / "engine/data/default" / (table + "_v1")).resolve()
    return sorted(p for p in parts.iterdir() if p.is_dir() and p.name[0].isdigit())[-1]


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def in_part(table, prefix, to=flip, **how):
    def damage(data):
        files = [f for f in last_part(data, table).iterdir() if f.name.startswith(prefix)]
        assert files, prefix
        for file in files:
            to(file, **how)
    return damage


def remove_part(table):
    return lambda data: shutil.rmtree(last_part(data, table))


def definition(data, table):
    return (data / "engine/metadata/default").resolve() / (table + "_v1.sql")


def remove_definition(table):
    return lambda data: definition(data, table).unlink()


def in_log(at):
    """Flips a bit of the only log segment; `at` is a position, or a part of the file's length."""
    def damage(data):
        segment, = (data / "wal").glob("*.log")
        size = segment.stat().st_size
        flip(segment, at if isinstance(at, int) and at >= 0 else int(at * size) if isinstance(at, float) else size + at)
    return damage


class Damage(Case):
    """name: (damage, total afterwards, what status must say (None: nothing is missing), total after a repair)"""
    THIRD = WHOLE * 2 // 3
    ENGINE = {
        "samples checksums.txt": (in_part("samples", "checksums.txt"), THIRD, "rows of samples", WHOLE),
        "samples columns.txt": (in_part("samples", "columns.txt"), THIRD, "rows of samples", WHOLE),
        "samples count.txt": (in_part("samples", "count.txt"), THIRD, "rows of samples", None),
        "samples marks": (in_part("samples", "data.cmrk"), THIRD, "rows of samples", None),
        "samples primary index": (in_part("samples", "primary."), THIRD, "rows of samples", None),
        "samples range of buckets": (in_part("samples", "minmax_bucket.idx"), THIRD, "rows of samples", WHOLE),
        "samples data.bin": (in_part("samples", "data.bin", at=40), THIRD, "rows of samples", THIRD),
        "samples part deleted": (remove_part("samples"), THIRD, "rows of samples", THIRD),
        "samples definition deleted": (remove_definition("samples"), WHOLE, None, None),
        "stacks checksums.txt": (in_part("stacks", "checksums.txt"), WHOLE, "rows of stacks", WHOLE),
        "stacks data.bin": (in_part("stacks", "data.bin"), WHOLE, "rows of stacks", WHOLE),
        "functions count.txt": (in_part("functions", "count.txt"), WHOLE, "rows of functions", None),
        "functions part deleted": (remove_part("functions"), WHOLE, "rows of functions", WHOLE),
        "frames marks": (in_part("frames", "data.cmrk"), WHOLE, "rows of frames", None),
        "profiles checksums.txt": (in_part("profiles", "checksums.txt"), WHOLE, "rows of profiles", WHOLE),
        "stacks definition deleted": (remove_definition("stacks"), WHOLE, None, None),
        "ledger": (lambda data: flip(data / "ledger"), WHOLE, None, None),
        "identities.log": (lambda data: flip(data / "identities.log"), WHOLE, None, None),
    }

    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.original = pathlib.Path(tempfile.mkdtemp(prefix="wherefore-damage-"))
        cls.addClassCleanup(shutil.rmtree, cls.original, ignore_errors=True)
        with Server(cls.original / "data", "--keep-payload") as server:
            for round in range(ROUNDS):
                for i in range(EACH):
                    body = one_profile("shop" if i % 2 else "cart", 10, names=("main", f"f{round}_{i}"), time_ns=NOW - i * 10**6)
                    assert server.send(body).status == 200
                id = bytes([round + 1] * 8)
                pay = Profiles("pay")
                in_span = field(1, pay.stack("main", "charge", f"bank{round}")) + field(3, pay.link(TRACE, id)) + packed(4, [7]) \
                    + field(5, struct.pack("<Q", NOW + 10**6))
                pay.profile([in_span, (pay.stack(("main", f"/lib/{round}.so")), 3)], NOW, id=PROFILE[:15] + bytes([13 + round]), of=("alloc", "bytes"),
                            extra=field(9, "pprof") + field(10, f"file of round {round}" * 100))
                assert server.send(pay.encode()).status == 200
                span = dict(trace=TRACE, span=id, name="pay", start=NOW, end=NOW + 10**9)
                alone = dict(span, trace=id * 2)  # a trace of this round only
                assert server.send(spans_request("shop", [span, alone]), "/v1/traces").status == 200
                server.flush()

    def copy(self, to):
        """Without what only a full disk needs."""
        return shutil.copytree(self.original / "data", to, symlinks=True, ignore=shutil.ignore_patterns("reserve"))

    def problems(self, server):
        return [p["what"] for part in server.ask("status")["parts"] for p in part["problems"]]

    def names(self, server):
        return {row["name"] for row in server.ask("top", query="", type="samples", since="1d", limit="1000")["rows"]}

    def check_marks_of_others_interfaces(self, server, said):
        """Answers in Pyroscope's and Jaeger's formats are marked too, and only for a time with missing data."""
        day = NOW // 10**9 // 86400 * 86400
        type = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
        for since, until, expected in ((day, day + 86400, said), (1577836800, 1580515200, None)):
            render = {"query": type + "{}", "from": str(since), "until": str(until)}
            sides = {f"{side}{what}": value for side in ("left", "right")
                     for what, value in (("Query", type + "{}"), ("From", str(since)), ("Until", str(until)))}
            question = dict(profileTypeID=type, labelSelector="{}", start=since * 1000, end=until * 1000)
            ask = lambda name, body: http("POST", f"{server.http}/querier.v1.QuerierService/{name}", json.dumps(body).encode(),
                                          headers={"Content-Type": "application/json"})
            search = dict(service="shop", start=str(since * 10**6), end=str(until * 10**6))
            for name, answer in {
                "render": server.get("/render", **render),
                "render-diff": server.get("/pyroscope/render-diff", **sides),
                "labels": server.get("/labels", **render),
                "SelectMergeStacktraces": ask("SelectMergeStacktraces", question),
                "Diff": ask("Diff", dict(left=question, right=question)),
                "LabelNames": ask("LabelNames", dict(start=since * 1000, end=until * 1000)),
                "jaeger": server.get("/jaeger/api/traces", **search),
            }.items():
                self.assertEqual(answer.status, 200, (name, answer.body))
                mark = answer.headers["wherefore-incomplete"]
                self.assertIn(expected, mark or "no mark", name) if expected else self.assertIsNone(mark, name)

    def test_a_tenant_reads_of_its_own_services_only(self):
        data = self.folder / "data"
        with Server(data, "--tenants") as server:
            for round in range(2):  # a part of samples each
                for tenant in ("red", "blue"):
                    body = one_profile(f"{tenant}-shop", 10, names=("main", f"f{round}"), time_ns=NOW - round)
                    assert server.send(body, headers={"X-Scope-OrgID": tenant}).status == 200
                server.flush()
        remove_part("samples")(data)
        with Server(data, "--tenants", "--scrape", "scraped=http://127.0.0.1:9") as server:
            def ask(path, tenant, **parameters):
                return http("GET", f"{server.http}{path}?{urllib.parse.urlencode(parameters)}",
                            headers={"X-Scope-OrgID": tenant} if tenant else {})
            wait_until(lambda: b"shop: 1 of 2 samples" in ask("/api/v1/status", "red").body, what="whose data it is")
            for tenant, other in (("red", "blue"), ("blue", "red")):
                status = ask("/api/v1/status", tenant)
                mark = ask("/api/v1/top", tenant, query="", type="samples", since="1d").headers["wherefore-incomplete"]
                for text in (status.body.decode(), mark or "no mark"):
                    self.assertIn(f"{tenant}-shop: 1 of 2 samples", text)
                    self.assertNotIn(f"{other}-shop", text)
                    self.assertIn("is incomplete: rows of samples cannot be read", text, "how many there are of both is not for one")
                self.assertNotIn(b"127.0.0.1:9", status.body, "targets are those of who runs the server")
                refused = http("POST", f"{server.http}/api/v1/repair", b"", {"X-Scope-OrgID": tenant})
                self.assertEqual(refused.status, 400, "a repair is about everybody's data")
                self.assertIn(b"without a tenant", refused.body)
            nobody = ask("/api/v1/status", None).body
            self.assertIn(b"127.0.0.1:9", nobody)
            self.assertIn(b"is incomplete: 2 rows of samples cannot be read", nobody)
            self.assertNotIn(b"-shop: 1 of", nobody)

    def test_matrix_of_the_engine(self):
        for name, (damage, expected, said, repaired) in self.ENGINE.items():
            with self.subTest(name):
                data = self.folder / name.replace(" ", "-")
                self.copy(data)
                damage(data)
                began = time.monotonic()
                with Server(data) as server:
                    ready = time.monotonic() - began
                    self.assertEqual(http("GET", server.http + "/ready").status, 200)
                    top = server.get("/api/v1/top", query="", type="samples", since="1d")
                    self.assertEqual(top.status, 200, top.body)
                    self.assertEqual(int(top.json["total"]), expected)
                    self.assertEqual(server.get("/api/v1/services", since="1d").status, 200)
                    self.assertEqual(server.get(f"/api/v1/traces/{TRACE.hex()}").status, 200)
                    if said:
                        wait_until(lambda: any(said in p for p in self.problems(server)), what=f"status says {self.problems(server)}")
                        mark = server.get("/api/v1/top", query="", type="samples", since="1d").headers["wherefore-incomplete"]
                        self.assertIn(said, mark or "no mark")
                        old = server.get("/api/v1/services", **{"from": "2020-01-01", "to": "2020-02-01"})
                        self.assertIsNone(old.headers["wherefore-incomplete"], "another time lacks nothing")
                        self.check_marks_of_others_interfaces(server, said)
                        self.assertIn(said, server.cli("doctor", check=False).stdout)
                        self.assertIn("warning: data of", server.cli("top", "cart", "--since", "1d").stderr)
                        if "samples" in said:
                            wait_until(lambda: any("shop: 20 of 60 samples" in p for p in self.problems(server)), what="whose data it is")
                    else:
                        self.assertEqual(self.problems(server), [])
                    # Writing goes on, and nothing new is mixed up with what was lost.
                    for i in range(5):
                        self.assertEqual(server.send(one_profile("cart", 1, names=("main", f"new{i}"))).status, 200)
                    server.flush()
                    self.assertEqual(server.total(""), expected + 5)
                    names = self.names(server)
                    self.assertTrue({f"new{i}" for i in range(5)} <= names, names)
                    old = {n for n in names if n.startswith("f")}
                    lost = "[name lost]" in names
                    if expected == WHOLE:
                        self.assertEqual(len(old) == EACH * ROUNDS, not lost)
                    if repaired is not None:
                        plan = server.cli("doctor", "--repair", check=False)
                        self.assertEqual(plan.returncode, 1, plan.stderr)
                        self.assertIn("would ", plan.stdout)
                        self.assertEqual(server.total(""), expected + 5, "saying it does nothing")
                        server.cli("doctor", "--repair", "--yes")
                        self.assertEqual(server.total(""), repaired + 5)
                        self.assertEqual(self.problems(server), [])
                        self.assertIn("nothing to repair", server.cli("doctor", "--repair").stdout)
                print(f"{name:28} ready {ready:.1f} s, total {expected}/{WHOLE}, {'said: ' + said if said else 'nothing missing':28}"
                      f"{' names lost' if lost else ''}{f', after repair {repaired}' if repaired is not None else ''}")
                # Over a restart it is still said, or still well.
                if repaired is None:
                    with Server(data) as server:
                        self.assertEqual(any(said in p for p in self.problems(server)) if said else bool(self.problems(server)), bool(said))

    # Between them they read every table.
    QUESTIONS = {
        "services": {}, "labels": {}, "overview": {}, "heatmap": dict(query="", type="samples"),
        "series": dict(query="", type="samples"), "top": dict(query="", type="samples", limit="1000"),
        "profiles": dict(query="", type="samples", limit="1000"), "export": dict(query="pay", type="alloc", format="otlp"),
        f"profiles/{PROFILE.hex()}": dict(format="otlp"), "traces": dict(service="shop"), "span-names": dict(service="shop"),
        f"traces/{TRACE.hex()}": {}, "traces/" + f"{ROUNDS:02x}" * 16: {}, f"traces/{TRACE.hex()}/flame": dict(type="alloc"),
        "function-traces": dict(query="pay", type="alloc", function="charge"),
    }

    def answers(self, server):
        """For every query: the answer without what differs between runs, and its mark."""
        said = {}
        for path, parameters in self.QUESTIONS.items():
            answer = server.get("/api/v1/" + path, **({} if "/" in path else DAY), **parameters)
            self.assertIn(answer.status, (200, 404), (path, answer.body[:300]))
            said[path] = (answer.body, answer.headers["wherefore-incomplete"])
        return said

    # What may happen to a part. The first list costs rows whatever the table; the second may.
    COSTLY = {
        "data.bin": lambda table: in_part(table, "data.bin"),
        "data.bin cut": lambda table: in_part(table, "data.bin", to=halve),
        "data.bin gone": lambda table: in_part(table, "data.bin", to=pathlib.Path.unlink),
        "count.txt": lambda table: in_part(table, "count.txt"),
        "columns.txt": lambda table: in_part(table, "columns.txt"),
        "checksums.txt": lambda table: in_part(table, "checksums.txt"),
        "marks": lambda table: in_part(table, "data.cmrk"),
        "deleted": remove_part,
    }
    CHEAP = {
        "primary index": lambda table: in_part(table, "primary."),
        "range of buckets": lambda table: in_part(table, "minmax_bucket.idx"),
        "bucket": lambda table: in_part(table, "partition.dat"),
        "form of columns": lambda table: in_part(table, "serialization.json"),
        "checksums.txt gone": lambda table: in_part(table, "checksums.txt", to=pathlib.Path.unlink),
        "definition deleted": remove_definition,
        "definition": lambda table: lambda data: flip(definition(data, table)),
        "definition empty": lambda table: lambda data: definition(data, table).write_bytes(b""),
        "version empty": lambda table: lambda data: (last_part(data, table).parent / "format_version.txt").write_bytes(b""),
    }

    def test_no_table_is_damaged_in_silence(self):
        """Every table, every file of a part: the very first answer is unchanged or marked. With DAMAGE_CASES=all each file of
        each table, some minutes; otherwise each file of two tables, and four kinds of damage of the others."""
        parts = (self.original / "data/engine/data/default").resolve()
        tables = sorted(t.name.removesuffix("_v1") for t in parts.iterdir() if t.name.endswith("_v1") and any(t.resolve().glob("[0-9]*")))
        with Server(self.copy(self.folder / "whole")) as server:
            before = self.answers(server)
            self.assertEqual(before, self.answers(server), "without damage nothing differs")
        self.assertEqual(len(tables), 14)

        def first_answers(table, name):
            """Which queries are answered otherwise, and whether the damage is counted afterwards."""
            data = self.copy(self.folder / f"{table}-{name}".replace(" ", "-"))
            (self.COSTLY | self.CHEAP)[name](table)(data)
            with Server(data) as server:
                changed = {path: mark for path, (body, mark) in self.answers(server).items() if body != before[path][0]}
                if changed:
                    wait_until(lambda: any(f" rows of {table}" in p for p in self.problems(server)), what=f"{table} is counted")
            shutil.rmtree(data)
            return changed

        everything = "DAMAGE_CASES" in os.environ
        of_all_tables = ("data.bin", "count.txt", "range of buckets", "deleted")
        cases = [(table, name) for table in tables for name in self.COSTLY | self.CHEAP
                 if everything or table in ("samples", "series") or name in of_all_tables]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            matrix = {case: pool.submit(first_answers, *case) for case in cases}
        for (table, name), answered in matrix.items():
            with self.subTest(f"{table} {name}"):
                changed = answered.result()
                for path, mark in changed.items():
                    self.assertIn(f"rows of {table}", mark or f"no mark on {path}")
                if name in self.COSTLY:
                    self.assertTrue(changed, "nothing reads this table")
                print(f"{table + ': ' + name:32} {'said; changes ' + ', '.join(changed) if changed else 'costs nothing'}")

    def test_several_that_meet_a_broken_part_at_once_are_all_answered(self):
        data = self.copy(self.folder / "data")
        in_part("samples", "data.bin", at=40)(data)
        with Server(data) as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
            ask = lambda i: server.get("/api/v1/top", query="", type="samples", limit=str(i + 1), **DAY)
            for answer in pool.map(ask, range(8)):
                self.assertEqual((answer.status, int(answer.json.get("total", -1))), (200, self.THIRD), answer.body)
                self.assertIn("rows of samples", answer.headers["wherefore-incomplete"] or "no mark")

    def test_a_small_file_that_is_damaged_is_made_again_or_named(self):
        """Files of the data directory beside the tables, each damaged in several ways: everything is still answered."""
        views = [p.name for p in (self.original / "data/engine/metadata/default").resolve().glob("*.sql") if "_v1" not in p.name]
        self.assertGreater(len(views), 10)
        files = ["writer", "ledger", "identities.log", "lock", *(f"engine/metadata/default/{view}" for view in views)]
        ways = {"flipped": lambda p: flip(p, 0, 16), "empty": lambda p: p.write_bytes(b""), "gone": pathlib.Path.unlink}

        def total_with(file, way):
            data = self.copy(self.folder / f"{file.replace('/', '-')}-{way}")
            ways[way](data / file)
            with Server(data) as server:
                self.assertEqual(server.send(one_profile("cart", 1, names=("main", "new"))).status, 200)
                server.flush()
                names = self.names(server)
                total, problems = server.total(""), self.problems(server)
            shutil.rmtree(data)
            return total, problems, "new" in names and "[name lost]" not in names

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            done = {(file, way): pool.submit(total_with, file, way) for file in files for way in ways}
        for (file, way), result in done.items():
            with self.subTest(f"{file} {way}"):
                self.assertEqual(result.result(), (WHOLE + 1, [], True))

    def test_a_lost_writer_number_is_not_used_again(self):
        data = self.copy(self.folder / "data")
        number = int((data / "writer").read_text())
        (data / "writer").write_bytes(b"")
        with Server(data):
            self.assertEqual((data / "writer").read_text(), f"{number + 1}\n")

    def test_a_directory_of_an_unknown_version_says_what_to_do(self):
        (self.folder / "data").mkdir()
        (self.folder / "data/schema").write_bytes(b"")
        with self.assertRaises(AssertionError) as raised:
            self.server()
        self.assertIn("schema does not begin with a number; if no later version of this program has used the directory, write 4 into it",
                      str(raised.exception))

    LOG = {"nonce": in_log(24), "segment number": in_log(16), "version": in_log(8), "magic": in_log(0), "first frame's length": in_log(40),
           "first frame's checksum": in_log(48), "in the middle": in_log(0.5), "last byte": in_log(-1)}

    def one_segment(self, name):
        """A killed server that logged 20 requests and inserted none of them: what asks for data may end a segment."""
        for attempt in range(10):
            server = self.server(name=f"{name}-{attempt}")
            for i in range(20):
                self.assertEqual(server.send(one_profile("shop", 10, names=("main", f"f{i}"))).status, 200)
            server.kill()
            if len(list((server.data / "wal").glob("*.log"))) == 1:
                return server
        self.fail("the log was never in one segment")

    def test_matrix_of_the_log(self):
        for name, damage in self.LOG.items():
            with self.subTest(name):
                server = self.one_segment(name.replace(" ", "-").replace("'", ""))
                damage(server.data)
                server.start()
                server.flush()
                self.assertTrue(any("damaged" in p for p in self.problems(server)), self.problems(server))
                self.assertEqual(len(list((server.data / "wal").glob("*.bad"))), 1, "the file is kept")
                self.assertEqual(server.get("/api/v1/services", since="1d").status, 200)
                # What the sender sends next brings back names of services and types that were lost.
                self.assertEqual(server.send(one_profile("shop", 1, names=("main", "new"))).status, 200)
                # Of the header only the nonce matters; anywhere else one frame is gone, and no other.
                expected = 0 if name == "nonce" else 200 if name in ("segment number", "version", "magic") else 190
                total = lambda: (server.flush(), server.total("shop"))[1]
                wait_until(lambda: total() == expected + 1, what=f"{total()} instead of {expected + 1}", seconds=30)
                names = {row["name"] for row in server.ask("top", query="shop", type="samples", since="1d", limit="100")["rows"]}
                self.assertIn("new", names)
                server.stop()
                print(f"log, {name:24} {expected} of 200, said and set aside")

    def test_what_is_no_segment_in_the_log_is_named(self):
        for make in (lambda p: p.mkdir(), lambda p: p.symlink_to("/nowhere")):
            data = self.folder / f"no-segment-{make.__code__.co_firstlineno}-{id(make)}"
            (data / "wal").mkdir(parents=True)
            make(data / "wal/000007.log")
            server = Server(data)
            with self.assertRaises(AssertionError) as raised:
                server.start(timeout=10)
            self.assertIn("000007.log is not a file", str(raised.exception))
            self.assertNotIn("terminate called", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
