"""The house as DESIGN.md draws it: which way imports run, what importing loads, what kernels call, how long bodies are.

These tests read the source; a new module has to be given its place in ``HOUSE`` below.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from block_env.observation import LAYOUT_RECORD
from block_env.opponents import VIEW, WEIGHTS
from block_env.state import BATCH, STATE
from block_env.variants import RULES_RECORD

ROOT = Path(__file__).parents[1]

HOUSE = [
    # Arrows run one way: a module imports from those above it alone.
    "_compile",
    "_bits",
    "tiles",
    "actions",
    "variants",
    "state",
    "keywords",
    "rules",
    "game",
    "line",
    "view",
    "deals",
    "records",
    "hidden",
    "positions",
    "notation",
    "recording",
    "observation",
    "batch",
    "spaces",
    "state_vector",
    "policy",
    "opponents",
    "play",
    "command",
    "picture",
    "svg",
    "pixels",
    "render",
    "aec_env",
    "block_v0",
    "learner_games",
    "gym_env",
    "vector_env",
    "sb3",
    "named_agents",
    "analysis",
    "replay",
    "session",
    "web_play",
    "human",
    "__init__",
]
LATE = {"render"}
"""Imported inside functions alone: when a picture is asked for."""

NEEDED = {"numpy", "numba", "gymnasium", "pettingzoo"}
EXTRAS = {"_bits": {"llvmlite"}, "sb3": {"stable_baselines3", "torch"}, "pixels": {"pygame"}}
"""What else a module may import: what Numba stands on, and the extras ``block-env[train]`` and ``[render]``."""


def sources(folder: str) -> dict[str, ast.Module]:
    files = sorted((ROOT / folder).glob("**/*.py"))
    return {str(file.relative_to(ROOT / folder).with_suffix("")): ast.parse(file.read_text("utf-8")) for file in files}


PACKAGE, AGENTS = sources("block_env"), sources("agents")


def imports(tree: ast.AST) -> Iterator[str]:
    """The dotted names of all that is imported anywhere in the tree: ``block_env.rules``, ``numpy``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "block_env" if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            submodules = [alias.name for alias in node.names if alias.name in PACKAGE] if module == "block_env" else []
            yield from [f"block_env.{name}" for name in submodules] or [module]


def own_imports(tree: ast.AST) -> set[str]:
    """The modules of the package that the tree imports, ``__init__`` for the package itself."""
    names = [name.split(".") for name in imports(tree) if name.split(".")[0] == "block_env"]
    return {parts[1] if len(parts) > 1 else "__init__" for parts in names}


def test_every_module_has_its_place() -> None:
    assert set(PACKAGE) <= set(HOUSE)


@pytest.mark.parametrize("module", PACKAGE)
def test_arrows_run_one_way(module: str) -> None:
    above = set(HOUSE[: HOUSE.index(module)])
    assert own_imports(PACKAGE[module]) <= above


def test_the_arrows_of_the_design() -> None:
    """tiles, actions, variants -> state -> rules -> observation -> policy, play -> environments (DESIGN.md)."""
    first, last = ["tiles", "actions", "variants"], ["aec_env", "gym_env", "vector_env"]
    levels = [first, ["state"], ["rules"], ["observation"], ["policy", "play"], last]
    places = [[HOUSE.index(module) for module in level] for level in levels]
    assert all(max(level) < min(following) for level, following in pairwise(places))


@pytest.mark.parametrize("module", PACKAGE)
def test_what_the_package_needs(module: str) -> None:
    """numpy, numba, gymnasium and pettingzoo alone; it knows nothing of ``agents``; SB3 and torch stay in sb3.py."""
    allowed = NEEDED | EXTRAS.get(module, set()) | {"block_env"} | sys.stdlib_module_names
    assert {name.split(".")[0] for name in imports(PACKAGE[module])} <= allowed


