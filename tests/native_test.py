"""libwherefore in programs that know their own profile: the profiles are correct, and the programs are not affected.

tests/sdk/truth.cc and one that tortures, tests/sdk/torture.cc, by LD_PRELOAD. TORTURE_SECONDS sets how long (60 in
./test).
"""
import ctypes
import errno
import json
import math
import os
import re
import signal
import struct
import subprocess
import time
import unittest

from harness import BINARY
from preload import LIBRARY, PROGRAMS, Profiled, estimate, preload

TORTURE_SECONDS = int(os.environ.get("TORTURE_SECONDS", "60"))


class Truth(Profiled):
    def truth(self, what, seconds, **environment):
        done = self.profiled(str(PROGRAMS / "truth"), what, str(seconds), **environment)
        return json.loads(done.stdout)

    @estimate
    def test_cpu(self):
        truth = self.truth("cpu", 6)
        total = self.assert_shares("cpu", truth, sum(truth.values()) * 100)
        self.assertAlmostEqual(total / 1e9, sum(truth.values()), delta=0.06 * sum(truth.values()))

    @estimate
    def test_cpu_of_threads_that_live_for_a_millisecond(self):
        truth = self.truth("brief-threads", 2)
        self.assert_shares("cpu", truth, sum(truth.values()) * 100)

    def test_files_from_before_an_exec_stay(self):
        code = ("import os, sys, time\nend = time.process_time() + 1\nwhile time.process_time() < end: sum(range(1000))\n"
                "os.execv(sys.argv[1], [sys.argv[1], 'brief', '0.5'])")
        self.profiled("/usr/bin/python3", "-c", code, str(PROGRAMS / "truth"), WHEREFORE_UPLOAD_INTERVAL="200ms", WHEREFORE_TYPES="cpu")
        functions = self.rows("cpu")[1]
        self.assertIn("Brief", functions)
        self.assertIn("_PyEval_EvalFrameDefault", functions)

    @estimate
    def test_allocations(self):
        truth = self.truth("alloc", 4)
        # Far more than is sampled: after the first second the distance grows to keep to 500 samples a second.
        samples = 3 * 500
        total = self.assert_shares("alloc_space", truth, samples)
        self.assertAlmostEqual(total, sum(truth.values()), delta=4 / math.sqrt(samples) * sum(truth.values()))

    @estimate
    def test_objects(self):
        truth = self.truth("alloc", 4)
        objects = {"AllocSmall": truth["AllocSmall"] / 48, "AllocMiddle": truth["AllocMiddle"] / 4000}
        seen, _ = self.shares("alloc_objects", objects)
        real = objects["AllocMiddle"] / sum(objects.values())
        self.assertAlmostEqual(seen["AllocMiddle"], real, delta=0.02)

    @estimate
    def test_live_bytes(self):
        self.assert_live_bytes(self.truth("live", 1))

    @estimate
    def test_locks(self):
        truth = self.truth("locks", 5)
        # Who waited...
        seen, total = self.shares("block", truth)
        self.assertAlmostEqual(seen["LockShort"], truth["LockShort"] / sum(truth.values()), delta=0.1)
        self.assertAlmostEqual(total / 1e9, sum(truth.values()), delta=0.2 * sum(truth.values()))
        # ...and who made them wait.
        held, charged = self.shares("mutex", truth)
        self.assertGreater(held["LockLong"], 0.8)
        self.assertAlmostEqual(charged / 1e9, sum(truth.values()), delta=0.25 * sum(truth.values()))

    def test_as_many_observations_as_samples_were_taken(self):
        """Error bars come from these. Each block and each wait is large enough to be sampled for certain."""
        def observations(type, name):
            answer, _ = self.rows(type, lens=f"focus:{name}")
            return answer["count"]

        blocks = self.truth("blocks", 3, WHEREFORE_HEAP_RATE="10KB")["AllocBlock"]
        for type in ("alloc_space", "alloc_objects"):
            self.assertAlmostEqual(observations(type, "AllocBlock"), blocks, delta=1)  # the first may begin the countdown
        # Seen for certain, each counts as exactly what it is.
        self.assertAlmostEqual(int(self.rows("alloc_space", lens="focus:AllocBlock")[0]["total"]), blocks * 400_000, delta=400_000)
        turns = self.truth("turns", 3, WHEREFORE_MUTEX_RATE="10us", WHEREFORE_BLOCK_RATE="10us")
        for type, name in (("mutex", "HoldTurn"), ("mutex_count", "HoldTurn"), ("block", "WaitMyTurn")):
            # A waiter that a busy machine keeps from waiting in time is none.
            self.assertLessEqual(observations(type, name), turns[name])
            self.assertGreater(observations(type, name), 0.9 * turns[name])

    @estimate
    def test_live_bytes_after_the_distance_was_raised(self):
        """Some before, some after so many allocations that few are sampled since: fewer observations than the samples before."""
        truth = self.truth("live-twice", 2.5, WHEREFORE_MAX_OVERHEAD="100%")
        answer, _ = self.rows("inuse_space")
        self.assertLess(answer["count"], truth["KeepEarly"] / (512 * 1024) / 2)
        self.assert_shares("inuse_space", truth, answer["count"])

    def test_observations_survive_the_server_and_the_way_back(self):
        self.truth("blocks", 1, WHEREFORE_HEAP_RATE="10KB")
        sent = self.rows("alloc_space")[0]["count"]
        server = self.server()
        server.cli("push", *(str(file) for file in self.folder.glob("out*profiles.otlp")))
        server.flush()
        self.assertEqual(server.ask("top", query="truth", type="alloc_space")["count"], sent)
        [profile] = server.ask("profiles", query="truth", type="alloc_space")["profiles"]
        (self.folder / "back.otlp").write_bytes(server.get("/api/v1/profiles/" + profile["id"], format="otlp").body)
        self.assertEqual(self.rows("alloc_space", files="back.otlp")[0]["count"], sent)

    @estimate
    def test_waiting(self):
        truth = self.truth("waits", 6)
        answer, _ = self.rows("off_cpu")
        total = self.assert_shares("off_cpu", truth, answer["count"])
        self.assertAlmostEqual(total / 1e9, sum(truth.values()), delta=0.15 * sum(truth.values()))

    @estimate
    def test_waiting_of_threads_that_live_for_20_ms(self):
        truth = self.truth("short", 4)
        _, rows = self.rows("off_cpu")
        self.assertAlmostEqual(int(rows["ShortWait"]["total"]) / 1e9, truth["ShortWait"], delta=0.2 * truth["ShortWait"])

    def test_a_short_program_has_its_threads_listed(self):
        self.truth("waits", 3)
        _, rows = self.rows("threads")
        self.assertIn("main", rows)

    def test_nothing_is_interrupted(self):
        self.assertEqual(self.truth("eintr", 5), {"interrupted": 0, "lost_errno": 0})

    def test_stacks_are_complete(self):
        self.truth("depth", 5)
        answer, rows = self.rows("cpu")
        total = int(answer["total"])
        broken = int(rows.get("[incomplete]", {"total": 0})["total"])
        self.assertLess(broken / total, 0.01)
        for name in ("Recurse", "Throwing", "main"):
            self.assertIn(name, rows)
        self.assertGreater(int(rows["main"]["total"]) / total, 0.95)

    def test_a_forked_child_that_only_computes(self):
        self.assertEqual(self.truth("fork", 2)["status"], 0)
        _, rows = self.rows("cpu")
        self.assertAlmostEqual(int(rows["InChild"]["total"]) / 1e9, 2, delta=0.2)

    def test_a_child_of_a_child_as_daemons_have_it(self):
        self.assertEqual(self.truth("twice", 1)["status"], 0)
        _, rows = self.rows("cpu")
        self.assertAlmostEqual(int(rows["InChild"]["total"]) / 1e9, 1, delta=0.15)

    def test_a_coroutine_on_its_own_stack(self):
        self.truth("context", 2)
        _, rows = self.rows("cpu")
        self.assertIn("OnOwnStack", rows)
        self.assertNotIn("[incomplete]", rows)

    def test_a_depth_one_chose_is_not_incomplete(self):
        self.truth("depth", 2, WHEREFORE_MAX_STACK_DEPTH="10")
        answer, rows = self.rows("cpu")
        self.assertIn("[truncated]", rows)
        broken = int(rows.get("[incomplete]", {"total": 0})["total"])  # the loader's own code, once
        self.assertLess(broken / int(answer["total"]), 0.02)


