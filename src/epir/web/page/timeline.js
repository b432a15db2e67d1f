// The motion of the face over the clip, with its movements. Mouse only: keyboard users choose in the list below it.

import { element, svgElement } from "./dom.js";
import { counted, seconds } from "./format.js";

const HEIGHT = 172;
const EDGE = { left: 44, right: 12, top: 30, bottom: 26 };
const LETTER = 7.4; // px: the width of one letter, at most
const KINDS = { head: "head movement" }; // other reasons are shown as they are

/**
 * A figure of `curve` ({time, energy, level, events, others}): seconds, and motion in per cent of the face's width.
 * A click on an event calls `onChoose` with it; the figure's method `choose(event)` highlights one.
 */
export function timeline(curve, onChoose = null) {
  const figure = element("figure", { class: "timeline" });
  let chosen = null;
  const redraw = () => {
    const width = Math.floor(figure.clientWidth);
    if (width > 0) figure.replaceChildren(chart(curve, width, chosen, onChoose));
  };
  new ResizeObserver(redraw).observe(figure);
  figure.choose = (event) => {
    chosen = event;
    redraw();
  };
  return figure;
}

function chart(curve, width, chosen, onChoose) {
  const { time, energy, events, others = [] } = curve;
  const first = time[0];
  const length = Math.max(time.at(-1) - first, 1e-3);
  const top = 1.1 * Math.max(...energy, 2 * (curve.level ?? 0), 0.02);
  const x = (value) => EDGE.left + ((value - first) / length) * (width - EDGE.left - EDGE.right);
  const y = (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const horizontal = (value, name) => svgElement("line", { class: name, x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) });
  const description = `Motion of the face over ${seconds(length)}, with ${counted(events.length, "movement")}`;
  const root = svgElement("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": description });

  for (const tick of ticks(top, 2)) {
    root.append(horizontal(tick, "grid"), label("tick", EDGE.left - 8, y(tick) + 4, "end", `${short(tick)} %`));
  }
  for (const tick of ticks(length, Math.max(2, Math.floor(width / 130)))) {
    root.append(label("tick", x(first + tick), HEIGHT - 8, tick > 0.94 * length ? "end" : "middle", `${short(tick)} s`));
  }
  for (const other of others) root.append(svgElement("rect", span("other", other, x)));
  for (const event of events) {
    const name = event === chosen ? "event chosen" : onChoose ? "event" : "event plain";
    root.append(svgElement("rect", { ...span(name, event, x), ...(onChoose && { click: () => onChoose(event) }) }));
  }
  if (curve.level) root.append(horizontal(curve.level, "level"));
  const points = time.map((at, number) => `${x(at).toFixed(1)},${y(Math.min(energy[number], top)).toFixed(1)}`);
  root.append(svgElement("polyline", { class: "curve", points: points.join(" ") }));
  for (const event of events) {
    root.append(svgElement("line", { class: "apex", x1: x(event.apex), x2: x(event.apex), y1: EDGE.top - 6, y2: HEIGHT - EDGE.bottom }));
  }
  root.append(...labels(events, others, chosen, x, width));
  return root;
}

/** The labels above the chart, as many as fit: the chosen movement first, then the others, then what was rejected. */
function labels(events, others, chosen, x, width) {
  const wanted = [
    ...events.map((event) => [event, event.label, event === chosen ? "event-name chosen" : "event-name"]),
    ...others.map((other) => [other, KINDS[other.label] ?? other.label, "other-name"]),
  ].sort(([a], [b]) => (b === chosen) - (a === chosen));
  const taken = [];
  const placed = [];
  for (const [event, text, name] of wanted) {
    const half = (LETTER * text.length) / 2;
    const at = Math.min(Math.max(x(event.apex), EDGE.left + half), width - EDGE.right - half);
    if (taken.some(([low, high]) => at - half < high && at + half > low)) continue;
    taken.push([at - half, at + half]);
    placed.push(label(name, at, 16, "middle", text));
  }
  return placed;
}

function span(name, event, x) {
  const left = x(event.onset);
  const width = Math.max(x(event.offset) - left, 3);
  return { class: name, x: left, width, y: EDGE.top - 6, height: HEIGHT - EDGE.top - EDGE.bottom + 6, rx: 3 };
}

function label(name, x, y, anchor, text) {
  return svgElement("text", { class: name, x, y, "text-anchor": anchor }, text);
}

/** Round numbers from 0 up to `top`, about `count` of them after 0. */
function ticks(top, count) {
  const rough = top / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, number) => number * step);
}

const short = (value) => String(Number(value.toPrecision(3)));
