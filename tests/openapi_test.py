#!/usr/bin/env python3
"""docs/openapi.json compared with the running server: every route exists, every answer matches its schema."""
import json
import time
import unittest

from harness import PROTOBUF, ROOT, SPAN, TRACE, Case, Profiles, http, spans_request, wait_until
from regression_data import one_regression


class OpenApi(Case):
    def resolved(self, schema):
        """The schema with references resolved and allOf merged."""
        if "$ref" in schema:
            return self.resolved(self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
        out = {k: v for k, v in schema.items() if k != "allOf"}
        for part in map(self.resolved, schema.get("allOf", [])):
            for key, value in part.items():
                if key == "properties":
                    out[key] = {**out.get(key, {}), **value}
                elif key == "required":
                    out[key] = out.get(key, []) + value
                else:
                    out.setdefault(key, value)
        return out

    def shape(self, schema, value, where):
        schema = self.resolved(schema)
        if "oneOf" in schema:
            self.fits_one(schema["oneOf"], value, where)
            return
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "number": (int, float)}
        if "type" in schema:
            self.assertIsInstance(value, kinds[schema["type"]], where)
        if "enum" in schema:
            self.assertIn(value, schema["enum"], where)
        if "pattern" in schema:
            self.assertRegex(value, schema["pattern"], where)
        if isinstance(value, dict):
            self.fields(schema, value, where)
        if "items" in schema:
            self.assertGreaterEqual(len(value), schema.get("minItems", 0), where)
            self.assertLessEqual(len(value), schema.get("maxItems", len(value)), where)
            for item in value[:50]:
                self.shape(schema["items"], item, where + "[]")

    def fields(self, schema, value, where):
        """Required fields are present, and there are no undescribed fields."""
        for key in schema.get("required", []):
            self.assertIn(key, value, where)
        described = schema.get("properties", {})
        for key, inner in value.items():
            if key in described:
                self.shape(described[key], inner, f"{where}.{key}")
            elif "additionalProperties" in schema:
                self.shape(schema["additionalProperties"], inner, f"{where}.{key}")
            elif described:
                self.fail(f"{where}: {key} is not described in docs/openapi.json")

    def fits_one(self, schemas, value, where):
        problems = []
        for schema in schemas:
            try:
                self.shape(schema, value, where)
                return
            except AssertionError as problem:
                problems.append(str(problem))
        self.fail(f"{where}: none of {len(schemas)} shapes fits: {problems}")

    def compatible(self, server, method, url, path):
        """Routes for other clients: tests/grafana_test.py checks the answers; here the route must exist."""
        answer = http(method.upper(), server.http + url, b"{}" if method == "post" else None, {"content-type": "application/json"})
        self.assertNotIn(answer.status, (405, 415, 500), (path, answer.body))
        self.assertFalse(answer.status == 404 and b'"error":' in answer.body, (path, answer.body))
        self.assertEqual(http("PUT", server.http + url, b"").status, 405, path)

    def richer(self, server):
        """Queries whose answers have optional fields."""
        trace = TRACE.hex()
        for path, question in (
                ("services", "search=s&limit=1"), ("flame", "query=svc&search=main&observed=true&lens=invert"), ("flame", "query=nobody"),
                ("top", "query=svc&search=main"), ("top", "query=nobody"), ("series", "query=svc&by=service.name&search=main"),
                ("series", "query=nobody"), ("diff", "query=svc&base_query=svc&since=1h&search=main"), ("list", "query=nobody&function=main"),
                ("heatmap", "query=svc&search=main"), ("heatmap", "query=nobody"), ("traces", "sort=cpu"), ("traces/{trace}", "format=columns"),
                ("traces/{trace}/flame", "search=main"), ("traces/{trace}/flame", "path=critical"), ("accounting", "service=svc&name=nobody"), ("explain", "service=svc&name=op"), ("function-traces", "query=nobody&function=main")):
            with self.subTest(path=path, question=question):
                schema = self.document["paths"]["/api/v1/" + path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
                answer = http("GET", f"{server.http}/api/v1/{path.replace('{trace}', trace)}?{question}")
                self.assertEqual(answer.status, 200, answer.body)
                self.shape(schema, answer.json, path)

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
            self.richer(server)
            # What is deleted has to be there.
            group = b"groups: [{name: g, rules: [{alert: A, when: above 1}]}]"
            silence = json.dumps({"matchers": [{"name": "alertname", "value": "A"}], "endsAt": "now+1h"}).encode()
            wait_until(lambda: http("POST", server.http + "/api/v1/alerts/rules", group).status == 200)
            silenced = http("POST", server.http + "/api/v1/silences", silence).json["silenceID"]
            pinned = http("POST", server.http + "/api/v1/pins?query=svc&from=-2h&to=now").json["id"]
            fill = {"{pin}": pinned, "{silence}": silenced, "{regression}": one_regression(server), "{group}": "g", "{trace}": TRACE.hex(), "{id}": id.hex(), "{name}": "service.name", "{service}": "svc"}
            values = {"function": "main", "query": "svc", "from": "-1d", "to": "now", "service": "svc", "name": "op", "file": "/build/main.cc", "target": str(self.folder / "b")}
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
                    if path == "/api/v1/explain":  # a trace, or service and name
                        needed["trace"] = TRACE.hex()
                    url = server.http + real + "?" + "&".join(f"{k}={v}" for k, v in needed.items())
                    body = {"/api/v1/adhoc": b"main;work 3\n", "/api/v1/sql": b"SELECT * FROM samples", "/api/v1/alerts/test": group, "/api/v1/alerts/rules": group, "/api/v1/silences": silence}.get(path, b"")
                    if path.endswith("/mute"):
                        body = b'{"why": "known", "until": "1h"}'
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
