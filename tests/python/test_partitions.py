"""The simulation of logs that hosts share (bench/partitions), against cases worked out by hand."""

import importlib.util
import sys
import unittest
from dataclasses import replace
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "bench/partitions/simulation.py"
spec = importlib.util.spec_from_file_location("simulation", PATH)
simulation = importlib.util.module_from_spec(spec)
sys.modules["simulation"] = simulation
spec.loader.exec_module(simulation)
Setup, Simulation = simulation.Setup, simulation.Simulation


class Partitions(unittest.TestCase):
    def test_the_first_resource_that_is_used_up_limits_the_rate(self):
        one = Setup(logs=1, hosts=3, cores=2)
        cases = [
            ("cores", one, 2 / 9.0e-6),
            ("network", replace(one, cores=64, gigabits=0.5), 0.5e9 / 8 / (350 * 4)),
        ]
        for name, setup, expected in cases:
            paper = setup.paper()
            self.assertEqual(min(paper, key=paper.get), name)
            self.assertAlmostEqual(paper[name], expected, delta=1)
            rate, seen = simulation.limit(setup, 2.0, seed=1)
            self.assertLess(abs(rate / expected - 1), 0.1, name)
            self.assertGreater(seen["used"][name], 0.9)

    def test_a_host_that_follows_works_too(self):
        setup = Setup(logs=3, hosts=3, cores=2)
        expected = 3 * 2 / (9.0e-6 + 2 * 8.7e-6)
        self.assertAlmostEqual(setup.paper()["cores"], expected, delta=1)
        rate, _ = simulation.limit(setup, 2.0, seed=1)
        self.assertLess(abs(rate / expected - 1), 0.1)

    def test_alone_a_frame_waits_for_two_syncs_and_two_round_trips(self):
        setup = Setup(logs=1, hosts=3, cores=8, gigabits=1000.0, sync_s=5e-3, trip_s=2e-3)
        seen = Simulation(setup, 1_000, seed=3).run(20.0)
        # The decision, half a trip, a sync on another server, a trip back, and the leader's own sync; or that of another
        # node, which ends later: half a trip, its server's sync, a trip to the node, its sync.
        expected = 500 * 9.0e-6 + 1e-3 + 5e-3 + 2e-3 + 5e-3
        self.assertLess(abs(seen["median_s"] / expected - 1), 0.05, seen)

    def test_slow_disks_make_fewer_and_larger_frames(self):
        setup = Setup(logs=10, hosts=3, cores=8)
        quick = Simulation(setup, 500_000, seed=1).run(1.0)
        slow = Simulation(replace(setup, sync_s=2e-3), 500_000, seed=1).run(1.0)
        self.assertTrue(quick["stable"] and slow["stable"])
        self.assertLess(slow["frames"], quick["frames"] / 2)
        self.assertGreater(slow["median_s"], 2 * quick["median_s"])

    def test_a_seed_repeats_a_run(self):
        setup = Setup(logs=2, hosts=3, cores=4)
        runs = [Simulation(setup, 100_000, seed).run(0.3) for seed in (5, 5, 6)]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])


if __name__ == "__main__":
    unittest.main()
