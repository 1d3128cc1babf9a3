// The replay page: what is shown follows from the data, the position and whether hands are shown; nothing else is kept.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const PLAY_MS = 1000; // between two turns
const MOST_LISTED = 40; // turns in "Where they differ most"
const AROUND_TABLE = 470; // what stands above and below the table, in CSS pixels
const SERIES = 4; // colours for agents
const APART = 0.5; // agents that differ by as much are far apart

// A position, from the data ---------------------------------------------------------------------------------------------

// What View.as_dict() of block_env.view says of the position before the round's turn number `ply`, from 0; after its
// last turn: the table as the round leaves it, all hands shown if it was finished.
function viewAt(game, {round: number, ply}, reveal) {
  const round = game.rounds[number], plies = round.plies.slice(0, ply), atEnd = ply === round.plies.length;
  const result = atEnd ? round.result : null;
  const toPlay = atEnd ? round.next : round.plies[ply].seat;
  return {
    rules: game.rules,
    viewer: game.viewer,
    seats: game.names.map((name, seat) => seatAt(game, round, plies, seat, {name, result, toPlay, reveal})),
    line: plies.filter((one) => one.placed).map((one) => one.placed),
    ends: plies.findLast((one) => one.placed)?.ends ?? [],
    table: game.table,
    frame: round.frame,
    stock: round.stock - sum(plies.map((one) => one.drawn)),
    scores: result ? result.scores : round.scores,
    round_number: number,
    history: plies.map(({seat, action, move, drawn, passed}) => ({seat, action, move, drawn, passed})),
    over: Boolean(result?.over),
    winner: result?.over ? result.game_winner : null,
  };
}

function seatAt(game, round, plies, seat, {name, result, toPlay, reveal}) {
  const own = plies.filter((ply) => ply.seat === seat);
  const laid = own.filter((ply) => ply.placed);
  const shown = reveal || seat === game.viewer;
  return {
    name,
    side: seat % game.sides,
    tiles_left: game.rules.hand_size + sum(own.map((ply) => ply.drawn)) - laid.length,
    hand: result ? result.hands[seat] : shown ? handAt(round.hands[seat], own) : null,
    passes: own.filter((ply) => ply.passed).length,
    opener: seat === round.opener,
    to_play: seat === toPlay,
  };
}

