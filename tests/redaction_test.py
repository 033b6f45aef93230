#!/usr/bin/env python3
"""Secrets planted wherever a sender can write, through every receiver, behind a `redact` processor: afterwards none is in
any String column (read through the engine), in the log of the store, in a queue, among identities, in the server's own
log, in what was sent on, or in an answer."""
import gzip
import json
import re
import shutil
import subprocess
import threading
import time
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

from harness import (GRPC_SEND, PROFILES_METHOD, PROTOBUF, SPAN, TRACE, TRACES_METHOD, Case, Profiles, engine_query, field, fixed64,
                     free_port, http, packed, resource, wait_until)
from pyroscope_test import PUSH, form, pprof, push

# In every planted text. What is left when only the pattern is replaced, and not the whole value, has it too.
MARK = "zqplanted"
# Found in values that nothing redacts: the search works.
CONTROL = "zqharmless"


def secret(where, pattern="password"):
    return f"{MARK}_{where}_{pattern.upper()}_{MARK}"


def any_text(text):
    return field(1, text)


def key_value(key, value):
    return field(1, key) + field(2, value)


def nested():
    """Values that are secret by what they say, by their key, and in lists and maps of maps."""
    by_key = field(6, field(1, key_value("db.password", any_text(MARK + "_by_nested_key"))))
    listed = field(5, field(1, any_text(secret("in_list", "token"))) + field(1, any_text("plain")))
    deep = field(6, field(1, key_value("outer", field(5, field(1, by_key)))))
    return [key_value("auth", any_text(secret("value", "credential"))), key_value("my.Secret", any_text(MARK + "_by_key")),
            key_value("config", by_key), key_value("list", listed), key_value("deep", deep),
            key_value("raw.token", field(7, (MARK + "_bytes").encode()))]


def otlp_profiles(service):
    p = Profiles(service, **{"app.password": MARK + "_resource_key", "note": secret("resource_value")})
    p.resource += b"".join(field(1, pair) for pair in nested())
    p.resource += field(1, key_value("about", any_text(CONTROL)))
    p.file(secret("function"), "/src/" + secret("file", "secret") + ".cc", 3)
    stack = p.stack("main", secret("function"), ("in module", f"/opt/{secret('module', 'token')}/lib.so"))
    p.attribute("api.token", MARK + "_sample_key")
    p.attribute("note", secret("sample_value"))
    p.strings.append("extra")
    p.attributes.append(field(1, len(p.strings) - 1) + field(2, field(6, field(1, key_value("pass", any_text(secret("in_map")))))))
    samples = [field(1, stack) + packed(2, [1, 2, 3]) + field(3, p.link(TRACE, SPAN)) + packed(4, [5])]
    p.profile(samples, extra=field(9, "pprof") + field(10, (secret("payload") * 3).encode()) + packed(11, [1, 2]))
    return [p.encode(), mangled_name(service)]


def mangled_name(service):
    """A request with a function whose secret is in its mangled name only."""
    p = Profiles(service)
    p.profile([(p.stack("plain"), 7)])
    p.strings.append("_Z" + secret("mangled"))
    plain = field(1, p.functions["plain"][1])
    request = p.encode()
    resources, at = cut(request)
    dictionary, _ = cut(request[at:])
    assert dictionary.count(field(3, plain)) == 1
    return field(1, resources) + field(2, dictionary.replace(field(3, plain), field(3, plain + field(2, len(p.strings) - 1))))


