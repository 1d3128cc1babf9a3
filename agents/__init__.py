"""Every agent there is, by name: ``make("greedy")``, ``make("ppo:runs/mine")``.

The grammar is ``name[:argument,…]``. A run folder's path alone is short for ``ppo:PATH``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from block_env import opponents
from block_env.policy import Player
from block_env.variants import Rules, resolve

SHIPPED = Path(__file__).parent / "trained"
"""Trained policies that come with the project, one run folder each."""

GRAMMAR = (
    f"{', '.join(opponents.OPPONENTS)}, ppo (the shipped network), ppo:DIR, or the run folder DIR; "
    "a network also with ,sample behind it; exact:FILE for a small set that was solved; pimc:WORLDS; "
    "clairvoyant (sees all hands, for evaluation alone)"
)


def make(name: str | os.PathLike[str], rules: str | Rules = "match", num_players: int | None = None) -> Player:
    """The agent of that name.

    Args:
        name: ``random``, ``greedy``, ``heuristic``; ``pimc:WORLDS``; ``clairvoyant``, which sees all hands and is no
            policy but the upper mark of evaluation; ``ppo:DIR`` for the network in a run folder of train.py, ``ppo``
            for the shipped one; or the folder's path. ``ppo:DIR,sample`` draws its actions instead of taking the most
            likely. ``exact:FILE`` for what :mod:`agents.solvers` solved (:class:`agents.exact_policy.ExactPolicy`).
        rules: what it is to play, as in the environments.
        num_players: seats; None takes the rules' own.

    Raises:
        ValueError: there is no such agent, or it does not fit the rules; the message says what there is or differs.
    """
    played = resolve(rules, num_players)
    spec = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(spec, str):
        raise ValueError(f"agent: takes {GRAMMAR}; got {name!r}")
    if spec in opponents.OPPONENTS:
        return opponents.make(spec, played)
    if spec.startswith("exact:"):
        from agents.exact_policy import ExactPolicy

        return ExactPolicy.load(Path(spec.removeprefix("exact:")), played)
    if spec == "clairvoyant":
        from agents.clairvoyant import Clairvoyant

        return Clairvoyant(played)
    if re.fullmatch("pimc:[1-9][0-9]{0,5}", spec):
        from agents.pimc import Pimc

        return Pimc(played, int(spec.removeprefix("pimc:")))
    folder, sample = spec.removesuffix(",sample"), spec.endswith(",sample")
    if folder == "ppo":
        return _shipped(played, sample)
    if folder.startswith("ppo:") or os.path.exists(folder):
        from agents.learned import load_policy

        return load_policy(Path(folder.removeprefix("ppo:")), played, sample)
    raise ValueError(f"agent: takes {GRAMMAR}; got {name!r}")


def _shipped(rules: Rules, sample: bool) -> Player:
    from agents.learned import load_policy

    folder = SHIPPED / f"{rules.name}-{rules.num_players}p"
    if not folder.is_dir():
        there = ", ".join(sorted(path.name for path in SHIPPED.iterdir()))
        wanted = f"{rules.name} with {rules.num_players} players"
        raise ValueError(f"agent: ppo is shipped for {there}; for {wanted} train one and give its run folder")
    return load_policy(folder, rules, sample)
