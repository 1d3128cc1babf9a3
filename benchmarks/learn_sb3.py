"""Does MaskablePPO, as sb3-contrib ships it, learn on each way of giving it Block?

One environment, Stable-Baselines3's DummyVecEnv and SubprocVecEnv over eight, and the native VecEnv of eight: each
trains with the same settings (the defaults but for larger batches), on single rounds for two players with reward
"outcome" against greedy. Then the network, taking its most likely legal action, plays random on paired deals. Illegal
actions are counted while it trains.

    python -m benchmarks.learn_sb3                   # 200,000 steps each
    python -m benchmarks.learn_sb3 --steps 4000 --deals 100 native
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecEnvWrapper

from agents.evaluation import PairResult, play_pair
from block_env.gym_env import BlockGymEnv
from block_env.opponents import make
from block_env.sb3 import BlockVecEnv
from block_env.variants import Rules

RULES = Rules.preset("single_round")
KEYWORDS: dict[str, Any] = {"rules": RULES, "reward": "outcome", "opponent": "greedy"}
ENVS = 8
ROLLOUT = 2048
"""Steps that each update learns from, of all environments together."""
SINGLE = partial(BlockGymEnv, **KEYWORDS)

VARIANTS: dict[str, Callable[[], VecEnv]] = {
    "gymnasium": lambda: DummyVecEnv([SINGLE]),
    "dummy": lambda: DummyVecEnv([SINGLE] * ENVS),
    "subproc": lambda: SubprocVecEnv([SINGLE] * ENVS, start_method="spawn"),
    "native": lambda: BlockVecEnv(ENVS, **KEYWORDS),
}
"""By name; MaskablePPO itself puts a single Gymnasium environment into a DummyVecEnv of one."""


class CountIllegal(VecEnvWrapper):
    """Counts the actions that the masks, as MaskablePPO last asked for them, do not allow."""

    def __init__(self, venv: VecEnv) -> None:
        super().__init__(venv)
        self.illegal = 0
        self._masks: NDArray[np.int8] | None = None

    def reset(self) -> Any:
        return self.venv.reset()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **keywords: Any) -> list[Any]:
        answers = self.venv.env_method(method_name, *args, indices=indices, **keywords)
        if method_name == "action_masks":
            self._masks = np.stack(answers)
        return answers

    def step_async(self, actions: NDArray[Any]) -> None:
        assert self._masks is not None
        self.illegal += int((self._masks[np.arange(self.num_envs), actions] == 0).sum())
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        return self.venv.step_wait()


class Network:
    """A trained model as a :class:`block_env.policy.Policy`."""

    def __init__(self, model: MaskablePPO) -> None:
        self.model = model

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[Any]:
        seen = {"observation": observation, "action_mask": action_mask}
        actions, _ = self.model.predict(seen, action_masks=action_mask, deterministic=True)
        return actions


def measure(name: str, steps: int, deals: int, seed: int) -> tuple[int, float, PairResult]:
    """Train on one variant: illegal actions, steps a second, and the result against random."""
    env = CountIllegal(VARIANTS[name]())
    try:
        model = MaskablePPO(
            "MultiInputPolicy", env, n_steps=ROLLOUT // env.num_envs, batch_size=256, seed=seed, device="cpu"
        )
        start = time.perf_counter()
        model.learn(steps)
        speed = model.num_timesteps / (time.perf_counter() - start)
    finally:
        env.close()
    return env.illegal, speed, play_pair(Network(model), make("random", RULES), RULES, deals=deals, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", metavar="variant", help=f"of {', '.join(VARIANTS)}; default: all")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--deals", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{arguments.steps} steps, seed {arguments.seed}; then {arguments.deals} paired deals against random\n")
    print("| environment | illegal actions | steps/s | points a round (95 %) | share of rounds (95 %) |")
    print("|---|---|---|---|---|", flush=True)
    for name in arguments.variants or VARIANTS:
        illegal, speed, result = measure(name, arguments.steps, arguments.deals, arguments.seed)
        points, share = (
            f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
            for value, (low, high) in ((result.points, result.points_ci), (result.share, result.share_ci))
        )
        print(f"| {name} | {illegal} | {speed:.0f} | {points} | {share.replace('+', '')} |", flush=True)


if __name__ == "__main__":
    main()
