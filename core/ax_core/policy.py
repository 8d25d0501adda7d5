"""Policy: what a tool's author says about it, as data. An invalid one is an error at registration."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self, TypeVar

from .errors import PolicyError
from .given import Given
from .keys import NORMALISERS
from .names import checked_name
from .rates import rate_of


class Effect(StrEnum):
    """What a tool does to the world, in increasing order of care.

    READ has no side effect; IDEMPOTENT may be repeated with the same arguments; KEYED reaches a downstream
    that honours ``ctx.idempotency_key``; TRANSACTIONAL writes only through ``ctx.connection``; UNSAFE is
    anything else. UNDECLARED is a tool that said nothing: treated as UNSAFE with the milder endings.
    """

    READ = "read"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    TRANSACTIONAL = "transactional"
    UNDECLARED = "undeclared"
    UNSAFE = "unsafe"

    @property
    def repeatable(self) -> bool:
        """Whether running it again after an interruption can do no harm."""
        return self in _REPEATABLE


_REPEATABLE = frozenset({Effect.READ, Effect.IDEMPOTENT, Effect.KEYED, Effect.TRANSACTIONAL})
_MERGED_IN_A_RUN = frozenset({Effect.KEYED, Effect.TRANSACTIONAL, Effect.UNSAFE})

DEDUPE = ("call", "run", "session", "global")
ON_DUPLICATE = ("merge", "refuse", "confirm", "run")
ON_CANCEL = ("propagate", "detach")
ISOLATION = ("thread", "process")
DEFAULT_QUEUE = "default"
DEFAULT_TIMEOUT = 30.0
"""Seconds that a tool made by ``@ax.tool`` may take unless it says otherwise."""


Failure = type[BaseException]
S = TypeVar("S")
Rules = Mapping[str, str | S]
# Defaults of fields that are given in more forms than they are read in.
_UNDECLARED: Any = Effect.UNDECLARED
_NONE: Any = None
_EMPTY: Any = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """How AX treats one tool. Durations are seconds.

    Args:
        effect: see :class:`Effect`; its text is accepted.
        timeout: the body's limit; None is no enforced limit.
        retries: automatic attempts after the first, where the ending permits them.
        backoff: seconds between attempts, or a tenacity wait strategy; None is 1 s doubling to 60 s with jitter.
        dedupe: the scope in which an equal call is the same call: ``"call"``, ``"run"``, ``"session"`` or
            ``"global"`` (which needs ``window``). Default by effect.
        key: argument names (dotted paths) that make the business key; None is all arguments.
        normalise: argument of the key → how its values are compared: ``"text"`` (exactly, the default), ``"decimal"``,
            ``"casefold"``, ``"whitespace"``, or several in order. What is run stays as it was given.
        window: how long a finished call goes on to catch its repeats; None is for ever.
        on_duplicate: ``"merge"``, ``"refuse"``, ``"confirm"`` or ``"run"``.
        confirm: a person must approve; or a predicate on the arguments.
        confirm_ttl: how long an approval may be waited for.
        run_on_confirm: run at the approval, without waiting for the caller to come back.
        marks_effect: the tool calls ``ctx.about_to_act()`` right before it acts.
        not_applied: exception types that mean "refused before anything happened".
        reconcile: ``fn(ctx) -> Happened | DidNotHappen | Unknown``, asked about an attempt in doubt.
        settle: how long after the attempt's end ``reconcile`` waits before it asks.
        compensate: ``fn(args, result)`` that undoes a success, run by ``rollback``.
        on_cancel: a host's cancellation is passed to the tool (``"propagate"``) or the tool is let finish.
        isolation: ``"process"``: a worker runs the body, a plain function, in a process that it can kill;
            ``"thread"``: on a thread, which nothing can end but the body itself.
        where: ``"worker"``, ``"worker:mail"`` (one that serves the queue ``mail``) or ``"here"``, the process that
            calls; None: a worker if the tool is made in a module of ``AX(imports=…)``.
        rate: how many may be begun in a time, by all workers together: ``"20/second"``, ``"100 per 5 minutes"``.
        concurrency: how many may run at once, in all workers together.
        pollable: exempt from the repeat guard.
        redact: argument names that never reach logs, audit, events or a console.
        aliases: names that the tool had before: what it did under them answers for it, and calls by them reach it.
        version: declared version; None is a hash of schema and policy.

    Raises:
        PolicyError: an unknown value, a missing companion or a contradiction.
    """

    effect: Given[Effect, Effect | str] = _UNDECLARED
    timeout: float | None = None
    retries: int = 0
    backoff: Any = None
    dedupe: str | None = None
    key: Given[tuple[str, ...] | None, str | Iterable[str] | None] = _NONE
    normalise: Given[Rules[tuple[str, ...]] | None, Rules[Iterable[str]] | None] = _NONE
    window: float | None = None
    on_duplicate: str = "merge"
    confirm: bool | Callable[[dict[str, Any]], bool] = False
    confirm_ttl: float = 86_400.0
    run_on_confirm: bool = False
    marks_effect: bool = False
    not_applied: Given[tuple[Failure, ...], Failure | Iterable[Failure]] = _EMPTY
    reconcile: Callable[..., Any] | None = None
    settle: float = 60.0
    compensate: Callable[..., Any] | None = None
    on_cancel: str = "propagate"
    isolation: str = "thread"
    where: str | None = None
    rate: str | None = None
    concurrency: int | None = None
    pollable: bool = False
    redact: Given[tuple[str, ...], str | Iterable[str]] = _EMPTY
    aliases: Given[tuple[str, ...], str | Iterable[str]] = _EMPTY
    version: str | None = field(default=None)

    def __post_init__(self) -> None:
        put = object.__setattr__
        try:
            put(self, "effect", Effect(self.effect))
        except ValueError:
            raise PolicyError(_misspelt("effect", self.effect, [e.value for e in Effect])) from None
        for name in ("key", "redact", "aliases", "not_applied"):
            value = getattr(self, name)
            if value is not None:
                put(self, name, (value,) if isinstance(value, str | type) else tuple(value))
        if isinstance(self.normalise, Mapping):
            rules = self.normalise.items()
            put(self, "normalise", {k: v if isinstance(v, str) else tuple(v) for k, v in rules} or None)
        _check(self)

    @property
    def scope(self) -> str:
        """The dedupe scope in force."""
        if self.dedupe:
            return self.dedupe
        return "run" if self.effect in _MERGED_IN_A_RUN else "call"

    @property
    def queue(self) -> str:
        """The queue that its tasks go by, where they go to workers."""
        return (self.where or "").partition(":")[2] or DEFAULT_QUEUE

    @property
    def kept_by_workers(self) -> str | None:
        """The first field that only a worker can enforce; None: it asks for nothing of the kind."""
        given = {"isolation": self.isolation != "thread", "rate": self.rate, "concurrency": self.concurrency}
        return next((name for name, asked in given.items() if asked), None)

    @classmethod
    def of(cls, value: Policy | Effect | str | Mapping[str, Any] | None, **default: Any) -> Self:
        """A policy from whatever the user gave where a policy is expected.

        Raises:
            PolicyError: an unknown key or value.
        """
        if isinstance(value, cls):
            return value
        if value is None:
            return cls(**default)
        if isinstance(value, str):
            return cls(**{**default, "effect": value})
        if isinstance(value, Mapping):
            known = [f.name for f in dataclasses.fields(cls)]
            for name in value:
                if name not in known:
                    raise PolicyError(_misspelt("policy key", name, known))
            return cls(**{**default, **value})
        raise PolicyError(
            f"a policy is a Policy, an Effect, its text or a mapping, not {type(value).__name__}"
        )

    def public(self) -> dict[str, Any]:
        """The policy as plain data: what is stored, hashed into the version and shown; callables by name."""
        return {
            f.name: _plain(getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name not in _NO_PROMISE
        }


_NO_PROMISE = ("version", "aliases")
"""A tool that is renamed promises what it did: what was approved under its old name stays approved."""


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__qualname__", None) or type(value).__qualname__


def _misspelt(what: str, given: Any, known: list[str] | tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(given), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; one of {', '.join(map(repr, known))}"
    return f"{what} {given!r} is unknown{hint}"


def _check(p: Policy) -> None:
    def refuse(why: str) -> None:
        raise PolicyError(why)

    for name, allowed in (("on_duplicate", ON_DUPLICATE), ("on_cancel", ON_CANCEL)):
        if getattr(p, name) not in allowed:
            refuse(_misspelt(name, getattr(p, name), allowed))
    if p.dedupe is not None and p.dedupe not in DEDUPE:
        refuse(_misspelt("dedupe", p.dedupe, DEDUPE))
    if p.dedupe == "global" and p.window is None:
        refuse("dedupe='global' needs window=, the seconds in which an equal call is the same call")
    for name in ("timeout", "window", "confirm_ttl"):
        value = getattr(p, name)
        if value is not None and not (_number(value) and value > 0):
            refuse(f"{name}={value!r} must be a number of seconds above zero (None is no limit)")
    if not (_number(p.settle) and p.settle >= 0):
        refuse(f"settle={p.settle!r} must be seconds, zero or more")
    if isinstance(p.retries, bool) or not isinstance(p.retries, int) or p.retries < 0:
        refuse(f"retries={p.retries!r} must be a whole number, zero or more")
    if not (isinstance(p.confirm, bool) or callable(p.confirm)):
        refuse(f"confirm={p.confirm!r} must be True, False or a predicate on the arguments")
    for name in ("run_on_confirm", "marks_effect", "pollable"):
        if not isinstance(getattr(p, name), bool):
            refuse(f"{name}={getattr(p, name)!r} must be True or False")
    for name in ("key", "redact"):
        if any(not isinstance(part, str) or not part for part in getattr(p, name) or ()):
            refuse(f"{name}={getattr(p, name)!r} must be argument names")
    if any(not isinstance(name, str) or not name for name in p.aliases):
        refuse(f"aliases={p.aliases!r} must be names of tools")
    if p.key == ():
        refuse("key=() names no argument; None means all of them")
    _check_rules(p, refuse)
    if any(not (isinstance(t, type) and issubclass(t, BaseException)) for t in p.not_applied):
        refuse("not_applied must be exception types")
    for name in ("reconcile", "compensate"):
        value = getattr(p, name)
        if value is not None and not callable(value):
            refuse(f"{name}={value!r} must be callable")
    if p.backoff is not None and not (callable(p.backoff) or (_number(p.backoff) and p.backoff >= 0)):
        refuse(f"backoff={p.backoff!r} must be seconds or a tenacity wait strategy")
    if p.effect is Effect.READ and (p.compensate or p.marks_effect):
        refuse("a READ has no effect to mark or to compensate")
    if p.version is not None and not (isinstance(p.version, str) and p.version):
        refuse(f"version={p.version!r} must be text")
    _check_place(p, refuse)


def _check_rules(p: Policy, refuse: Callable[[str], None]) -> None:
    if p.normalise is None:
        return
    if not isinstance(p.normalise, Mapping):
        refuse(f"normalise={p.normalise!r} must map arguments of the key to rules")
    for name, given in p.normalise.items():
        if name not in (p.key or ()):
            refuse(f"normalise names {name!r}, which is not in key={p.key!r}")
        for rule in (given,) if isinstance(given, str) else given:
            if rule not in NORMALISERS:
                refuse(f"normalise[{name!r}]: " + _misspelt("rule", rule, tuple(NORMALISERS)))


def _check_place(p: Policy, refuse: Callable[[str], None]) -> None:
    if p.isolation not in ISOLATION:
        refuse(_misspelt("isolation", p.isolation, ISOLATION))
    if isinstance(p.where, str) and p.where.startswith("worker:"):
        try:
            checked_name("where='worker:…', queue", p.where.partition(":")[2])
        except ValueError as wrong:
            refuse(str(wrong))
    elif p.where not in (None, "here", "worker"):
        refuse(_misspelt("where", p.where, ("here", "worker", "worker:<queue>")))
    if p.isolation == "process" and p.effect is Effect.TRANSACTIONAL:
        refuse("a TRANSACTIONAL body shares AX's connection, which isolation='process' cannot reach")
    if p.rate is not None:
        try:
            rate_of(p.rate)
        except ValueError as wrong:
            refuse(str(wrong))
    if p.concurrency is not None and (type(p.concurrency) is not int or p.concurrency < 1):
        refuse(f"concurrency={p.concurrency!r} must be a whole number, one or more")
    if p.where == "here" and (kept := p.kept_by_workers):
        refuse(f"{kept}= is enforced by workers only, and where='here' never goes to one")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
