#!/usr/bin/env python3
"""docs/openapi.json against the running server: every route is there, every answer has its shape."""
import json
import time
import unittest

from harness import PROTOBUF, ROOT, SPAN, TRACE, Case, Profiles, http, spans_request


class OpenApi(Case):
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
        with self.server("--source-root", str(self.folder), "--backup-root", str(self.folder)) as server:
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
