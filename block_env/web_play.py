"""Play on a page: a server for this machine's own browser.

It listens on 127.0.0.1 alone, and the page's address holds a secret. Every frame of a session has a number; a page asks
for all after the one that it has, and says with each move for which one it is meant. So pages that were reloaded, cut
off or opened twice all show the same game, and a move sent twice is played once.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable, Collection
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from block_env.session import AgentError, Session
from block_env.svg import tile_symbols

HOST = "127.0.0.1"
MAX_BODY = 1000
"""Bytes; what a page sends is far shorter."""

PATIENCE = 10.0
"""Seconds that a page's question for news may wait for an answer."""

_PAGES = {
    "": ("human.html", "text/html"),
    "human.css": ("human.css", "text/css"),
    "board.css": ("board.css", "text/css"),
    "human.js": ("human.js", "text/javascript"),
    "board.js": ("board.js", "text/javascript"),
}
_POSTS = ("move", "go_on")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


# The game that the pages share ----------------------------------------------------------------------------------------


class Room:
    """A session that many threads share: pages look and move, and one thread moves for the agents."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._changed = threading.Condition()

    def news(self, number: int, patience: float = 0.0) -> dict[str, Any]:
        """The frames after that one, as JSON takes them; up to ``patience`` seconds it waits until there are any."""
        with self._changed:
            self._changed.wait_for(lambda: self._session.frame.number != number, patience)
            return {"frames": [frame.as_dict() for frame in self._session.since(number)]}

    def move(self, number: int, action: int) -> bool:
        """The person's move, if it is meant for the last frame; whether it is.

        Raises:
            ValueError: it is not legal.
        """
        with self._changed:
            if self._session.frame.number != number or self._session.frame.phase != "play":
                return False
            self._session.play(action)
            self._changed.notify_all()
            return True

    def go_on(self, number: int) -> bool:
        """The next deal, if it is asked for in the last frame; whether it is."""
        with self._changed:
            if self._session.frame.number != number or not self._session.frame.phase.endswith("over"):
                return False
            self._session.go_on()
            self._changed.notify_all()
            return True

    def play_agents(self) -> None:
        """Move for the agents whenever it is their turn, until one fails, which the page and the terminal then show."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._session.frame.phase == "wait")
            try:
                action = self._session.ask()  # may take long; until it is played nobody else can change the game
            except AgentError as error:
                self._fail(error)
                return
            with self._changed:
                self._session.play(action)
                self._changed.notify_all()

    def close(self) -> None:
        """Close the session's record, between two turns."""
        with self._changed:
            self._session.close()

    def _fail(self, error: AgentError) -> None:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        with self._changed:
            self._session.fail(error)
            self._changed.notify_all()


