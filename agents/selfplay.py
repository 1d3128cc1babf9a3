"""Self-play for MaskablePPO (sb3-contrib): every seat's decisions are training data.

One iteration plays N fresh games in lockstep with the network in all seats, from the deal to the end of the round (or,
for the outcome, of the game), so that no return is cut short. The decisions of a seat form one chain: its value targets
are generalised advantage estimates (Schulman et al., 2016) along its own decisions, with the reward at the end. Forced
moves are played but are no decisions. The critic sees all hands (asymmetric actor-critic; Pinto et al., 2017), which
takes the luck of the deal out of the advantages; the actor, which is what is kept, sees its observation alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from agents.symmetry import orientation
from block_env.observation import layout
from block_env.play import Games
from block_env.state import BLOCKED, NO_REASON
from block_env.tiles import BIT
from block_env.variants import Rules

POINTS_UNIT = 10.0
"""Points are learned in tens: about their standard deviation a round, which is the scale that value losses like."""


@dataclass
class Decisions:
    """Choices among two or more actions: n of them, in any order; and what is worth logging about their games.

    Attributes:
        inputs: float32 [n, D + hidden], the observation and then the other seats' hands.
        masks: int8 [n, A].
        actions, values, log_probs, advantages, returns: [n].
        blocked_share: share of rounds that ended blocked.
        mean_win: mean reward of the winners, in points or outcome.
    """

    inputs: NDArray[np.float32]
    masks: NDArray[np.int8]
    actions: NDArray[np.int64]
    values: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    blocked_share: float
    mean_win: float


# Network --------------------------------------------------------------------------------------------------------------


class ActorCriticMlp(nn.Module):
    """Two towers: the actor's over the observation, the critic's over the observation and the hidden hands."""

    def __init__(self, seen: int, everything: int, hidden: list[int]) -> None:
        super().__init__()
        self.seen = seen
        self.latent_dim_pi = self.latent_dim_vf = hidden[-1]
        self.actor, self.critic = _tower([seen, *hidden]), _tower([everything, *hidden])

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The actor's and the critic's last hidden layers, each [B, hidden]."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """From the observation alone, the first numbers of each row."""
        return self.actor(features[:, : self.seen])

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """From everything."""
        return self.critic(features)


def _tower(sizes: list[int]) -> nn.Sequential:
    pairs = pairwise(sizes)
    return nn.Sequential(*(layer for pair in pairs for layer in (nn.Linear(*pair), nn.ReLU())))


class SelfPlayPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy with :class:`ActorCriticMlp` inside.

    Args:
        seen: how many numbers of the input are the observation.
        blank: numbers of the input that are always 0 in training. Their weights start at 0 and so stay there, or they
            would add noise where they are not 0: scores, when rounds are trained for their points.
    """

    def __init__(self, *args: Any, seen: int, blank: slice, **kwargs: Any) -> None:
        self.seen = seen
        super().__init__(*args, **kwargs)
        with torch.no_grad():
            for tower in (self.mlp_extractor.actor, self.mlp_extractor.critic):
                tower[0].weight[:, blank] = 0.0

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = ActorCriticMlp(self.seen, self.features_dim, list(self.net_arch))

    def actor_weights(self) -> dict[str, NDArray[np.float32]]:
        """The actor as :class:`agents.learned.LearnedPolicy` takes it."""
        layers = [layer for layer in self.mlp_extractor.actor if isinstance(layer, nn.Linear)] + [self.action_net]
        weights: dict[str, NDArray[np.float32]] = {}
        for k, layer in enumerate(layers):
            weights[f"layer{k}.weight"] = layer.weight.detach().numpy().copy()
            weights[f"layer{k}.bias"] = layer.bias.detach().numpy().copy()
        return weights


