// A movement in slow motion, in a loop, with flow arrows; all controls work with the keyboard.

import { fetchJson } from "./api.js";
import { element, prefersReducedMotion, svgElement } from "./dom.js";
import { filmCanvas, nearest } from "./film.js";
import { at, percent } from "./format.js";

const SPEEDS = [[1 / 16, "1/16"], [1 / 8, "1/8"], [1 / 4, "1/4"], [1 / 2, "1/2"], [1, "real time"]];
const LOOP = 2.5; // seconds that a loop should take
const WIDTH = 400; // px of the picture, about
const REST = 0.5; // seconds on the last frame, before the loop restarts
const LONGEST = 1.6; // cells: the arrow of the strongest motion
const SHORTEST = 0.3; // of the strongest motion: shorter arrows are not drawn

/** A player for `film`; `names` maps frame numbers to their names (onset, apex, offset). */
export function replay(film, { names = new Map(), label = "", begin = 0, playing = true } = {}) {
  let flow = null; // (frames, A, A, 2), in per cent of the face's width
  let peak = 1;
  let current = 0;
  let running = false;
  let shownAt = 0;
  const { frames, seconds } = film;
  const canvas = filmCanvas(film, { label, onDrawn: (context, index) => flow && arrows.checked && drawArrows(context, flow, peak, index) });
  const button = element("button", { type: "button", class: "button play", click: () => (running ? pause() : play()) });
  const slider = element("input", { type: "range", min: 0, max: frames.length - 1, value: 0, class: "frames", "aria-label": "Frame" });
  const facts = element("p", { class: "replay-at" });
  const length = seconds.at(-1) - seconds[0];
  const speed = element("select", {}, SPEEDS.map(([value, text]) => element("option", { value }, text)));
  speed.value = SPEEDS.reduce((a, b) => (Math.abs(length / b[0] - LOOP) < Math.abs(length / a[0] - LOOP) ? b : a))[0];
  const arrows = element("input", { type: "checkbox", checked: true, change: () => show(current) });
  const legend = element("p", { class: "legend", hidden: true });

  function show(index) {
    current = index;
    slider.value = index;
    const text = [at(frames[index], seconds[index]), names.get(frames[index])].filter(Boolean).join(" · ");
    slider.setAttribute("aria-valuetext", text);
    facts.textContent = text;
    canvas.show(index);
  }
  function step(now) {
    if (!running || !canvas.isConnected) return;
    const last = current === frames.length - 1;
    const wait = last ? REST : (seconds[current + 1] - seconds[current]) / Number(speed.value);
    if (now - shownAt >= 1000 * Math.max(wait, 0.015)) {
      shownAt = now;
      show(last ? 0 : current + 1);
    }
    requestAnimationFrame(step);
  }
  function play() {
    running = true;
    button.textContent = "Pause";
    requestAnimationFrame((now) => ((shownAt = now), step(now)));
  }
  function pause() {
    running = false;
    button.textContent = "Play";
  }
  slider.addEventListener("input", () => (pause(), show(Number(slider.value))));
  pause();
  show(nearest(film, begin));
  if (playing && !prefersReducedMotion() && frames.length > 1) setTimeout(() => canvas.isConnected && play());
  if (film.flow) {
    fetchJson(film.flow).then((fields) => {
      flow = fields.map(withoutBackground);
      peak = strongest(flow);
      legend.replaceChildren(...arrowLegend(flow[0].length, peak));
      legend.hidden = false;
      show(current);
    }, () => {}); // the replay works without arrows
  }
  return element(
    "div",
    { class: "replay", role: "group", "aria-label": "Replay" },
    element("div", { class: "stage" }, canvas, facts),
    slider,
    element(
      "div",
      { class: "controls" },
      button,
      element("label", {}, element("span", {}, "Speed"), speed),
      film.flow ? element("label", { class: "check" }, arrows, element("span", {}, "Flow")) : null,
    ),
    legend,
  );
}

/** The arrows of one frame, without those below and beside the chin, outside the face. */
function withoutBackground(field) {
  const place = (index) => (index + 0.5) / field.length - 0.5; // from -0.5 to 0.5
  const beside = (x, y) => y > 0 && Math.hypot(x, y) > 0.5;
  return field.map((row, y) => row.map((arrow, x) => (beside(place(x), place(y)) ? [0, 0] : arrow)));
}

/** The strongest motion in %: the 97th percentile of the frame that moves most. */
function strongest(flow) {
  const lengths = flow.map((field) => field.flat().map(([u, v]) => Math.hypot(u, v)).sort((a, b) => a - b));
  return Math.max(0.05, ...lengths.map((each) => each[Math.floor(0.97 * each.length)]));
}

function drawArrows(context, flow, peak, index) {
  const field = flow[index];
  if (!field) return;
  const cell = context.canvas.width / field.length;
  const unit = (LONGEST * cell) / peak;
  const draw = (width, colour) => {
    Object.assign(context, { lineWidth: width, strokeStyle: colour, lineCap: "round", lineJoin: "round" });
    context.beginPath();
    field.forEach((row, y) =>
      row.forEach(([u, v], x) => {
        const [dx, dy] = [u * unit, v * unit];
        const length = Math.hypot(dx, dy);
        if (length < SHORTEST * LONGEST * cell) return;
        const [x0, y0] = [(x + 0.5) * cell, (y + 0.5) * cell];
        const tip = Math.min(0.4 * length, 0.3 * cell) / length;
        context.moveTo(x0, y0);
        context.lineTo(x0 + dx, y0 + dy);
        context.moveTo(x0 + dx - tip * (dx - 0.6 * dy), y0 + dy - tip * (dy + 0.6 * dx));
        context.lineTo(x0 + dx, y0 + dy);
        context.lineTo(x0 + dx - tip * (dx + 0.6 * dy), y0 + dy - tip * (dy - 0.6 * dx));
      }),
    );
    context.stroke();
  };
  draw(6, "rgb(255 255 255 / .85)");
  draw(2.6, "#0a3f7a");
}

/** An arrow of a round length, at the scale of the picture. */
function arrowLegend(cells, peak) {
  const round = [0.05, 0.1, 0.2, 0.5, 1, 2, 5].findLast((value) => value <= peak);
  const width = (round / peak) * LONGEST * (WIDTH / cells);
  const shaft = svgElement("path", { d: `M2 8h${width.toFixed(1)}m-6 -5 6 5 -6 5`, class: "arrow" });
  const times = Math.max(1, Math.round((100 * LONGEST) / cells / peak));
  return [
    svgElement("svg", { width: width + 6, height: 16, viewBox: `0 0 ${width + 6} 16`, "aria-hidden": "true" }, shaft),
    `${percent(round)} of the face’s width since the onset; arrows are ${times} times as long as the motion. Head motion is removed.`,
  ];
}
