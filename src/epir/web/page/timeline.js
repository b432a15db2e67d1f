// The motion of every face over the clip: movements, rejected movements, the threshold, and marks set by hand.

import { element, svgElement } from "./dom.js";
import { filmCanvas, nearest } from "./film.js";
import { at, counted, kind, percent, seconds } from "./format.js";

const HEIGHT = 218;
const EDGE = { left: 58, right: 12, top: 34, bottom: 50 };
const LETTER = 7.4; // px: the width of one letter, at most
const GAP = 10; // px between two labels
const FACE = 88; // px: the picture at the pointer
const LOST = 0.25; // seconds without a face that break the line
const HATCH = 7; // px between the lines over spans that could not be judged
const NEAR = 1; // seconds before and after a moment whose median motion is the baseline

/**
 * A figure of `curves`, one for each person ({track, time, frames, energy, level, events, others, film}): time in seconds,
 * motion in % of the face width. People visible at the same time get a chart each; all charts show the same `span` [from, to]
 * in seconds. A click on an event calls `onChoose`, on a rejected one `onReject(event, track)`. Marks go on the chart of the
 * person `marked`.
 * Methods: `choose(event)` highlights one; `mark(marks, onMove)` shows marks {onset, apex} (frames) that can be dragged.
 */
export function timeline(curves, onChoose = null, { onReject = null, span = null, marked = curves[0].track } = {}) {
  const figure = element("figure", { class: "timeline" });
  const lanes = lanesOf(curves);
  const [from, to] = [Math.min(...curves.map(({ time }) => time[0])), Math.max(...curves.map(({ time }) => time.at(-1)))];
  const range = span ? [Math.min(span[0], from), Math.max(span[1], to)] : [from, to];
  const peek = peekBox();
  const state = { chosen: null, marks: null, onMove: null };
  const redraw = () => {
    const width = Math.floor(figure.clientWidth);
    if (width <= 0) return;
    const charts = lanes.map((lane) => {
      const name = lanes.length > 1 ? element("p", { class: "lane-name" }, `Person ${lane.map(({ track }) => track + 1).join(", ")}`) : null;
      const options = { onChoose, onReject, peek, range, marked: lane.some(({ track }) => track === marked) };
      return element("div", { class: "lane" }, name, chart(lane, width, state, options));
    });
    figure.replaceChildren(...charts, legend(curves));
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

/** Curves grouped into as few charts as possible: two that overlap in time need different charts. */
export function lanesOf(curves) {
  const lanes = [];
  for (const curve of curves) {
    const apart = (other) => other.time.at(-1) < curve.time[0] || curve.time.at(-1) < other.time[0];
    const lane = lanes.find((each) => each.every(apart));
    if (lane) lane.push(curve);
    else lanes.push([curve]);
  }
  return lanes;
}

/** All curves as one, in order of frames; if two people share a frame, the one who moves more counts. */
export function joinCurves(curves) {
  const points = new Map();
  for (const { time, frames, energy } of curves) {
    frames.forEach((frame, place) => {
      if (!(energy[place] <= points.get(frame)?.energy)) points.set(frame, { time: time[place], energy: energy[place] });
    });
  }
  const frames = [...points.keys()].sort((a, b) => a - b);
  return { frames, time: frames.map((each) => points.get(each).time), energy: frames.map((each) => points.get(each).energy) };
}

/** The indices of a curve at which a gap without a face ends. */
export function breaks({ time }) {
  const steps = time.slice(1).map((each, place) => each - time[place]);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  return steps.flatMap((step, place) => (step > Math.max(LOST, 5 * usual) ? [place + 1] : []));
}

/** The number and time of the frame of a curve that is nearest to a time. */
export function frameAt(curve, time) {
  const index = curve.time.reduce((best, each, number) => (Math.abs(each - time) < Math.abs(curve.time[best] - time) ? number : best), 0);
  return { frame: curve.frames[index], time: curve.time[index], energy: curve.energy[index] };
}

/** The number of the frame at any time, even without a face. */
function frameNumber(curve, time) {
  const near = frameAt(curve, time);
  const rate = (curve.frames.at(-1) - curve.frames[0]) / (curve.time.at(-1) - curve.time[0] || 1);
  return Math.max(0, near.frame + Math.round((time - near.time) * rate));
}

/** The time of a frame, interpolated between the points of a curve. */
export function timeOf(curve, frame) {
  const { frames, time } = curve;
  const next = frames.findIndex((each) => each >= frame);
  if (next <= 0) return next === 0 ? time[0] : time.at(-1);
  const share = (frame - frames[next - 1]) / (frames[next] - frames[next - 1]);
  return time[next - 1] + share * (time[next] - time[next - 1]);
}

function chart(curves, width, state, { onChoose, onReject, peek, range, marked }) {
  const curve = joinCurves(curves);
  const events = curves.flatMap((each) => each.events);
  const others = curves.flatMap((each) => each.others ?? []);
  const [first, last] = range;
  const length = Math.max(last - first, 1e-3);
  const least = curves.map((each) => (each.level ? threshold(each) : []));
  const top = 1.12 * Math.max(...curve.energy, ...least.flat(), ...curves.map((each) => 2 * (each.level ?? 0)), 0.02);
  const [left, right, floor] = [EDGE.left, width - EDGE.right, HEIGHT - EDGE.bottom];
  const x = (value) => left + ((value - first) / length) * (right - left);
  const y = (value) => floor - (value / top) * (floor - EDGE.top);
  const timeAt = (event) => {
    const box = root.getBoundingClientRect();
    return first + (Math.min(Math.max(event.clientX - box.left, left), right) - left) / (right - left) * length;
  };
  const horizontal = (value, name) => svgElement("line", { class: name, x1: left, x2: right, y1: y(value), y2: y(value) });
  const vertical = (value, name) => svgElement("line", { class: name, x1: x(value), x2: x(value), y1: EDGE.top - 6, y2: floor });
  const root = svgElement("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": description(curve, events, others, length) });

  const hidden = curves.flatMap((each) => each.hidden ?? []);
  const hatch = `hatch-${++hatches}`;
  if (hidden.length) root.append(svgElement("defs", {}, hatching(hatch)));
  for (const each of hidden) {
    const [from, to] = [Math.max(each.start, first), Math.min(each.stop, last)];
    root.append(svgElement("rect", { class: "hidden-span", fill: `url(#${hatch})`, x: x(from), width: Math.max(x(to) - x(from), 0), y: EDGE.top - 6, height: floor - EDGE.top + 6 }));
  }
  for (const tick of ticks(top, 3)) {
    root.append(horizontal(tick, "grid"), label("tick", left - 8, y(tick) + 4, "end", short(tick)));
  }
  root.append(svgElement("text", { class: "axis", transform: `translate(13 ${(EDGE.top + floor) / 2}) rotate(-90)`, "text-anchor": "middle" }, "motion, % of face"));
  for (const tick of ticks(length, Math.max(2, Math.floor(width / 130)), first)) {
    const anchor = x(tick) < left + 20 ? "start" : x(tick) > right - 30 ? "end" : "middle";
    root.append(label("tick", x(tick), floor + 18, anchor, `${short(tick)} s`));
    root.append(label("tick frame", x(tick), floor + 34, anchor, `frame ${frameNumber(curve, tick)}`));
  }
  for (const { track, others: rejected = [] } of curves) {
    for (const other of rejected) {
      root.append(svgElement("rect", { ...span(onReject ? "other open" : "other", other, x, floor), ...(onReject && { click: () => onReject(other, track) }) }));
    }
  }
  for (const event of events) {
    const name = event === state.chosen ? "event chosen" : onChoose ? "event" : "event plain";
    root.append(svgElement("rect", { ...span(name, event, x, floor), ...(onChoose && { click: () => onChoose(event) }) }));
  }
  const line = (name, time, values) => svgElement("polyline", { class: name, points: values.map((each, number) => `${x(time[number]).toFixed(1)},${y(each).toFixed(1)}`).join(" ") });
  curves.forEach(({ time, energy }, number) => {
    const cuts = [0, ...breaks({ time }), time.length];
    cuts.slice(1).forEach((end, place) => {
      const part = (values) => values.slice(cuts[place], end);
      root.append(line("level", part(time), part(least[number])), line("curve", part(time), part(energy)));
    });
  });
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
    peek.at(root.parentElement, curves.find(({ frames }) => frames.includes(place.frame))?.film, place, x(place.time), width);
  });
  root.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    peek.hidden = true;
  });
  if (state.marks && marked) drawMarks(root, curve, state, { x, floor, timeAt });
  return root;
}

