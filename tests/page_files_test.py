#!/usr/bin/env python3
"""What the page requests about files: opened profiles, and source files that profiles name."""
import os
import subprocess
import unittest

from harness import BINARY, ROOT, Case, Profiles, http


class Adhoc(Case):
    """Profiles that are shown but not stored."""

    def test_files_are_looked_at_and_dropped(self):
        with self.server() as server:
            post = lambda body, kind="application/octet-stream", query="": http("POST", server.http + "/api/v1/adhoc" + query, body, {"content-type": kind})
            one = post(b"main;a 3\nmain;b 4\n").json
            self.assertEqual((one["total"], [one["functions"][f][0] for f in one["function"]][1:]), (7, ["main", "a", "b"]))
            self.assertEqual(post(b"main;a 3\nmain;b 4\n", query="?lens=drop:%5Ea%24").json["total"], 4)
            form = (b'--x\r\nContent-Disposition: form-data; name="file"; filename="b"\r\n\r\nmain;a 5\n\r\n'
                    b'--x\r\nContent-Disposition: form-data; name="base"; filename="a"\r\n\r\nmain;a 2\n\r\n--x--\r\n')
            both = post(form, "multipart/form-data; boundary=x").json
            self.assertEqual((both["total"], both["total_before"]), (5, 2))
            for bad in (b"", b"\x00\x01nonsense"):
                self.assertEqual(post(bad).status, 400, bad)
            golden = post((ROOT / "tests/golden/go_cpu.pb.gz").read_bytes()).json
            self.assertIn("cpu", golden["types"])
            self.assertEqual(server.ask("services", since="3000d")["services"], [])

    def test_files_that_cannot_be_read_are_named(self):
        with self.server() as server:
            def post(query="", **files):
                parts = "".join(f'--x\r\nContent-Disposition: form-data; name="{key}"; filename="{name}"\r\n\r\n{text}\r\n' for key, (name, text) in files.items())
                return http("POST", server.http + "/api/v1/adhoc" + query, (parts + "--x--\r\n").encode(), {"content-type": "multipart/form-data; boundary=x"})
            good, bad = "main;a 1\n", "\x00\x01nonsense"
            message = lambda answer: (answer.status, answer.json["error"]["message"].split(":")[0])
            self.assertEqual(message(post(file=("new.txt", good), base=("old.txt", bad))), (400, "before (old.txt)"))
            self.assertEqual(message(post(file=("new.txt", bad), base=("old.txt", good))), (400, "after (new.txt)"))
            self.assertEqual(message(post(file=("only.txt", ""))), (400, "only.txt"))
            both = {"file": ("b", "main;a 5\nmain;c 1\n"), "base": ("a", "main;a 2\nmain;b 9\n")}
            self.assertEqual(post("?format=folded", **both).body, b"main;a 2 5\nmain;b 9 0\nmain;c 0 1\n")
            self.assertIn(b"\r\nb,,,9,0,9,0\r\n", post("?format=csv", **both).body)
            self.assertEqual(post("?format=speedscope", **both).status, 400)

    def test_a_file_is_kept_by_sending_it_on_as_otlp(self):
        with self.server() as server:
            form = lambda query, body: http("POST", server.http + "/api/v1/adhoc?" + query, body, {"content-type": "application/octet-stream"})
            golden = (ROOT / "tests/golden/go_cpu.pb.gz").read_bytes()
            shown = form("type=cpu", golden).json
            self.assertGreater(shown["file"]["time_ms"], 0)
            self.assertTrue(shown["file"]["can_be_kept"])
            otlp = form("format=otlp&service=kept", golden)
            self.assertEqual(server.send(otlp.body).status, 200)
            server.flush()
            at = shown["file"]["time_ms"]
            stored = server.ask("flame", query="kept", type="cpu", **{"from": at - 1, "to": at + 60_000})
            self.assertEqual((stored["total"], stored["count"]), (shown["total"], shown["count"]))
            server.send(form("format=otlp&service=moved&time=now", golden).body)
            server.flush()
            self.assertEqual(server.ask("flame", query="moved", type="cpu")["total"], shown["total"])
            self.assertNotIn("time_ms", form("", b"main;a 3\n").json["file"])
            self.assertEqual(form("format=otlp&time=yesterday", golden).status, 400)
            picture = b'{"flamebearer":{"names":["total","a"],"levels":[[0,3,0,0],[0,3,3,1]],"numTicks":3,"maxSelf":3},"metadata":{"format":"single"},"version":1}'
            self.assertFalse(form("", picture).json["file"]["can_be_kept"])
            self.assertEqual(form("format=otlp", picture).status, 501)

    def test_a_file_is_searched_before_it_is_cut(self):
        many = "".join(f"main;big{i:05d} 100\n" for i in range(5000)) + "main;big00000;needle::inner 3\n"
        with self.server() as server:
            ask = lambda **more: http("POST", server.http + "/api/v1/adhoc?" + "&".join(f"{k}={v}" for k, v in more.items()), many.encode()).json
            plain, found = ask(max_nodes=100), ask(max_nodes=100, search="NEEDLE")
            names = lambda answer: {f[0] for f in answer["functions"]}
            self.assertNotIn("needle::inner", names(plain))
            self.assertNotIn("search", plain)
            self.assertIn("needle::inner", names(found))
            self.assertEqual((found["search"]["value"], found["search"]["nodes"], found["total"]), (3, 1, plain["total"]))
            self.assertEqual(http("POST", server.http + "/api/v1/adhoc?search=a(b", many.encode()).status, 400)


