"""Places of ranks on hosts, against Horovod's own arithmetic."""

from __future__ import annotations

import pytest
from horovod.runner.common.util.hosts import HostInfo, get_host_assignments
from hypothesis import given
from hypothesis import strategies as st

from pipelines.deep.launch.horovod_barrier import Slot, slots_by_task


def test_one_host():
    assert slots_by_task(["a", "a"]) == [Slot(0, 0, 2, 0, 1), Slot(1, 1, 2, 0, 1)]


def test_three_hosts_in_mixed_order():
    assert slots_by_task(["a", "b", "a", "c"]) == [
        Slot(rank=0, local_rank=0, local_size=2, cross_rank=0, cross_size=3),
        Slot(rank=2, local_rank=0, local_size=1, cross_rank=1, cross_size=3),
        Slot(rank=1, local_rank=1, local_size=2, cross_rank=0, cross_size=1),
        Slot(rank=3, local_rank=0, local_size=1, cross_rank=2, cross_size=3),
    ]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9))
def test_equals_horovod(hosts: list[str]):
    counted = [HostInfo(host, hosts.count(host)) for host in dict.fromkeys(hosts)]
    theirs = get_host_assignments(counted, len(hosts))

    ours = dict(zip(slots_by_task(hosts), hosts, strict=True))

    assert sorted((*slot, host) for slot, host in ours.items()) == [
        (s.rank, s.local_rank, s.local_size, s.cross_rank, s.cross_size, s.hostname) for s in theirs
    ]


def test_a_host_whose_name_leads_elsewhere(monkeypatch: pytest.MonkeyPatch):
    from pipelines.deep.launch import horovod_barrier
    from pipelines.errors import ConfigError

    assert horovod_barrier._network("anything", single_host=True) == ("127.0.0.1", "lo")
    monkeypatch.setattr(horovod_barrier.socket, "gethostbyname", lambda _host: "192.0.2.1")
    with pytest.raises(ConfigError, match=r"no network interface .* the address 192\.0\.2\.1"):
        horovod_barrier._network("elsewhere", single_host=False)