let hatches = 0; // makes the id of each pattern unique

/** Slanted lines, unlike any grey or colour of the chart. */
function hatching(id) {
  const line = svgElement("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: HATCH });
  return svgElement("pattern", { id, width: HATCH, height: HATCH, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line);
}

/** Onset and apex as lines that can be dragged; a click moves the nearer one. */
function drawMarks(root, curve, { marks, onMove }, { x, floor, timeAt }) {
  const low = timeOf(curve, marks.onset);
  const high = timeOf(curve, marks.apex);
  root.append(svgElement("rect", { class: "marked", x: x(low), width: Math.max(x(high) - x(low), 1), y: EDGE.top - 6, height: floor - EDGE.top + 6 }));
  for (const [name, time] of [["onset", low], ["apex", high]]) {
    root.append(svgElement("line", { class: "mark", x1: x(time), x2: x(time), y1: EDGE.top - 6, y2: floor }));
    const before = name === "onset" && x(time) > EDGE.left + 50; // left of the line, if there is room
    root.append(label("mark-name", x(time) + (before ? -5 : 5), floor - (name === "onset" ? 22 : 6), before ? "end" : "start", name));
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

/** The face and the values at the pointer; hidden from screen readers, which read the lists. */
function peekBox() {
  const canvases = new Map(); // by film
  const text = element("span");
  const box = element("div", { class: "peek", hidden: true, "aria-hidden": "true" });
  box.at = (lane, film, place, x, width) => {
    box.hidden = !film;
    if (!film) return;
    if (!canvases.has(film)) canvases.set(film, filmCanvas(film, { side: 2 * FACE }));
    const canvas = canvases.get(film);
    if (canvas.parentElement !== box) box.replaceChildren(canvas, text);
    if (box.parentElement !== lane) lane.append(box);
    canvas.show(nearest(film, place.frame));
    text.textContent = `${at(place.frame, place.time)}\n${percent(place.energy)}`;
    box.style.insetInlineStart = `${Math.min(Math.max(x, FACE), width - FACE)}px`;
  };
  return box;
}

/** The meaning of colours and lines. */
function legend(curves) {
  const events = curves.flatMap((each) => each.events);
  const others = curves.flatMap((each) => each.others ?? []);
  const level = Math.max(...curves.map((each) => each.level ?? 0));
  const key = (name, text) => element("span", { class: "key" }, element("i", { class: name, "aria-hidden": "true" }), text);
  return element(
    "figcaption",
    {},
    events.length ? key("key-event", "Classified; the line is the apex") : null,
    others.length ? key("key-other", "Rejected") : null,
    curves.some(({ hidden = [] }) => hidden.length) ? key("key-hidden", "Could not be judged") : null,
    level ? key("key-level", `Threshold: a movement rises at least ${percent(level)} of the face above its rest`) : null,
  );
}

/** The threshold at each moment: the median motion around it plus `level`. */
export function threshold({ time, energy, level }) {
  let [low, high] = [0, 0];
  return time.map((now) => {
    while (time[low] < now - NEAR) low++;
    while (high < time.length && time[high] <= now + NEAR) high++;
    const near = energy.slice(low, high).sort((a, b) => a - b);
    return near[Math.floor(near.length / 2)] + level;
  });
}

function description({ energy }, events, others, length) {
  const movements = counted(events.length, "movement");
  return `Motion of the face over ${seconds(length)}, at most ${percent(Math.max(...energy))} of its width, with ${movements} and ${others.length} rejected`;
}

/** As many labels above the chart as fit: the chosen movement first, then the others, then rejected movements. */
function labels(events, others, chosen, x, width) {
  const candidates = [
    ...events.map((event) => [event, event.label, event === chosen ? "event-name chosen" : "event-name"]),
    ...others.map((other) => [other, kind(other.label), "other-name"]),
  ].sort(([a], [b]) => (b === chosen) - (a === chosen));
  const taken = [];
  const placed = [];
  for (const [event, text, name] of candidates) {
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
