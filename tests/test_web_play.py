"""Playing on the page: what the server answers, and the page in headless Chromium."""

from __future__ import annotations

import copy
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import swapped

from block_env import notation, opponents, web_play
from block_env.session import Session
from block_env.variants import Rules
from block_env.web_play import Server

ROOT = Path(__file__).parents[1]
TWO = Rules.preset("match")


def new_session(rules: Rules = TWO, seed: int = 1, agent: str = "greedy") -> Session:
    return Session(rules, [(agent, opponents.make(agent, rules))] * (rules.num_players - 1), 0, seed)


@contextmanager
def serving(session: Session, agents: bool = True) -> Iterator[Server]:
    """A server of the session in threads of this process; without ``agents`` nobody moves for them."""
    with Server(session) as server:
        if agents:
            threading.Thread(target=server.room.play_agents, daemon=True).start()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Reply:
    """What came back: status, headers and body; ``frames`` of its JSON."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def frames(self) -> list[dict[str, Any]]:
        return json.loads(self.body)["frames"]


def ask(server: Server, method: str, path: str, body: Any = None, **headers: str | None) -> Reply:
    """A request to a path behind the secret (or, with ``/`` in front, to any); None takes a header away."""
    own = f"127.0.0.1:{server.server_port}"
    given: dict[str, str | None] = {"Host": own}
    if method == "POST":
        given |= {"Origin": f"http://{own}", "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    if data is not None:
        given.setdefault("Content-Length", str(len(data)))
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.putrequest(method, path if path[:1] == "/" else f"/{server.secret}/{path}", skip_host=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(data)
    reply = Reply(connection.getresponse())
    connection.close()
    return reply


def now(server: Server) -> dict[str, Any]:
    """The last frame."""
    return ask(server, "GET", "news?after=-1").frames[-1]


def turn(server: Server) -> dict[str, Any]:
    """The last frame, when it waits for the person."""
    frame = now(server)
    while frame["phase"] == "wait":
        frame = ask(server, "GET", f"news?after={frame['number']}").frames[-1]
    return frame


# Who is answered ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server whose game nobody changes."""
    with serving(new_session(), agents=False) as one:
        yield one


@pytest.mark.parametrize("path", ["", "human.js", "human.css", "board.js", "board.css", "news?after=-1"])
def test_what_there_is(server: Server, path: str) -> None:
    reply, head = ask(server, "GET", path), ask(server, "HEAD", path)
    assert (reply.status, head.status, head.body) == (200, 200, b"")
    assert reply.headers["Content-Length"] == head.headers["Content-Length"] == str(len(reply.body))
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    assert "unsafe" not in reply.headers["Content-Security-Policy"]
    assert not any(name.lower().startswith("access-control") for name in reply.headers)
    assert "Python" not in reply.headers["Server"]


def test_the_page_holds_the_tiles_and_nothing_of_elsewhere(server: Server) -> None:
    page = ask(server, "GET", "").body.decode()
    assert all(f'id="t{low}{high}"' in page for low in range(7) for high in range(low, 7))
    sources = [page, *(ask(server, "GET", name).body.decode() for name in ("human.js", "human.css", "board.css"))]
    assert not [url for text in sources for url in re.findall(r"https?://[^\s\"']+", text)]


