"""The driver's watch with made-up ranks: who is late, who failed, who may speak."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from pipelines.deep.launch.watch import Watch, WatchAddress, WatchedProgress
from pipelines.errors import CauceError, DataGateError


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_rank_that_others_wait_for_is_named():
    with Watch("127.0.0.1", 2) as watch:
        fast, slow = (WatchedProgress(watch.address, rank) for rank in range(2))
        with fast, slow:
            for rank in (fast, slow):
                rank("epoch 1 step 0")
            fast("waiting for the other ranks")
            wait_until(lambda: watch.last_doing(0) == "waiting for the other ranks")
            wait_until(lambda: watch.last_doing(1) == "epoch 1 step 0")
            assert watch.stalled(60) is None
            wait_until(lambda: watch.stalled(0.2))
            assert watch.stalled(0.2) == "rank 1 (epoch 1 step 0)"
        wait_until(lambda: watch.stalled(0) is None)  # finished ranks can't stall


def test_a_rank_that_never_came_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pipelines.deep.launch.watch._START_LIMIT_S", 0.0)
    with Watch("127.0.0.1", 2) as watch, WatchedProgress(watch.address, 0) as progress:
        progress("reading labels")
        wait_until(lambda: watch.stalled(0.2))
        assert watch.stalled(0.2) == "rank 1 (starting)"


def test_starting_may_take_longer_than_a_step():
    with Watch("127.0.0.1", 1) as watch:
        time.sleep(0.1)
        assert watch.stalled(0.01) is None


def fail(address: WatchAddress, error: Exception) -> None:
    with WatchedProgress(address, 1) as progress:
        progress("epoch 2 step 3")
        raise error


def test_an_error_keeps_its_class_and_gets_the_rank():
    with Watch("127.0.0.1", 2) as watch:
        assert watch.first_error() is None
        with pytest.raises(DataGateError):
            fail(watch.address, DataGateError("a null label", where="t@3", remedy="drop it"))
        wait_until(watch.first_error)
        error = watch.first_error()
    assert isinstance(error, DataGateError)
    assert (str(error), error.where, error.remedy) == ("rank 1: a null label", "t@3", "drop it")


def test_a_crash_is_no_temporary_error():
    with Watch("127.0.0.1", 2) as watch:
        with pytest.raises(KeyError):
            fail(watch.address, KeyError("x"))
        wait_until(watch.first_error)
        error = watch.first_error()
    assert type(error) is CauceError
    assert error.exit_code == 1
    assert str(error) == "rank 1: KeyError: 'x'"
    assert error.where == "epoch 2 step 3"


def test_a_stranger_is_not_heard_and_nothing_stays_open():
    with Watch("127.0.0.1", 1) as watch:
        stranger = WatchedProgress(watch.address._replace(token="g" * 32), 0)
        with stranger:
            stranger("pretending")
            time.sleep(0.2)
        assert watch.last_doing(0) == "starting"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((watch.address.host, watch.address.port), 1)


def test_a_rank_outlives_its_driver():
    with Watch("127.0.0.1", 1) as watch:
        progress = WatchedProgress(watch.address, 0)
    with progress:
        progress("epoch 1 step 0")
