// The motion of the face over the clip: its movements, what was rejected, the threshold, and marks that are set by hand.

import { element, svgElement } from "./dom.js";
import { filmCanvas, nearest } from "./film.js";
import { at, counted, kind, percent, seconds } from "./format.js";

const HEIGHT = 218;
const EDGE = { left: 58, right: 12, top: 34, bottom: 50 };
const LETTER = 7.4; // px: the width of one letter, at most
const GAP = 10; // px between two labels
const FACE = 88; // px: the picture at the pointer
const NEAR = 1; // seconds before and after an instant, in which the face's rest is its usual motion

/**
 * A figure of `curve` ({time, frames, energy, level, events, others}): seconds, and motion in per cent of the face's width.
 * A click on an event calls `onChoose`, on a rejected one `onReject`. `film` shows the face at the pointer.
 * Methods: `choose(event)` highlights one; `mark(marks, onMove)` shows marks {onset, apex} (frames) that can be dragged.
 */
export function timeline(curve, onChoose = null, { onReject = null, film = null } = {}) {
  const figure = element("figure", { class: "timeline" });
  const peek = film ? peekAt(film) : null;
  const state = { chosen: null, marks: null, onMove: null };
  const redraw = () => {
    const width = Math.floor(figure.clientWidth);
    if (width > 0) figure.replaceChildren(...[chart(curve, width, state, { onChoose, onReject, peek }), peek, legend(curve)].filter(Boolean));
  };
  new ResizeObserver(redraw).observe(figure);
  figure.choose = (event) => {
    state.chosen = event;
    redraw();
  };
  figure.mark = (marks, onMove = null) => {
    Object.assign(state, { marks, onMove });
    redraw();
  };
  return figure;
}

/** The number and time of the frame of a curve that is nearest to a time. */
export function frameAt(curve, time) {
  const index = curve.time.reduce((best, each, number) => (Math.abs(each - time) < Math.abs(curve.time[best] - time) ? number : best), 0);
  return { frame: curve.frames[index], time: curve.time[index], energy: curve.energy[index] };
}

/** The time of a frame of a curve, between the points that are known. */
export function timeOf(curve, frame) {
  const { frames, time } = curve;
  const next = frames.findIndex((each) => each >= frame);
  if (next <= 0) return next === 0 ? time[0] : time.at(-1);
  const share = (frame - frames[next - 1]) / (frames[next] - frames[next - 1]);
  return time[next - 1] + share * (time[next] - time[next - 1]);
}

function chart(curve, width, state, { onChoose, onReject, peek }) {
  const { time, energy, events, others = [] } = curve;
  const first = time[0];
  const length = Math.max(time.at(-1) - first, 1e-3);
  const least = curve.level ? threshold(curve) : [];
  const top = 1.12 * Math.max(...energy, ...least, 2 * (curve.level ?? 0), 0.02);
  const [left, right, floor] = [EDGE.left, width - EDGE.right, HEIGHT - EDGE.bottom];
  const x = (value) => left + ((value - first) / length) * (right - left);
  const y = (value) => floor - (value / top) * (floor - EDGE.top);
  const timeAt = (event) => {
    const box = root.getBoundingClientRect();
    return first + (Math.min(Math.max(event.clientX - box.left, left), right) - left) / (right - left) * length;
  };
  const horizontal = (value, name) => svgElement("line", { class: name, x1: left, x2: right, y1: y(value), y2: y(value) });
  const vertical = (value, name) => svgElement("line", { class: name, x1: x(value), x2: x(value), y1: EDGE.top - 6, y2: floor });
  const root = svgElement("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": description(curve, length) });

  for (const tick of ticks(top, 3)) {
    root.append(horizontal(tick, "grid"), label("tick", left - 8, y(tick) + 4, "end", short(tick)));
  }
  root.append(svgElement("text", { class: "axis", transform: `translate(13 ${(EDGE.top + floor) / 2}) rotate(-90)`, "text-anchor": "middle" }, "motion, % of face"));
  for (const tick of ticks(length, Math.max(2, Math.floor(width / 130)), first)) {
    const anchor = x(tick) < left + 20 ? "start" : x(tick) > right - 30 ? "end" : "middle";
    root.append(label("tick", x(tick), floor + 18, anchor, `${short(tick)} s`));
    if (curve.frames) root.append(label("tick frame", x(tick), floor + 34, anchor, `frame ${frameAt(curve, tick).frame}`));
  }
  for (const other of others) {
    root.append(svgElement("rect", { ...span(onReject ? "other open" : "other", other, x, floor), ...(onReject && { click: () => onReject(other) }) }));
  }
  for (const event of events) {
    const name = event === state.chosen ? "event chosen" : onChoose ? "event" : "event plain";
    root.append(svgElement("rect", { ...span(name, event, x, floor), ...(onChoose && { click: () => onChoose(event) }) }));
  }
  const line = (name, values) => svgElement("polyline", { class: name, points: values.map((each, number) => `${x(time[number]).toFixed(1)},${y(each).toFixed(1)}`).join(" ") });
  root.append(line("level", least), line("curve", energy));
  for (const event of events) root.append(vertical(event.apex, "apex"));
  root.append(...labels(events, others, state.chosen, x, width));

  const cursor = vertical(first, "cursor");
  cursor.setAttribute("visibility", "hidden");
  root.append(cursor);
  root.addEventListener("pointermove", (event) => {
    const place = frameAt(curve, timeAt(event));
    cursor.setAttribute("x1", x(place.time));
    cursor.setAttribute("x2", x(place.time));
    cursor.setAttribute("visibility", "visible");
    peek?.at(place, x(place.time), width);
  });
  root.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    if (peek) peek.hidden = true;
  });
  if (state.marks) drawMarks(root, curve, state, { x, floor, timeAt });
  return root;
}

