"""Any policy by name: the scripted ones, those of an ``agents`` package beside the program, and factories of one's own.

This package knows nothing of ``agents``; where Python finds a package of that name, as in the project's own folder, its
``make(name, rules)`` is asked for all names that are not scripted.
"""

from __future__ import annotations

import importlib
import importlib.util
import re

from block_env.opponents import OPPONENTS
from block_env.opponents import make as make_scripted
from block_env.policy import Policy, sees_everything
from block_env.variants import Rules

_FACTORY = re.compile(r"([^\W\d][\w.]*):([^\W\d]\w*)")


def make(name: str, rules: Rules) -> Policy:
    """The policy of that name, for these rules.

    Args:
        name: ``random``, ``greedy``, ``heuristic``; what ``agents.make`` takes, where there is such a package; or
            ``module:factory``, a function that takes the rules and gives a policy.
        rules: what it is to play.

    Raises:
        ValueError: there is no such agent, or it does not fit the rules; the message says what there is or differs.
    """
    if name in OPPONENTS:
        return make_scripted(name, rules)
    own = _FACTORY.fullmatch(name)
    if own and _is_module(own[1]):
        return _from_factory(own[1], own[2], rules)
    if _is_module("agents"):
        return _from_factory("agents", "make", rules, name)
    raise ValueError(
        f"agent: takes {', '.join(OPPONENTS)}, module:factory, or, where a package `agents` can be imported (as in the "
        f"project's folder), any name that its make takes; got {name!r}"
    )


def split(names: str, rules: Rules) -> list[str]:
    """The names in a comma-separated list. A part that is no agent belongs to the name before it: ``ppo:DIR,sample``.

    Raises:
        ValueError: as :func:`make`, for a name that is no agent in the end; or one is empty.
    """
    found: list[str] = []
    for part in map(str.strip, names.split(",")):
        if not part:
            raise ValueError(f"agent: takes one or more names with commas between them, got {names!r}")
        if found and not _is_agent(part, rules):
            found[-1] += f",{part}"
        else:
            found.append(part)
    for name in found:
        make(name, rules)
    return found


def _is_agent(name: str, rules: Rules) -> bool:
    try:
        make(name, rules)
    except ValueError:
        return False
    return True


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _from_factory(module: str, factory: str, rules: Rules, *name: str) -> Policy:
    """What ``module.factory(*name, rules)`` makes, if that is a policy."""
    make_one = getattr(importlib.import_module(module), factory, None)
    if not callable(make_one):
        raise ValueError(f"agent: {module}:{factory}: there is no such function")
    policy = make_one(*name, rules)
    if sees_everything(policy):
        raise ValueError(f"agent: {' '.join(name) or f'{module}:{factory}'}: sees all hands; only evaluation asks it")
    if not isinstance(policy, Policy):
        raise ValueError(f"agent: {module}:{factory}: is to give a policy with act, got {policy!r}")
    return policy
