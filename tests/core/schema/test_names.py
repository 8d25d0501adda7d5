"""Names: unknown ones are refused with near matches, aliases collapse, injected ones stay out of sight."""

from __future__ import annotations

import time

import pytest

from ax_core.keys import args_hash
from ax_core.schema import Admitted, SchemaError, compile_gate
from ax_core.schema.names import nearest
from support.gates import admitted, refused, takes

PURGE = takes(
    {"older_than_days": {"type": "integer", "default": 0}, "dry_run": {"type": "boolean", "default": False}}
)


def test_unknown_arguments_are_refused_with_near_matches_and_nothing_runs_on_defaults() -> None:
    answer = refused(compile_gate(PURGE), {"olderThan": 90, "dryrun": True})
    found = {problem.path: (problem.kind, problem.suggestion) for problem in answer.problems}
    assert found == {"olderThan": ("unexpected", "older_than_days"), "dryrun": ("unexpected", "dry_run")}
    assert "did you mean 'older_than_days'?" in answer.for_model()


def test_case_and_separators_do_not_count_for_near_matches() -> None:
    assert nearest("DRY - - - - - - - - RUN", ["drain", "dry_run"]) == "dry_run"
    assert nearest("entirely different", ["dry_run"]) == ""


def test_an_argument_that_was_given_is_not_what_an_unknown_one_means() -> None:
    gate = compile_gate(takes({"path": {}, "patch": {}}))
    assert refused(gate, {"path": "a", "pathc": "b"}).problems[0].suggestion == "patch"
    assert refused(gate, {"pathc": "b"}).problems[0].suggestion == "path"


def test_a_lenient_tool_drops_unknown_arguments_and_says_so() -> None:
    answer = compile_gate(PURGE, lenient_unknown=True).admit({"olderThan": 90, "dryrun": True})
    assert isinstance(answer, Admitted)
    assert answer.args == {"older_than_days": 0, "dry_run": False}
    assert [note.split("'")[1] for note in answer.notes] == ["olderThan", "dryrun"]
    assert all("ignored" in note for note in answer.notes)


def test_a_schema_that_allows_other_arguments_lets_them_in() -> None:
    for extra in (True, {}, {"type": "integer"}):
        assert admitted(compile_gate(takes({}, additionalProperties=extra)), {"any": 1}) == {"any": 1}
    assert admitted(compile_gate(True), {"any": 1}) == {"any": 1}
    by_pattern = compile_gate(takes({}, patternProperties={"^x_": {"type": "integer"}}))
    assert admitted(by_pattern, {"x_a": 1}) == {"x_a": 1}
    refused(by_pattern, {"y": 1})
    refused(by_pattern, {"x_a": "z"})
    refused(compile_gate(takes({}, additionalProperties=False)), {"any": 1})
    refused(compile_gate(takes({}, additionalProperties={"type": "integer"})), {"any": "x"})


def test_inside_an_argument_its_own_schema_decides_about_other_names() -> None:
    gate = compile_gate(takes({"x": takes({"a": {}})}))
    assert admitted(gate, {"x": {"a": 1, "b": 2}}) == {"x": {"a": 1, "b": 2}}
    strict = compile_gate(takes({"x": takes({"alpha": {}}, additionalProperties=False)}))
    [problem] = refused(strict, {"x": {"alhpa": 1}}).problems
    assert (problem.path, problem.kind, problem.suggestion) == ("x.alhpa", "unexpected", "alpha")


def test_arguments_named_anywhere_in_the_schema_are_known() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/base"}],
        "anyOf": [takes({"b": {}}), takes({"c": {}})],
        "if": takes({"d": {"const": 1}}),
        "then": takes({"e": {}}),
        "dependentSchemas": {"f": takes({"g": {}})},
        "properties": {"d": {}, "f": {}},
        "$defs": {"base": takes({"a": {}})},
    }
    every = dict.fromkeys("abcdefg", 1)
    assert admitted(compile_gate(schema), every) == every
    refused(compile_gate(schema), {"h": 1})


EMPTY = [{}, None, "", "null", "{}", " ", " {} ", b"{}", b""]


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "properties": {}}, {}, True])
@pytest.mark.parametrize("raw", EMPTY, ids=repr)
def test_a_tool_without_arguments_runs_on_every_form_of_nothing_under_one_hash(
    schema: dict, raw: object
) -> None:
    args = admitted(compile_gate(schema), raw)
    assert args == {}
    assert args_hash(args) == args_hash({})


@pytest.mark.parametrize("raw", [{"input": ""}, {"__arg1": ""}, {"input": None}, '{"input": ""}'])
def test_a_tool_without_arguments_refuses_any_argument(raw: object) -> None:
    assert "It takes no arguments." in refused(compile_gate({"type": "object"}), raw).for_model()


@pytest.mark.parametrize("raw", EMPTY, ids=repr)
def test_nothing_is_not_enough_for_a_tool_that_needs_something(raw: object) -> None:
    [problem] = refused(compile_gate(takes({"to": {"type": "string"}}, "to")), raw).problems
    assert (problem.kind, problem.path) == ("missing", "to")


def test_an_alias_collapses_into_its_argument_before_hashing() -> None:
    gate = compile_gate(takes({"network": {"type": "integer"}}, "network"), aliases={"chainId": "network"})
    answer = gate.admit({"chainId": "5"})
    assert isinstance(answer, Admitted)
    assert answer.args == {"network": 5}
    assert "chainId" in answer.notes[0]
    assert admitted(gate, {"chainId": 5, "network": 5}) == {"network": 5}
    assert "differ" in refused(gate, {"chainId": 1, "network": 2}).for_model()


@pytest.mark.parametrize("aliases", [{"a": "b"}, {"c": "nothing"}])
def test_an_alias_of_nothing_or_in_the_way_of_an_argument_is_refused_at_registration(aliases: dict) -> None:
    with pytest.raises(SchemaError, match="alias"):
        compile_gate(takes({"a": {}, "b": {}}), aliases=aliases)


@pytest.mark.parametrize("options", [{}, {"lenient_unknown": True}])
@pytest.mark.parametrize("keywords", [{}, {"additionalProperties": True}])
def test_injected_arguments_are_refused_from_a_caller_and_never_shown(options: dict, keywords: dict) -> None:
    schema = takes({"query": {"type": "string"}, "state": {"type": "object"}}, "query", "state", **keywords)
    gate = compile_gate(schema, hidden=("state", "config"), **options)
    assert admitted(gate, {"query": "q"}) == {"query": "q"}
    assert "state" not in gate.schema["properties"]
    bad = refused(gate, {"query": 5}).for_model()
    assert not any(name in bad for name in ("state", "config"))
    for name in ("state", "config"):
        answer = refused(gate, {"query": "q", name: {"db_password": "hunter2"}})
        assert [problem.path for problem in answer.problems] == [name]
        assert "hunter2" not in answer.for_model() + repr(answer)


def test_an_injected_argument_is_never_suggested() -> None:
    gate = compile_gate(takes({"query": {}, "state": {}}), hidden=["state"])
    assert [problem.suggestion for problem in refused(gate, {"stat": 1}).problems] == [""]


def test_many_unknown_arguments_are_counted_and_not_matched_one_by_one() -> None:
    gate = compile_gate(takes({f"argument_{n}": {} for n in range(300)}))
    began = time.process_time()
    answer = refused(gate, {f"unknown_argument_{n}": 1 for n in range(20_000)})
    assert time.process_time() - began < 2
    assert "more unexpected arguments" in answer.problems[-1].message or answer.more
    assert len(answer.for_model()) <= 4000
