#!/usr/bin/env python3
"""Simulates logs that hosts share, with measured service times, to check the paper model of docs/SCALING.md.

Each host has cores, a network card, a disk, a NATS server and a node. A log is led on one host and followed on the next
two; its stream is led on the same host. Requests of many actions arrive at random. The leader works each one off on a
core, and puts what has gathered into a frame as soon as the frame before is acknowledged: one frame is in flight. A frame
is acknowledged once it is on the disks of two NATS servers, of the leader, and of one other node.

    python3 bench/partitions/simulation.py            # the table of docs/SCALING.md
    python3 bench/partitions/simulation.py --help

What it leaves out: elections, forwarding, anchors, and everything that makes a measured cost grow under load.
"""

import argparse
import heapq
import random
from collections import deque
from dataclasses import dataclass, replace

# Seconds of a core for each action: PERFORMANCE.md and the seventh measure, with all of the server at work.
LEADING_S = 9.0e-6
LEADING_ALONE_S = 154e-6
# Not measured: verifying with state makes 230,000 actions a second on two cores.
FOLLOWING_S = 8.7e-6
# Bytes of a frame for each action: 286 of the request, 32 of its leaf, the index.
ACTION_BYTES = 350
FRAME_BYTES_MAX = 4 << 20
# The stream's leader sends a frame to two servers and to two nodes.
COPIES_SENT = 4


@dataclass(frozen=True)
class Setup:
    """What runs where."""

    logs: int
    hosts: int
    cores: int
    gigabits: float = 10.0
    sync_s: float = 0.2e-3
    trip_s: float = 0.2e-3
    actions: int = 500
    leading_s: float = LEADING_S

    def paper(self) -> dict[str, float]:
        """Actions a second of all logs at which each resource is used up, on paper."""
        led = [0] * self.hosts
        followed = [0] * self.hosts
        for log in range(self.logs):
            led[log % self.hosts] += 1
            for next in range(1, min(3, self.hosts)):
                followed[(log + next) % self.hosts] += 1
        work_s = max(
            leads * self.leading_s + follows * FOLLOWING_S for leads, follows in zip(led, followed)
        )
        sent_s = max(led) * ACTION_BYTES * COPIES_SENT * 8 / (self.gigabits * 1e9)
        return {"cores": self.logs * self.cores / work_s, "network": self.logs / sent_s}


class Resource:
    """Servers with one queue: cores, a network card, a disk."""

    def __init__(self, simulation: "Simulation", servers: int):
        self.simulation = simulation
        self.free = servers
        self.servers = servers
        self.waiting: deque = deque()
        self.busy_s = 0.0

    def use(self, service_s: float, done) -> None:
        """Works for so long, then calls `done`."""
        self.waiting.append((service_s, done))
        self._begin()

    def _begin(self) -> None:
        while self.free and self.waiting:
            service_s, done = self.waiting.popleft()
            self.free -= 1
            self.busy_s += service_s
            self.simulation.after(service_s, lambda done=done: self._end(done))

    def _end(self, done) -> None:
        self.free += 1
        done()
        self._begin()


class Host:
    """A machine with a NATS server and a node."""

    def __init__(self, simulation: "Simulation", setup: Setup):
        self.cores = Resource(simulation, setup.cores)
        self.network = Resource(simulation, 1)
        self.disk = Resource(simulation, 1)


