"""Secrets are filled in for the program and masked for everybody else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pipelines.errors import ConfigErrors
from pipelines.project import LoadedProject, locate_mistake

CANARY = "s3cr3t-canary"
Load = Callable[..., LoadedProject]
Mistakes = Callable[..., list[tuple[str, str]]]


def test_filled_in_for_the_program_only(load: Load) -> None:
    loaded = load("project.owner=${env:OWNER}", OWNER=CANARY)
    assert loaded.project.project.owner == CANARY
    assert loaded.resolved["project"]["owner"] == "${env:OWNER}"
    assert CANARY not in json.dumps(loaded.resolved)
    assert CANARY not in repr(loaded)
    assert loaded.mask(f"url https://x:{CANARY}@host") == "url https://x:***@host"


def test_the_hash_does_not_depend_on_the_secret(load: Load) -> None:
    key = "project.owner=${env:OWNER}"
    assert load(key, OWNER="a").config_hash == load(key, OWNER="b").config_hash


def test_inside_lists(load: Load) -> None:
    loaded = load("defaults.nulls=['', '${env:NULL}']", NULL=CANARY)
    assert loaded.project.defaults.nulls == ("", CANARY)
    assert loaded.resolved["defaults"]["nulls"] == ["", "${env:NULL}"]


@pytest.mark.parametrize(
    "value", ["x${env:A}", "${env:A}${env:A}", "${A}", "${env:}", "${env:A-B}"]
)
def test_whole_values_only(mistakes_of: Mistakes, value: str) -> None:
    ((where, told),) = mistakes_of(f"project.owner='{value}'", A=CANARY)
    assert where == f"--set  project.owner = {value}"
    assert told == "a secret is written ${env:NAME} and is the whole value"


@pytest.mark.parametrize("environ", [{}, {"OWNER": ""}])
def test_a_missing_variable(mistakes_of: Mistakes, environ: dict[str, str]) -> None:
    ((_, told),) = mistakes_of("project.seed=${env:OWNER}", **environ)
    assert told == "the environment variable OWNER is not set"


@pytest.mark.parametrize(
    "key",
    [
        "models.trees.kind",
        "project.seed",
        "project.name",
        "training_sets.spend.rows.source",
        "sources.orders.files.path",
        "sources.orders.files.delivered_at.from_name",
        "sources.orders.dedup.by",
        "defaults.time_zone",
        "training_sets.spend.label.wait",
    ],
)
def test_no_message_shows_the_value(load: Load, key: str) -> None:
    secret = f"../({CANARY}"
    with pytest.raises(ConfigErrors) as caught:
        load(f"{key}=${{env:SECRET}}", SECRET=secret)
    told = " ".join(f"{mistake.where} {mistake}" for mistake in caught.value.mistakes)
    assert CANARY not in told
    assert key in told or "dedup.by" in told


def test_mistakes_found_elsewhere_are_masked_too(load: Load) -> None:
    loaded = load("project.owner=${env:OWNER}", OWNER=CANARY)
    assert locate_mistake(loaded, "project.owner", f"bad {CANARY}").message == "bad ***"
