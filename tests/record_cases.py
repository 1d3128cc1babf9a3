"""Records of games, written by hand from the worked cases of the rules."""

from __future__ import annotations

from typing import Any


def custom(num_players: int = 2, max_pip: int = 6, hand_size: int = 2, **changes: Any) -> str:
    usual = {
        "num_players": num_players,
        "max_pip": max_pip,
        "hand_size": hand_size,
        "partnership": False,
        "draw": False,
        "stock_reserve": 0,
        "target": None,
        "first_opener": "lot",
        "opener_plays_double": False,
        "blocked_compare": "side",
        "blocked_points": "difference",
    }
    return "custom, " + ", ".join(f"{name}={value}" for name, value in (usual | changes).items())


DOMINO = f"""\
block record 1
rules: {custom(3, hand_size=1)}
view: all
P0: anna
P1: bo: the 2nd
P2: ü
scores: 0 0 0
round 1, P0 opens
P0 has [6|6]
P1 has [0|0]
P2 has [3|5]
P0 [6|6]L
domino, P0 wins 8
P0 shows -
P1 shows [0|0]
P2 shows [3|5]
scores: 8 0 0
result: P0 wins
"""
NO_POINTS = f"""\
block record 1
rules: {custom(hand_size=1)}
view: all
P0: a
P1: b
seed: 0
scores: 0 0
round 1, P0 opens
P0 has [1|1]
P1 has [0|0]
P0 [1|1]L
domino, P0 wins 0
P0 shows -
P1 shows [0|0]
scores: 0 0
result: P0 wins
"""
BLOCKED = f"""\
block record 1
rules: {custom(3)}
view: all
P0: a
P1: b
P2: c
scores: 0 0 0
round 1, P0 opens
P0 has [1|2] [6|6]
P1 has [0|1] [2|4]
P2 has [0|3] [1|4]
P0 [6|6]L  P1 pass  P2 pass  P0 pass
blocked, P0 wins 12
P0 shows [1|2]
P1 shows [0|1] [2|4]
P2 shows [0|3] [1|4]
scores: 12 0 0
result: P0 wins
"""
TIE = (
    BLOCKED.replace("[0|1] [2|4]", "[0|1] [0|2]")
    .replace("P0 wins 12", "nobody wins 0")
    .replace("scores: 12 0 0", "scores: 0 0 0")
    .replace("result: P0 wins", "result: draw")
)
PARTNERS = f"""\
block record 1
rules: {custom(4, hand_size=3, partnership=True)}
view: all
P0: a
P1: b
P2: a
P3: b
scores: 0 0
round 1, P0 opens
P0 has [0|0] [3|4] [4|4]
P1 has [1|2] [1|3] [2|4]
P2 has [1|4] [1|5] [2|2]
P3 has [4|6] [5|6] [6|6]
P0 [0|0]L  P1 pass  P2 pass  P3 pass  P0 pass
blocked, P0+P2 win 16
P0 shows [3|4] [4|4]
P1 shows [1|2] [1|3] [2|4]
P2 shows [1|4] [1|5] [2|2]
P3 shows [4|6] [5|6] [6|6]
scores: 16 0
result: P0+P2 win
"""
OPPONENTS = PARTNERS.replace("difference", "opponents").replace("win 16", "win 46").replace("scores: 16", "scores: 46")
DRAW = f"""\
block record 1
rules: {custom(max_pip=2, draw=True)}
view: all
P0: a
P1: b
scores: 0 0
round 1, P0 opens
P0 has [0|0] [2|2]
P1 has [1|1] [1|2]
P0 [0|0]L  P1 draw [0|1]  P1 [0|1]L  P0 draw [0|2]  P0 [0|2]R  P1 [1|2]R  P0 pass  P1 [1|1]L
domino, P1 wins 4
P0 shows [2|2]
P1 shows -
scores: 0 4
result: P1 wins
"""
MATCH = f"""\
block record 1
rules: {custom(hand_size=1, target=10)}
view: all
P0: a
P1: b
scores: 0 0
round 1, P1 opens
P0 has [0|4]
P1 has [2|2]
P1 [2|2]L
domino, P1 wins 4
P0 shows [0|4]
P1 shows -
scores: 0 4
round 2, P0 opens
P0 has [0|0]
P1 has [1|5]
P0 [0|0]L
domino, P0 wins 6
P0 shows -
P1 shows [1|5]
scores: 6 4
round 3, P1 opens
P0 has [6|6]
P1 has [5|5]
P1 [5|5]L
domino, P1 wins 12
P0 shows [6|6]
P1 shows -
scores: 6 16
result: P1 wins
"""
SET_UP = f"""\
block record 1
rules: {custom(target=10, first_opener="highest_double")}
view: all
P0: a
P1: b
set up
scores: 12 12
round 1, P1 opens
P0 has [1|2] [6|6]
P1 has [0|3] [5|5]
P1 [5|5]L  P0 pass  P1 pass
blocked, P1 wins 12
P0 shows [1|2] [6|6]
P1 shows [0|3]
scores: 12 24
result: P1 wins
"""
TOP_TIE = (
    SET_UP.replace("[1|2] [6|6]", "[0|1] [0|2]")
    .replace("P1 wins 12", "nobody wins 0")
    .replace("scores: 12 24", "scores: 12 12")
    .replace("result: P1 wins", "result: draw")
)
UNFINISHED = BLOCKED.split("blocked, ")[0].replace("  P2 pass  P0 pass", "") + "result: unfinished\n"
ILLEGAL = UNFINISHED.replace("unfinished", "illegal action 3 by P2")

BY_HAND = {name: text for name, text in globals().items() if name.isupper() and str(text).startswith("block record")}