class Log:
    """A log with its leader and those who follow it."""

    def __init__(self, simulation: "Simulation", number: int):
        self.simulation = simulation
        hosts = simulation.hosts
        count = min(3, len(hosts))
        self.leader = hosts[number % len(hosts)]
        self.others = [hosts[(number + next) % len(hosts)] for next in range(1, count)]
        # When the actions arrived that wait for a frame, and how many came together.
        self.gathered: deque = deque()
        self.in_flight = False
        self.frames = 0
        # Actions that a node has not applied yet.
        self.unapplied = [0] * len(self.others)

    def arrive(self) -> None:
        """A request arrives, and the next one is on its way."""
        simulation = self.simulation
        setup = simulation.setup
        arrived = simulation.now
        self.leader.cores.use(setup.actions * setup.leading_s, lambda: self._decided(arrived))
        simulation.after(simulation.random.expovariate(simulation.rate / setup.actions), self.arrive)

    def _decided(self, arrived: float) -> None:
        self.gathered.append(arrived)
        self._publish()

    def _publish(self) -> None:
        if self.in_flight or not self.gathered:
            return
        self.in_flight = True
        self.frames += 1
        setup = self.simulation.setup
        limit = max(1, FRAME_BYTES_MAX // (ACTION_BYTES * setup.actions))
        frame = [self.gathered.popleft() for _ in range(min(limit, len(self.gathered)))]
        size = ACTION_BYTES * setup.actions * len(frame)
        sending_s = size * COPIES_SENT * 8 / (setup.gigabits * 1e9)
        # The leader's node and server share a host. Each of its two syncs follows the other: the node appends what the
        # stream has acknowledged.
        stream = {"synced": 0}

        def server_synced() -> None:
            stream["synced"] += 1
            if stream["synced"] == min(2, 1 + len(self.others)):
                self.simulation.after(setup.trip_s, lambda: self.leader.disk.use(setup.sync_s, node_synced))

        nodes = {"synced": 0, "leader": False, "done": False}

        def node_synced() -> None:
            nodes["leader"] = True
            finish()

        def other_synced(index: int) -> None:
            nodes["synced"] += 1
            finish()
            self._apply(index, len(frame) * setup.actions)

        def finish() -> None:
            enough = nodes["synced"] >= min(1, len(self.others))
            if nodes["leader"] and enough and not nodes["done"]:
                nodes["done"] = True
                self._acknowledged(frame)

        def sent() -> None:
            for index, other in enumerate(self.others):
                arrive_s = setup.trip_s / 2

                def at_other(index=index, other=other) -> None:
                    # The server syncs its copy, then the node, which reads from the stream.
                    other.disk.use(
                        setup.sync_s,
                        lambda: (
                            server_synced(),
                            self.simulation.after(
                                setup.trip_s,
                                lambda: other.disk.use(setup.sync_s, lambda: other_synced(index)),
                            ),
                        ),
                    )

                self.simulation.after(arrive_s, at_other)

        self.leader.disk.use(setup.sync_s, server_synced)
        self.leader.network.use(sending_s, sent)

    def _apply(self, index: int, actions: int) -> None:
        self.unapplied[index] += actions
        setup = self.simulation.setup
        for _ in range(actions // setup.actions):
            self.others[index].cores.use(
                setup.actions * FOLLOWING_S, lambda: self._applied(index, setup.actions)
            )

    def _applied(self, index: int, actions: int) -> None:
        self.unapplied[index] -= actions

    def _acknowledged(self, frame: list[float]) -> None:
        self.in_flight = False
        self.simulation.acknowledged(frame)
        self._publish()

    def backlog(self) -> int:
        """Actions that somebody still has to work on, besides those that wait for a core."""
        return len(self.gathered) * self.simulation.setup.actions + max(self.unapplied, default=0)


class Simulation:
    """A run at a rate, after a time in which it warms up."""

    def __init__(self, setup: Setup, rate: float, seed: int):
        self.setup = setup
        self.rate = rate / setup.logs
        self.random = random.Random(seed)
        self.now = 0.0
        self.events: list = []
        self.order = 0
        self.done_actions = 0
        self.latencies: list[float] = []
        self.hosts = [Host(self, setup) for _ in range(setup.hosts)]
        self.logs = [Log(self, number) for number in range(setup.logs)]

    def after(self, wait_s: float, what) -> None:
        self.order += 1
        heapq.heappush(self.events, (self.now + wait_s, self.order, what))

    def acknowledged(self, frame: list[float]) -> None:
        self.done_actions += len(frame) * self.setup.actions
        self.latencies.extend(self.now - arrived for arrived in frame)

    def _until(self, end: float) -> None:
        while self.events and self.events[0][0] <= end:
            self.now, _, what = heapq.heappop(self.events)
            what()
        self.now = end

    def _unfinished(self) -> float:
        """Seconds of the busiest queue, and those of what waits in the logs."""
        queues = [
            sum(service for service, _ in resource.waiting) / resource.servers
            for host in self.hosts
            for resource in (host.cores, host.network, host.disk)
        ]
        waiting_s = sum(log.backlog() for log in self.logs) / (self.rate * len(self.logs))
        return max(*queues, waiting_s)

    def run(self, seconds: float) -> dict:
        """Runs, and returns what was seen."""
        for log in self.logs:
            self.after(self.random.expovariate(self.rate / self.setup.actions), log.arrive)
        self._until(seconds / 3)
        before = self._unfinished()
        self.done_actions, self.latencies = 0, []
        frames = sum(log.frames for log in self.logs)
        busy = [
            (host.cores.busy_s, host.network.busy_s, host.disk.busy_s) for host in self.hosts
        ]
        self._until(seconds)
        length = seconds * 2 / 3
        used = {}
        for index, name in enumerate(("cores", "network", "disk")):
            shares = []
            for host, start in zip(self.hosts, busy):
                resource = (host.cores, host.network, host.disk)[index]
                shares.append((resource.busy_s - start[index]) / length / resource.servers)
            used[name] = min(1.0, max(shares))
        latencies = sorted(self.latencies)
        at = lambda share: latencies[int(share * (len(latencies) - 1))] if latencies else 0.0
        grown = self._unfinished() - before
        return {
            "rate": self.done_actions / length,
            # Work that piles up by more than a fortieth of the time would never be done.
            "stable": grown < length / 40,
            "used": used,
            "frames": (sum(log.frames for log in self.logs) - frames) / length / self.setup.logs,
            "median_s": at(0.5),
            "p99_s": at(0.99),
        }


def limit(setup: Setup, seconds: float, seed: int) -> tuple[float, dict]:
    """The highest rate that is stable, and what was seen there."""
    low, high = 0.0, 1.3 * min(setup.paper().values())
    seen: dict = {}
    for _ in range(7):
        rate = (low + high) / 2
        found = Simulation(setup, rate, seed).run(seconds)
        if found["stable"]:
            low, seen = rate, found
        else:
            high = rate
    return low, seen


CASES = [
    ("1 log, 3 hosts of 8 cores, 10 Gbit/s", Setup(1, 3, 8)),
    ("1 log, 3 hosts of 8 cores, 1 Gbit/s", Setup(1, 3, 8, gigabits=1.0)),
    ("1 log, single changes, 3 hosts of 8 cores", Setup(1, 3, 8, actions=1, leading_s=LEADING_ALONE_S)),
    ("10 logs, 10 hosts of 8 cores", Setup(10, 10, 8)),
    ("100 logs, 10 hosts of 8 cores", Setup(100, 10, 8)),
    ("100 logs, 10 hosts, syncs of 1 ms", Setup(100, 10, 8, sync_s=1e-3)),
    ("100 logs, 100 hosts of 8 cores", Setup(100, 100, 8)),
]


def row(name: str, setup: Setup, seconds: float, seed: int) -> str:
    """A line of the table: the limit, and the latency at 70 % of it."""
    rate, seen = limit(setup, seconds, seed)
    calm = Simulation(setup, 0.7 * rate, seed).run(seconds)
    paper = setup.paper()
    first = min(paper, key=paper.get)
    used = seen["used"]
    shares = ", ".join(f"{name} {share:.0%}" for name, share in used.items())
    return (
        f"| {name} | {paper[first]:,.0f} ({first}) | {seen['rate']:,.0f} | {shares} | {seen['frames']:.0f} "
        f"| {calm['median_s'] * 1e3:.1f} / {calm['p99_s'] * 1e3:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="simulated seconds of a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sync-ms", type=float, help="another time of a sync, for all cases")
    options = parser.parse_args()
    print("| case | on paper, actions a second | simulated | in use there | frames a second and log | ms at 70 %: median / p99 |")
    print("|---|---|---|---|---|---|")
    for name, setup in CASES:
        if options.sync_ms is not None:
            setup = replace(setup, sync_s=options.sync_ms / 1e3)
        # Single changes are many more events.
        seconds = options.seconds / 5 if setup.actions == 1 else options.seconds
        print(row(name, setup, seconds, options.seed), flush=True)


if __name__ == "__main__":
    main()
