// Draws a game as one viewer sees it (what View.as_dict() of block_env.view gives) into an <svg>.
//
//   const board = new Board(svg, {live, onTile, onEnd});
//   board.show(view, {animate: true, playable: {tiles: [[3, 5]], ends: ["left"]}, selected: [3, 5]});
//
// The document must hold the tiles as block_env.svg.tile_symbols gives them, within <defs>. A drawing follows from the
// view and the width of the svg alone. Text goes in as text, never as markup: names come from files and players.
"use strict";

class Board {
  // options: live, an element (aria-live) that is told the last move; onTile([low, high]) and onEnd("left" | "right"),
  // called for playable tiles and ends; tableHeight, the most that the table takes, in CSS pixels, or a function for it.
  constructor(svg, options = {}) {
    this.svg = svg;
    this.options = options;
    this.width = 0;
    svg.classList.add("board");
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", "The table");
    new ResizeObserver(() => this.view && this.measure() !== this.width && this.show(this.view, this.how)).observe(svg);
  }

  // how: animate, whether the last move is seen to be made; playable, which of the viewer's tiles and which ends react
  // to the mouse and the keyboard; selected, the tile that is taken up. A view may have a frame [left, top, right,
  // bottom], the part of the table that is drawn; without it all of the table is.
  show(view, how = {}) {
    const focused = this.svg.contains(document.activeElement) && document.activeElement.getAttribute("data-key");
    this.view = view;
    this.how = {...how, animate: false};
    this.width = this.measure();
    this.now = how;
    const plan = this.plan(view);
    this.svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
    this.svg.setAttribute("height", plan.height);
    this.svg.replaceChildren(this.table(view, plan), ...view.seats.map((_, seat) => this.seat(view, seat, plan)));
    this.fitNames();
    if (focused) this.svg.querySelector(`[data-key="${focused}"]`)?.focus();
    if (how.animate) this.animate(view, plan);
    if (this.options.live) say(this.options.live, Board.lastMove(view));
  }

  // The last move of the round in a sentence.
  static lastMove(view) {
    const ply = view.history.at(-1);
    if (!ply) return `${view.seats.find((seat) => seat.opener).name} opens the round.`;
    const name = view.seats[ply.seat].name;
    const [tile, end] = ply.move;
    const drew = ply.drawn ? `draws ${ply.drawn}` : "";
    if (!tile) return `${name} ${[drew, ply.passed ? "passes" : ""].filter(Boolean).join(" and ")}.`;
    return `${name} ${drew ? `${drew} and ` : ""}lays ${tileName(tile)}${view.line.length > 1 ? ` at the ${end} end` : ""}.`;
  }

  // Where things go, all in CSS pixels ---------------------------------------------------------------------------------

  measure() {
    return Math.round(this.svg.getBoundingClientRect().width) || 960;
  }

  plan(view) {
    const width = this.width, wide = width >= 640, count = view.seats.length;
    const bottom = view.viewer ?? 0;
    const others = view.seats.map((_, k) => (bottom + 1 + k) % count).slice(0, -1);
    const column = width / others.length;
    const boxes = new Map();
    others.forEach((seat, k) => boxes.set(seat, handBox(view, seat, [k * column, 0], column, wide ? 24 : 18, wide ? 17 : 15)));
    const top = Math.max(...others.map((seat) => boxes.get(seat).height));
    const table = this.tablePlan(view, width, top + 8);
    const own = handBox(view, bottom, [0, table.y + table.height + 8], width, wide ? 38 : 42, 30);
    boxes.set(bottom, own);
    return {width, wide, boxes, table, height: own.y + own.height};
  }

