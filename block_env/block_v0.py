"""Version 0 of the environment, as PettingZoo names its modules: ``env``, ``raw_env``, ``parallel_env``."""

from block_env.aec_env import env, parallel_env, raw_env

__all__ = ["env", "parallel_env", "raw_env"]
