"""Self-play: the network in every seat, and every seat's decisions are what is learned from (:mod:`agents.ppo`).

One iteration plays N fresh games in lockstep, from the deal to the end of the round (or, for the outcome, of the game),
so that no return is cut short. The decisions of a seat form one chain: its value targets are generalised advantage
estimates (Schulman et al., 2016) along its own decisions, with the reward at the end. Forced moves are played but are
no decisions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.ppo import Decisions, SelfPlayPolicy
from agents.run_folder import Config
from agents.symmetry import orientation
from block_env.play import Games
from block_env.state import BLOCKED, NO_REASON
from block_env.tiles import BIT

POINTS_UNIT = 10.0
"""Points are learned in tens: about their standard deviation a round, which is the scale that value losses like."""


def self_play(policy: SelfPlayPolicy, config: Config, seed: np.random.SeedSequence) -> Decisions:
    """The decisions of ``config.games`` games. They are played in two halves, by as many threads as there may be."""
    sizes = [size for size in (config.games - config.games // 2, config.games // 2) if size]
    with ThreadPoolExecutor(config.threads) as pool:
        return Decisions.joined(list(pool.map(partial(_play_part, policy, config), sizes, seed.spawn(len(sizes)))))


def _play_part(policy: SelfPlayPolicy, config: Config, size: int, seed: np.random.SeedSequence) -> Decisions:
    games_seed, policy_seed = map(int, seed.generate_state(2))
    games = Games(
        size,
        config.rules_record,
        reward=config.reward,
        history=config.history,
        seed=games_seed,
        auto_reset=False,
    )
    return collect(policy, games, config.gae_lambda, torch.Generator().manual_seed(policy_seed))


def collect(policy: SelfPlayPolicy, games: Games, gae_lambda: float, rng: torch.Generator) -> Decisions:
    """Play all games to the end of the round (reward "points") or of the game, the network in every seat.

    Args:
        policy: draws the actions.
        games: fresh ones, made with ``auto_reset=False``.
        gae_lambda: 0 to 1; 1 takes the reward itself as every decision's return.
        rng: the only source of chance.
    """
    policy.set_training_mode(False)
    seats, lines = games.rules.num_players, orientation(games.rules, games.history)
    steps: list[tuple[NDArray[Any], ...]] = []
    rewards = np.zeros((games.num_games, seats), np.float32)
    rounds = blocked = 0
    live = np.arange(games.num_games)
    while live.size:
        actions = games.action_mask[live].argmax(axis=1)
        free = games.action_mask[live].sum(axis=1) > 1
        if free.any():
            rows = live[free]
            turned = lines.turned(games.observation[rows])
            inputs = _inputs(games, rows, lines.observations(games.observation[rows], turned))
            masks = lines.masks(games.action_mask[rows], turned)
            chosen, values, log_probs = _decide(policy, inputs, masks, rng)
            actions[free] = lines.actions(chosen, turned)
            chains = rows * seats + games.to_play[rows]
            steps.append((chains, inputs, masks, chosen, values, log_probs))
        step_rewards, done = games.step(actions, live)
        rewards[live] += step_rewards[live]
        reasons = games.reasons[live]
        rounds += int((reasons != NO_REASON).sum())
        blocked += int((reasons == BLOCKED).sum())
        live = live[(reasons == NO_REASON) if games.reward == "points" else ~done[live]]
    scale = POINTS_UNIT if games.reward == "points" else 1.0
    advantages = _advantages([(step[0], step[4]) for step in steps], rewards.ravel() / scale, gae_lambda)
    _, inputs, masks, actions, values, log_probs = (np.concatenate(part) for part in zip(*steps, strict=True))
    return Decisions(
        inputs=inputs,
        masks=masks,
        actions=actions,
        values=values,
        log_probs=log_probs,
        advantages=advantages,
        returns=advantages + values,
        games=games.num_games,
        rounds=rounds,
        blocked=blocked,
        won=float(rewards.max(axis=1).sum()),
    )


def _inputs(games: Games, rows: NDArray[np.int64], seen: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the mover sees, and then the hands of the others clockwise, a flag a tile."""
    seats, states = games.rules.num_players, games.states
    others = (states["to_play"][rows, None] + np.arange(1, seats)) % seats
    hands = states["hands"][rows[:, None], others][:, :, None] & BIT[: games.rules.num_tiles] != 0
    return np.concatenate([seen, hands.reshape(len(rows), -1).astype(np.float32)], axis=1)


@torch.no_grad()
def _decide(
    policy: SelfPlayPolicy, inputs: NDArray[np.float32], masks: NDArray[np.int8], rng: torch.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Actions drawn by their odds, the values, and the log probabilities of the actions."""
    log_probs, values = policy.look(torch.from_numpy(inputs), torch.from_numpy(masks))
    odds = log_probs.exp()
    actions = (odds / torch.empty_like(odds).exponential_(generator=rng)).argmax(dim=1)  # the first of racing clocks
    return actions.numpy(), values.numpy(), log_probs.gather(1, actions[:, None]).flatten().numpy()


def _advantages(
    steps: list[tuple[NDArray[np.int64], NDArray[np.float32]]], rewards: NDArray[np.float32], gae_lambda: float
) -> NDArray[np.float32]:
    """Generalised advantage estimates without discount, float32 [n] in the order of the steps.

    Args:
        steps: for each lockstep the chains that decided (each at most once) and their values.
        rewards: float32 [chains], what each chain gets at its end.
        gae_lambda: how far advantages look ahead.
    """
    next_value, next_advantage = rewards.copy(), np.zeros_like(rewards)
    advantages = []
    for chains, values in reversed(steps):
        advantage = next_value[chains] - values + gae_lambda * next_advantage[chains]
        next_value[chains], next_advantage[chains] = values, advantage
        advantages.append(advantage)
    return np.concatenate(advantages[::-1])