  tablePlan(view, width, y) {
    const [left, upper, right, lower] = view.frame ?? frameOf(view.table);
    const size = [right - left, lower - upper];
    const height = Math.round(Math.min(tableHeight(this.options.tableHeight), width * TALLEST));
    const scaleOf = ([across, down]) => Math.min(width / across, height / down, LARGEST);
    const upright = scaleOf([size[1], size[0]]) > scaleOf(size); // on a phone the table is turned by a quarter
    const scale = Math.max(scaleOf(size), scaleOf([size[1], size[0]]));
    const middle = [(left + right) / 2, (upper + lower) / 2];
    const at = (x, y0) => {
      const [dx, dy] = [(x - middle[0]) * scale, (y0 - middle[1]) * scale];
      return upright ? [width / 2 - dy, y + height / 2 + dx] : [width / 2 + dx, y + height / 2 + dy];
    };
    return {y, height, width, scale, at, turn: upright ? 90 : 0};
  }

  // The table ----------------------------------------------------------------------------------------------------------

  table(view, plan) {
    const {y, height, width} = plan.table;
    const felt = node("rect", {class: "felt", x: 0.5, y: y + 0.5, width: width - 1, height: height - 1, rx: 14});
    const last = view.history.length - 1;
    const [older, newest] = [false, true].map((isLast) => view.line.filter((one) => (one.ply === last) === isLast));
    return node("g", {role: "group", "aria-label": lineName(view)}, felt, stockMark(view, plan.table),
      ...older.map((one) => this.placed(one, false, plan.table)), ...view.ends.map((end) => this.freeEnd(end, plan.table)),
      ...newest.map((one) => this.placed(one, true, plan.table)));
  }

  placed(one, isLast, {at, scale, turn}) {
    const transform = `translate(${at(one.x, one.y).map(short).join(" ")}) rotate(${one.angle + turn}) scale(${short(scale)})`;
    const tile = node("g", {transform, role: "img", "aria-label": tileName(one.tile)}, tileUse(one.tile));
    if (isLast) tile.append(node("rect", {class: "last", x: -1, y: -0.5, width: 2, height: 1, rx: 0.16}));
    return node("g", {class: isLast ? "placed newest" : "placed"}, tile);
  }

  freeEnd(end, {at, scale, turn}) {
    const way = ((end.angle + turn) * Math.PI) / 180;
    const [x0, y0] = at(end.x, end.y);
    const radius = Math.max(0.5 * scale, 11), reach = Math.max(0.72 * scale, radius + 4);
    const [x, y] = [x0 + Math.cos(way) * reach, y0 + Math.sin(way) * reach].map(short);
    const playable = (this.now.playable?.ends ?? []).includes(end.end);
    const mark = node("g", {class: playable ? "end playable" : "end"},
      node("circle", {class: "target", cx: x, cy: y, r: Math.max(radius, 22)}),
      node("circle", {class: "disc", cx: x, cy: y, r: short(radius)}),
      node("text", {x, y, dy: "0.36em"}, String(end.pip)));
    const name = `${end.end} end, ${end.pip}`;
    return playable ? pressable(mark, `end-${end.end}`, `Lay at the ${name}`, () => this.options.onEnd?.(end.end))
      : label(mark, `Free ${name}`);
  }

  // The seats ----------------------------------------------------------------------------------------------------------

  seat(view, seat, plan) {
    const box = plan.boxes.get(seat), here = view.seats[seat];
    const group = node("g", {class: here.to_play ? "seat to-play" : "seat", role: "group", "aria-label": seatName(view, here)});
    const middle = box.x + box.width / 2, wide = Math.min(box.width - 6, 440);
    const line = (kind, k, words) => node("text", {class: kind, x: middle, y: box.y + 20 + 18 * k, "data-width": wide - 16}, words);
    group.append(node("rect", {class: "box", x: middle - wide / 2, y: box.y + 1, width: wide, height: box.height - 2, rx: 12}));
    group.append(line("name", 0, here.name), ...noteLines(view, here, box).map((words, k) => line("notes", k + 1, words)));
    group.append(...this.hand(view, seat, box), ...bubble(view, seat, box));
    return group;
  }

