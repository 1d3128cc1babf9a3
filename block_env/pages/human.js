// The page of block_env.web_play: asks the server for frames, shows them one after another, and sends what the person
// plays. All that counts is kept by the server; a page that asks anew shows the same game.
//
// ?pace=MS in the address sets how long an agent's turn is waited for.
"use strict";

const PATIENCE = 20000, AGAIN = 1000;
const paceAsked = Number(new URLSearchParams(location.search).get("pace") ?? 700);
const pace = Number.isFinite(paceAsked) ? Math.max(0, paceAsked) : 700;

const byId = (name) => document.getElementById(name);
const board = new Board(byId("board"), {onTile: chooseTile, onEnd: chooseEnd, tableHeight});

let last = -1; // the number of the newest frame that has come
let frame = null; // the one that is shown
let chosen = {tile: null, end: null};
let sending = false;
let showing = false;
const queue = [];

// The server -----------------------------------------------------------------------------------------------------------

async function ask(path, options = {}) {
  const answer = await fetch(path, {...options, signal: AbortSignal.timeout(PATIENCE)});
  if (!answer.ok && answer.status !== 409) throw Object.assign(new Error(await answer.text()), {status: answer.status});
  const content = await answer.json();
  tellLost("");
  return content.frames;
}

// All news, for ever. A page that nobody sees does not ask: a browser allows but a few connections at a time.
async function follow() {
  for (;;) {
    try {
      take(await ask(`news?after=${last}`));
    } catch (error) {
      if (!(await hopeful(error))) return;
    }
    if (document.hidden) await new Promise((seen) => document.addEventListener("visibilitychange", seen, {once: true}));
  }
}

// What the person wants, sent until it has been answered: the server plays what it has played already no second time.
async function send(path, wish = {}) {
  if (sending || queue.length) return;
  sending = true;
  chosen = {tile: null, end: null};
  draw();
  const body = JSON.stringify({number: frame.number, ...wish});
  const options = {method: "POST", headers: {"Content-Type": "application/json"}, body};
  for (let open = true; open; ) {
    try {
      take(await ask(path, options));
      open = false;
    } catch (error) {
      open = await hopeful(error);
    }
  }
  sending = false;
  draw();
}

// Whether to ask again after an error, some time later.
async function hopeful(error) {
  if (error.status) {
    const gone = "This game has been ended. The terminal shows the address of a new one.";
    tellLost(error.status === 404 ? gone : `The server refuses: ${error.message}`);
    return false;
  }
  tellLost("No connection to the game; trying again. If it was ended in the terminal, start it there.");
  await pause(AGAIN);
  return true;
}

function tellLost(words) {
  byId("lost").textContent = words;
  byId("lost").hidden = !words;
}

// One frame after another ----------------------------------------------------------------------------------------------

function take(frames) {
  for (const one of frames.filter(({number}) => number > last)) {
    one.view.seats[one.view.viewer].name = "You";
    queue.push(one);
    last = one.number;
  }
  showQueue();
}

async function showQueue() {
  if (showing) return;
  showing = true;
  while (queue.length) {
    if (frame && isAgents(queue[0])) await pause(pace);
    const next = queue.shift();
    const moved = frame !== null && next.view.history.length > 0;
    frame = next;
    chosen = {tile: null, end: null};
    draw(moved);
  }
  showing = false;
  draw();
  if (isOver() && pace) await pause(pace);
  if (isOver() && !queue.length) openDialog();
}

// Whether a frame shows an agent's turn, which people want to see made.
function isAgents({view}) {
  return view.history.length > 0 && view.history.at(-1).seat !== view.viewer;
}

function isOver() {
  return frame.phase === "round over" || frame.phase === "game over";
}

function pause(time) {
  return document.hidden ? Promise.resolve() : new Promise((over) => setTimeout(over, time));
}

// Choosing a move ------------------------------------------------------------------------------------------------------

function same(one, other) {
  return one !== null && other !== null && one[0] === other[0] && one[1] === other[1];
}