/** Onset and apex as lines that can be dragged; a click moves the nearer one. */
function drawMarks(root, curve, { marks, onMove }, { x, floor, timeAt }) {
  const low = timeOf(curve, marks.onset);
  const high = timeOf(curve, marks.apex);
  root.append(svgElement("rect", { class: "marked", x: x(low), width: Math.max(x(high) - x(low), 1), y: EDGE.top - 6, height: floor - EDGE.top + 6 }));
  for (const [name, time] of [["onset", low], ["apex", high]]) {
    root.append(svgElement("line", { class: "mark", x1: x(time), x2: x(time), y1: EDGE.top - 6, y2: floor }));
    root.append(label("mark-name", x(time) + (name === "onset" ? -5 : 5), floor - 6, name === "onset" ? "end" : "start", name));
  }
  root.classList.add("marking");
  root.onpointerdown = (event) => {
    event.preventDefault();
    const time = timeAt(event);
    const name = Math.abs(time - low) < Math.abs(time - high) ? "onset" : "apex";
    const move = (moved) => onMove(name, frameAt(curve, timeAt(moved)).frame);
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    move(event);
  };
}

/** The face and the numbers at the pointer; hidden from screen readers, which have the lists. */
function peekAt(film) {
  const canvas = filmCanvas(film, { side: 2 * FACE });
  const text = element("span");
  const box = element("div", { class: "peek", hidden: true, "aria-hidden": "true" }, canvas, text);
  box.at = (place, x, width) => {
    box.hidden = false;
    canvas.show(nearest(film, place.frame));
    text.textContent = `${at(place.frame, place.time)} · ${percent(place.energy)}`;
    box.style.insetInlineStart = `${Math.min(Math.max(x, FACE), width - FACE)}px`;
  };
  return box;
}

/** What the colours and lines stand for. */
function legend({ events, others = [], level }) {
  const key = (name, text) => element("span", { class: "key" }, element("i", { class: name, "aria-hidden": "true" }), text);
  return element(
    "figcaption",
    {},
    events.length ? key("key-event", "Classified; the line is the apex") : null,
    others.length ? key("key-other", "Rejected") : null,
    level ? key("key-level", `Threshold: a movement rises by ${percent(level)} of the face or more from where the face rests`) : null,
  );
}

/** How far a movement must go at each instant: the usual motion around it, and the least rise above that. */
export function threshold({ time, energy, level }) {
  let [low, high] = [0, 0];
  return time.map((now) => {
    while (time[low] < now - NEAR) low++;
    while (high < time.length && time[high] <= now + NEAR) high++;
    const near = energy.slice(low, high).sort((a, b) => a - b);
    return near[Math.floor(near.length / 2)] + level;
  });
}

function description({ events, others = [], energy }, length) {
  const found = counted(events.length, "movement");
  return `Motion of the face over ${seconds(length)}, at most ${percent(Math.max(...energy))} of its width, with ${found} and ${others.length} rejected`;
}

/** The labels above the chart, as many as fit: the chosen movement first, then the others, then what was rejected. */
function labels(events, others, chosen, x, width) {
  const wanted = [
    ...events.map((event) => [event, event.label, event === chosen ? "event-name chosen" : "event-name"]),
    ...others.map((other) => [other, kind(other.label), "other-name"]),
  ].sort(([a], [b]) => (b === chosen) - (a === chosen));
  const taken = [];
  const placed = [];
  for (const [event, text, name] of wanted) {
    const half = (LETTER * text.length) / 2;
    const middle = Math.min(Math.max(x(event.apex), EDGE.left + half), width - EDGE.right - half);
    if (taken.some(([low, high]) => middle - half < high && middle + half > low)) continue;
    taken.push([middle - half - GAP, middle + half + GAP]);
    placed.push(label(name, middle, 18, "middle", text));
  }
  return placed;
}

function span(name, event, x, floor) {
  const left = x(event.onset);
  return { class: name, x: left, width: Math.max(x(event.offset) - left, 3), y: EDGE.top - 6, height: floor - EDGE.top + 6, rx: 3 };
}

function label(name, x, y, anchor, text) {
  return svgElement("text", { class: name, x, y, "text-anchor": anchor }, text);
}

/** Round numbers from `first` to `first + length`, about `count` of them after the first. */
function ticks(length, count, first = 0) {
  const rough = length / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  const [low, high] = [Math.ceil(first / step - 1e-9), Math.floor((first + length) / step + 1e-9)];
  return Array.from({ length: high - low + 1 }, (_, number) => (low + number) * step);
}

const short = (value) => String(Number(value.toPrecision(3)));