  hand(view, seat, box) {
    const here = view.seats[seat];
    return box.places.map(([x, y], k) => {
      const tile = here.hand?.[k];
      const use = node("g", {transform: `translate(${x} ${y}) rotate(90) scale(${short(box.unit)})`}, tile ? tileUse(tile) : backUse());
      const one = node("g", {class: "held"}, use);
      if (!tile) return hide(one);
      return seat === view.viewer && this.now.playable ? this.ownTile(tile, one, use) : label(one, tileName(tile));
    });
  }

  ownTile(tile, one, use) {
    const same = (other) => other && other[0] === tile[0] && other[1] === tile[1];
    const selected = same(this.now.selected);
    if (selected) one.classList.add("selected");
    if (!this.now.playable.tiles.some(same)) {
      one.classList.add("idle");
      return label(one, `${tileName(tile)}, does not fit`);
    }
    use.append(node("rect", {class: "ring", x: -1.06, y: -0.56, width: 2.12, height: 1.12, rx: 0.2}));
    one.classList.add("playable");
    pressable(one, `tile-${tile.join("")}`, `Play ${tileName(tile)}`, () => this.options.onTile?.(tile));
    one.setAttribute("aria-pressed", String(Boolean(selected)));
    return one;
  }

  // A name that is too long is cut, but for the number that tells it from others; hovering shows all of it.
  fitNames() {
    for (const text of this.svg.querySelectorAll("text[data-width]")) {
      const whole = text.textContent, most = Number(text.getAttribute("data-width"));
      if (whole.length <= 200 && text.getComputedTextLength() <= most) continue;
      const [number] = whole.match(/ \d{1,3}$/) ?? [""];
      let [fits, tooLong] = [0, Math.min(whole.length, 200)];
      while (tooLong - fits > 1) {
        const length = (fits + tooLong) >> 1;
        text.textContent = `${whole.slice(0, length)}…${number}`;
        if (text.getComputedTextLength() <= most) fits = length;
        else tooLong = length;
      }
      text.textContent = `${whole.slice(0, fits)}…${number}`;
      text.append(node("title", {}, whole));
    }
  }

  // Motion -------------------------------------------------------------------------------------------------------------