class Short(Profiled):
    """Programs that end before there is much to sample: a script may start a thousand of them."""

    def test_one_that_was_never_seen_sends_nothing(self):
        # Distances at which nothing that short is ever sampled.
        rare = {"WHEREFORE_CPU_RATE": "0.001", "WHEREFORE_WALL_RATE": "0.001", "WHEREFORE_OFF_CPU_RATE": "0.001",
                "WHEREFORE_HEAP_RATE": "100GB", "WHEREFORE_MUTEX_RATE": "1h", "WHEREFORE_BLOCK_RATE": "1h"}
        self.profiled(str(PROGRAMS / "truth"), "first", "0", **rare)
        self.assertEqual(list(self.folder.glob("out*")), [])
        # The same, and its allocations are seen.
        self.profiled(str(PROGRAMS / "truth"), "first", "0", **{**rare, "WHEREFORE_HEAP_RATE": "10KB"})
        self.assertEqual(len(list(self.folder.glob("out*profiles.otlp"))), 1)

    def test_the_first_stacks_are_complete(self):
        """Stacks taken before unwind tables were loaded."""
        blocks = json.loads(self.profiled(str(PROGRAMS / "truth"), "first", "0", WHEREFORE_HEAP_RATE="10KB",
                                          WHEREFORE_WALL_RATE="0.001", WHEREFORE_OFF_CPU_RATE="0.001").stdout)["AllocBlock"]
        self.assertAlmostEqual(self.rows("alloc_space", lens="focus:AllocBlock")[0]["count"], blocks, delta=1)
        _, rows = self.rows("alloc_space")
        self.assertGreaterEqual(int(rows["main"]["total"]), int(rows["AllocBlock"]["total"]))
        self.assertNotIn("[incomplete]", rows)

    @estimate
    def test_programs_of_a_tenth_of_a_second_add_up(self):
        used = sum(json.loads(self.profiled(str(PROGRAMS / "truth"), "brief", "0.1").stdout)["Brief"] for _ in range(20))
        _, rows = self.rows("cpu")
        seen = int(rows["Brief"]["total"]) / 1e9
        # The last 10 ms of each may end before the kernel's tick that would have shown them.
        self.assertAlmostEqual(seen, used, delta=0.2 * used)
        self.assertGreaterEqual(int(rows["main"]["total"]), int(rows["Brief"]["total"]))