def cut(data):
    """The content of the first field of bytes, and where the next one begins."""
    at, size, shift = 1, 0, 0
    while True:
        byte = data[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return data[at:at + size], at + size


def otlp_spans(service):
    now = time.time_ns()
    pairs = lambda number: b"".join(field(number, pair) for pair in nested())
    event = fixed64(1, now) + field(2, secret("event")) + pairs(3)
    link = field(1, TRACE[::-1]) + field(2, SPAN) + field(3, "state=" + secret("link_state")) + pairs(4)
    span = (field(1, TRACE) + field(2, SPAN) + field(3, "a=" + secret("state")) + field(5, secret("span")) + field(6, 2) +
            fixed64(7, now - 10**6) + fixed64(8, now) + pairs(9) + field(11, event) + field(13, link) +
            field(15, field(2, secret("status")) + field(3, 2)))
    about = field(1, key_value("about", any_text(CONTROL)))
    return field(1, field(1, resource(service) + pairs(1) + about) + field(2, field(2, span)))


def otlp_json(service):
    strings = ["", "samples", "count", secret("json_function"), "note", secret("json_value")]
    profile = {"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": str(time.time_ns()), "durationNano": "1000",
               "samples": [{"stackIndex": 1, "values": ["5"], "attributeIndices": [1]}]}
    dictionary = {"mappingTable": [{}], "locationTable": [{}, {"lines": [{"functionIndex": 1}]}], "stringTable": strings,
                  "functionTable": [{}, {"nameStrindex": 3}], "linkTable": [{}], "stackTable": [{}, {"locationIndices": [1]}],
                  "attributeTable": [{}, {"keyStrindex": 4, "value": {"stringValue": strings[5]}}]}
    about = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return json.dumps({"resourceProfiles": [{"resource": about, "scopeProfiles": [{"profiles": [profile]}]}],
                       "dictionary": dictionary}).encode()


def one_pprof(where):
    return pprof([("cpu", "nanoseconds")], [(("main", secret(where)), [7], {"api_token": MARK + "_label_key", "note": secret("label")})])


class Target:
    """Something to scrape: a pprof file with secrets."""

    def __init__(self):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = gzip.compress(one_pprof("scraped"))
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *unused):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Redaction(Case):
    def native(self):
        """A program with debug information: (an address in a function with a secret name, its mapping as OTLP JSON)."""
        source, program = self.folder / "native.cc", self.folder / "symbols" / "native"
        program.parent.mkdir()
        name = f"{MARK}_check_password"
        source.write_text(f"__attribute__((noinline)) int {name}(int n) {{ int s = 0; for (int i = 0; i < n; ++i) s += i ^ s;"
                          f" return s; }}\nint main(int c, char**) {{ return {name}(c * 1000); }}\n")
        run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
        run("c++", "-g", "-O1", "-Wl,--build-id", "-o", str(program), str(source))
        build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", str(program)))[1]
        segment = re.search(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E", run("readelf", "-lW", str(program)))
        offset, address, size = (int(n, 16) for n in segment.groups())
        at = int(re.search(rf"(\w+) T _Z\w*{MARK}", run("nm", str(program)))[1], 16)
        start = 0x7f0000000000
        strings = ["", "samples", "count", str(program), "process.executable.build_id.gnu"]
        dictionary = {
            "mappingTable": [{}, {"memoryStart": str(start), "memoryLimit": str(start + size), "fileOffset": str(offset),
                                  "filenameStrindex": 3, "attributeIndices": [1]}],
            "locationTable": [{}, {"mappingIndex": 1, "address": str(start + at - address + 1)}], "functionTable": [{}],
            "linkTable": [{}], "stringTable": strings, "stackTable": [{}, {"locationIndices": [1]}],
            "attributeTable": [{}, {"keyStrindex": 4, "value": {"stringValue": build_id}}]}
        profile = {"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": str(time.time_ns()),
                   "durationNano": "1000", "samples": [{"stackIndex": 1, "values": ["5"]}]}
        about = {"attributes": [{"key": "service.name", "value": {"stringValue": "native"}}]}
        return json.dumps({"resourceProfiles": [{"resource": about, "scopeProfiles": [{"profiles": [profile]}]}],
                           "dictionary": dictionary}).encode(), program.parent

    def start(self, symbols):
        self.grpc_port, self.web_port = free_port(), free_port()
        target = Target()
        self.addCleanup(target.close)
        (self.folder / "c.yaml").write_text(f"""
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:{self.grpc_port}'}}, http: {{endpoint: '127.0.0.1:{self.web_port}'}}}}}}
  pyroscope:
  pprof: {{remote: {{endpoint: 'http://127.0.0.1:{target.server.server_port}/debug/pprof/profile', collection_interval: 1s,
                     initial_delay: 100ms}}}}
processors: {{redact: }}
exporters:
  wherefore:
  otlphttp/nobody: {{endpoint: 'http://127.0.0.1:{free_port()}'}}
  file: {{path: {self.folder}/sent.json, append: true}}
  debug: {{verbosity: detailed}}
service:
  pipelines:
    profiles: {{receivers: [otlp, pyroscope, pprof], processors: [redact], exporters: [wherefore, otlphttp/nobody, file, debug]}}
    traces: {{receivers: [otlp], processors: [redact], exporters: [wherefore, otlphttp/nobody, file, debug]}}
""")
        return self.server("--config", str(self.folder / "c.yaml"), "--keep-payload", "--symbol-path", str(symbols),
                           "--log-level", "debug")

    def note(self, answer):
        self.answers.append(answer)
        return answer

    def grpc(self, method, body):
        done = subprocess.run([GRPC_SEND, str(self.grpc_port), method], input=body, capture_output=True, check=True, timeout=60)
        self.note(done.stdout)
        return int(done.stdout.split(b"\n")[0])

    def post(self, url, body, type, status=200):
        answer = http("POST", url, body, {"content-type": type})
        self.note(answer.body)
        self.assertEqual(answer.status, status, answer.body)

    def send_everything(self, server, native):
        web = f"http://127.0.0.1:{self.web_port}"
        for body in otlp_profiles("over-http"):
            self.post(web + "/v1development/profiles", body, PROTOBUF)
        for body in otlp_profiles("over-grpc"):
            self.assertEqual(self.grpc(PROFILES_METHOD, body), 0)
        self.post(web + "/v1development/profiles", otlp_json("over-json"), "application/json")
        self.post(web + "/v1development/profiles", native, "application/json")
        self.post(web + "/v1/traces", otlp_spans("spans-http"), PROTOBUF)
        self.assertEqual(self.grpc(TRACES_METHOD, otlp_spans("spans-grpc")), 0)
        now = time.time_ns()
        query = lambda name, **more: "/ingest?" + urllib.parse.urlencode({"name": name, "from": now, "until": now + 10**10, **more})
        files, headers = form(profile=one_pprof("form"))
        self.post(server.http + query(f"pprof{{note={secret('ingest_label')}}}"), files, headers["content-type"])
        folded = f"main;{secret('folded')} 3\n".encode()
        self.post(server.http + query("folded", format="folded"), folded, "text/plain")
        self.post(server.http + PUSH, push(({"service_name": "pushed", "note": secret("push_label")}, [one_pprof("pushed")])),
                  "application/proto")
        # What is refused, in part or wholly, is told why: not with the sender's words.
        broken = Profiles("broken")
        broken.profile([(broken.stack(secret("broken_function")), 5)], extra=packed(11, [999]))
        broken.profile([(broken.stack(secret("broken_function")), 5)], of=(secret("type"), secret("unit")), extra=field(7, b"short"))
        self.post(web + "/v1development/profiles", broken.encode(), PROTOBUF)
        self.post(web + "/v1development/profiles", b"\x0a\x7f" + secret("garbage").encode(), PROTOBUF, 400)

    def test_nothing_of_them_is_anywhere(self):
        if not shutil.which("c++"):
            self.skipTest("needs a compiler")
        native, symbols = self.native()
        self.answers = []
        server = self.start(symbols)
        self.send_everything(server, native)
        expected = {"over-http", "over-grpc", "over-json", "native", "pprof", "folded", "pushed"}
        wait_until(lambda: len({s["name"] for s in server.ask("services", since="1h")["services"]} - expected - {"broken"}) >= 1, 30,
                   "nothing was scraped")
        services = {s["name"]: [t["id"] for t in s["types"]] for s in server.ask("services", since="1h")["services"]}
        self.assertLessEqual(expected, set(services))
        native_names = [row["name"] for row in server.ask("top", query="native", type="samples", since="1h")["rows"]]
        self.assertEqual(native_names, ["[REDACTED]"], "the name in the debug file")
        for service, types in services.items():
            for type in types:
                for path in ("flame", "top", "list", "export", "labels", "trace-totals"):
                    more = {"format": "pprof"} if path == "export" else {"function": "."} if path == "list" else {}
                    answer = server.get("/api/v1/" + path, query=service, type=type, since="1h", **more)
                    body = answer.body
                    self.note(gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body)
            otlp = server.get("/api/v1/export", query=service, type=types[0] if types else "", since="1h", format="otlp")
            self.note(otlp.body)
        for path in ("traces/" + TRACE.hex(), "status", "labels?since=1h", "labels/note/values?since=1h", "scrape"):
            self.note(server.get("/api/v1/" + path).body)
        self.note(server.get("/metrics").body)
        self.assertIn(b"[REDACTED]", b"".join(self.answers))
        self.note(server.cli("doctor", check=False).stdout.encode())
        for i, answer in enumerate(self.answers):
            self.assertNotIn(MARK.encode(), answer, f"answer {i}")

        def search(when):
            files = [path for path in [*server.data.rglob("*"), server.log, *self.folder.glob("sent*")] if path.is_file()]
            self.assertTrue(any("queue" in str(path) for path in files))
            hits = [str(path) for path in files if MARK.encode() in path.read_bytes()]
            self.assertEqual(hits, [], when)
        server.kill()  # the log of the store as it is, with what was not inserted yet
        search("after a kill")
        server.start()
        server.flush()
        server.stop()
        search("after a stop")
        self.assertIn(CONTROL, (self.folder / "sent.json").read_text())

        columns = [line.split() for line in engine_query(
            server.data, "SELECT concat(c.table, ' ', c.name) FROM system.columns AS c JOIN system.tables AS t ON c.table = t.name "
            "AND c.database = t.database WHERE c.database = currentDatabase() AND t.engine LIKE '%MergeTree%' AND c.type LIKE "
            "'%String%' ORDER BY 1")]
        counts = lambda text: engine_query(server.data, " UNION ALL ".join(
            f"SELECT concat('{table}.{name} ', toString(countIf(position(toString(`{name}`), '{text}') > 0))) FROM `{table}`"
            for table, name in columns))
        hits = lambda text: [line for line in counts(text) if not line.endswith(" 0")]
        self.assertEqual(hits(MARK), [])
        self.assertTrue(hits(CONTROL), "the search finds what is there")
        self.assertTrue(hits("[REDACTED]"))
        print(f"{len(columns)} String columns, {len(self.answers)} answers, log, queue, identities, server log, file: no hit", flush=True)


if __name__ == "__main__":
    unittest.main()