def test_it_listens_on_loopback_alone(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


OTHER_PATHS = [
    "/",
    "/x",
    "/favicon.ico",
    "/x/news?after=0",
    "//news",
    "x",
    "news/",
    "../pages",
    "human.html",
    "%2e%2e/",
]


@pytest.mark.parametrize("path", OTHER_PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_unknown_paths(server: Server, method: str, path: str) -> None:
    assert ask(server, method, path, {} if method == "POST" else None).status == 404


@pytest.mark.parametrize("secret", ["", "x", "é", "A" * 22])
def test_another_secret(server: Server, secret: str) -> None:
    path = f"/{secret}/news?after=-1".encode().decode("latin-1")
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode("latin-1")
    assert raw(server, request).startswith(b"HTTP/1.0 404")


def raw(server: Server, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as one:
        one.sendall(request)
        one.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: one.recv(65536), b""))


@pytest.mark.parametrize(
    "host", [None, "", "example.com", "127.0.0.1", "127.0.0.1:1", "evil.127.0.0.1:{port}", "[::1]:{port}"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_hosts(server: Server, method: str, host: str | None) -> None:
    """A name that was made to lead here is no way in (DNS rebinding)."""
    named = host and host.format(port=server.server_port)
    path, body = ("", None) if method == "GET" else ("go_on", {"number": 1})
    assert ask(server, method, path, body, Host=named).status == 421


def test_two_hosts(server: Server) -> None:
    host = f"Host: 127.0.0.1:{server.server_port}\r\n"
    request = f"GET /{server.secret}/ HTTP/1.1\r\n{host}Host: evil.com\r\n\r\n".encode()
    assert raw(server, request).startswith(b"HTTP/1.0 421")
    assert raw(server, request.replace(b"Host: evil.com\r\n", b"")).startswith(b"HTTP/1.0 200")


def test_localhost_is_a_name_of_its_own(server: Server) -> None:
    host = f"localhost:{server.server_port}"
    assert ask(server, "GET", "", Host=host).status == 200
    assert ask(server, "POST", "go_on", {"number": -1}, Host=host, Origin=f"http://{host}").status == 409


@pytest.mark.parametrize("origin", ["null", "http://example.com", "https://127.0.0.1:{port}", "http://127.0.0.1:1", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_foreign_origins(server: Server, method: str, origin: str) -> None:
    given = origin.format(port=server.server_port)
    path, body = ("news?after=-1", None) if method == "GET" else ("go_on", {"number": 1})
    assert ask(server, method, path, body, Origin=given).status == 403


def test_posts_need_an_origin(server: Server) -> None:
    assert ask(server, "POST", "go_on", {"number": 1}, Origin=None).status == 403


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_where_a_request_comes_from(server: Server, site: str, status: int) -> None:
    assert ask(server, "GET", "", Sec_Fetch_Site=site).status == status


def test_the_ticket_is_good_once() -> None:
    with serving(new_session(), agents=False) as server:
        path = "/" + server.ticket_address.rsplit("/", 1)[1]
        assert server.secret not in server.ticket_address
        assert ask(server, "POST", path, {}).status == 404
        assert ask(server, "GET", path, Origin="http://example.com").status == 403
        reply = ask(server, "GET", path)
        assert (reply.status, reply.headers["Location"]) == (303, server.address)
        assert ask(server, "GET", path).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"])
def test_other_verbs(server: Server, method: str) -> None:
    reply = ask(server, method, "move")
    assert reply.status == 501
    assert not any(name.lower().startswith("access-control") for name in reply.headers)


def test_verbs_of_other_paths(server: Server) -> None:
    assert [ask(server, "GET", path).status for path in ("move", "go_on")] == [405, 405]
    assert [ask(server, "POST", path, {}).status for path in ("", "news", "human.js")] == [405, 405, 405]


# What is taken --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("move", b"", 400),
        ("move", b"{", 400),
        ("move", b"\xff\xfe", 400),
        ("move", b"[" * 900, 400),
        ("move", [], 400),
        ("move", "move", 400),
        ("move", None, 411),
        ("move", {}, 400),
        ("move", {"number": 1}, 400),
        ("move", {"number": True, "action": 1}, 400),
        ("move", {"number": 1.0, "action": 1}, 400),
        ("move", {"number": "1", "action": 1}, 400),
        ("move", {"number": 1, "action": None}, 400),
        ("move", {"number": 10**400, "action": 10**400}, 409),
        ("move", {"number": 99, "action": 1}, 409),
        ("go_on", {"number": 1}, 409),
        ("go_on", {"action": 1}, 400),
        ("move", b" " * 1001, 413),
        ("move", b" " * 90_000, 413),
    ],
)
def test_what_a_post_takes(server: Server, path: str, body: Any, status: int) -> None:
    before = now(server)
    assert ask(server, "POST", path, body).status == status
    assert now(server) == before


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_are_not_taken(server: Server, kind: str | None) -> None:
    assert ask(server, "POST", "go_on", {"number": 1}, Content_Type=kind).status == 415


@pytest.mark.parametrize("length", ["-1", "x", "", "1e3", "+5"])
def test_content_lengths(server: Server, length: str) -> None:
    assert ask(server, "POST", "move", None, Content_Length=length).status == 411


def test_chunks_are_not_taken(server: Server) -> None:
    assert ask(server, "POST", "move", b"0\r\n\r\n", Transfer_Encoding="chunked").status == 411


@pytest.mark.parametrize("query", ["", "?after", "?after=", "?after=x", "?after=1.5", "?number=1"])
def test_what_news_takes(server: Server, query: str) -> None:
    assert ask(server, "GET", f"news{query}").status == 400


# The game -------------------------------------------------------------------------------------------------------------


def play_by_posts(
    server: Server, rng: np.random.Generator, until: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """The person's moves at random, and "next round", until a frame is as asked; all frames seen."""
    seen = [now(server)]
    while not until(seen[-1]):
        frame = seen[-1]
        if frame["phase"] == "play":
            action = int(rng.choice([move["action"] for move in frame["legal"]]))
            reply = ask(server, "POST", "move", {"number": frame["number"], "action": action})
        elif frame["phase"] == "wait":
            reply = ask(server, "GET", f"news?after={frame['number']}")
        else:
            reply = ask(server, "POST", "go_on", {"number": frame["number"]})
        assert reply.status == 200
        seen += reply.frames
    return seen


@pytest.mark.parametrize("name", ["match", "draw", "partnership"])
def test_a_game_by_posts(name: str, rng: np.random.Generator) -> None:
    """To the end, and on to the next game: every frame comes once, in order; hands are hidden until shown."""
    session = new_session(Rules.preset(name))
    with serving(session) as server:
        seen = play_by_posts(server, rng, lambda frame: frame["phase"] == "game over")
        last = seen[-1]
        assert last["view"]["over"]
        reply = ask(server, "POST", "go_on", {"number": last["number"]})
        assert (reply.status, reply.frames[0]["sheet"]) == (200, [])
        seen += reply.frames
    assert [frame["number"] for frame in seen] == list(range(seen[0]["number"], seen[0]["number"] + len(seen)))
    for frame in seen:
        hidden = [seat["hand"] is None for seat in frame["view"]["seats"]]
        assert hidden == [not frame["phase"].endswith("over") and seat != 0 for seat in range(len(hidden))]


def test_stale_and_repeated_moves_change_nothing(rng: np.random.Generator) -> None:
    with serving(new_session()) as server:
        for _ in range(8):
            frame = turn(server)
            if frame["phase"] != "play":
                ask(server, "POST", "go_on", {"number": frame["number"]})
                continue
            wish = {"number": frame["number"], "action": frame["legal"][0]["action"]}
            for number in (frame["number"] - 1, frame["number"] + 1, -1):
                stale = ask(server, "POST", "move", {**wish, "number": number})
                assert (stale.status, stale.frames[-1:] or [frame]) == (409, [frame])
            assert ask(server, "POST", "move", wish).status == 200
            after = turn(server)
            again = ask(server, "POST", "move", wish)
            assert (again.status, again.frames[-1]) == (409, after)
            assert turn(server) == after


def test_illegal_moves_change_nothing() -> None:
    with serving(new_session()) as server:
        frame = turn(server)
        legal = {move["action"] for move in frame["legal"]}
        for action in {*range(57), -1, 57, 10**30} - legal:
            assert ask(server, "POST", "move", {"number": frame["number"], "action": action}).status == 400
        assert turn(server) == frame


def test_of_many_posts_at_once_one_is_played() -> None:
    with serving(new_session()) as server, ThreadPoolExecutor(16) as pool:
        for _ in range(5):
            frame = turn(server)
            wishes = [{"number": frame["number"], "action": move["action"]} for move in frame["legal"]] * 8
            replies = list(pool.map(lambda wish: ask(server, "POST", "move", wish), wishes))
            assert sorted(reply.status for reply in replies) == [200] + [409] * (len(wishes) - 1)
            after = turn(server)
            mine = [ply for ply in after["view"]["history"] if ply["seat"] == 0]
            assert len(mine) == len([ply for ply in frame["view"]["history"] if ply["seat"] == 0]) + 1


def test_news_waits_for_news() -> None:
    with serving(new_session()) as server, ThreadPoolExecutor(8) as pool:
        frame = turn(server)
        waiting = [pool.submit(ask, server, "GET", f"news?after={frame['number']}") for _ in range(6)]
        time.sleep(0.1)
        assert not any(one.done() for one in waiting)
        ask(server, "POST", "move", {"number": frame["number"], "action": frame["legal"][0]["action"]})
        assert {one.result(5).frames[0]["number"] for one in waiting} == {frame["number"] + 1}


def test_news_comes_empty_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_play, "PATIENCE", 0.05)
    with serving(new_session()) as server:
        assert ask(server, "GET", f"news?after={turn(server)['number']}").frames == []


@pytest.mark.parametrize("name", ["match", "draw", "partnership"])
def test_no_byte_tells_of_hidden_tiles(name: str, rng: np.random.Generator) -> None:
    """Two servers, one with all hidden tiles drawn anew, answer the same bytes to all that a page may ask."""
    rules = Rules.preset(name)
    for seed in range(3):
        session = new_session(rules, seed)
        while session.frame.phase == "wait" or len(session.frames) < 6:
            session.play(session.ask() if session.frame.phase == "wait" else session.frame.legal[0][0])
        if session.frame.legal[0][1].tile is None:
            continue
        twin = copy.deepcopy(session)
        twin._games.states[:] = swapped(session._games.states, rules, 0, 0, rng)
        number, action = session.frame.number, session.frame.legal[0][0]
        with serving(session, agents=False) as one, serving(twin, agents=False) as other:
            for method, path, body in [
                ("GET", "", None),
                ("GET", "news?after=-1", None),
                ("GET", "news?after=0", None),
                ("POST", "go_on", {"number": number}),
                ("POST", "move", {"number": number, "action": 999}),
                ("POST", "move", {"number": number - 1, "action": action}),
                ("POST", "move", {"number": number, "action": action}),
                ("POST", "move", {"number": number, "action": action}),
                ("GET", f"news?after={number}", None),
            ]:
                replies = [ask(where, method, path, body) for where in (one, other)]
                assert replies[0].status == replies[1].status
                assert replies[0].body == replies[1].body
                assert len(replies[0].headers) == len(replies[1].headers)


class Odd:
    """Fails, and tells its hand."""

    def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
        raise RuntimeError("secret\nhand [6|6]")


def test_an_agent_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """The page learns that it did, the terminal why; the server goes on."""
    with serving(Session(TWO, [("odd", Odd())], seed=1)) as server:
        frame = turn(server)
        while frame["phase"] == "play":
            ask(server, "POST", "move", {"number": frame["number"], "action": frame["legal"][0]["action"]})
            frame = turn(server)
        assert (frame["phase"], frame["failure"]) == ("failed", "odd at seat 1 failed; the game cannot go on.")
        assert ask(server, "POST", "move", {"number": frame["number"], "action": 0}).status == 409
        assert ask(server, "POST", "go_on", {"number": frame["number"]}).status == 409
        assert b"secret" not in ask(server, "GET", "news?after=-1").body
    assert capsys.readouterr().err == "error: odd at seat 1 failed: RuntimeError: secret hand [6|6]\n"


def test_a_page_that_hangs_up_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(new_session()) as server:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.server_port)) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                one.sendall(f"GET /{server.secret}/ HTTP/1.1\r\nHost: 127".encode())
        assert turn(server)["phase"] == "play"
    assert capsys.readouterr().err == ""


# The program ----------------------------------------------------------------------------------------------------------


@contextmanager
def program(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``python -m block_env.human --web``, running, and the address that it prints."""
    command = [sys.executable, "-m", "block_env.human", "--web", "--no-browser", *arguments]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as running:
        try:
            line = running.stdout.readline()
            assert line.startswith("The game is at http://127.0.0.1:"), line
            yield running, line.split()[-1]
        finally:
            running.send_signal(signal.SIGCONT)
            running.kill()


def test_ctrl_c_ends_it() -> None:
    with program("--seed", "1") as (running, _):
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
        assert (running.returncode, err) == (0, "")


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "block_env.human", "--web", "--no-browser", "--port", port]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert f"--port: {port} cannot be used" in run.stderr


# The page in headless Chromium ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A driver of Chromium, whose console is read by ``console``."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs Chromium and its driver: Debian's packages chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium (pip install selenium)")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ):
        options.add_argument(argument)
    options.add_argument("--window-size=1200,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    one = webdriver.Chrome(options=options, service=Service(driver))
    yield one
    one.quit()


class Page:
    """The page of a game, as a person sees and uses it."""

    def __init__(self, browser: Any, address: str, pace: int = 0) -> None:
        self.browser, self.address = browser, address
        browser.get("about:blank")  # what another page said is not this one's
        browser.get_log("browser")
        browser.get(f"{address}?pace={pace}")
        self.wait_turn()

    def find(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        return self.browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)

    def wait(self, script: str, seconds: float = 15) -> None:
        """Until the script's value is true."""
        end = time.monotonic() + seconds
        while not self.browser.execute_script(f"return Boolean({script})"):
            assert time.monotonic() < end, f"not {script}; status: {self.text('#status')}"
            time.sleep(0.01)

    def wait_turn(self) -> None:
        """Until it is the person's turn, or the round is over and shown so."""
        self.wait("document.title.startsWith('Your turn') || document.querySelector('dialog').open")

    @property
    def over(self) -> bool:
        return bool(self.find("dialog[open]"))

    @property
    def laid(self) -> int:
        return len(self.find(".placed"))

    def act(self) -> bool:
        """Press the button for a pass or the next deal, if there is one."""
        if self.over:
            self.find("#next")[0].click()
            self.wait("!document.querySelector('dialog').open")
        elif self.find("#act:not([hidden])"):
            self.find("#act")[0].click()
            self.wait("!document.title.startsWith('Your turn') || true")
        else:
            return False
        return True

    def move(self) -> None:
        """Click the first tile that can be laid, and the first end if asked for one; or the button."""
        turns = self.turns
        over = self.over
        if not self.act():
            self.find('[data-key^="tile-"]')[0].click()
            if self.find(".selected"):
                self.find('[data-key^="end-"]')[0].click()
        if not over:
            self.wait(f"frame.view.history.length > {turns} && !sending && !queue.length")
        self.wait_turn()

    @property
    def turns(self) -> int:
        return self.browser.execute_script("return frame.view.history.length")

    def play_on(self, rng: np.random.Generator | None = None) -> None:
        """To a turn with a choice."""
        while self.over or not self.find('[data-key^="tile-"]'):
            self.move()

    def mine(self) -> int:
        """The person's turns in this round, as the server has them."""
        script = (
            "return ask('news?after=-1').then((frames) => frames[0].view.history.filter(({seat}) => seat === 0).length)"
        )
        return self.browser.execute_script(script)

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]


def test_a_match_by_clicks(browser: Any, tmp_path: Path) -> None:
    """To the end against greedy, with a new game after it; the console stays empty, and the record holds the match."""
    file = tmp_path / "games.txt"
    with program("--seed", "2", "--record", str(file)) as (running, address):
        page = Page(browser, address)
        rounds = 0
        while "New game" not in page.text("#next"):
            rounds += page.over
            page.move()
        assert rounds > 2
        assert "the game." in page.text("#dialog-title")
        assert len(page.find("#sheet tr")) == rounds + 2
        assert max(map(int, re.findall(r": (\d+)", page.text("#scores")))) >= 100
        page.move()
        assert page.text("#what") == "Match to 100 · round 1"
        assert page.console() == []
        page.move()
        running.send_signal(signal.SIGINT)
        running.wait(30)
        whole, begun = notation.read_file(file)
        assert (whole.names, whole.seed, len(whole.rounds)) == (("human", "greedy"), 2, rounds + 1)
        assert max(whole.rounds[-1].scores) >= 100
        assert begun.result == "unfinished"


@pytest.mark.parametrize("arguments", [["--rules", "draw"], ["--rules", "partnership", "--opponent", "random"]])
def test_other_rules_by_clicks(browser: Any, arguments: list[str]) -> None:
    with program("--seed", "3", *arguments) as (_, address):
        page = Page(browser, address)
        while not page.over:
            page.move()
        assert len(page.find("#hands div")) == (2 if "draw" in arguments else 4)
        assert page.console() == []


def test_two_tabs(browser: Any) -> None:
    """Each shows what is played in the other; a move of the other's past is not played."""
    with program("--seed", "3") as (_, address):
        first, window = Page(browser, address), browser.current_window_handle
        first.play_on()
        browser.switch_to.new_window("tab")
        second = Page(browser, address)
        turns = second.turns
        second.move()
        laid, now = second.laid, second.turns
        browser.switch_to.window(window)
        first.wait(f"frame.view.history.length === {now}")
        assert now > turns
        first.wait(f"document.querySelectorAll('.placed').length === {laid}")
        first.move()
        turns = first.turns
        browser.close()
        browser.switch_to.window(browser.window_handles[0])
        second.wait(f"frame.view.history.length === {turns}")
        assert second.console() == []


def test_a_stale_tab_loses_nothing(browser: Any) -> None:
    """A tab that has not heard of a move sends one for the past: the server refuses it, the tab shows what is."""
    with program("--seed", "3") as (_, address):
        page = Page(browser, address)
        page.play_on()
        mine = page.mine()
        done = "const wish = {number: frame.number, action: frame.legal[0].action};"
        post = (
            "fetch('move', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(wish)})"
        )
        statuses = browser.execute_script(
            f"{done} return Promise.all([{post}, {post}, {post}]).then((all) => all.map((one) => one.status).sort())"
        )
        assert statuses == [200, 409, 409]
        page.wait(f"frame.view.history.filter(({{seat}}) => seat === 0).length === {mine + 1} && !queue.length")


@pytest.mark.parametrize("pace", [0, 300])
def test_a_double_click_plays_once(browser: Any, pace: int) -> None:
    from selenium.webdriver import ActionChains

    with program("--seed", "3") as (_, address):
        page = Page(browser, address, pace)
        for _ in range(4):
            page.play_on()
            mine = page.mine()
            tile = page.find('[data-key^="tile-"]')[0]
            ActionChains(browser).double_click(tile).perform()
            if page.mine() == mine:  # two ends: taken up, and put back
                page.move()
            page.wait_turn()
            assert page.mine() in ((mine + 1,) if not page.over else range(mine + 2))
        assert page.console() == []


def test_a_reload_in_the_middle(browser: Any) -> None:
    """Right after a move, while the agent's is still to be shown: the page comes back with all of it."""
    with program("--seed", "3", "--num-players", "4") as (_, address):
        page = Page(browser, address, pace=500)
        for _ in range(4):
            page.play_on()
            mine = page.mine()
            page.find('[data-key^="tile-"]')[0].click()
            if page.find(".selected"):
                page.find('[data-key^="end-"]')[0].click()
            page.wait(f"frame.view.history.filter(({{seat}}) => seat === 0).length === {mine + 1} || isOver()")
            browser.refresh()
            page.wait("frame !== null && document.querySelectorAll('.placed').length === frame.view.line.length")
            assert (
                page.browser.execute_script("return ask('news?after=-1').then((frames) => frames[0].number - last)")
                <= 3
            )
            page.wait_turn()
        assert page.console() == []


def test_a_connection_that_is_lost(browser: Any) -> None:
    """Offline the page says so; a move made then is played once when the connection is back."""
    with program("--seed", "3") as (_, address):
        page = Page(browser, address)
        page.play_on()
        mine = page.mine()
        offline(browser, True)
        page.find('[data-key^="tile-"]')[0].click()
        if page.find(".selected"):
            page.find('[data-key^="end-"]')[0].click()
        page.wait("!document.querySelector('#lost').hidden")
        assert "No connection" in page.text("#lost")
        offline(browser, False)
        page.wait("document.querySelector('#lost').hidden && !sending")
        page.wait_turn()
        assert page.mine() == mine + 1
        page.play_on()
        page.move()
        assert [line for line in page.console() if "ERR_INTERNET_DISCONNECTED" not in line] == []


def offline(browser: Any, off: bool) -> None:
    browser.execute_cdp_cmd("Network.enable", {})
    limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": off, **limits})


def test_a_server_that_pauses_and_ends(browser: Any) -> None:
    with program("--seed", "3") as (running, address):
        page = Page(browser, address)
        page.play_on()
        turns = page.turns
        running.send_signal(signal.SIGSTOP)
        page.find('[data-key^="tile-"]')[0].click()
        if page.find(".selected"):
            page.find('[data-key^="end-"]')[0].click()
        time.sleep(0.3)
        assert page.browser.execute_script("return sending")
        running.send_signal(signal.SIGCONT)
        page.wait(f"frame.view.history.length > {turns} || isOver()")
        page.wait_turn()
        running.send_signal(signal.SIGINT)
        running.wait(30)
        page.wait("!document.querySelector('#lost').hidden")


def test_keys_alone(browser: Any) -> None:
    """A round by arrows, Enter, and L and R for the ends."""
    from selenium.webdriver import ActionChains, Keys

    with program("--seed", "3") as (_, address):
        page = Page(browser, address)
        while not page.over:
            turns = page.turns
            keys = ActionChains(browser)
            if page.find("#act:not([hidden])"):
                page.find("#act")[0].send_keys(Keys.ENTER)
            else:
                keys.send_keys(Keys.ARROW_RIGHT, Keys.ENTER).perform()
                if page.find(".selected"):
                    ActionChains(browser).send_keys("r").perform()
            page.wait(f"frame.view.history.length > {turns} || isOver()")
            page.wait_turn()
        browser.switch_to.active_element.send_keys(Keys.ENTER)  # the next round
        page.wait("!document.querySelector('dialog').open && frame.view.round_number === 1")
        assert page.console() == []


def test_dragging(browser: Any) -> None:
    from selenium.webdriver import ActionChains

    with program("--seed", "3") as (_, address):
        page = Page(browser, address)
        for _ in range(3):
            page.play_on()
            mine, legal = page.mine(), browser.execute_script("return frame.legal[0]")
            tile = page.find(f'[data-key="tile-{"".join(map(str, legal["tile"]))}"]')[0]
            ActionChains(browser).click_and_hold(tile).move_by_offset(0, -30).perform()
            assert page.find(".ghost")
            goal = page.find(f'[data-key="end-{legal["end"]}"]') or page.find(".felt")
            ActionChains(browser).move_to_element(goal[0]).release().perform()
            page.wait_turn()
            assert page.over or page.mine() == mine + 1
            assert not page.find(".ghost")
        assert page.console() == []


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_it_fits_the_window(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        with program("--seed", "3", "--rules", "partnership") as (_, address):
            page = Page(browser, address)
            while not page.over:
                assert browser.execute_script("return document.documentElement.scrollWidth") <= width
                page.move()
            assert page.console() == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_failed_agent_is_shown(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd_agents.py").write_text(
        "class Odd:\n    def act(self, *_):\n        raise RuntimeError('no idea')\n\n"
        "def odd(rules):\n    return Odd()\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with program("--seed", "3", "--opponent", "odd_agents:odd") as (running, address):
        browser.get(address)
        end = time.monotonic() + 15
        while "failed" not in browser.find_element("css selector", "#status").text:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert "no idea" not in browser.page_source
        assert "no idea" in running.stderr.readline()