class Source(Case):
    def test_what_looks_like_a_secret_is_not_shown_because_a_sender_names_it(self):
        root = self.folder / "root"
        (root / ".git").mkdir(parents=True)
        secrets = {".env": "PASSWORD=hush", "prod.env": "hush", ".git/config": "hush", "id_rsa": "hush", "server.key": "hush", "db.yaml": "hush",
                   "test_key.cc": 'const char k[] = R"(\n-----BEGIN PRIVATE KEY-----\nhush)";'}
        for name, text in secrets.items():
            (root / name).write_text(text)
        (root / "main.cc").symlink_to(root / ".env")
        (root / "shown.cc").write_text("int a;")
        with self.server("--source-root", str(root)) as server:
            p = Profiles("svc")
            for i, name in enumerate([*secrets, "main.cc", "shown.cc"]):
                p.file(f"f{i}", name)
            p.profile([(p.stack("main", *(f"f{i}" for i in range(len(secrets) + 2))), 1)])
            server.send(p.encode())
            server.flush()
            for name in [*secrets, "main.cc"]:
                answer = server.get("/api/v1/source", query="svc", file=name)
                self.assertEqual(answer.status, 404, (name, answer.body))
                self.assertIn(b"looks like settings, credentials or keys", answer.body)
                self.assertNotIn(b"hush", answer.body)
            self.assertEqual(server.get("/api/v1/source", query="svc", file="shown.cc").json["text"], "int a;")

    def test_source_only_below_a_root_and_named_by_a_profile(self):
        root, outside = self.folder / "root", self.folder / "outside"
        (root / "src/deep").mkdir(parents=True)
        outside.mkdir()
        (root / "src/a.cc").write_text("int a;\n")
        (root / "src/deep/b.cc").write_text("caf\u00e9\n")
        (root / "src/latin.cc").write_bytes(b"caf\xe9\n")
        (root / "unnamed.cc").write_text("secret\n")
        (root / "src/binary.o").write_bytes(b"\x7fELF\0\0")
        (root / "src/huge.cc").write_bytes(b"x" * (4 * 2**20 + 1))
        (root / "src/empty.cc").write_text("")
        (outside / "secret.cc").write_text("secret\n")
        (root / "src/link_in.cc").symlink_to(root / "src/a.cc")
        (root / "src/link_out.cc").symlink_to(outside / "secret.cc")
        (root / "src/out").symlink_to(outside)
        os.mkfifo(root / "src/pipe.cc")
        names = ["/build/x/src/a.cc", "src/deep/b.cc", "C:\\work\\src\\a.cc", "src/latin.cc", "src/binary.o", "src/huge.cc", "src/empty.cc", "src/link_in.cc", "src/link_out.cc",
                 "src/out/secret.cc", "../outside/secret.cc", "src/../../outside/secret.cc", str(outside / "secret.cc"), "/etc/passwd", "src", "src/pipe.cc", "src/missing.cc", "src/a.cc\0.cc"]
        with self.server("--source-root", str(root), "--repository-template", "https://host/{service}/blob/{version}/{path}#L{line}") as server:
            p = Profiles("svc")
            for i, name in enumerate(names):
                p.file(f"f{i}", name)
            p.profile([(p.stack("main", *(f"f{i}" for i in range(len(names)))), 1)])
            server.send(p.encode())
            server.flush()
            get = lambda file, **more: server.get("/api/v1/source", **{"query": "svc", "file": file, **more})
            for named, path, text in (("/build/x/src/a.cc", "src/a.cc", "int a;\n"), ("C:\\work\\src\\a.cc", "src/a.cc", "int a;\n"), ("src/deep/b.cc", "src/deep/b.cc", "caf\u00e9\n"),
                                      ("src/latin.cc", "src/latin.cc", "caf\ufffd\n"), ("src/empty.cc", "src/empty.cc", ""), ("src/link_in.cc", "src/a.cc", "int a;\n")):
                answer = get(named)
                self.assertEqual(answer.status, 200, (named, answer.body))
                self.assertEqual((answer.json["path"], answer.json["text"]), (path, text))
            for named in names[8:]:
                answer = get(named)
                self.assertEqual(answer.status, 404, (named, answer.body))
                self.assertNotIn(b"secret\\n", answer.body)
                self.assertNotIn(b"root:", answer.body)
            self.assertEqual((get("src/binary.o").status, get("src/huge.cc").status), (400, 429))
            for unnamed in ("unnamed.cc", "src/a.cc", str(root / "src/a.cc")):
                self.assertIn(b"no profile", get(unnamed).body)
                self.assertEqual(get(unnamed).status, 404)
            self.assertEqual(get("src/deep/b.cc", query="other").status, 404)
            self.assertEqual(get("").status, 400)
            settings = server.ask("settings")
            self.assertEqual((settings["source"], settings["repository_template"]), (True, "https://host/{service}/blob/{version}/{path}#L{line}"))
        with self.server(name="none") as server:
            settings = server.ask("settings")
            self.assertEqual((settings["source"], settings["repository_template"]), (False, ""))
            self.assertIn(b"--source-root", server.get("/api/v1/source", query="svc", file="a.cc").body)
        bad = subprocess.run([BINARY, "serve", "--repository-template", "javascript:alert(1)"], capture_output=True, text=True, timeout=30)
        self.assertEqual(bad.returncode, 2)
        self.assertIn("http(s)", bad.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