class Limits(Profiled):
    def test_files_keep_to_every_rule(self):
        for what in ("cpu", "locks", "blocks", "depth"):
            self.profiled(str(PROGRAMS / "truth"), what, "1.5", WHEREFORE_THREADS_RATE="1s")
        files = sorted(str(file) for file in self.folder.glob("out*profiles.otlp"))
        done = subprocess.run([BINARY, "check", "--strict", *files], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.count(" 0 errors, 0 warnings")), (0, len(files)), done.stdout)
        self.assertGreaterEqual(len(files), 4)

    def test_a_profile_above_its_size_is_divided_and_what_is_left_out_is_other(self):
        done = self.profiled(str(PROGRAMS / "truth"), "stacks", "0", WHEREFORE_HEAP_RATE="1KB",
                             WHEREFORE_MAX_PROFILE_SIZE="64KB")
        files = sorted(self.folder.glob("out*profiles.otlp"))
        self.assertGreater(len(files), 1)
        self.assertLessEqual(max(file.stat().st_size for file in files), 64_000)
        self.assertIn("above max_profile_size (62.5 KiB)", done.stderr)
        answer, rows = self.rows("alloc_objects")
        self.assertGreater(int(rows["[other]"]["total"]), 100)
        # Whatever else the program allocates is small.
        self.assertAlmostEqual(int(answer["total"]), json.loads(done.stdout)["blocks"], delta=500)

    def test_output_that_cannot_be_written_is_said_with_the_reason(self):
        done = subprocess.run([str(PROGRAMS / "truth"), "cpu", "0.1"], capture_output=True, text=True, timeout=60,
                              env=preload(WHEREFORE_OUTPUT="/proc/nowhere/out"))
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"profiles to /proc/nowhere/out: cannot write /proc/nowhere/out-\S+: No such file")

    def test_programs_that_another_started_say_once_what_is_lost(self):
        environment = preload(WHEREFORE_OUTPUT="/proc/nowhere/out", WHEREFORE_UPLOAD_INTERVAL="100ms")
        del environment["WHEREFORE_LOG"]
        program = f"{PROGRAMS}/truth cpu 0.5"
        done = subprocess.run(["sh", "-c", f"{program}; {program}; true"], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(done.returncode, 0)
        first, *others = done.stderr.splitlines()
        self.assertIn("profiling", first)
        lost = [re.match(r"wherefore: warning: profiles to /proc/nowhere/out: cannot write \S+/out-(\d+)-\S+: No such file", line)[1] for line in others]
        shell = re.search(r"process (\d+)", first)[1]
        self.assertEqual(len(lost), len(set(lost)), done.stderr)
        self.assertEqual(len(set(lost) - {shell}), 2, done.stderr)
        # Whoever wants silence has it.
        done = subprocess.run(["sh", "-c", f"{program}; true"], capture_output=True, text=True, timeout=60, env={**environment, "WHEREFORE_LOG": "error"})
        self.assertEqual(done.stderr, "")

    def test_what_ends_by_quick_exit_is_sent(self):
        done = self.profiled(str(PROGRAMS / "truth"), "quick", "0.5")
        _, rows = self.rows("cpu")
        self.assertAlmostEqual(int(rows["Brief"]["total"]) / 1e9, json.loads(done.stdout)["Brief"], delta=0.1)

    def test_quick_exit_in_a_handler_ends_at_once(self):
        """Whatever it interrupted: where the last cannot be sent, half a second is waited for it."""
        for i in range(10):
            begin = time.monotonic()
            self.profiled(str(PROGRAMS / "truth"), "quick-signal", str(0.1 + i / 20))
            self.assertLess(time.monotonic() - begin, 20)

    def test_disabled_is_said_once(self):
        done = subprocess.run([str(PROGRAMS / "truth"), "cpu", "0.1"], capture_output=True, text=True, timeout=60,
                              env=preload(OTEL_SDK_DISABLED="true", WHEREFORE_LOG="info"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "wherefore: off: OTEL_SDK_DISABLED\n")


def refuse(*numbers):
    """Runs in the child before exec: these system calls fail with EPERM from then on."""
    statements = [(0x20, 0, 0, 0)]  # load the number
    statements += [(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]  # equal: to the last statement
    statements += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x00050000 | errno.EPERM)]  # allow; or the error
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *statement) for statement in statements))
    program = struct.pack("<HxxxxxxQ", len(statements), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
        assert libc.prctl(22, 2, program, 0, 0) == 0, code  # PR_SET_SECCOMP
    return install


TIMER_CREATE, TIMER_SETTIME, PROCESS_VM_READV = 222, 223, 310


class Sandboxed(Profiled):
    def sandboxed(self, what, *numbers, **environment):
        done = subprocess.run([str(PROGRAMS / "truth"), what, "0.5"], capture_output=True, text=True, timeout=60, preexec_fn=refuse(*numbers),
                              env=preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_LOG="info", **environment))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.split("; off: ")

    def test_without_timers_cpu_is_off_and_says_so(self):
        on, off = self.sandboxed("waits", TIMER_CREATE)
        self.assertIn("on: wall 20 Hz (waiting only: timer_create: Operation not permitted), off_cpu", on)
        self.assertIn("cpu (timer_create: Operation not permitted)", off)
        self.assertTrue(self.rows("off_cpu")[1])
        with self.assertRaises(AssertionError):
            self.rows("cpu")

    def test_the_call_that_is_refused_is_named(self):
        _, off = self.sandboxed("waits", TIMER_SETTIME)
        self.assertIn("cpu (timer_settime: Operation not permitted)", off)

    def test_a_program_that_another_started_says_what_is_refused_in_one_line(self):
        """And nothing else: not what is on, and not what its parent has already said."""
        environment = preload(WHEREFORE_OUTPUT="/proc/nowhere/out", WHEREFORE_TYPO="1")
        del environment["WHEREFORE_LOG"]
        done = subprocess.run(["sh", "-c", f"{PROGRAMS}/truth cpu 0.3; {PROGRAMS}/truth cpu 0.3"], capture_output=True, text=True, timeout=60,
                              preexec_fn=refuse(TIMER_CREATE), env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stderr.splitlines() if "truth (process" in line]
        self.assertEqual(len(lines), 2, done.stderr)
        for line in lines:
            self.assertRegex(line, r"^wherefore: warning: truth \(process \d+\): off: cpu \(timer_create: Operation not permitted\)$")
        self.assertEqual(done.stderr.count("WHEREFORE_TYPO"), 1, "by the shell")

    def test_without_reading_stacks_waiting_is_off_and_says_so(self):
        on, off = self.sandboxed("cpu", PROCESS_VM_READV)
        self.assertIn("on: cpu 100 Hz, heap", on)
        for type in ("wall", "off_cpu", "threads"):
            self.assertIn(f"{type} (process_vm_readv: Operation not permitted)", off)
        self.assertIn("CpuLarge", self.rows("cpu")[1])

    def test_without_anything_it_needs_the_program_runs_as_ever(self):
        # And timer_settime, timer_delete, prctl, getrandom, memfd_create, socket, sched_getaffinity, madvise, perf_event_open.
        on, off = self.sandboxed("cpu", TIMER_CREATE, PROCESS_VM_READV, 223, 226, 157, 318, 319, 41, 204, 28, 298)
        self.assertIn("on: heap", on)
        self.assertIn("cpu (timer_create", off)

    def test_a_program_that_locks_itself_in_later(self):
        done = self.profiled(str(PROGRAMS / "truth"), "sandbox", "3")
        self.assertEqual(json.loads(done.stdout), {"refused": 0})
        self.assertEqual(done.stderr.count("not all threads are seen in the cpu profile: timer_create: Operation not permitted"), 1)
        self.assertEqual(done.stderr.count("wall, off_cpu and threads are off from here on"), 1)


