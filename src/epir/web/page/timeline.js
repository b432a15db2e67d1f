// The motion of the face over the clip, with its movements. The drawing is for the eye; choosing happens in the list below it.

import { draw, make } from "./dom.js";
import { counted, seconds } from "./words.js";

const HEIGHT = 172;
const EDGE = { left: 44, right: 12, top: 30, bottom: 26 };
const LETTER = 7.4; // px: a generous width of one
const KINDS = { blink: "blink", head: "head turns", long: "too long", short: "too short" };

/**
 * A figure of `curve` ({time, energy, level, events, others}: seconds, and per cent of the face's width).
 * A click on an event calls `onChoose` with it; the figure's method `choose(event)` marks one.
 */
export function timeline(curve, onChoose = null) {
  const figure = make("figure", { class: "timeline" });
  let chosen = null;
  const redraw = () => {
    const width = Math.floor(figure.clientWidth);
    if (width > 0) figure.replaceChildren(picture(curve, width, chosen, onChoose));
  };
  new ResizeObserver(redraw).observe(figure);
  figure.choose = (event) => {
    chosen = event;
    redraw();
  };
  return figure;
}

function picture(curve, width, chosen, onChoose) {
  const { time, energy, events, others = [] } = curve;
  const first = time[0];
  const length = Math.max(time.at(-1) - first, 1e-3);
  const top = 1.1 * Math.max(...energy, 2 * (curve.level ?? 0), 0.02);
  const x = (value) => EDGE.left + ((value - first) / length) * (width - EDGE.left - EDGE.right);
  const y = (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const across = (value, name) => draw("line", { class: name, x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) });
  const words = `Motion of the face over ${seconds(length)}, with ${counted(events.length, "movement")}`;
  const root = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": words });

  for (const mark of marks(top, 2)) {
    root.append(across(mark, "grid"), text("mark", EDGE.left - 8, y(mark) + 4, "end", `${trim(mark)} %`));
  }
  for (const mark of marks(length, Math.max(2, Math.floor(width / 130)))) {
    root.append(text("mark", x(first + mark), HEIGHT - 8, mark > 0.94 * length ? "end" : "middle", `${trim(mark)} s`));
  }
  for (const other of others) root.append(draw("rect", span("other", other, x)));
  for (const event of events) {
    const name = event === chosen ? "event chosen" : onChoose ? "event" : "event plain";
    root.append(draw("rect", { ...span(name, event, x), ...(onChoose && { click: () => onChoose(event) }) }));
  }
  if (curve.level) root.append(across(curve.level, "level"));
  const points = time.map((at, number) => `${x(at).toFixed(1)},${y(Math.min(energy[number], top)).toFixed(1)}`);
  root.append(draw("polyline", { class: "curve", points: points.join(" ") }));
  for (const event of events) {
    root.append(draw("line", { class: "apex", x1: x(event.apex), x2: x(event.apex), y1: EDGE.top - 6, y2: HEIGHT - EDGE.bottom }));
  }
  root.append(...names(events, others, chosen, x, width));
  return root;
}

/** The words over the movements, as many as fit: the chosen one first, then the others of its kind, then what was rejected. */
function names(events, others, chosen, x, width) {
  const wanted = [
    ...events.map((event) => [event, event.label, event === chosen ? "event-name chosen" : "event-name"]),
    ...others.map((other) => [other, KINDS[other.label] ?? other.label, "other-name"]),
  ].sort(([a], [b]) => (b === chosen) - (a === chosen));
  const taken = [];
  const placed = [];
  for (const [event, words, name] of wanted) {
    const half = (LETTER * words.length) / 2;
    const at = Math.min(Math.max(x(event.apex), EDGE.left + half), width - EDGE.right - half);
    if (taken.some(([low, high]) => at - half < high && at + half > low)) continue;
    taken.push([at - half, at + half]);
    placed.push(text(name, at, 16, "middle", words));
  }
  return placed;
}

function span(name, event, x) {
  const left = x(event.onset);
  const width = Math.max(x(event.offset) - left, 3);
  return { class: name, x: left, width, y: EDGE.top - 6, height: HEIGHT - EDGE.top - EDGE.bottom + 6, rx: 3 };
}

function text(name, x, y, anchor, words) {
  return draw("text", { class: name, x, y, "text-anchor": anchor }, words);
}

/** Round numbers from 0 up to `top`, about `count` of them after 0. */
function marks(top, count) {
  const rough = top / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, number) => number * step);
}

const trim = (value) => String(Number(value.toPrecision(3)));