// The tiles dealt and drawn less those laid; null where the page does not know them.
function handAt(dealt, own) {
  if (!dealt) return null;
  const laid = new Set(own.filter((ply) => ply.placed).map((ply) => String(ply.move[0])));
  const held = [...dealt, ...own.flatMap((ply) => ply.took ?? [])].filter((tile) => !laid.has(String(tile)));
  return held.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

// As high as leaves the buttons in sight; on a phone, where they are below anyway, higher.
function roomForTable() {
  return innerWidth < 640 ? innerHeight * 0.6 : Math.max(260, innerHeight - AROUND_TABLE);
}

// All positions of a game in order.
function stepsOf(game) {
  return game.rounds.flatMap((round, number) => Array.from({length: round.plies.length + 1}, (_, ply) => ({round: number, ply})));
}

// The page --------------------------------------------------------------------------------------------------------------

class Replay {
  constructor() {
    this.board = new Board(byId("board"), {tableHeight: roomForTable});
    this.reveal = false;
    this.timer = null;
    this.differences = differencesOf(data.games);
    fill("game", data.games.map((_, k) => `${k + data.first} of ${data.games.length + data.first - 1}`));
    byId("games").hidden = data.games.length < 2;
    this.listen();
    this.listDifferences();
    if (!this.follow(location.hash)) this.open(0);
  }

  // Where one is --------------------------------------------------------------------------------------------------------

  open(game, step = 0) {
    this.number = game;
    this.game = data.games[game];
    this.steps = stepsOf(this.game);
    byId("game").selectedIndex = game;
    byId("slider").max = this.steps.length - 1;
    byId("about").textContent = aboutGame(this.game);
    fill("round", this.game.rounds.map((_, k) => String(k + 1)));
    byId("hands").hidden = this.game.viewer !== null;
    byId("seen").hidden = this.game.viewer === null;
    if (this.game.viewer !== null) byId("seen").textContent = `Seen by ${this.game.names[this.game.viewer]}: other hands are shown at a round's end.`;
    byId("analysis").hidden = byId("differences").hidden = !this.game.agents;
    byId("measure").textContent = MEASURES[Math.min(this.game.agents?.length ?? 0, MEASURES.length - 1)];
    this.listRounds();
    this.go(step);
  }

  go(step, animate = false) {
    this.step = Math.max(0, Math.min(step, this.steps.length - 1));
    this.draw(animate);
    clearTimeout(this.noting);
    this.noting = setTimeout(() => history.replaceState(null, "", this.address()), 400);
  }

  goTo(round, ply) {
    this.go(this.stepOf(round, ply));
  }

  stepOf(round, ply) {
    return this.steps.findIndex((one) => one.round === round && one.ply === ply);
  }

  atEnd() {
    return this.step === this.steps.length - 1;
  }

  forward() {
    this.go(this.step + 1, true);
  }

  turnRound(by) {
    const {round, ply} = this.steps[this.step];
    const next = by < 0 && ply > 0 ? round : round + by;
    if (next >= this.game.rounds.length) return this.go(this.steps.length - 1);
    this.goTo(Math.max(next, 0), 0);
  }

  // Games, rounds and turns count from 1 in addresses, turns from 0 at the deal: #g1r2t5.
  address() {
    const {round, ply} = this.steps[this.step];
    return `#g${this.number + data.first}r${round + 1}t${ply}`;
  }

  follow(hash) {
    const [game, round, ply] = /^#g(\d+)r(\d+)t(\d+)$/.exec(hash)?.slice(1).map(Number) ?? [];
    const rounds = data.games[game - data.first]?.rounds;
    if (!rounds?.[round - 1] || ply > rounds[round - 1].plies.length) return false;
    this.open(game - data.first);
    this.goTo(round - 1, ply);
    return true;
  }

  play(on) {
    clearInterval(this.timer);
    if (on && this.atEnd()) this.go(0);
    this.timer = on ? setInterval(() => this.tick(), PLAY_MS) : null;
    byId("play").textContent = on ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", String(on));
  }

  tick() {
    this.forward();
    if (this.atEnd()) this.play(false);
  }

  // What is shown -------------------------------------------------------------------------------------------------------

  draw(animate) {
    const at = this.steps[this.step], round = this.game.rounds[at.round];
    const view = viewAt(this.game, at, this.reveal);
    this.board.show(view, {animate});
    const ended = at.ply === round.plies.length && round.result;
    const words = [Board.lastMove(view), ended ? resultWords(this.game, round.result) : "", this.atEnd() ? breakWords(this.game) : ""];
    byId("caption").textContent = words.filter(Boolean).join(" ");
    byId("slider").value = this.step;
    byId("slider").setAttribute("aria-valuetext", `Round ${at.round + 1}, turn ${at.ply} of ${round.plies.length}`);
    byId("round").selectedIndex = at.round;
    for (const id of ["first", "backward"]) byId(id).disabled = this.step === 0;
    for (const id of ["forward", "last"]) byId(id).disabled = this.atEnd();
    byId("hands").setAttribute("aria-pressed", String(this.reveal));
    this.listMoves(at, round);
    this.markRound(at.round);
    if (this.game.agents) byId("choices").replaceChildren(...choicesAt(this.game, at));
  }

  listMoves(at, round) {
    byId("moves-title").textContent = `Moves of round ${at.round + 1}`;
    const moves = round.plies.map((ply, k) => {
      const go = button(() => this.goTo(at.round, k + 1), make("span", "who", this.game.names[ply.seat]), make("span", "what", moveWords(ply, k === 0)));
      if (ply.choice?.differ >= APART) go.append(make("span", "apart", percent(ply.choice.differ)));
      if (k === at.ply - 1) go.setAttribute("aria-current", "step");
      return make("li", "", go);
    });
    byId("moves").replaceChildren(...moves);
    keepInSight(byId("moves"), byId("moves").querySelector("[aria-current]"));
  }

  listRounds() {
    const sides = sidesOf(this.game);
    const head = make("tr", "", ...["Round", "End", ...sides].map((title) => make("th", "", title)));
    const rows = this.game.rounds.map((round, k) => {
      const go = button(() => this.goTo(k, round.plies.length), String(k + 1));
      const end = round.result ? round.result.reason : "not finished";
      const cells = sides.map((_, side) => scoreCell(round, side));
      return make("tr", "", make("th", "", go), make("td", "", end), ...cells);
    });
    byId("sheet").replaceChildren(make("thead", "", head), make("tbody", "", ...rows));
  }

  markRound(round) {
    [...byId("sheet").tBodies[0].rows].forEach((row, k) => { row.className = k === round ? "here" : ""; });
  }

  listDifferences() {
    const most = this.differences.toSorted((one, other) => other.differ - one.differ).slice(0, MOST_LISTED);
    byId("differ").replaceChildren(...most.map((one) => make("li", "", button(() => this.openDifference(one), ...differenceWords(one)))));
  }

  openDifference({game, round, ply}) {
    if (game !== this.number) this.open(game);
    this.goTo(round, ply);
  }

  nextDifference() {
    const {round, ply} = this.steps[this.step], here = [this.number, round, ply];
    const next = this.differences.find((one) => one.differ >= APART && after([one.game, one.round, one.ply], here));
    if (next) this.openDifference(next);
  }

  // What one does -------------------------------------------------------------------------------------------------------

  listen() {
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("first", () => this.go(0));
    click("backward", () => this.go(this.step - 1));
    click("forward", () => this.forward());
    click("last", () => this.go(this.steps.length - 1));
    click("play", () => this.play(!this.timer));
    click("hands", () => this.showHands());
    click("help", () => byId("keys").showModal());
    click("close", () => byId("keys").close());
    byId("slider").addEventListener("input", () => this.go(byId("slider").valueAsNumber));
    byId("round").addEventListener("change", () => this.goTo(byId("round").selectedIndex, 0));
    byId("game").addEventListener("change", () => this.open(byId("game").selectedIndex));
    addEventListener("hashchange", () => this.follow(location.hash));
    addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const act = this.keys()[event.key];
    const pressed = event.key === " " && event.target.closest("main button, header button");
    const elsewhere = byId("keys").open || event.target.closest("select") || pressed;
    if (!act || elsewhere || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  }

  keys() {
    return {
      ArrowLeft: () => this.go(this.step - 1),
      ArrowRight: () => this.forward(),
      Home: () => this.go(0),
      End: () => this.go(this.steps.length - 1),
      PageUp: () => this.turnRound(-1),
      PageDown: () => this.turnRound(1),
      " ": () => this.play(!this.timer),
      h: () => this.showHands(),
      d: () => this.nextDifference(),
      "?": () => byId("keys").showModal(),
    };
  }

  showHands() {
    if (this.game.viewer !== null) return;
    this.reveal = !this.reveal;
    this.draw(false);
  }
}

// Words ----------------------------------------------------------------------------------------------------------------

function aboutGame(game) {
  const {rules} = game;
  const name = rules.name === "custom" ? "Block" : rules.name.replace("_", " ");
  const target = rules.target === null ? "" : `to ${rules.target} points`;
  const seed = game.seed === null ? "" : `seed ${game.seed}`;
  return [`${name} for ${rules.num_players}`, target, game.names.join(" – "), count(game.rounds.length, "round"), seed].filter(Boolean).join(" · ");
}

function sidesOf(game) {
  return Array.from({length: game.sides}, (_, side) => game.names.filter((_, seat) => seat % game.sides === side).join(" + "));
}

function moveWords({move: [tile, end], drawn, passed}, opens) {
  const drew = drawn ? `draws ${drawn}` : "";
  if (!tile) return [drew, passed ? "passes" : ""].filter(Boolean).join(", ");
  return opens ? tileName(tile) : `${tileName(tile)} ${end}`;
}

function resultWords(game, result) {
  const sides = sidesOf(game), wins = game.rules.partnership ? "win" : "wins";
  const winner = result.winner === null ? "nobody wins" : `${sides[result.winner]} ${wins} ${count(result.points, "point")}`;
  const end = result.game_winner === null ? "a draw" : `${sides[result.game_winner]} ${wins} the game`;
  return `${result.reason === "domino" ? "Domino" : "Blocked"}: ${winner}.${result.over ? ` The game is over: ${end}.` : ""}`;
}

// How a game was broken off.
function breakWords(game) {
  return game.rounds.at(-1).result?.over ? "" : `The record ends here: ${game.result}.`;
}

function scoreCell(round, side) {
  const won = round.result?.winner === side;
  const cell = make("td", won ? "won" : "", round.result ? String(round.result.scores[side]) : "–");
  if (won) cell.append(make("small", "", ` +${round.result.points}`));
  return cell;
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}

// The agents -----------------------------------------------------------------------------------------------------------

// All choices of all games in order, with how far apart the agents are.
function differencesOf(games) {
  return games.flatMap((game, g) => game.rounds.flatMap((round, r) => round.plies.flatMap((ply, p) =>
    ply.choice?.differ > 0.005 ? [{game: g, round: r, ply: p, differ: ply.choice.differ}] : [])));
}

function differenceWords({game, round, ply, differ}) {
  const turn = data.games[game].rounds[round].plies[ply];
  const place = data.games.length > 1 ? `game ${game + data.first}, ` : "";
  const who = make("span", "who", data.games[game].names[turn.seat]);
  return [make("span", "where", `${place}round ${round + 1}, turn ${ply + 1}`), who, make("span", "apart", percent(differ))];
}

function after(one, other) {
  const k = one.findIndex((number, place) => number !== other[place]);
  return k >= 0 && one[k] > other[k];
}

// By the number of agents.
const MEASURES = [
  "",
  "How likely the agent plays something else than what was played.",
  "Total variation distance between their odds: at 100 % they never play the same.",
  "Total variation distance between the odds of the two farthest apart: at 100 % they never play the same.",
];

const KINDS = {
  odds: "its odds",
  scores: "takes the highest score, shown beside the bar",
  choice: "its choice; chance from seed 0",
};

function choicesAt(game, {round, ply}) {
  const turn = game.rounds[round].plies[ply];
  const legend = make("ul", "legend", ...game.agents.map(({name, kind}, k) => make("li", `agent${k % SERIES}`, make("b", "", name), make("span", "soft", ` ${KINDS[kind]}`))));
  if (!turn) return [legend, make("p", "soft", "No turn follows in this round.")];
  const who = game.names[turn.seat];
  if (turn.choice) return [make("p", "", make("b", "", who), ` to move, ${count(turn.choice.moves.length, "way")} to play:`), legend, choiceTable(turn, ply === 0)];
  const hidden = game.viewer !== null && game.viewer !== turn.seat;
  const why = hidden ? "what it could play is not shown to this seat." : `has no choice: ${moveWords(turn, ply === 0)}.`;
  return [make("p", "", make("b", "", who), hidden ? ` to move; ${why}` : ` ${why}`), legend];
}

function choiceTable(turn, opens) {
  const {moves, odds, scores} = turn.choice;
  const order = moves.map((_, k) => k).sort((one, other) => sum(odds.map((row) => row[other] - row[one])) || one - other);
  return make("ul", "choices", ...order.map((k) => {
    const played = String(moves[k]) === String(turn.move);
    const bars = odds.map((row, agent) => oddsBar(row[k], scores, k, agent));
    const label = make("div", "move", tilePicture(moves[k][0]), make("span", "", opens ? "" : moves[k][1]), played ? make("b", "played", "played") : "");
    return make("li", played ? "is-played" : "", label, make("div", "bars", ...bars));
  }));
}

function oddsBar(share, scores, move, agent) {
  const bar = make("div", `bar agent${agent % SERIES}`);
  const fillBar = node("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
    node("rect", {width: 100, height: 10, class: "rail"}), node("rect", {width: short(share * 100), height: 10, class: "fill"}));
  bar.append(fillBar, make("span", "share", percent(share)));
  if (scores.some(Boolean)) bar.append(make("span", "score", scores[agent]?.[move].toFixed(2) ?? ""));
  return bar;
}

function tilePicture(tile) {
  return node("svg", {class: "tile", viewBox: "-1 -0.5 2 1", role: "img", "aria-label": tileName(tile)}, tileUse(tile));
}

// Nodes ----------------------------------------------------------------------------------------------------------------

function make(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function button(press, ...children) {
  const made = make("button", "", ...children);
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

function fill(id, words) {
  byId(id).replaceChildren(...words.map((word) => make("option", "", word)));
}

function keepInSight(list, one) {
  if (one && list.scrollHeight > list.clientHeight) list.scrollTop = one.offsetTop - list.clientHeight / 2;
}

const replay = new Replay();