  animate(view, plan) {
    const newest = this.svg.querySelector(".newest");
    if (!newest || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const one = view.line.at(-1), box = plan.boxes.get(view.history.at(-1).seat);
    const [x, y] = plan.table.at(one.x, one.y);
    const [dx, dy] = [box.x + box.width / 2 - x, box.y + box.height / 2 - y];
    const from = {transform: `translate(${dx}px, ${dy}px)`, opacity: 0.3};
    newest.animate([from, {transform: "none", opacity: 1}], {duration: 320, easing: "cubic-bezier(.2,.7,.2,1)"});
  }
}

// Words ----------------------------------------------------------------------------------------------------------------

function tileName(tile) {
  return `${tile[0]}|${tile[1]}`;
}

function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

function lineName(view) {
  if (!view.line.length) return "No tile laid yet";
  return `The line, ${count(view.line.length, "tile")}, ends ${view.ends.map((end) => end.pip).join(" and ")}`;
}

function seatName(view, seat) {
  return [seat.name, count(seat.tiles_left, "tile"), seatNotes(view, seat), seat.to_play ? "to move" : ""].filter(Boolean).join(", ");
}

function seatNotes(view, seat) {
  return [...countNotes(view, seat), ...turnNotes(view, seat)].join(" · ");
}

// In a narrow box what is counted and what was done stand one below the other; there is room for the last of each.
function noteLines(view, seat, box) {
  if (box.head === HEAD) return [seatNotes(view, seat)];
  return [countNotes(view, seat).at(-1) ?? "", turnNotes(view, seat).at(-1) ?? ""];
}

function countNotes(view, seat) {
  const notes = [];
  if (view.rules.target !== null || view.scores.some(Boolean)) notes.push(count(view.scores[seat.side], "point"));
  if (seat.hand?.length) notes.push(count(seat.hand.flat().reduce((sum, pip) => sum + pip, 0), "pip"));
  return notes;
}

function turnNotes(view, seat) {
  const notes = [];
  if (seat.opener) notes.push(view.line.length ? "opened" : "opens");
  if (seat.passes) notes.push(count(seat.passes, "pass", "passes"));
  if (view.over && view.winner === seat.side) notes.push("winner");
  return notes;
}

function say(live, sentence) {
  if (live.textContent !== sentence) live.textContent = sentence;
}

// Places ---------------------------------------------------------------------------------------------------------------

const HEAD = 48, NARROW_HEAD = 64, GAP = 5;
const LARGEST = 44; // a half of a tile on the table
const TALLEST = 1.4; // the table's height by its width

// A seat's box below its two lines of text: its tiles stand upright side by side and wrap, as large as fits, from
// `least` to `unit` wide.
function handBox(view, seat, [x, y], width, unit, least) {
  const held = view.seats[seat].tiles_left;
  const most = Math.max(held, view.rules.hand_size);
  const room = width - 16;
  const fit = Math.max(least, Math.min(unit, (room + GAP) / most - GAP));
  const head = width < 200 ? NARROW_HEAD : HEAD;
  const columns = Math.max(1, Math.floor((room + GAP) / (fit + GAP)));
  const rows = Math.ceil(most / columns);
  const places = Array.from({length: held}, (_, k) => {
    const row = Math.floor(k / columns), inRow = Math.min(columns, held - row * columns);
    const left = x + width / 2 - (inRow * (fit + GAP) - GAP) / 2;
    return [short(left + (k % columns) * (fit + GAP) + fit / 2), short(y + head + row * (2 * fit + GAP) + fit)];
  });
  return {x, y, width, head, height: head + rows * (2 * fit + GAP) + 6, unit: fit, places};
}

function frameOf([width, height]) {
  return [-width / 2, -height / 2, width / 2, height / 2];
}

function tableHeight(given) {
  if (typeof given === "function") return given();
  return given ?? Math.max(280, window.innerHeight * 0.52);
}

function short(number) {
  return Math.round(number * 100) / 100;
}

// Nodes ----------------------------------------------------------------------------------------------------------------

function node(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function tileUse(tile) {
  return node("use", {href: `#t${tile[0]}${tile[1]}`});
}

function backUse() {
  return node("use", {href: "#back"});
}

function label(one, name) {
  one.setAttribute("role", "img");
  one.setAttribute("aria-label", name);
  return one;
}

function hide(one) {
  one.setAttribute("aria-hidden", "true");
  return one;
}

function pressable(one, key, name, press) {
  const attributes = {role: "button", tabindex: 0, "data-key": key, "aria-label": name};
  for (const [attribute, value] of Object.entries(attributes)) one.setAttribute(attribute, value);
  one.addEventListener("click", press);
  one.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press();
  });
  return one;
}

// What a seat says that has just passed, or drawn.
function bubble(view, seat, box) {
  const ply = view.history.at(-1);
  if (!ply || ply.seat !== seat || (!ply.passed && !ply.drawn) || view.over) return []; // then the hands are what counts
  const words = [ply.drawn ? `draws ${ply.drawn}` : "", ply.passed ? "passes" : ""].filter(Boolean).join(", ");
  const x = box.x + box.width / 2, y = box.y + box.head + box.unit, width = 26 + words.length * 8;
  return [node("g", {class: "bubble"},
    node("rect", {x: x - width / 2, y: y - 15, width, height: 30, rx: 15}),
    node("text", {x, y, dy: "0.36em"}, words))];
}

function stockMark(view, {y, height, width}) {
  if (!view.stock) return "";
  const words = `${view.rules.draw ? "stock" : "out of play"}: ${view.stock}`;
  return node("text", {class: "stock", x: width - 14, y: y + height - 12}, words);
}
