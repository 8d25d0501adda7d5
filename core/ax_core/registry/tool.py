"""A tool: a name, a version, a schema, a description, a policy, and how to run it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from ..policy import Effect, Policy
from .home import home

if TYPE_CHECKING:
    from ..schema import Gate

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R]):
    """A registered callable. Calling it goes through AX; ``fn`` is the bare function.

    Attributes:
        schema: JSON Schema of the model-visible arguments.
        is_async: whether ``fn`` is a coroutine function.
        binder: turns admitted JSON arguments into keyword arguments of ``fn``.
        validated_elsewhere: the framework has checked and converted the arguments; they are recorded as they are.
        apart: runs a framework's tool in another process, from the recorded arguments alone; a coroutine function if
            ``is_async``. None: ``fn`` does, or, where the arguments are validated elsewhere, only its caller can.
        given: parameters for which its framework gives it what only its caller has.
        home: the module whose code registered it.
    """

    name: str
    description: str
    schema: dict[str, Any]
    policy: Policy
    fn: Callable[P, R]
    is_async: bool = False
    binder: Callable[[dict[str, Any]], dict[str, Any]] = field(default=dict)
    validated_elsewhere: bool = False
    apart: Callable[[dict[str, Any]], Any] | None = field(default=None, repr=False)
    given: tuple[str, ...] = ()
    home: str | None = field(default_factory=home, repr=False)
    through: Callable[..., Any] | None = field(default=None, repr=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it through AX: recorded, gated, at most once. An async tool gives an awaitable."""
        if self.through is None:
            raise TypeError(f"tool {self.name!r} belongs to no AX; register it with ax.tool or ax.register")
        result: R = self.through(self, args, kwargs)
        return result

    @cached_property
    def gate(self) -> Gate:
        """The compiled schema gate."""
        from ..schema import compile_gate

        return compile_gate(self.schema, redact=self.policy.redact)

    @cached_property
    def version(self) -> str:
        """The declared version, else a hash of schema and policy (never of code)."""
        return self.policy.version or spec_hash(self.schema, self.policy)[:16]

    @cached_property
    def promise(self) -> Promise:
        """What an approval is bound to."""
        return Promise.of(self.version, self.schema, self.policy.public())

    @property
    def approved_as(self) -> str:
        """The name of that promise."""
        return self.promise.approved_as

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names that it had before."""
        return self.policy.aliases

    @property
    def effect(self) -> Effect:
        """What it does to the world."""
        return self.policy.effect

    @cached_property
    def doubtful_arguments(self) -> tuple[str, ...]:
        """Free-text arguments that would tell one intent apart from itself: an UNSAFE tool should name a key."""
        if self.policy.key or self.effect not in (Effect.UNSAFE, Effect.UNDECLARED):
            return ()
        named = {"reason", "note", "notes", "comment", "message", "description", "memo", "explanation"}
        return tuple(sorted(named & set(self.schema.get("properties", {}))))


@dataclass(frozen=True, slots=True)
class Promise:
    """What a person who approves a call relies on: the tool's version, and ``approved_as``, a hash of it with the
    schema and the policy's effect and confirmation, which a declared version does not have to follow."""

    version: str
    approved_as: str

    @classmethod
    def of(cls, version: str, schema: Mapping[str, Any], policy: Mapping[str, Any]) -> Promise:
        """The promise of a tool, from what is published of it."""
        text = json.dumps(
            [version, schema, policy.get("effect"), policy.get("confirm")], sort_keys=True, default=str
        )
        return cls(version, sha256(text.encode()).hexdigest()[:32])


def spec_hash(schema: Mapping[str, Any], policy: Policy) -> str:
    """A hash of what a tool promises."""
    text = json.dumps([schema, policy.public()], sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()
