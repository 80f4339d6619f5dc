"""Horovod ranks as tasks of a Spark barrier stage; they meet at a Gloo rendezvous of rank 0."""

from __future__ import annotations

import json
import os
import re
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.deep.launch.watch import Watch, WatchAddress, WatchedProgress
from pipelines.deep.world import World
from pipelines.errors import CauceError, ConfigError, TemporaryError

if TYPE_CHECKING:
    from pyspark import BarrierTaskContext
    from pyspark.sql import SparkSession

    from pipelines.deep.rank import RankReport

_POLL_S = 0.1
_CANCEL_LIMIT_S = 15.0
_SLOTS_PATIENCE_S = 15.0
_PEER_LOST_PAUSE_S = 5.0
_HOROVOD_REMEDY = "run `make setup`, which builds Horovod from its sdist"


class Slot(NamedTuple):
    """A rank's place as Horovod counts it."""

    rank: int
    local_rank: int
    local_size: int
    cross_rank: int
    cross_size: int


@dataclass(frozen=True)
class _Launch:
    """What the driver sends to every task."""

    job: str
    watch: WatchAddress
    timeout_s: float
    local_cores: int | None  # cores that ranks share in local mode


def run_horovod_ranks(
    job: str, workers: int, timeout_s: float, spark: SparkSession
) -> list[RankReport]:
    """Run `rank.main` on `workers` ranks and wait for all of them.

    Args:
        job: Text of `rank.pack_job`.
        workers: Number of ranks, each a task of one barrier stage.
        timeout_s: Longest time a rank may make no progress.
        spark: The session whose task slots are used.

    Returns:
        One report a rank, by rank.

    Raises:
        ConfigError: Horovod is missing, or the session has fewer task slots than ranks.
        TemporaryError: A rank died or made no progress; it is named. Nothing is left running.
        CauceError: What a rank raised.
    """
    if find_spec("horovod") is None:
        raise ConfigError(
            "the project trains with Horovod, which is not installed",
            where="models.<name>.train.backend",
            remedy=_HOROVOD_REMEDY,
        )
    _check_slots(workers, spark)
    context = spark.sparkContext
    host = context.getConf().get("spark.driver.host") or "127.0.0.1"
    with Watch(host, workers) as watch:
        launch = _Launch(
            job, watch.address, timeout_s, os.cpu_count() if _is_local(spark) else None
        )
        reports = _supervise(launch, workers, watch, spark)
    return sorted(reports, key=lambda report: report.rank)


def slots_by_task(hosts: Sequence[str]) -> list[Slot]:
    """Give each task its rank: ranks of a host follow each other, hosts by first appearance.

    >>> [slot.rank for slot in slots_by_task(["a", "b", "a"])]
    [0, 2, 1]
    """
    order = list(dict.fromkeys(hosts))
    sizes = [hosts.count(host) for host in order]
    slots = []
    for task, host in enumerate(hosts):
        number = order.index(host)
        local_rank = hosts[:task].count(host)
        peers = [other for other, size in enumerate(sizes) if size > local_rank]
        slots.append(
            Slot(
                rank=sum(sizes[:number]) + local_rank,
                local_rank=local_rank,
                local_size=sizes[number],
                cross_rank=peers.index(number),
                cross_size=len(peers),
            )
        )
    return slots


def _check_slots(workers: int, spark: SparkSession) -> None:
    """Refuse at once what Spark would try for ten minutes."""
    conf = spark.sparkContext.getConf()
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        raise ConfigError(
            "Horovod ranks need a fixed number of executors, dynamic allocation is on",
            where="spark.dynamicAllocation.enabled",
            remedy="submit with `--conf spark.dynamicAllocation.enabled=false`",
        )
    slots = _task_slots(spark)
    deadline = time.monotonic() + _SLOTS_PATIENCE_S
    while slots < workers and not _is_local(spark) and time.monotonic() < deadline:
        time.sleep(_POLL_S)  # executors may still be on their way
        slots = _task_slots(spark)
    if slots < workers:
        raise ConfigError(
            f"training needs {workers} task slots at once, the session has {slots}",
            where=f"spark.master = {spark.sparkContext.master}",
            remedy="lower `models.<name>.train.workers`, or give Spark more cores",
        )


def _is_local(spark: SparkSession) -> bool:
    return re.fullmatch(r"local(\[.*\])?", str(spark.sparkContext.master)) is not None


def _task_slots(spark: SparkSession) -> int:
    """The number that Spark's own barrier check looks at."""
    scala_context: Any = spark.sparkContext._jsc.sc()
    profile = scala_context.resourceProfileManager().defaultResourceProfile()
    return int(scala_context.maxNumConcurrentTasks(profile))


