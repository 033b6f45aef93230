#!/usr/bin/env python3
"""The token is only in memory, and stored data is private to its owner: modes, files, log, arguments, environment, answers."""
import os
import pathlib
import re
import stat
import subprocess
import unittest

from harness import BINARY, ROOT, VECTOR, Case, Server, free_port, http, one_profile, processes

SECRET = "hush-7f3a9c"
BEARER = {"Authorization": "Bearer " + SECRET}


def files(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]


class Secrets(Case):
    def started(self, arguments, environment):
        """A server that got the secret in one way, with stored data and answered queries."""
        server = Server(self.folder / f"data{len(list(self.folder.glob('data*')))}", *arguments)
        self.addCleanup(lambda: server.process and server.process.poll() is None and server.kill())
        os.environ.update(environment)
        try:
            server.start()
        finally:
            for name in environment:
                del os.environ[name]
        self.assertEqual(server.send(VECTOR).status, 401)
        self.assertEqual(server.send(VECTOR, headers=BEARER).status, 200)
        self.assertEqual(http("POST", server.http + "/api/v1/flush", b"", BEARER).status, 200)
        return server

    def search(self, server):
        """Everywhere the secret can be found."""
        found = [str(path) for path in [*files(server.data), server.log] if SECRET.encode() in path.read_bytes()]
        found += [path for path in ("/api/v1/status", "/metrics", "/api/v1/flame?since=3000d")
                  if SECRET.encode() in http("GET", server.http + path, headers=BEARER).body]
        for pid in processes(server.process.pid):
            found += [f"{name} of {pid}" for name in ("cmdline", "environ")
                      if SECRET.encode() in pathlib.Path(f"/proc/{pid}/{name}").read_bytes()]
        return found

    def ways(self):
        file = self.folder / "token"
        file.write_text(SECRET + "\n")
        config = self.folder / "config"
        config.write_text(f"token-file = {file}\n")
        return {"--token": (("--token", SECRET), {}),
                "--token=": (("--token=" + SECRET, "--log-level", "debug"), {}),
                "--token-file": (("--token-file", str(file)), {}),
                "WHEREFORE_TOKEN": ((), {"WHEREFORE_TOKEN": SECRET}),
                "configuration": (("--config", str(config)), {})}

    def test_the_token_is_in_no_file_log_argument_environment_or_answer(self):
        for way, (arguments, environment) in self.ways().items():
            with self.subTest(way):
                server = self.started(arguments, environment)
                self.assertEqual(self.search(server), [])
                warned = "warning: --token shows the token" in server.log.read_text()
                self.assertEqual(warned, way.startswith("--token") and way != "--token-file")
                second = subprocess.run([BINARY, "serve", "--data", str(server.data), *arguments], text=True, capture_output=True,
                                        env={**os.environ, **environment}, timeout=60)
                self.assertIn(f"is in use by pid {server.process.pid} (wherefore)", second.stderr)
                self.assertNotIn(SECRET, second.stdout + second.stderr)
                server.stop()
                self.assertEqual([str(path) for path in files(server.data) if SECRET.encode() in path.read_bytes()], [])

    def assert_private(self, folder):
        for path in [folder, *folder.rglob("*")]:
            if not path.is_symlink():
                mode = stat.S_IMODE(path.stat().st_mode)
                self.assertEqual(mode & 0o077, 0, f"{path}: {mode:o}")

    def test_what_is_stored_is_its_owners_alone(self):
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        with self.server() as server:
            server.send(VECTOR)
            server.flush()
            server.send(one_profile("more", 3))
            self.assert_private(server.data)
            server.flush()
        self.assert_private(server.data)

    def test_a_directory_of_before_is_made_private(self):
        with self.server() as server:
            server.send(VECTOR)
        for path in [server.data, *server.data.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        (server.data / "lock").write_text(f"pid 1 (wherefore serve --token {SECRET})")
        with server:
            self.assert_private(server.data)
            self.assertEqual(self.search(server), [])
            self.assertGreater(server.total("", "samples"), 0)

    def test_commands_take_a_token_from_a_file(self):
        file = self.folder / "token"
        file.write_text(SECRET + "\n")
        server = self.started(("--token-file", str(file)), {})
        pushed = self.folder / "a.folded"
        pushed.write_text("main;f 3\n")
        for arguments in (("push", str(pushed)), ("top", "a.folded", "--since", "1d"), ("list", "f", "--since", "1d")):
            self.assertEqual(server.cli(*arguments, check=False).returncode, 3, arguments)
            server.cli(*arguments, "--token-file", str(file))
        seen = server.cli("run", "--token-file", str(file), "--", "/bin/sh", "-c", "echo =$WHEREFORE_TOKEN")
        self.assertEqual(seen.stdout, f"={SECRET}\n")
        self.assertNotIn(SECRET, seen.stderr)

    def test_a_token_file_that_holds_none_is_refused_without_its_text(self):
        file = self.folder / "token"
        for text in ("", " \n", f"{SECRET}\nsecond\n", SECRET + "\0", SECRET * 1000):
            file.write_text(text)
            for arguments in (("serve", "--data", str(self.folder / "x"), "--token-file", str(file)), ("--token-file", str(file), "top")):
                done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)
                self.assertEqual((done.returncode, done.stderr), (2, f"error: {file} holds no token: expected one line of at most 4096 bytes\n"))
        for name, why in ((str(self.folder / "none"), "No such file or directory"), (str(self.folder), "Is a directory")):
            done = subprocess.run([BINARY, "serve", "--token-file", name], capture_output=True, text=True, timeout=30)
            self.assertEqual((done.returncode, done.stderr), (3, f"error: cannot read the token in {name}: {why}\n"))
        self.assertFalse((self.folder / "x").exists())
        both = subprocess.run([BINARY, "serve", "--token", SECRET, "--token-file", str(file)], capture_output=True, text=True, timeout=30)
        self.assertEqual(both.returncode, 2)
        self.assertNotIn(SECRET, both.stderr)

    def test_a_password_in_an_address_is_not_said(self):
        url = f"http://me:{SECRET}@127.0.0.1:{free_port()}"
        for arguments in (("serve", "--data", str(self.folder / "x"), "--scrape", "shop=" + url), ("--server", url, "top"), ("top", url)):
            done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)
            self.assertIn("a user name is not supported", done.stderr)
            self.assertNotIn(SECRET, done.stdout + done.stderr)

    def test_no_help_or_document_shows_a_token_on_the_command_line(self):
        shown = subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True, timeout=30).stdout
        self.assertIn("--token-file /etc/wherefore/token", shown)
        texts = [shown, (ROOT / "README.md").read_text(), *(path.read_text() for path in (ROOT / "docs").glob("*.md"))]
        for text in texts:
            self.assertIsNone(re.search(r"wherefore serve .*--token[ =]", text))


if __name__ == "__main__":
    unittest.main(verbosity=1)