# The server -----------------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Serves one session's page at :attr:`address`; ``port`` 0 takes a free one. Other hosts cannot reach it."""

    daemon_threads, request_queue_size = True, 128

    def __init__(self, session: Session, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.room = Room(session)
        self.secret, self._ticket = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.pages = {path: (_read(name), f"{kind}; charset=utf-8") for path, (name, kind) in _PAGES.items()}
        page, kind = self.pages[""]
        self.pages[""] = page.replace(b"<!-- tiles -->", tile_symbols(session.rules.max_pip).encode()), kind

    @property
    def address(self) -> str:
        """Where the page is; who knows it can play."""
        return f"http://{HOST}:{self.server_port}/{self.secret}/"

    @property
    def ticket_address(self) -> str:
        """Leads to the page once: for a browser's command line, which others on this machine may read."""
        return f"http://{HOST}:{self.server_port}/{self._ticket}"

    def take_ticket(self, path: str) -> bool:
        """Whether the path is the ticket's; it is no more then."""
        valid = _same(path, self._ticket)
        if valid:
            self._ticket = secrets.token_urlsafe(16)
        return valid

    def server_bind(self) -> None:
        """Bind without asking a name server for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _read(name: str) -> bytes:
    return files("block_env").joinpath("pages", name).read_bytes()


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), secret.encode())


class _RefusedError(Exception):
    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "Block", ""
    timeout = 30  # seconds for a request to arrive

    def do_GET(self) -> None:
        """A page, or the news."""
        self._answer(self._get)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """A move, or the wish for the next deal."""
        self._answer(self._post)

    def version_string(self) -> str:
        """What the server calls itself."""
        return self.server_version

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request of this server's is refused like all else that it refuses."""
        self._send(HTTPStatus(code), "text/plain; charset=utf-8", f"{message or HTTPStatus(code).phrase}\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the terminal shows what is news to the player."""

    # What is asked

    def _answer(self, answer: Callable[[str], tuple[HTTPStatus, str, bytes]]) -> None:
        try:
            self._check_source()
            status, kind, body = answer(self._path())
        except _RefusedError as error:
            status, kind, body = error.status, "text/plain; charset=utf-8", f"{error}\n".encode()
        self._send(status, kind, body)

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if status == HTTPStatus.SEE_OTHER:
            self.send_header("Location", self.server.address)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _check_source(self) -> None:
        """Only pages of this server, and addresses typed by hand, are answered; whatever name leads here."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise _RefusedError(HTTPStatus.MISDIRECTED_REQUEST, f"Host: takes {self.server.server_name}")
        origin = self.headers.get("Origin", "" if self.command == "POST" else None)
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "Origin: takes this server's own")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "Sec-Fetch-Site: takes same-origin")

    def _path(self) -> str:
        """What stands behind the secret; for the ticket alone, ``/``."""
        parts = urlsplit(self.path).path.split("/") if self.path.startswith("/") else []
        if len(parts) == 2 and self.command == "GET" and self.server.take_ticket(parts[1]):
            return "/"
        if len(parts) != 3 or not _same(parts[1], self.server.secret):
            raise _RefusedError(HTTPStatus.NOT_FOUND, "The address of the game is the one that the terminal shows.")
        return parts[2]

    def _get(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        if path == "/":
            return HTTPStatus.SEE_OTHER, "text/plain; charset=utf-8", b""
        if path == "news":
            return _json(HTTPStatus.OK, self.server.room.news(self._number_asked(), PATIENCE))
        if path in self.server.pages:
            body, kind = self.server.pages[path]
            return HTTPStatus.OK, kind, body
        raise self._unknown(path, _POSTS)

    def _number_asked(self) -> int:
        try:
            return int(parse_qs(urlsplit(self.path).query)["after"][0])
        except (KeyError, ValueError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "after: takes the number of a frame") from None

    def _post(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        if path not in _POSTS:
            raise self._unknown(path, (*self.server.pages, "news"))
        wish, room = self._body(), self.server.room
        number = _whole(wish, "number")
        try:
            done = room.move(number, _whole(wish, "action")) if path == "move" else room.go_on(number)
        except ValueError:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "action: takes one of the legal ones") from None
        return _json(HTTPStatus.OK if done else HTTPStatus.CONFLICT, room.news(number))

    def _unknown(self, path: str, other: Collection[str]) -> _RefusedError:
        """The error for a path that there is not, or not with this verb."""
        if path in other:
            return _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{self.command} is not for this path")
        return _RefusedError(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or "Transfer-Encoding" in self.headers:
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "Content-Length: takes the number of bytes that follow")
        body = self.rfile.read(min(int(length), 100 * MAX_BODY))  # else the refusal may not be read
        if int(length) > MAX_BODY:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"takes at most {MAX_BODY} bytes")
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type: takes application/json")
        try:
            wish = json.loads(body)
        except (ValueError, RecursionError):
            wish = None
        if not isinstance(wish, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "takes an object in JSON")
        return wish


def _json(status: HTTPStatus, content: dict[str, Any]) -> tuple[HTTPStatus, str, bytes]:
    return status, "application/json", json.dumps(content, separators=(",", ":")).encode()


def _whole(wish: dict[str, Any], name: str) -> int:
    value = wish.get(name)
    if type(value) is not int:
        raise _RefusedError(HTTPStatus.BAD_REQUEST, f"{name}: takes a whole number")
    return value


# To the end -----------------------------------------------------------------------------------------------------------


def serve(session: Session, port: int = 0, browser: bool = True) -> None:
    """Serve a session's page until Ctrl-C.

    Args:
        session: what is played.
        port: of 127.0.0.1; 0: a free one.
        browser: whether a browser is opened.

    Raises:
        ValueError: the port cannot be used.
    """
    try:
        server = Server(session, port)
    except OSError as error:
        raise ValueError(f"--port: {port} cannot be used ({error.strerror})") from None
    with server, suppress(KeyboardInterrupt):
        threading.Thread(target=server.room.play_agents, daemon=True).start()
        print(f"The game is at {server.address}\nCtrl-C ends it.", flush=True)
        if browser:  # one without windows would keep the terminal, and this thread
            threading.Thread(target=webbrowser.open, args=(server.ticket_address,), daemon=True).start()
        server.serve_forever()
    server.room.close()