def _supervise(
    launch: _Launch, workers: int, watch: Watch, spark: SparkSession
) -> list[RankReport]:
    """Run the barrier stage in a thread of its own and watch its ranks from this one."""
    from pyspark import InheritableThread

    context = spark.sparkContext
    group = f"cauce-train-{uuid.uuid4()}"
    outcome: dict[str, Any] = {}

    def run_stage() -> None:
        context.setJobGroup(group, "training ranks", interruptOnCancel=True)
        try:
            stage = context.parallelize(range(workers), workers).barrier()
            outcome["reports"] = stage.mapPartitions(_RankTask(launch)).collect()
        except Exception as error:  # told to the caller below, whatever it is
            outcome["error"] = error

    thread = InheritableThread(target=run_stage, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_S)
            stalled = watch.stalled(launch.timeout_s)
            if stalled and thread.is_alive():
                raise TemporaryError(
                    f"{stalled} made no progress for {launch.timeout_s:g} s; all ranks were ended",
                    remedy="run the same command again; if it comes back, look at that host",
                )
    finally:
        if thread.is_alive():
            context.cancelJobGroup(group)
            thread.join(_CANCEL_LIMIT_S)
    if "error" in outcome:
        raise _explain(outcome["error"], watch) from outcome["error"]
    reports: list[RankReport] = outcome["reports"]
    if len(reports) != workers:
        raise TemporaryError(f"{len(reports)} of {workers} ranks reported; all must")
    return reports


def _explain(error: Exception, watch: Watch) -> CauceError:
    reported = watch.first_error()
    if reported is not None:
        return reported
    died = re.search(r"ResultTask\(\d+, (\d+)\)", str(error))
    if died:
        rank = int(died.group(1))
        return TemporaryError(
            f"rank {rank} died (last heard of: {watch.last_doing(rank)}); all ranks were ended",
            remedy="run the same command again; if it comes back, give ranks more memory",
        )
    return TemporaryError(f"the training stage failed: {str(error).splitlines()[0]}")


class _RankTask:
    """What each barrier task runs: finds its place, joins the others, trains, reports."""

    def __init__(self, launch: _Launch):
        self._launch = launch

    def __call__(self, _rows: Iterable[int]) -> Iterator[RankReport]:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        hosts = [info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()]
        slot = slots_by_task(hosts)[context.partitionId()]
        with WatchedProgress(self._launch.watch, slot.rank) as progress:
            yield _train(self._launch, context, hosts, slot, progress)


def _train(
    launch: _Launch,
    context: BarrierTaskContext,
    hosts: Sequence[str],
    slot: Slot,
    progress: WatchedProgress,
) -> RankReport:
    try:
        import horovod.torch as hvd
        from horovod.common.exceptions import HorovodInternalError
    except ImportError as error:
        raise ConfigError(
            f"this executor can't import Horovod: {error}", remedy=_HOROVOD_REMEDY
        ) from error
    from pipelines.deep.rank import main
    from pipelines.deep.strategy.horovod import HorovodStrategy

    server = _start_rendezvous(hosts) if slot.rank == 0 else None
    try:
        _join_rendezvous(launch, context, hosts, slot, server)
        hvd.init()
        try:
            cores = launch.local_cores or slot.local_size * context.cpus()
            world = World(slot.rank, len(hosts), threads=max(1, cores // slot.local_size))
            report = main(launch.job, world, HorovodStrategy(), progress)
        except HorovodInternalError as error:
            time.sleep(_PEER_LOST_PAUSE_S)  # let the rank that was lost be the one that is named
            raise TemporaryError(f"lost the other ranks: {error}") from error
        finally:
            hvd.shutdown()  # else this worker process could not train again
        context.barrier()  # rank 0 serves the rendezvous until everyone has left it
        return report
    finally:
        if server is not None:
            server.stop()
            server._httpd.server_close()


def _start_rendezvous(hosts: Sequence[str]) -> Any:
    from horovod.runner.common.util.hosts import HostInfo, get_host_assignments
    from horovod.runner.http.http_server import RendezvousServer

    server = RendezvousServer()
    server.port = server.start()
    counted = [HostInfo(host, hosts.count(host)) for host in dict.fromkeys(hosts)]
    server.init(get_host_assignments(counted, len(hosts)))
    return server


def _join_rendezvous(
    launch: _Launch,
    context: BarrierTaskContext,
    hosts: Sequence[str],
    slot: Slot,
    server: Any,
) -> None:
    """Tell Horovod its place through the variables that its own launchers set."""
    own = hosts[context.partitionId()]
    address, interface = _network(own, single_host=len(set(hosts)) == 1)
    offers = context.allGather(json.dumps([address, server.port] if server is not None else None))
    rendezvous_address, port = next(offer for offer in map(json.loads, offers) if offer)
    values = {
        "RANK": slot.rank,
        "SIZE": len(hosts),
        "LOCAL_RANK": slot.local_rank,
        "LOCAL_SIZE": slot.local_size,
        "CROSS_RANK": slot.cross_rank,
        "CROSS_SIZE": slot.cross_size,
        "HOSTNAME": own,
        "CONTROLLER": "gloo",
        "CPU_OPERATIONS": "gloo",
        "GLOO_IFACE": interface,
        "GLOO_RENDEZVOUS_ADDR": rendezvous_address,
        "GLOO_RENDEZVOUS_PORT": port,
        # The driver's watch is to speak first, because it knows which rank is late.
        "GLOO_TIMEOUT_SECONDS": int(launch.timeout_s) + 30,
    }
    os.environ.update({f"HOROVOD_{name}": str(value) for name, value in values.items()})


def _network(host: str, single_host: bool) -> tuple[str, str]:
    """This host's address for other ranks, and the name of its network interface."""
    import psutil

    address = "127.0.0.1" if single_host else socket.gethostbyname(host)
    for name, entries in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in entries):
            return address, name
    raise ConfigError(
        f"no network interface of this host has the address {address}",
        where=host,
        remedy="let the host's name resolve to an address of its own",
    )
