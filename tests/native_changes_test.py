"""libwherefore in programs that change: libraries are loaded and unloaded, types are switched, allocations come faster
than they can be sampled, waits time out. Its profiles stay correct.

tests/sdk/changes.cc, by LD_PRELOAD.
"""
import json
import math
import os
import resource
import subprocess
import threading
import unittest

from preload import PROGRAMS, Profiled, estimate, preload


class Changes(Profiled):
    def truth(self, what, seconds, **environment):
        # One upload, at the end: on a busy machine a second of CPU time is many.
        done = self.profiled(str(PROGRAMS / "changes"), what, str(seconds), WHEREFORE_UPLOAD_INTERVAL="1h", **environment)
        return json.loads(done.stdout)

    def cpu_observations(self):
        """A hundred per second of CPU time; on a busy machine fewer, each with a higher weight."""
        count = self.rows("cpu")[0]["count"]
        self.assertGreater(count, 40)
        return count

    def assert_seconds(self, rows, name, seconds, delta):
        seen = int(rows[name]["total"]) / 1e9 if name in rows else 0
        self.assertAlmostEqual(seen, seconds, delta=delta, msg=f"{name}: {seconds:.3f} s, seen {seen:.3f} s")


class Libraries(Changes):
    def libraries(self, seconds):
        truth = self.truth("libraries", seconds, WHEREFORE_TYPES="cpu")
        same, moved = truth.pop("same"), truth.pop("moved")
        self.assertGreater(same, moved, "the loader put them to different places: nothing was shown")
        return truth

    def test_one_that_comes_in_the_place_of_another_is_not_taken_for_it(self):
        self.libraries(3)
        for caller, name, other in (("UseOne", "BurnInOne", "BurnInTwo"), ("UseTwo", "BurnInTwo", "BurnInOne")):
            _, rows = self.rows("cpu", lens=f"focus:{caller}")
            self.assertIn(name, rows, caller)
            self.assertNotIn(other, rows, caller)

    @estimate
    def test_those_that_are_gone_before_anybody_looked_have_their_share(self):
        truth = self.libraries(5)
        observations = self.cpu_observations()
        seen = self.assert_shares("cpu", truth, observations) / 1e9
        total = sum(truth.values())
        self.assertAlmostEqual(seen, total, delta=max(0.06 * total, 3 * total / observations), msg="some of it is under neither")

    @estimate
    def test_one_whose_file_was_replaced_after_it_was_unloaded_keeps_its_names(self):
        truth = self.truth("replaced", 2, WHEREFORE_TYPES="cpu")
        self.assert_shares("cpu", truth, self.cpu_observations())
        self.assertNotIn("current.so+", json.dumps(self.rows("cpu")[0]))

    @estimate
    def test_what_one_does_as_soon_as_it_is_loaded_has_complete_stacks(self):
        truth = self.truth("fresh", 3, WHEREFORE_TYPES="cpu,heap", WHEREFORE_HEAP_RATE="10KB", WHEREFORE_MAX_OVERHEAD="100%")
        distance = truth["BurnInOne"] / self.cpu_observations()
        heap = [(type, name, 1, 0.02) for type in ("alloc_space", "inuse_space") for name in ("AllocInOne", "FillInOne")]
        for type, name, unit, delta in (("cpu", "BurnInOne", 1e9, max(0.06, 3 * distance)), *heap):
            seen = int(self.rows(type)[1].get(name, {"total": 0})["total"])
            self.assertAlmostEqual(seen / unit, truth[name], delta=delta * truth[name], msg=f"{name} in {type}")
            complete = int(self.rows(type, lens=f"focus:^main$ > focus:UseFresh > focus:^{name}$")[0]["total"])
            self.assertGreaterEqual(complete, 0.99 * seen, f"{name} in {type}")


class Bursts(Changes):
    def burst(self):
        return self.truth("burst", 1.5, WHEREFORE_TYPES="cpu,heap", WHEREFORE_HEAP_RATE="1", WHEREFORE_MAX_OVERHEAD="100%")

    def test_allocations_that_find_no_room_are_no_cpu_time(self):
        def used():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime

        before = used()
        self.burst()
        spent = used() - before
        answer, _ = self.rows("cpu")
        # Each of the five threads may have one sample that stands for less than it says.
        self.assertLessEqual(int(answer["total"]) / 1e9, spent * (1 + max(0.02, 3 / math.sqrt(spent * 100))) + 0.05)

    @estimate
    def test_allocations_that_find_no_room_are_made_up_for_with_the_weight_they_had(self):
        """The distance between samples grows meanwhile."""
        truth = self.burst()["AllocTiny"]
        answer, _ = self.rows("alloc_space", lens="focus:AllocTiny")
        self.assertGreater(answer["count"], 40)
        self.assertAlmostEqual(int(answer["total"]), truth, delta=max(0.02, 3 / math.sqrt(answer["count"])) * truth)