class DecisionBuffer(MaskableRolloutBuffer):
    """A rollout buffer that is filled at once, with as many decisions as an iteration made."""

    def fill(self, decisions: Decisions) -> None:
        """Take the place of what was there."""
        self.values, self.returns = decisions.values, decisions.returns
        self._samples = MaskableRolloutBufferSamples(
            observations=torch.from_numpy(decisions.inputs),
            actions=torch.from_numpy(decisions.actions)[:, None],
            old_values=torch.from_numpy(decisions.values),
            old_log_prob=torch.from_numpy(decisions.log_probs),
            advantages=torch.from_numpy(decisions.advantages),
            returns=torch.from_numpy(decisions.returns),
            action_masks=torch.from_numpy(decisions.masks),
        )

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:  # type: ignore[override]
        """All decisions once, in random minibatches of about ``batch_size``, none much smaller than the others."""
        count = len(self.values)
        for chosen in torch.randperm(count).chunk(max(1, round(count / (batch_size or count)))):
            yield MaskableRolloutBufferSamples(*(tensor[chosen] for tensor in self._samples))


def make_learner(
    rules: Rules,
    history: bool,
    reward: str,
    hidden: list[int],
    *,
    learning_rate: float,
    batch_size: int,
    epochs: int,
    seed: int,
) -> MaskablePPO:
    """MaskablePPO over inputs of observation and hidden hands, ready for :func:`collect` and ``train()``."""
    parts = layout(rules, history)
    width = parts.size + (rules.num_players - 1) * rules.num_tiles
    scores = parts["scores"]
    learner = MaskablePPO(
        SelfPlayPolicy,
        env=None,  # type: ignore[arg-type]
        learning_rate=lambda remaining: learning_rate * remaining,
        n_steps=1,
        batch_size=batch_size,
        n_epochs=epochs,
        rollout_buffer_class=DecisionBuffer,
        policy_kwargs={
            "net_arch": hidden,
            "seen": parts.size,
            "blank": slice(scores.start, scores.stop) if reward == "points" else slice(0),
        },
        seed=seed,
        device="cpu",
        _init_setup_model=False,
    )
    learner.observation_space = spaces.Box(0.0, np.inf, (width,), np.float32)
    learner.action_space = spaces.Discrete(rules.num_actions)
    learner.n_envs = 1
    learner._setup_model()
    return learner


# Collecting -----------------------------------------------------------------------------------------------------------


def collect(policy: MaskableActorCriticPolicy, games: Games, gae_lambda: float) -> Decisions:
    """Play all games to the end of the round (reward "points") or of the game, the network in every seat.

    Args:
        policy: draws the actions; torch's generator is the only source of chance.
        games: fresh ones, made with ``auto_reset=False``.
        gae_lambda: 0 to 1; 1 takes the reward itself as every decision's return.
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
            chosen, values, log_probs = _decide(policy, inputs, masks)
            actions[free] = lines.actions(chosen, turned)
            chains = rows * seats + games.to_play[rows]
            steps.append((chains, inputs, masks, chosen, values, log_probs))
        step_rewards, done = games.step(actions, live)
        rewards[live] += step_rewards[live]
        reasons = games.reasons[live]
        rounds += int((reasons != NO_REASON).sum())
        blocked += int((reasons == BLOCKED).sum())
        live = live[(reasons == NO_REASON) if games.reward == "points" else ~done[live]]
    mean_win = float(rewards.max(axis=1).mean())
    scale = POINTS_UNIT if games.reward == "points" else 1.0
    advantages = _advantages([(step[0], step[4]) for step in steps], rewards.ravel() / scale, gae_lambda)
    _, inputs, masks, actions, values, log_probs = (np.concatenate(part) for part in zip(*steps, strict=True))
    return Decisions(
        inputs, masks, actions, values, log_probs, advantages, advantages + values, blocked / rounds, mean_win
    )


def _inputs(games: Games, rows: NDArray[np.int64], seen: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the mover sees, and then the hands of the others clockwise, a flag a tile."""
    seats, states = games.rules.num_players, games.states
    others = (states["to_play"][rows, None] + np.arange(1, seats)) % seats
    hands = states["hands"][rows[:, None], others][:, :, None] & BIT[: games.rules.num_tiles] != 0
    return np.concatenate([seen, hands.reshape(len(rows), -1).astype(np.float32)], axis=1)


def _decide(
    policy: MaskableActorCriticPolicy, inputs: NDArray[np.float32], masks: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    with torch.no_grad():
        actions, values, log_probs = policy(torch.from_numpy(inputs), action_masks=masks)
    return actions.numpy(), values.numpy().ravel(), log_probs.numpy()


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