function isMine() {
  return frame?.phase === "play" && !sending && !queue.length;
}

function isForced() {
  return frame.phase === "play" && frame.legal[0].tile === null;
}

function fitting({tile, end}) {
  return frame.legal.filter((move) => (!tile || same(move.tile, tile)) && (!end || move.end === end));
}

function chooseTile(tile) {
  choose({tile: same(tile, chosen.tile) ? null : tile, end: chosen.end});
}

function chooseEnd(end) {
  choose({tile: chosen.tile, end: end === chosen.end ? null : end});
}

// A tile, an end, or both in either order; what is clear is played at once.
function choose(wish) {
  if (!isMine()) return;
  const moves = fitting(wish);
  if (moves.length === 1 && (wish.tile || wish.end)) {
    send("move", {action: moves[0].action});
    return;
  }
  chosen = moves.length ? wish : {tile: null, end: null};
  draw();
}

function act() {
  if (!frame || sending) return;
  if (isOver()) send("go_on");
  else if (isMine() && isForced()) send("move", {action: frame.legal[0].action});
}

// The page -------------------------------------------------------------------------------------------------------------

function draw(animate = false) {
  if (!frame) return;
  const {view} = frame;
  const how = {animate: animate && pace > 0, selected: chosen.tile};
  if (isMine() && !isForced()) {
    const tiles = fitting({tile: null, end: chosen.end}).map(({tile}) => tile);
    const ends = view.line.length ? fitting({tile: chosen.tile, end: null}).map(({end}) => end) : [];
    how.playable = {tiles, ends};
  }
  board.show(closer(view), how);
  byId("what").textContent = `${game(view)} · round ${frame.view.round_number + 1}`;
  byId("scores").replaceChildren(...view.scores.map((score, side) => span(`${sideName(view, side)}: ${score}`)));
  say(byId("status"), statusWords());
  drawButton(byId("act"), isMine() && isForced() ? forcedWord() : isOver() && !sending ? goOnWord() : "");
  byId("log").replaceChildren(...view.history.map((_, k) => item(turnWords(view, k))).slice(-4).reverse());
  byId("sheet-button").hidden = !frame.sheet.length;
  document.title = isMine() ? "Your turn – Block" : "Block";
  if (!isOver() && byId("dialog").dataset.frame) byId("dialog").close();
}

function drawButton(button, words) {
  button.hidden = !words;
  button.textContent = words;
}

function forcedWord() {
  const {rules, stock} = frame.view;
  return rules.draw && stock > rules.stock_reserve ? "Draw" : "Pass";
}

function goOnWord() {
  return frame.phase === "game over" ? "New game" : "Next round";
}

function statusWords() {
  const {view, phase} = frame;
  if (phase === "failed") return `${frame.failure} The terminal says why.`;
  if (isOver()) return endWords();
  if (phase === "wait" || queue.length) return `${view.seats.find(({to_play}) => to_play)?.name ?? ""} is to move …`;
  if (sending) return "…";
  if (isForced()) return forcedWord() === "Draw" ? "No tile of yours fits: you draw." : "No tile of yours fits: you pass.";
  if (!view.line.length) return "You open the round, with any tile that has a ring.";
  if (chosen.tile) return `${tileName(chosen.tile)}: at which end?`;
  if (chosen.end) return `Which tile goes to the ${chosen.end} end?`;
  return "Your turn.";
}

function turnWords(view, k) {
  const {seat, move, drawn, passed} = view.history[k];
  const s = seat === view.viewer ? "" : "s", [tile, end] = move;
  const deeds = drawn ? [`draw${s} ${count(drawn, "tile")}`] : [];
  if (passed) deeds.push(s ? "passes" : "pass");
  const first = view.line[0]?.ply === k;
  if (tile) deeds.push(first ? `open${s} with ${tileName(tile)}` : `lay${s} ${tileName(tile)} at the ${end} end`);
  return `${view.seats[seat].name} ${deeds.join(" and ")}.`;
}