class Torture(Profiled):
    def test_nothing_goes_wrong(self):
        done = self.profiled(str(PROGRAMS / "torture"), str(TORTURE_SECONDS), seconds=TORTURE_SECONDS + 120,
                             WHEREFORE_CPU_RATE="250", WHEREFORE_WALL_RATE="100", WHEREFORE_HEAP_RATE="16KB",
                             WHEREFORE_MAX_OVERHEAD="50%", WHEREFORE_UPLOAD_INTERVAL="1s")
        result = json.loads(done.stdout)
        self.assertEqual(result.pop("wrong"), 0, done.stderr)
        for part, rounds in result.items():
            self.assertGreater(rounds, 0, part)
        answer, _ = self.rows("cpu")
        self.assertGreater(int(answer["total"]), TORTURE_SECONDS * 1e8)

    def test_an_allocator_that_asks_the_loader_while_it_holds_its_lock(self):
        """Libraries come and go meanwhile, whose tables are read. Whoever asks it for memory under the loader's lock never ends."""
        for _ in range(5):
            self.profiled(str(PROGRAMS / "loading"), "1", LD_PRELOAD=f"{LIBRARY}:{PROGRAMS / 'asking_malloc.so'}")
            _, rows = self.rows("alloc_space")
            self.assertIn("Allocate", rows)

    def test_the_server_is_gone(self):
        started = time.monotonic()
        done = subprocess.run([str(PROGRAMS / "truth"), "cpu", "2"], capture_output=True, text=True, timeout=30,
                              env=preload(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9"))
        self.assertEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - started, 8)

    def test_what_crashed_before_stays_off(self):
        notes = subprocess.run(["readelf", "-n", str(PROGRAMS / "truth")], capture_output=True, text=True, check=True)
        build_id = notes.stdout.split("Build ID: ")[1].split()[0]
        marker = self.folder / f"wherefore-crash-{build_id}"
        marker.write_text("heap")
        done = self.profiled(str(PROGRAMS / "truth"), "cpu", "1", WHEREFORE_STATE_DIR=str(self.folder),
                             WHEREFORE_LOG="info")
        self.assertIn("it crashed this program before", done.stderr)
        self.assertIn("[wherefore]", self.rows("cpu")[1])
        with self.assertRaises(AssertionError):
            self.rows("inuse_space")
        self.assertTrue(marker.exists(), "it goes after ten minutes, not at once")

    def test_too_little_memory_to_start(self):
        limits = [f"-v {kilobytes}" for kilobytes in (*range(6000, 9000, 20), *range(9000, 900000, 20000))]
        kinds = set()
        for limit in [*limits, "-d 4000", "-d 90000"]:
            plain, profiled = (subprocess.run(["/bin/sh", "-c", f"ulimit {limit}; exec /bin/true"], env=environment,
                                              capture_output=True, text=True, timeout=60)
                               for environment in (dict(os.environ), preload(WHEREFORE_OUTPUT=str(self.folder / "out"))))
            if plain.returncode != 0 or (not kinds and profiled.returncode in (127, -signal.SIGSEGV)):
                continue  # the loader itself has no room for the library; glibc's may even crash
            self.assertEqual(profiled.returncode, 0, f"{limit}: {profiled.stderr}")
            kinds.add("not profiling: the limits on memory" in profiled.stderr)
        self.assertEqual(kinds, {True, False})

    def test_a_signal_the_program_blocks_waits(self):
        for types in ("cpu", "heap"):
            done = subprocess.run([str(PROGRAMS / "truth"), "masks", "1"], capture_output=True, text=True, timeout=30,
                                  env=preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_TYPES=types))
            self.assertEqual(json.loads(done.stdout), {"blocked": 1, "got": signal.SIGPROF, "thread_got": signal.SIGPROF, "pending": 1})
            self.assertEqual(done.returncode, -signal.SIGPROF)

    def test_a_program_that_uses_up_its_memory(self):
        for _ in range(5):
            self.assertEqual(self.profiled(str(PROGRAMS / "truth"), "exhaust", "0.6").stdout, "{}\n")

    def test_a_program_whose_main_ends_first(self):
        self.assertEqual(self.profiled(str(PROGRAMS / "truth"), "leave", "0.3", seconds=30).stdout, "{}\n")

    def test_in_a_pid_namespace_with_the_outer_proc_what_needs_the_numbers_of_threads_is_off(self):
        inside = ["unshare", "--user", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("no new namespaces here")
        environment = preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_LOG="info")
        library = environment.pop("LD_PRELOAD")

        def run(what, seconds):
            return subprocess.run([*inside, "env", f"LD_PRELOAD={library}", str(PROGRAMS / "truth"), what, seconds], env=environment,
                                  capture_output=True, text=True, timeout=60, check=True)

        why = r"\(/proc here belongs to another PID namespace\)"
        self.assertRegex(run("locks", "1.5").stderr, rf"on: heap [^(]*, mutex [^(]*, block [^(]*\(without input and output: {why[2:]}; "
                                                     rf"off: cpu {why}, wall {why}, off_cpu {why}, threads {why}; to files")
        self.assertIn("LockLong", self.rows("mutex")[1])
        self.assertIn("LockShort", self.rows("block")[1])
        self.assertEqual(run("leave", "0.3").stdout, "{}\n")  # though its numbers do not say whose threads are left

    def test_without_proc_frames_have_names(self):
        inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec env LD_PRELOAD="$0" "$@"']
        inside[1:1] = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        if subprocess.run([*inside, "", "true"], capture_output=True).returncode != 0:
            self.skipTest("no new namespaces here")
        environment = preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_LOG="info")
        library = environment.pop("LD_PRELOAD")
        done = subprocess.run([*inside, library, str(PROGRAMS / "truth"), "locks", "1"], env=environment, capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertIn("profiling truth ", done.stderr)
        self.assertIn("LockLong", self.rows("mutex")[1])

    def test_a_configuration_that_is_no_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for config in (pipe, "/dev/zero", self.folder):
            done = subprocess.run(["/bin/true"], env=preload(WHEREFORE_CONFIG=str(config)), capture_output=True,
                                  text=True, timeout=10)
            self.assertEqual(done.returncode, 0)
            self.assertIn("it is no file", done.stderr)

    def test_run_takes_from_the_file_what_nobody_said(self):
        """The library ranks the environment above the file, so `run`'s own defaults must not be in the environment."""
        config = self.folder / "profiling.yml"
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "WHEREFORE_"))}

        def seen(text, *flags, **environment):
            """Service and endpoint as the program sees them, and the output of `run`."""
            config.write_text("profiling:\n" + text)
            server, rest = (flags[:2], flags[2:]) if "--server" in flags[:1] else ((), flags)
            done = subprocess.run([BINARY, *server, "run", "--config", str(config), *rest, "--", "/bin/sh", "-c", "echo $OTEL_SERVICE_NAME,$OTEL_EXPORTER_OTLP_ENDPOINT"],
                                  env={**plain, "WHEREFORE_FOLLOW_EXEC": "off", **environment}, capture_output=True, text=True, timeout=60, check=True)
            return done.stdout.strip(), done.stderr

        both = "  # service_name and endpoint\n  service_name: fromfile\n  endpoint: http://127.0.0.1:1\n"
        said, log = seen(both)
        self.assertEqual(said, ",")
        self.assertIn("profiling fromfile (process", log)
        self.assertIn("to http://127.0.0.1:1/v1development/profiles", log)
        for flags, environment, expected in (
                (("--service", "flag"), {}, "flag,"), ((), {"OTEL_SERVICE_NAME": "env"}, "env,"),
                (("--server", "http://127.0.0.1:2"), {}, ",http://127.0.0.1:2"), ((), {"WHEREFORE_SERVER": "http://127.0.0.1:3"}, ",http://127.0.0.1:3")):
            self.assertEqual(seen(both, *flags, **environment)[0], expected)
        # A word in a comment decides nothing.
        _, log = seen("  # no service_name, no endpoint\n  max_stack_depth: 30\n")
        self.assertRegex(log, r"profiling sh \(process .*to http://127.0.0.1:4040/v1development/profiles")
        _, log = seen("  resource: {service.name: attribute}\n")
        self.assertRegex(log, r"profiling attribute \(process .*to http://127.0.0.1:4040/v1development/profiles")
        _, log = seen("  max_stack_depth: 30\n", OTEL_RESOURCE_ATTRIBUTES="service.name=attributes")
        self.assertIn("profiling attributes (process", log)

    def test_run_says_why_a_program_cannot_be_executed(self):
        (self.folder / "plain.txt").write_text("no program")
        for name, code, reason in ((f"{self.folder}/nosuch", 127, "No such file or directory"), ("no-such-program", 127, "not found in PATH"),
                                   (f"{self.folder}/plain.txt", 126, "Permission denied"), (str(self.folder), 126, "Is a directory")):
            done = subprocess.run([BINARY, "run", "--output", str(self.folder / "o"), "--", name], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (code, f"error: cannot execute {name}: {reason}\n"))

    def test_an_address_nobody_can_send_to_is_said_once(self):
        environment = preload(WHEREFORE_LOG="info", OTEL_EXPORTER_OTLP_ENDPOINT="ftp://x")
        del environment["LD_PRELOAD"]
        done = subprocess.run([BINARY, "run", "--", "/bin/true"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr.count("ftp://x"), 1, done.stderr)
        self.assertIn("'ftp://x' is no http or https address; using http://127.0.0.1:4318", done.stderr)

    def test_a_signal_nobody_handles_ends_the_program_as_ever(self):
        program = subprocess.Popen([str(PROGRAMS / "truth"), "cpu", "30"], stdout=subprocess.DEVNULL,
                                   env=preload(WHEREFORE_OUTPUT=str(self.folder / "out")))
        time.sleep(0.5)
        program.send_signal(signal.SIGPROF)
        self.assertEqual(program.wait(timeout=10), -signal.SIGPROF)

    def test_killed_at_any_moment(self):
        for after in (0.001, 0.01, 0.05, 0.1, 0.3, 1.1):
            program = subprocess.Popen([str(PROGRAMS / "truth"), "cpu", "30"], stdout=subprocess.DEVNULL,
                                       env=preload(WHEREFORE_OUTPUT=str(self.folder / "out")))
            time.sleep(after)
            program.send_signal(signal.SIGTERM)
            self.assertEqual(program.wait(timeout=10), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=2)
