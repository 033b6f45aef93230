#!/usr/bin/env python3
"""SQL for people: the questions of docs/sql.md over known data, and hundreds of attempts at what must not be possible."""
import csv
import io
import json
import re
import socket
import time
import unittest

from damage_test import halve, in_part, remove_part
from harness import ROOT, Case, Profiles, field, http, spans_request, wait_until
from regression_data import one_regression

SECOND, MS = 10**9, 10**6
CLIENT_KIND = field(6, 3)
DOCS = (ROOT / "docs/sql.md").read_text()
VIEWS = ("samples", "stacks", "functions", "spans", "links", "profiles", "function_hours", "alert_events", "regression_events")


def trace(i):
    return bytes([7, i]) + bytes(13) + b"\x01"


def span(i, n=0):
    return bytes([8, i, n]) + bytes(4) + b"\x02"


class Asking(Case):
    def ask(self, server, statement, **parameters):
        query = "&".join(f"{k}={v}" for k, v in parameters.items())
        return http("POST", f"{server.http}/api/v1/sql?{query}", statement.encode(), {"content-type": "text/plain"}, timeout=90)

    def rows(self, server, statement, **parameters):
        answer = self.ask(server, statement, **parameters)
        self.assertEqual(answer.status, 200, (statement, answer.body))
        return answer.json["rows"]

    def send_checkout(self, server, start):
        """Two versions on a host each: v2 parses twice as much. Ten requests, each with 20 ms of CPU time linked."""
        for version, host, parse in (("v1", "a", 30), ("v2", "b", 60)):
            labels = {"service.version": version, "host.name": host}
            p = Profiles("checkout", **labels)
            p.file("parse", "/src/json.cc", 110)
            stacks = [p.stack("main", "handle", "parse"), p.stack("main", "handle", "render"), p.stack("main", "idle")]
            samples = [(stacks[0], parse), (stacks[1], 10), (stacks[2], 10)]
            spans = []
            for i in range(5):
                number = i + (5 if version == "v2" else 0)
                at = start + i * SECOND
                took = (400 if number == 9 else 40) * MS
                samples.append((stacks[0], 2, p.link(trace(number), span(number))))
                spans.append(dict(trace=trace(number), span=span(number), name="POST /pay", start=at, end=at + took, status=2 if number == 9 else 0,
                                  attributes={"customer": "big" if number % 2 else "small"}))
                spans.append(dict(trace=trace(number), span=span(number, 1), parent=span(number), name="SELECT", start=at, end=at + MS, extra=CLIENT_KIND))
            p.profile(samples, start, id=bytes([len(version), int(version[1:])]) + bytes(14))
            self.assertEqual(server.send(p.encode()).status, 200)
            self.assertEqual(server.send(spans_request("checkout", spans, **labels), "/v1/traces").status, 200)
        p = Profiles("idle")
        p.profile([(p.stack("main"), 1)], start)
        self.assertEqual(server.send(p.encode()).status, 200)