function game({rules}) {
  const name = rules.name === "custom" ? "Block" : rules.name.replace("_", " ");
  const words = name[0].toUpperCase() + name.slice(1);
  return rules.target === null ? words : `${words} to ${rules.target}`;
}

function sideName(view, side) {
  return view.seats.filter((seat) => seat.side === side).map(({name}) => name).join(" + ");
}

// "You win" and "greedy wins"; nobody: null.
function winWords(view, side) {
  if (side === null) return "Nobody wins";
  const name = sideName(view, side);
  return `${name} ${name === "You" || name.includes(" + ") ? "win" : "wins"}`;
}

function endWords() {
  const {view, phase, sheet} = frame;
  if (phase === "game over") return view.winner === null ? "The game is a draw." : `${winWords(view, view.winner)} the game.`;
  return `${winWords(view, sheet.at(-1).round.winner)} the round.`;
}

// The most that the table takes, so that header, hands and status find room beside it.
function tableHeight() {
  const besides = window.innerWidth >= 640 ? 480 : frame.view.seats.length === 2 ? 370 : 470;
  return Math.max(260, window.innerHeight - besides);
}

// The smallest of some parts of the table, all of its shape, that holds the whole line: tiles are as large as they can be.
function closer(view) {
  const [width, height] = view.table;
  const spots = [...view.line.map(({x, y}) => [x, y, 1]), ...view.ends.map(({x, y}) => [x, y, 1.8])];
  const share = ([x, y, room]) => Math.max((Math.abs(x) + room) / (width / 2), (Math.abs(y) + room) / (height / 2));
  const part = [0.55, 0.7, 0.85].find((size) => spots.every((spot) => share(spot) <= size)) ?? 1;
  return {...view, frame: [-width / 2, -height / 2, width / 2, height / 2].map((edge) => edge * part)};
}

// The score sheet, and what is shown at the end of a round -------------------------------------------------------------

function openDialog(end = true) {
  const {view, sheet} = frame, {round} = sheet.at(-1);
  byId("dialog-title").textContent = end ? endWords() : "Score sheet";
  byId("dialog-words").textContent = end ? reasonWords(view, round) : "";
  byId("hands").replaceChildren(...(end ? view.seats.map((seat) => handRow(seat)) : []));
  byId("sheet").replaceChildren(...sheetRows(view, sheet));
  byId("close").textContent = end ? "Look at the table" : "Close";
  drawButton(byId("next"), end ? goOnWord() : "");
  byId("dialog").dataset.frame = end ? frame.number : "";
  if (!byId("dialog").open) byId("dialog").showModal();
  if (end) byId("next").focus();
}

function reasonWords(view, round) {
  const out = view.seats.find(({tiles_left}) => !tiles_left)?.name;
  const why = round.reason === "domino" ? `${out} ${out === "You" ? "have" : "has"} no tile left` : "Nobody can lay";
  if (round.winner === null) return `${why}; the lowest hands are equal.`;
  return `${why}: ${count(round.points, "point")} for ${sideName(view, round.winner).replace("You", "you")}.`;
}

function handRow(seat) {
  const row = document.createElement("div");
  const total = seat.hand.flat().reduce((sum, pip) => sum + pip, 0);
  const words = seat.hand.length ? count(total, "pip") : "no tile left";
  row.append(span(`${seat.name}: ${words}`), ...seat.hand.map(smallTile));
  return row;
}

function smallTile(tile) {
  const svg = node("svg", {class: "small", viewBox: "-1.02 -0.52 2.04 1.04", role: "img", "aria-label": tileName(tile)});
  svg.append(tileUse(tile));
  return svg;
}

function sheetRows(view, sheet) {
  const sides = view.scores.map((_, side) => sideName(view, side));
  const rows = sheet.map(({round, scores}, k) => tableRow("td", [
    String(k + 1),
    ...scores.map((score, side) => (side === round.winner ? `+${round.points} = ${score}` : String(score))),
    round.reason,
  ]));
  return [tableRow("th", ["Round", ...sides, "Ended"]), ...rows];
}