@pytest.mark.parametrize("module", sorted(set(PACKAGE) - LATE))
def test_what_is_imported_late(module: str) -> None:
    functions = [node for node in ast.walk(PACKAGE[module]) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    outside = [node for node in ast.walk(PACKAGE[module]) if id(node) not in inside and isinstance(node, ast.stmt)]
    early = [name for node in outside if isinstance(node, ast.Import | ast.ImportFrom) for name in own_imports(node)]
    assert not LATE & set(early)


def test_what_importing_loads() -> None:
    code = "import sys, block_env; print(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True, cwd=ROOT
    )
    loaded = set(run.stdout.split())
    assert "block_env.play" in loaded
    late = {"block_env.render", "block_env.picture", "block_env.svg", "block_env.pixels", "block_env.sb3"}
    late |= {"agents", "torch", "stable_baselines3", "sb3_contrib", "pygame"}
    assert not late & loaded


# Kernels --------------------------------------------------------------------------------------------------------------


def kernels(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    compiled = {"kernel", "inlined"}
    return {node.name: node for node in functions if compiled & {ast.unparse(one) for one in node.decorator_list}}


def calls(function: ast.FunctionDef) -> set[str]:
    """The names of all that a function calls: ``play``, ``np.int64``."""
    body = ast.Module(function.body, [])
    return {ast.unparse(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}


BUILTINS = {"range", "len", "enumerate", "min", "max", "abs", "int", "float", "bool", "carray"}
INSTRUCTIONS = {node.name for node in ast.walk(PACKAGE["_bits"]) if isinstance(node, ast.FunctionDef)}
"""Of ``_bits``, which do not change."""


@pytest.mark.parametrize(
    ("module", "tree"),
    [pair for pair in [*PACKAGE.items(), *AGENTS.items()] if kernels(pair[1])],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_kernels_call_kernels_of_their_own_file(module: str, tree: ast.Module) -> None:
    """Numba's cache does not see changes in other files (DESIGN.md)."""
    own = set(kernels(tree))
    for name, function in kernels(tree).items():
        free = {called for called in calls(function) if called.startswith("np.") or called.endswith(".reshape")}
        others = calls(function) - free - own - BUILTINS - INSTRUCTIONS
        assert not others, f"{module}.{name} calls {others}"


def test_there_are_kernels() -> None:
    assert {"play", "deal", "end_round"} <= set(kernels(PACKAGE["rules"]))
    assert "encode" in kernels(PACKAGE["observation"])


@pytest.mark.parametrize("dtype", [STATE, BATCH, RULES_RECORD, LAYOUT_RECORD, VIEW, WEIGHTS])
def test_fields_are_not_attributes_of_every_record(dtype: np.dtype[np.record]) -> None:
    """Uncompiled, ``record.size`` is NumPy's, whatever field has that name."""
    assert not set(dtype.names or ()) & set(dir(np.record))


# Bodies ---------------------------------------------------------------------------------------------------------------


def body_lengths(tree: ast.Module) -> list[int]:
    """Lines of each function from its first statement to its last, the docstring aside."""
    lengths = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lengths.append(body[-1].end_lineno - body[0].lineno + 1 if body else 0)
    return lengths


@pytest.mark.parametrize("folder", ["block_env", "agents"])
def test_bodies_are_short(folder: str) -> None:
    """Median about 6 lines, nine in ten under 20 (DESIGN.md)."""
    lengths = sorted(length for tree in sources(folder).values() for length in body_lengths(tree))
    assert len(lengths) > 10
    assert statistics.median(lengths) <= 7
    assert sum(length < 20 for length in lengths) >= 0.9 * len(lengths)


def test_body_lengths_are_counted_right() -> None:
    code = 'def a():\n    """Doc."""\ndef b():\n    """Doc."""\n    x = (\n        1)\n    return x\ndef c(): pass\n'
    assert body_lengths(ast.parse(code)) == [0, 3, 1]
