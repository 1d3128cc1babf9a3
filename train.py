"""Train an agent by self-play with MaskablePPO, and score it against the scripted ones.

python train.py --rules match --num-players 2 --out runs/mine
python evaluate.py runs/mine heuristic
"""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from tqdm import tqdm

from agents.evaluation import PairResult, play_pair, score_table
from agents.learned import LearnedPolicy, RunFolderError
from agents.ppo import SelfPlayPPO, make_learner
from agents.run_folder import (
    Checkpoint,
    Config,
    first_free_folder,
    load_checkpoint,
    new_folder,
    save_checkpoint,
    save_run,
)
from agents.selfplay import self_play
from block_env import opponents
from block_env.command import Parser, add_rules, folder_name, number, rules_of, run, whole
from block_env.keywords import REWARDS

ANCHORS = opponents.OPPONENTS
ANCHOR_SEED = 2**31 - 1  # the anchors' deals: never those of a training, whose seeds start with --seed


def main(arguments: list[str]) -> int:
    """Train until ``--steps`` decisions are made, or Ctrl-C; then print the table against the anchors."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    try:
        config, folder, checkpoint = prepare(args, arguments)
    except ValueError as error:
        parser.error(str(error))
    torch.set_num_threads(1)  # threads share the work in larger pieces: agents.ppo, agents.selfplay
    learner = make_learner(
        config.rules_record,
        config.history,
        config.reward,
        config.hidden,
        learning_rate=config.learning_rate,
        batch_size=config.batch_size,
        epochs=config.epochs,
        seed=config.seed,
        workers=config.threads,
    )
    try:
        step, iteration = checkpoint.restore(learner) if checkpoint else (0, 0)
        if step < config.steps:
            save(learner, config, folder, step, iteration)  # the folder is this run's from now on
            step = learn(learner, config, folder, step, iteration, args.quiet)
    except RunFolderError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{folder} cannot be written ({error.strerror})")
    if step < config.steps:
        print(f"stopped at {step} of {config.steps} decisions; the policy is in {folder}")
        print(f"python train.py --resume {shlex.quote(str(folder))} goes on")
        return 130
    print(f"done, {step} decisions; the policy is in {folder}")
    results = score_anchors(learner, config, config.final_deals)
    pairs = [(str(folder), name, result) for name, result in results.items()]
    print(score_table(pairs, config.rules_record, "round", config.final_deals, ANCHOR_SEED))
    return 0


def learn(learner: SelfPlayPPO, config: Config, folder: Path, step: int, iteration: int, quiet: bool) -> int:
    """Play and learn, iteration by iteration, until all decisions are made or Ctrl-C; the decisions made."""
    logger = Logger(None, [TensorBoardOutputFormat(str(folder))])
    learner.set_logger(logger)
    bar = tqdm(total=config.steps, initial=step, unit=" decisions", unit_scale=True, disable=quiet)
    bar.set_postfix_str("the first iteration compiles the rules")
    told = ""
    with Interrupt() as interrupted:
        while step < config.steps and not interrupted:
            # Everything random in an iteration follows from the seed and its number: a resumed run is the run.
            seed = np.random.SeedSequence([config.seed, iteration])
            torch.manual_seed(int(seed.generate_state(1)[0]))
            learner._current_progress_remaining = 1 - step / config.steps
            learner.ent_coef = config.entropy * learner._current_progress_remaining
            decisions = self_play(learner.policy, config, seed)
            learner.rollout_buffer.fill(decisions)
            learner.train()
            anchors_before, iteration = step // config.anchor_every, iteration + 1
            step += len(decisions.values)

            logger.record("selfplay/return", decisions.won / decisions.games)
            logger.record("selfplay/entropy", -logger.name_to_value["train/entropy_loss"])
            logger.record("selfplay/blocked_share", decisions.blocked / decisions.rounds)
            if step // config.anchor_every > anchors_before:
                scores = score_anchors(learner, config, config.anchor_deals)
                for name, result in scores.items():
                    logger.record(f"anchors/points_v_{name}", result.points)
                told = ", ".join(f"{result.points:+.2f} v {name}" for name, result in scores.items())
                save(learner, config, folder, step, iteration)
            logger.dump(step)
            bar.set_postfix_str(told, refresh=False)
            bar.update(step - bar.n)
    bar.close()
    logger.close()
    save(learner, config, folder, step, iteration)
    return step


def save(learner: SelfPlayPPO, config: Config, folder: Path, step: int, iteration: int) -> None:
    """Write the checkpoint and the policy."""
    save_checkpoint(folder, learner, step, iteration, config)
    save_run(folder, learner, config, step)


def make_parser() -> Parser:
    """The command line; everything but the last group is written into the run folder and comes back with --resume."""
    parser = Parser(__doc__ or "")
    add_rules(parser)
    default = Config()
    parser.add_argument(
        "--steps", type=whole(1), default=default.steps, help="decisions to learn from, forced moves not counted"
    )
    parser.add_argument("--seed", type=whole(0, 2**31 - 2), default=default.seed, help="starts everything random")
    parser.add_argument(
        "--reward", choices=REWARDS, default=default.reward, help="points of each round, or outcome of the game"
    )
    parser.add_argument("--history", action="store_true", help="show the network the whole public round")
    parser.add_argument(
        "--hidden", type=whole(1, 4096), nargs="+", default=default.hidden, help="units of each hidden layer"
    )
    parser.add_argument(
        "--games", type=whole(1, 2**20), default=default.games, help="games (rounds, for points) an iteration"
    )
    parser.add_argument(
        "--batch-size", type=whole(2, 2**24), default=default.batch_size, help="decisions a gradient step"
    )
    parser.add_argument(
        "--epochs", type=whole(1, 1000), default=default.epochs, help="passes over an iteration's decisions"
    )
    parser.add_argument(
        "--learning-rate", type=number(0, 1), default=default.learning_rate, help="Adam's, falling linearly to 0"
    )
    parser.add_argument(
        "--gae-lambda", type=number(0, 1), default=default.gae_lambda, help="of the advantage estimates"
    )
    parser.add_argument(
        "--entropy",
        type=number(0, 10),
        default=default.entropy,
        help="weight of the entropy bonus, falling linearly to 0",
    )
    parser.add_argument(
        "--threads",
        type=whole(1, 2),
        default=default.threads,
        help="threads that play and learn side by side; the results do not depend on them",
    )
    parser.add_argument(
        "--anchor-every",
        type=whole(1),
        default=default.anchor_every,
        help="decisions between checkpoints, each scored against the anchors",
    )
    parser.add_argument(
        "--anchor-deals", type=whole(2, 10**7), default=default.anchor_deals, help="paired deals of these scores"
    )
    parser.add_argument(
        "--final-deals", type=whole(2, 10**7), default=default.final_deals, help="paired deals of the table at the end"
    )
    where = parser.add_argument_group("where")
    where.add_argument(
        "--out",
        metavar="DIR",
        type=folder_name,
        help="run folder to make; default: the first free runs/RULES-PLAYERSp-SEED[-K]",
    )
    where.add_argument(
        "--resume",
        metavar="DIR",
        type=folder_name,
        help="run folder to go on with, by its own options; only --quiet goes with it",
    )
    where.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def prepare(args: Any, arguments: list[str]) -> tuple[Config, Path, Checkpoint | None]:
    """The options, the run folder, and the checkpoint to go on from (None for a new run)."""
    if args.resume is not None:
        if set(arguments) - {"--resume", f"--resume={args.resume}", str(args.resume), "--quiet"}:
            raise ValueError("--resume: takes the options from the run folder; only --quiet goes with it")
        return load_checkpoint(args.resume)
    rules = rules_of(args)
    options = {name: getattr(args, name) for name in Config.__dataclass_fields__ if hasattr(args, name)}
    config = Config(**{**options, "rules": rules.as_dict(), "command": shlex.join(["python", "train.py", *arguments])})
    name = f"runs/{rules.name}-{rules.num_players}p-{config.seed}"
    return config, new_folder(args.out) if args.out else first_free_folder(name), None


def score_anchors(learner: SelfPlayPPO, config: Config, deals: int) -> dict[str, PairResult]:
    """Points a round of the policy as it is now, against each anchor, always on the same deals."""
    rules = config.rules_record
    policy = LearnedPolicy(learner.policy.actor_weights(), rules, config.history)
    return {
        name: play_pair(policy, opponents.make(name, rules), rules, "round", deals, ANCHOR_SEED) for name in ANCHORS
    }


class Interrupt:
    """True once Ctrl-C was pressed: the iteration is finished first. A second Ctrl-C ends at once."""

    def __enter__(self) -> Interrupt:
        self._pressed = False
        self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, self._before)

    def __bool__(self) -> bool:
        return self._pressed

    def _press(self, *_: Any) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True


if __name__ == "__main__":
    run(main)