function tableRow(kind, words) {
  const row = document.createElement("tr");
  row.append(...words.map((word) => Object.assign(document.createElement(kind), {textContent: word})));
  return row;
}

function span(words) {
  return Object.assign(document.createElement("span"), {textContent: words});
}

function item(words) {
  return Object.assign(document.createElement("li"), {textContent: words});
}

// Dragging a tile to an end ---------------------------------------------------------------------------------------------

let drag = null;

function startDrag(event) {
  const key = event.button === 0 && event.target.closest?.('[data-key^="tile-"]')?.getAttribute("data-key");
  if (key && isMine()) drag = {tile: [...key.slice(5)].map(Number), x: event.clientX, y: event.clientY, ghost: null};
}

function moveDrag({clientX, clientY}) {
  if (!drag) return;
  if (!drag.ghost && Math.hypot(clientX - drag.x, clientY - drag.y) < 8) return;
  if (!drag.ghost) takeUp();
  drag.ghost.style.left = `${clientX}px`;
  drag.ghost.style.top = `${clientY}px`;
}

function takeUp() {
  drag.ghost = smallTile(drag.tile);
  drag.ghost.classList.add("ghost");
  document.body.append(drag.ghost);
  chosen = {tile: drag.tile, end: null};
  draw();
}

function endDrag({type, clientX, clientY}) {
  const {ghost, tile} = drag ?? {};
  drag = null;
  if (!ghost) return;
  ghost.remove();
  if (!isMine()) return;
  const end = type === "pointerup" ? endNear(clientX, clientY) : null;
  chosen = {tile: null, end: null};
  if (end) choose({tile, end: end === "table" ? null : end});
  else draw();
}

// The playable end near a place; on an empty table anywhere.
function endNear(x, y) {
  const felt = document.querySelector(".board .felt").getBoundingClientRect();
  const inside = x > felt.left && x < felt.right && y > felt.top && y < felt.bottom;
  if (!frame.view.line.length) return inside ? "table" : null;
  const ends = [...document.querySelectorAll('[data-key^="end-"] .disc')].map((disc) => {
    const box = disc.getBoundingClientRect();
    const away = Math.hypot(box.left + box.width / 2 - x, box.top + box.height / 2 - y);
    return {end: disc.parentNode.getAttribute("data-key").slice(4), away};
  });
  const nearest = ends.sort((one, other) => one.away - other.away)[0];
  return nearest && (inside || nearest.away < 60) ? nearest.end : null;
}

// Keys -----------------------------------------------------------------------------------------------------------------

function press(event) {
  if (!isMine() || byId("dialog").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const end = {l: "left", r: "right"}[event.key.toLowerCase()];
  if (event.key === "Escape") choose({tile: null, end: null});
  else if (end && !isForced() && fitting({tile: chosen.tile, end}).length) choose({tile: chosen.tile, end});
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") step(event);
}

function step(event) {
  const stops = [...document.querySelectorAll(chosen.tile ? '[data-key^="end-"]' : '[data-key^="tile-"]')];
  if (!stops.length) return;
  const here = stops.indexOf(document.activeElement), by = event.key === "ArrowLeft" ? -1 : 1;
  stops[here < 0 ? (by > 0 ? 0 : stops.length - 1) : (here + by + stops.length) % stops.length].focus();
  event.preventDefault();
}

byId("act").addEventListener("click", act);
byId("next").addEventListener("click", act);
byId("close").addEventListener("click", () => byId("dialog").close());
byId("sheet-button").addEventListener("click", () => openDialog(isOver()));
document.addEventListener("keydown", press);
document.addEventListener("pointerdown", startDrag);
document.addEventListener("pointermove", moveDrag);
document.addEventListener("pointerup", endDrag);
document.addEventListener("pointercancel", endDrag);
follow();
