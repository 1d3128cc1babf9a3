"""Every agent there is, by name: ``make("greedy")``, ``make("ppo:runs/mine")``.

The grammar is ``name[:argument,…]``. A run folder's path alone is short for ``ppo:PATH``.
"""

from __future__ import annotations

from pathlib import Path

from block_env import opponents
from block_env.policy import Policy
from block_env.variants import Rules, resolve

SHIPPED = Path(__file__).parent / "trained"
"""Trained policies that come with the project, one run folder each."""

GRAMMAR = f"{', '.join(opponents.OPPONENTS)}, ppo (the shipped network), ppo:DIR[,sample], or a run folder"


def make(name: str, rules: str | Rules = "match", num_players: int | None = None) -> Policy:
    """The agent of that name.

    Args:
        name: ``random``, ``greedy``, ``heuristic``; ``ppo:DIR`` for the network in a run folder of train.py
            (``ppo:DIR,sample`` draws its actions instead of taking the most likely), ``ppo`` for the shipped one; or
            the folder's path.
        rules: what it is to play, as in the environments.
        num_players: seats; None takes the rules' own.

    Raises:
        ValueError: there is no such agent, or it does not fit the rules; the message says what there is or differs.
    """
    played = resolve(rules, num_players)
    kind, _, rest = name.partition(":")
    if kind in opponents.OPPONENTS and not rest:
        return opponents.make(kind, played)
    if kind == "ppo":
        return _learned(rest, played)
    if name and kind not in opponents.OPPONENTS and Path(name).is_dir():
        return _learned(name, played)
    raise ValueError(f"agent: takes {GRAMMAR}; got {name!r}")


def _learned(argument: str, rules: Rules) -> Policy:
    from agents.learned import load_policy

    folder, sample = argument.removesuffix(",sample"), argument.endswith(",sample")
    return load_policy(Path(folder) if folder else SHIPPED / f"{rules.name}-{rules.num_players}p", rules, sample)