class Switching(Changes):
    def check(self, types):
        truth = self.truth("switch", 3, WHEREFORE_TYPES=types)
        _, rows = self.rows("cpu")
        self.assertNotIn("WorkWhileOff", rows)
        # What is between the last sample and the end is not seen.
        seconds = truth["WorkWhileOn"]
        self.assert_seconds(rows, "WorkWhileOn", seconds, 0.03 * seconds + truth["rounds"] * seconds / self.cpu_observations())
        return truth

    @estimate
    def test_work_is_seen_in_full_while_cpu_is_on_and_not_at_all_while_it_is_off(self):
        self.check("cpu")

    @estimate
    def test_the_wall_clock_goes_on_meanwhile(self):
        truth = self.check("cpu,wall")
        rows = self.rows("wall")[1]
        for name in ("WorkWhileOn", "WorkWhileOff"):
            self.assertGreater(int(rows[name]["total"]) / 1e9, 0.9 * truth[name], name)


class TimedWaits(Changes):
    @estimate
    def test_are_under_who_waited_and_who_held(self):
        # Each wait is so long that it is sampled for certain. What a busy machine takes between the program's look at the clock and
        # its call is no waiting.
        truth = self.truth("timed", 5, WHEREFORE_MUTEX_RATE="10us", WHEREFORE_BLOCK_RATE="10us")
        waited, held = self.rows("block")[1], self.rows("mutex")[1]
        for name, seconds in truth.items():
            if name != "HoldWrite":  # who held a reader-writer lock is not known
                self.assert_seconds(waited if name.startswith("Wait") else held, name, seconds, 0.15 * seconds)


class Budget(Changes):
    def test_that_cannot_be_kept_is_said(self):
        command = ["sleep", "600"]
        environment = preload(WHEREFORE_OUTPUT=str(self.folder / "out"), WHEREFORE_TYPES="cpu", WHEREFORE_MAX_OVERHEAD="0.0001%")
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            timer = threading.Timer(120, process.kill)  # or there would be no end to reading
            timer.start()
            line = process.stderr.readline()
            timer.cancel()
            process.kill()
            self.assertRegex(line, r"max_overhead \(0\.0001%\) cannot be kept: profiling takes [0-9.e-]+%, and fewer samples would not change that; ")


class Namespaces(Changes):
    @estimate
    def test_work_before_and_after_a_new_pid_namespace_is_seen(self):
        """After it the kernel gives the process no more threads."""
        prefix = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
        done = self.profiled(*prefix, str(PROGRAMS / "changes"), "namespace", "3", WHEREFORE_TYPES="cpu", WHEREFORE_UPLOAD_INTERVAL="1h")
        truth = json.loads(done.stdout)
        if refused := truth.pop("refused"):
            self.skipTest(f"a new PID namespace: {os.strerror(int(refused))}")
        self.assertEqual(done.stderr, "")
        rows, distance = self.rows("cpu")[1], sum(truth.values()) / self.cpu_observations()
        for name, seconds in truth.items():
            self.assert_seconds(rows, name, seconds, max(0.06 * seconds, 3 * distance))


class Children(Changes):
    @estimate
    def test_one_whose_threads_work_and_one_that_asks_for_its_profile(self):
        truth = self.truth("children", 2)
        rows = self.rows("cpu")[1]
        # The first 10 ms of a child are not seen.
        for name, seconds in truth.items():
            self.assert_seconds(rows, name, seconds, 0.15 * seconds)


class OwnTimer(Changes):
    def test_the_program_s_own_profiling_timer_is_as_without_us(self):
        """Its ticks often coincide with ours; they must not go to a sleeping thread, and each must show what was interrupted."""
        ticks = self.truth("owntimer", 2, WHEREFORE_CPU_RATE="250")
        self.assertGreater(ticks["ticks"], 100)
        self.assertEqual(ticks["interrupted"], 0)
        self.assertLessEqual(ticks["ticks_while_asleep"], 0.05 * ticks["ticks"], "one that wakes up may meet a tick, also without us")
        self.assertGreaterEqual(ticks["ticks_here"], 0.95 * ticks["ticks"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