class Questions(Asking):
    def test_the_ten_questions(self):
        questions = re.findall(r"\*\*(\d+)\. .*?```sql\n(.*?)```", DOCS, re.S)
        self.assertEqual([int(number) for number, _ in questions], list(range(1, 11)))
        start = (time.time_ns() - 1800 * SECOND) // (60 * SECOND) * 60 * SECOND
        with self.server() as server:
            self.send_checkout(server, start)
            got = {int(number): self.rows(server, statement, since="1h") for number, statement in questions}
            # 10 ms a sample: v1 30 + 10 + 10 + 5 x 2, v2 60 + 10 + 10 + 5 x 2.
            self.assertEqual(got[1], [["checkout", 0], ["idle", 0]])
            self.assertEqual([row[:2] for row in got[2]], [["parse", "/src/json.cc"], ["render", ""], ["idle", ""]])
            self.assertEqual([round(row[2], 6) for row in got[2]], [1.1, 0.2, 0.2])
            self.assertAlmostEqual(got[3][0][0], 130 / 150)
            self.assertEqual([row[0] for row in got[4]], ["parse", "idle", "render"] if got[4][1][0] == "idle" else ["parse", "render", "idle"])
            self.assertAlmostEqual(got[4][0][1], 70 / 90 - 40 / 60)
            self.assertEqual([round(row[1], 6) for row in got[5]], [1.5])
            self.assertEqual(got[5][0][0], time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(start // SECOND)))
            self.assertEqual([(row[0], round(row[1], 6), row[2]) for row in got[6]], [("b", 0.9, 1.2), ("a", 0.6, 0.8)])
            self.assertEqual(got[7], [["checkout", "POST /pay", 10, 1, 40, 400]])
            self.assertEqual(got[8], [["parse", 20, 1]])
            self.assertEqual(got[9], [["big", 100, 5], ["small", 100, 5]] if got[9][0][0] == "big" else [["small", 100, 5], ["big", 100, 5]])
            # `rows` as they are stored: linked ones are told apart.
            self.assertEqual([row[:3] for row in got[10]], [["checkout", "cpu", 2], ["idle", "cpu", 1]])
            # The command line says the same.
            self.assertEqual(server.total("checkout", type="cpu"), self.rows(server, "SELECT sum(value) FROM samples WHERE service = 'checkout'")[0][0])

    def test_every_column_is_documented(self):
        with self.server("--hours-wait", "1s") as server:
            self.send_checkout(server, time.time_ns() - 60 * SECOND)
            self.send_checkout(server, time.time_ns() - 7200 * SECOND)
            wait_until(lambda: self.rows(server, "SELECT count() FROM function_hours") != [[0]])
            row, = self.rows(server, "SELECT total, total_n, instances, total_xx, ee FROM function_hours WHERE function = 'handle' AND version = 'v2' AND type = 'cpu'")
            self.assertEqual([float(value) for value in row], [800 * MS, 80, 1, (800 * MS) ** 2, (900 * MS) ** 2])
            silence = server.cli("alerts", "silence", "Hot", "--for", "1h", "--comment", "known").stdout.strip()
            self.assertEqual(self.rows(server, "SELECT kind, state, id, dateDiff('minute', starts, ends) FROM alert_events"), [["silence", "active", silence, 60]])
            id = one_regression(server)
            self.assertEqual(self.rows(server, f"SELECT event, state, service, function, version FROM regression_events WHERE id = '{id}' ORDER BY time, event LIMIT 1"), [["opened", "open", "dearer", "parse", "v2"]])
            for view in VIEWS:
                answer = self.ask(server, f"SELECT * FROM {view} LIMIT 1").json
                section = DOCS.split(f"### {view}\n")[1].split("\n### ")[0].split("\n## ")[0]
                documented = re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.M)
                self.assertEqual([(c["name"], c["type"]) for c in answer["columns"]], documented, view)
                self.assertEqual(len(answer["rows"]), 1, view)

    def test_names_times_and_ids(self):
        start = time.time_ns() - 60 * SECOND
        with self.server() as server:
            self.send_checkout(server, start)
            row = self.rows(server, "SELECT time, service, type, unit, value, n, function, file, labels, stack FROM samples WHERE labels['host.name'] = 'b' ORDER BY value DESC LIMIT 1")[0]
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(start // SECOND)) + f".{start % SECOND:09}"
            self.assertEqual(row[:8], [at, "checkout", "cpu", "nanoseconds", 600 * MS, 60, "parse", "/src/json.cc"])
            self.assertEqual(row[8], {"host.name": "b", "service.name": "checkout", "service.version": "v2"} if "service.name" in row[8] else {"host.name": "b", "service.version": "v2"})
            self.assertEqual(self.rows(server, f"SELECT functions FROM stacks WHERE stack = '{row[9]}'"), [[["parse", "handle", "main"]]])
            link = self.rows(server, f"SELECT time, span, value, function FROM links WHERE trace = '{trace(3).hex()}'")
            self.assertEqual(link, [[at, span(3).hex(), 20 * MS, "parse"]])
            child = self.rows(server, f"SELECT kind, status, parent, duration_ns, resource['host.name'] FROM spans WHERE span = '{span(9, 1).hex()}'")
            self.assertEqual(child[0][2:], [span(9).hex(), MS, "b"])
            self.assertEqual(self.rows(server, f"SELECT parent, status, attributes FROM spans WHERE span = '{span(9).hex()}'"), [["", "error", {"customer": "big"}]])
            self.assertEqual(self.rows(server, "SELECT id, value, n FROM profiles WHERE labels['service.version'] = 'v2'"), [["0202" + "0" * 28, 900 * MS, 90]])
            self.assertEqual(self.rows(server, "SELECT function, file FROM functions WHERE service = 'checkout' ORDER BY function"),
                             [["handle", ""], ["idle", ""], ["main", ""], ["parse", "/src/json.cc"], ["render", ""]])

    def test_frames_without_functions_and_hostile_names(self):
        hostile = ["it's \"quoted\" \\ and `more`", "'); DROP TABLE samples_v1; --", "a\nb\tc", "\u202eевро €", "$name $mine {x}", "_ZN4shop5parseEv"]
        service = "o'brien $type\\"
        with self.server() as server:
            p = Profiles(service, **{"it's": "a 'label' \\ $t"})
            p.profile([(p.stack("main", name), 1) for name in hostile] + [(0, 1)], time.time_ns() - SECOND)
            self.assertEqual(server.send(p.encode()).status, 200)
            names = {row[0] for row in self.rows(server, "SELECT function FROM samples")}
            self.assertEqual(names, {*hostile[:-1], "shop::parse()", "[no stack]"})
            self.assertEqual(self.rows(server, "SELECT DISTINCT service FROM samples"), [[service]])
            self.assertEqual(self.rows(server, "SELECT DISTINCT labels['it''s'] FROM samples"), [["a 'label' \\ $t"]])

    def test_answers_have_what_was_acknowledged(self):
        with self.server() as server:
            for i in range(1, 15):
                p = Profiles("s")
                p.profile([(p.stack("main"), 1)])
                self.assertEqual(server.send(p.encode()).status, 200)
                self.assertEqual(self.rows(server, "SELECT count(*), sum(n) FROM samples"), [[i, i]])

    def test_time_ranges(self):
        now = time.time_ns()
        with self.server() as server:
            for days in (0, 3, 90):
                p = Profiles("s", day=str(days))
                p.profile([(p.stack("main", f"f{days}"), 1, p.link(trace(days), span(days)))], now - days * 86400 * SECOND - SECOND)
                self.assertEqual(server.send(p.encode()).status, 200)
            for view, column in (("samples", "labels['day']"), ("links", "labels['day']"), ("profiles", "labels['day']"), ("stacks", "substring(functions[1], 2)"), ("functions", "substring(function, 2)")):
                def days(**parameters):
                    return {row[0] for row in self.rows(server, f"SELECT {column} FROM {view} WHERE {column} IN ('0', '3', '90')", **parameters)}
                self.assertEqual(days(), {"0", "3", "90"}, view)
                self.assertEqual(days(since="2h"), {"0"}, view)
                self.assertEqual(days(since="4d"), {"0", "3"}, view)
                self.assertIn("90", days(to="-80d"), view)
            self.assertEqual(self.ask(server, "SELECT 1", since="nonsense").status, 400)
            self.assertEqual(self.ask(server, "SELECT 1", when="now").status, 400)

    def test_exact_numbers_formats_and_cutting(self):
        with self.server() as server:
            self.send_checkout(server, time.time_ns() - 60 * SECOND)
            answer = self.ask(server, "SELECT 9007199254740992 AS a, 9007199254740993 AS b, -9007199254740993 AS c, toUInt64(-1) AS d, 'x,\"y\"\n' AS e, [1, 18446744073709551615] AS f, "
                                      "NULL AS g, 0.1 AS h, nan AS i, map('k', 1) AS j").json
            self.assertEqual(answer["rows"], [[2**53, str(2**53 + 1), str(-2**53 - 1), str(2**64 - 1), 'x,"y"\n', [1, str(2**64 - 1)], None, 0.1, None, {"k": 1}]])
            self.assertEqual([c["type"] for c in answer["columns"]][:5], ["UInt64", "UInt64", "Int64", "UInt64", "String"])
            self.assertFalse(answer["cut"])
            many = self.ask(server, "SELECT arrayJoin(range(1000)) AS n ORDER BY n DESC", limit=10).json
            self.assertEqual((many["rows"], many["cut"]), ([[n] for n in range(999, 989, -1)], True))
            self.assertFalse(self.ask(server, "SELECT arrayJoin(range(10)) AS n", limit=10).json["cut"])
            table = self.ask(server, "SELECT name, duration_ns FROM spans ORDER BY duration_ns DESC LIMIT 3", format="csv")
            self.assertEqual(table.headers["content-type"], "text/csv; charset=utf-8")
            self.assertEqual(list(csv.reader(io.StringIO(table.body.decode())))[:2], [["name", "duration_ns"], ["POST /pay", str(400 * MS)]])
            file = self.ask(server, "SELECT * FROM samples", format="parquet")
            self.assertEqual((file.body[:4], file.body[-4:]), (b"PAR1", b"PAR1"))
            for format in ("csv", "parquet"):
                refused = self.ask(server, "SELECT arrayJoin(range(100000))", format=format, limit=100)
                self.assertEqual(refused.status, 429)
                self.assertIn("more than 100 rows", refused.json["error"]["message"])
            self.assertIn("expected json, csv or parquet", self.ask(server, "SELECT 1", format="xml").json["error"]["message"])
            # In the terminal.
            said = server.cli("sql", "SELECT name, count() AS spans FROM spans GROUP BY name ORDER BY name")
            self.assertEqual(said.stdout, "name       spans\nPOST /pay     10\nSELECT        10\n")
            said = server.cli("sql", "SELECT arrayJoin([1, 2]) AS n", "--limit", "1")
            self.assertEqual((said.stdout, said.stderr), ("n\n1\n", "there are more rows: --limit 1 cut them off\n"))
            self.assertEqual(server.cli("sql", "SELECT 1 AS n", "--format", "csv").stdout, '"n"\n1\n')
            self.assertEqual(json.loads(server.cli("sql", "SELECT 1 AS n", "--json").stdout)["rows"], [[1]])
            wrong = server.cli("sql", "SELECT nothing FROM samples", check=False)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
            self.assertIn("Unknown expression identifier", wrong.stderr)
            self.assertNotIn("_v1", wrong.stderr)

    def test_mistakes_are_sentences(self):
        with self.server() as server:
            self.send_checkout(server, time.time_ns() - 60 * SECOND)
            for statement, said in (("SELECT servise FROM samples", "did you mean service?"), ("SELECT 1\nFRM samples x", "line 2, column "), ("SELECT (1", "Unmatched parentheses"),
                                    ("SELECT sun(value) FROM samples", "the function 'sun' is not allowed"), ("SELECT * FROM sample", "sample"), ("", "the statement is empty"),
                                    ("SELECT 'a", "this ' is not closed"), ("SELECT 1; SELECT 2", "one statement at a time"), ("SELECT value + service FROM samples", "Illegal types"),
                                    ("SELECT toUInt8('abc')", "Cannot parse")):
                answer = self.ask(server, statement)
                self.assertEqual(answer.status, 400, (statement, answer.body))
                message = answer.json["error"]["message"]
                self.assertIn(said, message)
                for inside in ("DB::Exception", "_v1", "WITH samples", "Code:", "transform("):
                    self.assertNotIn(inside, message)

    def test_damage_is_said(self):
        for name, damage in (("removed", remove_part("samples")), ("unreadable", in_part("samples", "data.bin", halve))):
            with self.subTest(name), self.server(name=name) as server:
                for i in range(2):
                    p = Profiles("s")
                    p.profile([(p.stack("main"), 1)], time.time_ns() - 60 * SECOND)
                    self.assertEqual(server.send(p.encode()).status, 200)
                    server.flush()
                self.assertEqual(self.rows(server, "SELECT sum(n) FROM samples"), [[2]])
                server.stop()
                damage(server.data)
                server.start()
                for parameters in ({}, {"since": "1h"}):
                    answer = self.ask(server, "SELECT sum(n) FROM samples", **parameters)
                    self.assertEqual(answer.status, 200, answer.body)
                    self.assertLess(answer.json["rows"][0][0], 2)
                    self.assertIn("rows", answer.headers["Wherefore-Incomplete"])
                # What a statement does by itself is not taken for damage.
                self.assertEqual(self.ask(server, "SELECT arrayWithConstant(10000000000, 1)").status, 400)
                said = server.cli("sql", "SELECT sum(n) AS n FROM samples")
                self.assertIn("warning: ", said.stderr)
                self.assertIsNone(self.ask(server, "SELECT 1", to="-2d").headers["Wherefore-Incomplete"])

    def test_switched_off(self):
        for option, said in (("--no-sql", "switched off"), ("--tenants", "keeps tenants apart")):
            with self.server(option, name=option.strip("-")) as server:
                answer = self.ask(server, "SELECT 1")
                self.assertEqual(answer.status, 501)
                self.assertIn(said, answer.json["error"]["message"])
                self.assertEqual(server.cli("sql", "SELECT 1", check=False).returncode, 3)

    def test_a_token_is_needed(self):
        file = self.folder / "token"
        file.write_text("a-secret-token-of-sixteen\n")
        with self.server("--token-file", str(file)) as server:
            self.assertEqual(self.ask(server, "SELECT 1").status, 401)
            self.assertEqual(http("POST", server.http + "/api/v1/sql", b"SELECT 1", {"authorization": "Bearer a-secret-token-of-sixteen"}).json["rows"], [[1]])


TABLES = [f"{name}_v1" for name in ("services", "types", "series", "mappings", "functions", "frames", "stacks", "profiles", "payloads", "samples", "links", "details", "spans", "trace_index")]
OTHERS = ["services", "types", "series", "mappings", "frames", "details", "system.tables", "system.one", "system.functions", "system.settings", "system.processes", "system.users", "system.parts",
          "system.query_log", "information_schema.tables", "INFORMATION_SCHEMA.COLUMNS", "default.samples_v1", "default.samples", "`system`.`one`", '"system"."one"', "`samples_v1`"]
SECRET = "/etc/passwd"


def writes(folder):
    for table in ("samples", "samples_v1"):
        yield from (f"INSERT INTO {table} VALUES (1)", f"INSERT INTO {table} SELECT * FROM samples", f"DELETE FROM {table} WHERE 1", f"ALTER TABLE {table} DELETE WHERE 1",
                    f"UPDATE {table} SET value = 0 WHERE 1", f"ALTER TABLE {table} DROP COLUMN value", f"DROP TABLE {table}", f"TRUNCATE TABLE {table}", f"RENAME TABLE {table} TO x", f"DETACH TABLE {table}",
                    f"OPTIMIZE TABLE {table} FINAL", f"CREATE TABLE x AS {table}", f"CREATE VIEW x AS SELECT * FROM {table}", f"CHECK TABLE {table}", f"EXCHANGE TABLES {table} AND spans_v1",
                    f"ALTER TABLE {table} MODIFY SETTING index_granularity = 1", f"ALTER TABLE {table} FREEZE", f"UNDROP TABLE {table}")
    yield from ("CREATE DATABASE x", "DROP DATABASE default", "CREATE TEMPORARY TABLE x (a Int8)", "CREATE FUNCTION f AS x -> x", "CREATE USER u", "GRANT ALL ON *.* TO default", "SET max_threads = 1",
                "SET readonly = 0", "USE system", "SYSTEM SHUTDOWN", "SYSTEM KILL", "SYSTEM FLUSH LOGS", "KILL QUERY WHERE 1 SYNC", f"BACKUP TABLE samples_v1 TO Disk('x', '{folder}')", "RESTORE TABLE x FROM Disk('x', 'y')",
                "ATTACH TABLE x", "EXPLAIN SELECT 1", "EXPLAIN AST SELECT 1", "DESCRIBE samples", "SHOW TABLES", "SHOW CREATE samples_v1", "EXISTS samples", "BEGIN TRANSACTION", "COMMIT", "optimize = 1 SELECT 1", "graph = 1 SELECT 1",
                "SELECT 1; DROP TABLE samples_v1", "SELECT 1;;DROP TABLE samples_v1", "SELECT 1 /* */; DROP TABLE samples_v1 --", "SELECT 1) ; DROP TABLE samples_v1; SELECT (1", "SELECT 1) UNION ALL (SELECT count() FROM samples_v1",
                "(SELECT 1) PARALLEL WITH DROP TABLE samples_v1", "SELECT 1 PARALLEL WITH SELECT 2", "WITH x AS (INSERT INTO samples_v1 VALUES (1)) SELECT 1",
                f"SELECT 1 INTO OUTFILE '{folder}/out'", f"SELECT 1 INTO OUTFILE '{folder}/out' FORMAT CSV", "SELECT 1 FORMAT Null", "SELECT 1 FORMAT CSV SETTINGS max_threads = 1", f"(SELECT 1) INTO OUTFILE '{folder}/out'")


def settings():
    yield from ("SELECT 1 SETTINGS readonly = 0", "SELECT 1 SETTINGS max_memory_usage = 0", "SELECT 1 SETTINGS max_execution_time = 0, readonly = 0", "SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)",
                "SELECT 1 UNION ALL SELECT 2 SETTINGS readonly = 0", "(SELECT 1 SETTINGS readonly = 0) UNION ALL (SELECT 2)", "SELECT 1 INTERSECT SELECT 1 SETTINGS readonly = 0", "WITH x AS (SELECT 1 SETTINGS readonly = 0) SELECT * FROM x",
                "SELECT 1 IN (SELECT 1 SETTINGS readonly = 0)", "SELECT (SELECT 1 SETTINGS max_threads = 9)", "SELECT getSetting('readonly')", "SELECT {x:UInt8}", "SELECT $$a$$", "SELECT * FROM samples SAMPLE 0.1 SETTINGS max_threads = 1")


def leaving():
    for table in TABLES + OTHERS:
        yield f"SELECT * FROM {table}"
        yield f"SELECT 1 IN {table}"
    for table in ("samples_v1", "system.one", "services", "default.spans_v1"):
        yield from (f"SELECT * FROM samples JOIN {table} AS t ON 1 = 1", f"SELECT (SELECT count() FROM {table})", f"SELECT * FROM (SELECT * FROM {table})", f"WITH x AS (SELECT * FROM {table}) SELECT * FROM x",
                    f"SELECT 1 UNION ALL SELECT count() FROM {table}", f"SELECT 1 INTERSECT SELECT count() FROM {table}", f"SELECT 1 FROM samples WHERE value IN (SELECT 1 FROM {table})", f"FROM {table} SELECT 1",
                    f"SELECT count() FROM samples WHERE EXISTS (SELECT 1 FROM {table})", f"SELECT * FROM samples, {table}", f"SELECT 1 AS a ORDER BY (SELECT count() FROM {table})", f"SELECT 1 HAVING (SELECT count() FROM {table}) > 0",
                    f"SELECT sum(value) OVER (ORDER BY (SELECT count() FROM {table})) FROM samples", f"SELECT 1 LIMIT (SELECT count() FROM {table})", f"SELECT arrayMap(x -> (SELECT count() FROM {table}), [1])")


def files_and_addresses(port):
    address = f"127.0.0.1:{port}"
    for call in (f"file('{SECRET}', 'LineAsString')", f"file('{SECRET}')", f"url('http://{address}/', 'CSV', 'a String')", f"s3('http://{address}/b/k', 'CSV')", f"remote('{address}', system.one)", f"remoteSecure('{address}', system.one)",
                 f"mysql('{address}', 'd', 't', 'u', 'p')", f"postgresql('{address}', 'd', 't', 'u', 'p')", f"mongodb('{address}', 'd', 'c', 'u', 'p', 'a Int8')", f"redis('{address}', 'k', 'k String')", f"sqlite('{SECRET}', 't')",
                 f"hdfs('hdfs://{address}/f', 'CSV', 'a String')", f"jdbc('{address}', 't')", f"odbc('DSN=x', 't')", f"executable('id', 'CSV', 'a String')", f"fileCluster('default', '{SECRET}', 'LineAsString')",
                 f"urlCluster('default', 'http://{address}/', 'CSV')", f"cluster('default', system.one)", f"clusterAllReplicas('default', system.one)", f"azureBlobStorage('http://{address}', 'c', 'b')", f"gcs('http://{address}/b/k')",
                 f"deltaLake('http://{address}/b')", f"iceberg('http://{address}/b')", f"hudi('http://{address}/b')", f"icebergLocal('/etc')", "merge('.*')", "merge('default', '.*')", "dictionary('x')", "numbers(10)", "numbers_mt(10)", "zeros(10)",
                 "generateRandom('a Int8')", "generate_series(1, 5)", "values('a Int8', 1)", "view(SELECT * FROM system.one)", "viewIfPermitted(SELECT 1 ELSE null('a Int8'))", "loop(samples_v1)", "input('a Int8')", "null('a Int8')",
                 "format(CSV, '1')", "mergeTreeIndex(default, samples_v1)", "python('x')", "arrowFlight('x', 'y')", "fuzzJSON('x')", "timeSeriesData(samples)", "ytsaurus('x')", "prometheusQuery('x', 'y', 1)"):
        yield f"SELECT * FROM {call}"
    # What is no statement was once taken for the list of a SELECT, and run while it was read.
    for inside in (f"file('{SECRET}')", "(SELECT groupArray(name) FROM system.tables)", f"(SELECT * FROM url('http://{address}/', 'LineAsString', 'a String'))", "hostName()"):
        trick = f"(SELECT arrayJoin(['SelectWithUnionQuery (children 1)', concat(' Function ', toString({inside}))]) AS EXPLAIN)"
        yield f"FROM {trick}"
        yield f"WITH TOTALS HAVING {trick} = ''"
        yield f"({trick})"
        yield f"FROM {trick} WHERE 1"
    yield "FROM samples"
    yield f"SELECT 1 IN file('{SECRET}', 'LineAsString')"
    yield f"SELECT * FROM samples JOIN url('http://{address}/', 'CSV', 'a String') AS u ON 1 = 1"
    for call in (f"file('{SECRET}')", f"FILE('{SECRET}')", f"`file`('{SECRET}')", f'"file"(\'{SECRET}\')', f"arrayMap(x -> file(x), ['{SECRET}'])", f"if(1, file('{SECRET}'), '')", f"toUInt8(file('{SECRET}'))", f"(SELECT file('{SECRET}'))",
                 "dictGet('x', 'y', 1)", "dictHas('x', 1)", "joinGet('samples_v1', 'value', 1)", "joinGetOrNull('x', 'y', 1)", "getSetting('max_threads')", "getServerSetting('path')", "getMergeTreeSetting('x')", "getServerPort('tcp_port')",
                 "getMacro('x')", "hostName()", "hostname()", "FQDN()", "fullHostName()", "currentUser()", "user()", "currentDatabase()", "database()", "currentProfiles()", "currentRoles()", "queryID()", "query_id()", "connectionId()",
                 "serverUUID()", "uptime()", "version()", "buildId()", "tcpPort()", "filesystemAvailable()", "filesystemCapacity()", "showCertificate()", "getOSKernelVersion()", "addressToLine(1)", "addressToSymbol(1)", "demangle('x')", "logTrace('x')",
                 "tid()", "hasColumnInTable('default', 'samples_v1', 'value')", "getSubcolumn(tuple(1), '1')", "catboostEvaluate('x', 1)", "evalMLMethod(1, 2)", "naiveBayesClassifier('x', 'y')", "regionToName(1)", "encrypt('aes-128-ecb', 'a', 'b')",
                 "formatRow('CSV', 1)", "aiGenerate('x', 'y')", "structureToProtobufSchema('a Int8')", "initializeAggregation('sum', 1)", "arrayReduce('sum', [1])", "finalizeAggregation(sumState(1))", "getClientHTTPHeader('x')", "transactionID()",
                 "globalVariable('x')", "errorCodeToName(1)", "zookeeperSessionUptime()", "throwIf(1)", "sleep(3)", "sleepEachRow(3)", "chdb()", "nosuchfunction(1)", "generateSerialID('x')", "fuzzQuery('SELECT 1')", "reinterpret(1, 'String')",
                 "CAST(unhex('00'), 'AggregateFunction(sum, UInt64)')", "unhex('00')::AggregateFunction(sum, UInt64)", "CAST(1, concat('Int', '8'))", "JSONExtract('[1]', 'Array(Int8)')", "sumState(1)", "sumMerge(1)", "flameGraph([1])", "aggThrow(1)"):
        yield f"SELECT {call}"
    yield f"SELECT * REPLACE (file('{SECRET}') AS value) FROM samples"
    yield f"SELECT * APPLY (x -> file('{SECRET}')) FROM samples"
    yield "SELECT COLUMNS('.*') APPLY (file) FROM samples"
    yield f"SELECT 1 AS a ORDER BY a WITH FILL FROM 1 TO toUInt8(length(file('{SECRET}')))"
    yield f"SELECT sum(1) OVER (ROWS BETWEEN toUInt8(length(file('{SECRET}'))) PRECEDING AND CURRENT ROW)"
    yield f"SELECT quantile(length(file('{SECRET}')))(value) FROM samples"
    yield f"SELECT 1 AS a FROM samples WINDOW w AS (ORDER BY file('{SECRET}'))"
    yield f"SELECT value FROM samples PREWHERE file('{SECRET}') != ''"
    yield f"SELECT value FROM samples ARRAY JOIN [file('{SECRET}')] AS x"
    yield f"SELECT value FROM samples QUALIFY file('{SECRET}') != ''"
    yield f"SELECT value FROM samples GROUP BY GROUPING SETS ((file('{SECRET}')), (value))"


def exhausting():
    """Too much memory, time or text. Some are refused at once, the others when they reach a limit."""
    rows = "(SELECT arrayJoin(range(1000000)) AS a)"
    yield from (f"SELECT count() FROM {rows} AS x, {rows} AS y", f"SELECT max(x.a * y.a * z.a) FROM {rows} AS x, {rows} AS y, {rows} AS z", f"SELECT groupArray(x.a) FROM {rows} AS x, {rows} AS y", f"SELECT uniqExact(x.a, y.a) FROM {rows} AS x, {rows} AS y",
                f"SELECT x.a, y.a FROM {rows} AS x CROSS JOIN {rows} AS y ORDER BY cityHash64(x.a, y.a)", f"SELECT x.a, y.a, count() FROM {rows} AS x, {rows} AS y GROUP BY x.a, y.a", "SELECT range(1000000000)", "SELECT arrayWithConstant(10000000000, 1)",
                "SELECT repeat('x', 10000000000)", "SELECT length(repeat(repeat('x', 1000000), 1000000))", f"SELECT groupArray(repeat('x', 100000)) FROM {rows}", f"SELECT repeat(toString(a), 100000) AS s FROM {rows} ORDER BY s",
                f"SELECT groupConcat(repeat('x', 100000)) FROM {rows}", f"SELECT arrayMap(x -> arrayMap(y -> arrayMap(z -> x + y + z, range(100000)), range(1000)), range(1000))", "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count() FROM t",
                "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + arrayJoin([1, 2, 3, 4]) FROM t) SELECT count() FROM t", "SELECT 1 AS a0, " + ", ".join(f"(a{i}, a{i}) AS a{i + 1}" for i in range(40)), "SELECT " + "(" * 3000 + "1" + ")" * 3000,
                "SELECT " + "[" * 3000 + "1" + "]" * 3000, "SELECT " + "-" * 1 + "(-" * 3000 + "1" + ")" * 3000, "SELECT " + "not " * 12000 + "1", "SELECT 1" + " + 1" * 20000, "SELECT '" + "x" * 70000 + "'", "SELECT " + "if(1, " * 2000 + "1" + ", 2)" * 2000,
                "SELECT * FROM " + "(SELECT * FROM " * 500 + "samples" + ")" * 500, " UNION ALL ".join(["SELECT * FROM samples"] * 2500), "SELECT editDistance(repeat('ab', 30000), repeat('ba', 30000))", "SELECT arrayLevenshteinDistance(range(1000000), range(1000000))",
                "SELECT hasAll(range(1000000), range(1000000))", "SELECT multiMatchAny('x', ['(a+)+(b+)+(c+)+{1,1000}'])", "SELECT arraySimilarity(range(100000), range(100000), range(100000), range(100000))", f"SELECT sum(sleepEachRow(1)) FROM {rows}",
                "SELECT randomString(10000000000)", "SELECT space(100000000000)", "SELECT leftPad('x', 100000000000)", "SELECT arrayResize([1], 10000000000)", "SELECT 1 AS a ORDER BY a WITH FILL FROM 0 TO 100000000000", "SELECT toDecimal256(1, 76) * toDecimal256('1e60', 10)",
                f"SELECT sumResample(0, 1000000000, 1)(a, a) FROM {rows}", f"SELECT length(groupArray((a, repeat('x', 1000)))) FROM {rows}")


class Refused(Asking):
    # The file is read by nobody: its words must not come back.
    def state(self, server):
        return self.rows(server, "SELECT count(), sum(value) FROM samples"), self.rows(server, "SELECT count(), sum(duration_ns) FROM spans")

    def check_refused(self, server, statement, statuses=(400,)):
        begin = time.monotonic()
        answer = self.ask(server, statement)
        short = statement if len(statement) < 200 else statement[:200] + "..."
        self.assertIn(answer.status, statuses, (short, answer.body[:500]))
        message = answer.json["error"]["message"]
        self.assertGreater(len(message), 12, short)
        self.assertLess(len(message), 800, short)
        for inside in ("DB::Exception", "root:", "WITH samples AS", "Stack trace"):
            self.assertNotIn(inside, message, short)
        return time.monotonic() - begin

    def test_writing_leaving_reading(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        listener.setblocking(False)
        with self.server() as server:
            self.send_checkout(server, time.time_ns() - 60 * SECOND)
            before = self.state(server)
            attempts = [*writes(self.folder), *settings(), *leaving(), *files_and_addresses(listener.getsockname()[1])]
            self.assertEqual(len(attempts), len(set(attempts)))
            self.assertGreaterEqual(len(attempts), 300)
            for statement in attempts:
                self.check_refused(server, statement)
            print(f"{len(attempts)} attempts refused")
            self.assertEqual(self.state(server), before)
            self.assertFalse((self.folder / "out").exists())
            with self.assertRaises(BlockingIOError):  # nobody came
                listener.accept()
        # It can be opened again, and has what it had.
        with server:
            self.assertEqual(self.state(server), before)

    def test_memory_and_time(self):
        with self.server("--query-timeout", "2", "--query-memory", "200MiB") as server:
            self.send_checkout(server, time.time_ns() - 60 * SECOND)
            before = self.state(server)
            attempts = list(exhausting())
            for statement in attempts:
                took = self.check_refused(server, statement, (400, 429, 503))
                self.assertLess(took, 20, statement[:200])
                # One that is slow to stop is waited for.
                wait_until(lambda: self.ask(server, "SELECT 1").status == 200, what=statement[:200])
            print(f"{len(attempts)} attempts refused")
            self.assertEqual(self.state(server), before)

    def test_one_that_cannot_be_stopped_is_left_behind(self):
        with self.server("--query-timeout", "1") as server:
            self.send_checkout(server, time.time_ns() - 60 * SECOND)
            begin = time.monotonic()
            answer = self.ask(server, "SELECT length(arrayMap(x -> has(range(1000000), x + 2000000), range(100000)))")
            self.assertEqual(answer.status, 429, answer.body)
            self.assertLess(time.monotonic() - begin, 30)
            self.assertIn("ran out of time", answer.json["error"]["message"])
            later = self.ask(server, "SELECT 1")
            self.assertEqual(later.status, 503, later.body)
            self.assertIn("an earlier statement does not stop", later.json["error"]["message"])
            self.assertGreater(server.total("checkout"), 0)  # everything else goes on
            begin = time.monotonic()
        self.assertLess(time.monotonic() - begin, 30)  # and it ends when it should
        with server:
            self.assertEqual(self.rows(server, "SELECT count() > 0 FROM samples"), [[1]])


if __name__ == "__main__":
    unittest.main(verbosity=1)
