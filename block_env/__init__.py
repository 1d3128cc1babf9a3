"""Block dominoes for reinforcement learning: PettingZoo, Gymnasium, and batches of thousands of games.

Importing this package registers ``block_env/Block-v0`` with Gymnasium, and ``block_env/block-v0`` with PettingZoo where
that has a registry (1.27 and newer).
"""

import gymnasium
import pettingzoo

from block_env import block_v0, observation, play
from block_env.block_v0 import env, parallel_env, raw_env
from block_env.variants import Rules

__version__ = "0.1.0"
__all__ = ["Rules", "block_v0", "env", "observation", "parallel_env", "play", "raw_env"]

if "block_env/Block-v0" not in gymnasium.registry:
    gymnasium.register(
        id="block_env/Block-v0",
        entry_point="block_env.gym_env:BlockGymEnv",
        vector_entry_point="block_env.vector_env:BlockVectorEnv",
    )
if hasattr(pettingzoo, "register") and "block_env/block-v0" not in pettingzoo.aec_registry:
    pettingzoo.register("aec", id="block_env/block-v0", entry_point="block_env.block_v0:env")
    pettingzoo.register("parallel", id="block_env/block-v0", entry_point="block_env.block_v0:parallel_env")
