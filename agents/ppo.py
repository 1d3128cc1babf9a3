"""The learner of self-play: MaskablePPO (sb3-contrib) with a critic that sees all hands and steps made in two halves.

The critic's sight takes the luck of the deal out of the advantages (asymmetric actor-critic; Pinto et al., 2017). The
actor, which is what is kept, sees its observation alone. A gradient step is MaskablePPO's; its two halves are worked
out by two threads where there are two, and the same numbers come out with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
from torch.nn import functional

from block_env.observation import layout
from block_env.variants import Rules

_ILLEGAL = -1e8  # the logit of actions that are not legal, as in sb3-contrib


@dataclass
class Decisions:
    """Choices among two or more actions: n of them, in any order; and what is worth logging about their games.

    Attributes:
        inputs: float32 [n, D + hidden], the observation and then the other seats' hands.
        masks: int8 [n, A].
        actions, values, log_probs, advantages, returns: [n].
        games, rounds, blocked: how many were played, and rounds of them that ended blocked.
        won: the winners' rewards added up, in points or outcome.
    """

    inputs: NDArray[np.float32]
    masks: NDArray[np.int8]
    actions: NDArray[np.int64]
    values: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    games: int
    rounds: int
    blocked: int
    won: float

    @classmethod
    def joined(cls, parts: list[Decisions]) -> Decisions:
        """All of these, in this order."""
        columns = {name: [getattr(part, name) for part in parts] for name in cls.__dataclass_fields__}
        return cls(
            **{
                name: np.concatenate(column) if isinstance(column[0], np.ndarray) else sum(column)
                for name, column in columns.items()
            }
        )


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

    def look(self, inputs: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The log probability of each action, [B, A], and the values, [B]."""
        actor, critic = self.mlp_extractor(inputs)
        logits = self.action_net(actor).masked_fill(masks == 0, _ILLEGAL)
        return functional.log_softmax(logits, dim=1), self.value_net(critic).flatten()

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
        self.samples = MaskableRolloutBufferSamples(
            observations=torch.from_numpy(decisions.inputs),
            actions=torch.from_numpy(decisions.actions)[:, None],
            old_values=torch.from_numpy(decisions.values),
            old_log_prob=torch.from_numpy(decisions.log_probs),
            advantages=torch.from_numpy(decisions.advantages),
            returns=torch.from_numpy(decisions.returns),
            action_masks=torch.from_numpy(decisions.masks),
        )

    def minibatches(self, batch_size: int) -> Iterator[torch.Tensor]:
        """All decisions once, as the places of random minibatches of about ``batch_size``, none much smaller."""
        count = len(self.values)
        return iter(torch.randperm(count).chunk(max(1, round(count / batch_size))))

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:  # type: ignore[override]
        """The same minibatches, as MaskablePPO takes them."""
        for places in self.minibatches(batch_size or len(self.values)):
            yield MaskableRolloutBufferSamples(*(tensor[places] for tensor in self.samples))


# Learner --------------------------------------------------------------------------------------------------------------

FIGURES = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction")
"""What is logged of the gradient steps, under MaskablePPO's names."""


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO whose gradient steps are each made in two halves, by ``workers`` threads (1 or 2)."""

    workers = 1

    def train(self) -> None:
        """What :meth:`MaskablePPO.train` does with the decisions in the buffer, up to the rounding of sums."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        figures = []
        with ThreadPoolExecutor(self.workers) as pool:
            for _ in range(self.n_epochs):
                for places in self.rollout_buffer.minibatches(self.batch_size):
                    figures.append(self._step(places, pool))
        self._n_updates += self.n_epochs
        for name, figure in zip(FIGURES, np.mean(figures, axis=0).tolist(), strict=True):
            self.logger.record(f"train/{name}", figure)

    def _step(self, places: torch.Tensor, pool: ThreadPoolExecutor) -> NDArray[np.float64]:
        """One gradient step on the decisions at these places; the figures of it."""
        chosen = self.rollout_buffer.samples.advantages[places]
        advantages = (chosen - chosen.mean()) / (chosen.std() + 1e-8)
        halves = list(pool.map(self._half, places.tensor_split(2), advantages.tensor_split(2)))
        shares = [len(half) / len(places) for half in places.tensor_split(2)]
        for parameter, *gradients in zip(self.policy.parameters(), *(half[0] for half in halves), strict=True):
            parameter.grad = sum(share * gradient for share, gradient in zip(shares, gradients, strict=True))
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
        self.policy.optimizer.step()
        return np.average([half[1] for half in halves], axis=0, weights=shares)

    def _half(self, places: torch.Tensor, advantages: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], list[float]]:
        """The gradients of the mean loss over these decisions, and :data:`FIGURES`."""
        samples = MaskableRolloutBufferSamples(*(tensor[places] for tensor in self.rollout_buffer.samples))
        log_probs, values = self.policy.look(samples.observations, samples.action_masks)
        log_prob = log_probs.gather(1, samples.actions).flatten()
        log_ratio = log_prob - samples.old_log_prob
        ratio, clip = log_ratio.exp(), self.clip_range(self._current_progress_remaining)
        policy_loss = -torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip)).mean()
        value_loss = functional.mse_loss(samples.returns, values)
        entropy_loss = (log_probs.exp() * log_probs).sum(dim=1).mean()
        loss = policy_loss + self.ent_coef * entropy_loss + self.vf_coef * value_loss
        gradients = torch.autograd.grad(loss, list(self.policy.parameters()))
        with torch.no_grad():
            told = [policy_loss, value_loss, entropy_loss, (ratio - 1 - log_ratio).mean()]
            told.append(((ratio - 1).abs() > clip).float().mean())
            return gradients, [float(figure) for figure in told]


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
    workers: int = 1,
) -> SelfPlayPPO:
    """The learner over inputs of observation and hidden hands, ready for :mod:`agents.selfplay` and ``train()``."""
    parts = layout(rules, history)
    width = parts.size + (rules.num_players - 1) * rules.num_tiles
    scores = parts["scores"]
    learner = SelfPlayPPO(
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
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            "blank": slice(scores.start, scores.stop) if reward == "points" else slice(0),
        },
        seed=seed,
        device="cpu",
        _init_setup_model=False,
    )
    learner.observation_space = spaces.Box(0.0, np.inf, (width,), np.float32)
    learner.action_space = spaces.Discrete(rules.num_actions)
    learner.n_envs, learner.workers = 1, workers
    learner._setup_model()
    return learner
