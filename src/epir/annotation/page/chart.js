// The timeline of a recording, drawn by uPlot: a curve for each region, every candidate, and key frames to drag.

import { fetchJson } from "/static/api.js";
import { byId, element } from "/static/dom.js";
import { clockOf, emit, frameAt, keyFrames, lastFrame, model, on, openMovement, secondsOf } from "./model.js";
import { setKey } from "./panel.js";
import { pause, show } from "./stage.js";

const HEIGHT = 168; // px
const LANE = 13; // px at the top, for candidates
const COLOURS = ["#0072b2", "#cc79a7", "#009e73", "#e69f00", "#d55e00", "#7f7f7f"]; // Okabe and Ito: safe for colour-blind people
const STATE_COLOURS = { accept: "--movement", reject: "--muted", unsure: "--warn", draft: "--accent", "": "--accent" };
const LEAST = 20; // frames shown at least
const CONTEXT = 1.5; // seconds shown around the current movement

let plot = null;
let range = [0, 1];
let timer = 0;
let latest = 0;
const handles = {};
const hiddenSeries = new Set(["eyes", "head"]);

const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
const names = () => [...model.study.regions, "head"];

function make() {
  plot?.destroy();
  const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { stroke: () => colour("--line") }, font: "12px system-ui" };
  const series = names().map((name, place) => ({ label: name, stroke: COLOURS[place], width: name === "head" ? 1 : 1.5, dash: name === "head" ? [4, 3] : undefined, points: { show: false }, show: !hiddenSeries.has(name), spanGaps: false }));
  const options = {
    width: byId("chart").clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [LANE + 4, 12, 0, 0],
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
    scales: { x: { time: false, range: () => range }, y: { range: (_, __, high) => [0, Math.max(0.6, 1.05 * (high ?? 0))] } },
    axes: [
      { ...axis, splits: ticks, values: (_, splits) => splits.map((frame) => clockOf(frame, tickStep() < 1 ? 1 : 0)), size: 28 },
      { ...axis, values: (_, splits) => splits.map((value) => `${value} %`), size: 52 },
    ],
    series: [{}, ...series],
    hooks: { draw: [drawLane], setSelect: [zoomToSelection] },
  };
  plot = new uPlot(options, [[0, 1], ...names().map(() => [null, null])], byId("chart"));
  plot.over.setAttribute("aria-hidden", "true");
  plot.over.addEventListener("click", clicked);
  plot.over.addEventListener("wheel", wheeled, { passive: false });
  handles.play = element("div", { class: "playhead" });
  plot.over.append(handles.play);
  for (const name of ["onset", "apex", "offset"]) plot.over.append((handles[name] = handle(name)));
  place();
}

/** Round seconds between two ticks, for about ten of them. */
function tickStep() {
  const least = (secondsOf(range[1]) - secondsOf(range[0])) / 10;
  return [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600].find((step) => step >= least) ?? 1200;
}

/** The frames of the ticks. */
function ticks() {
  const step = tickStep();
  const first = Math.ceil(secondsOf(range[0]) / step - 1e-6);
  const last = Math.floor(secondsOf(range[1]) / step + 1e-6);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => frameAt((first + place) * step));
}

/** A line to drag, or to move with the arrow keys. */
function handle(name) {
  const node = element("div", { class: `handle ${name}`, role: "slider", tabindex: "0", "aria-label": name, hidden: true }, element("span", {}, name));
  let frame = null;
  const at = (event) => Math.round(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
  node.addEventListener("mousedown", (event) => event.stopPropagation()); // no zoom
  node.addEventListener("click", (event) => event.stopPropagation());
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    pause();
    frame = at(event);
  });
  node.addEventListener("pointermove", (event) => {
    if (!node.hasPointerCapture(event.pointerId)) return;
    frame = Math.min(Math.max(at(event), 0), lastFrame());
    node.style.left = `${plot.valToPos(frame, "x")}px`;
    show(frame);
  });
  node.addEventListener("pointerup", () => frame !== null && (setKey(name, frame), (frame = null)));
  node.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    setKey(name, keyFrames()[name] + way);
    show(keyFrames()[name]);
  });
  return node;
}

/** Position the lines. */
function place() {
  if (!plot) return;
  const put = (node, frame) => {
    const left = plot.valToPos(frame, "x");
    node.hidden = !(left >= -1 && left <= plot.over.clientWidth + 1);
    node.style.left = `${left}px`;
  };
  put(handles.play, model.frame);
  const frames = model.detail?.recording === model.recording?.id ? keyFrames() : null;
  const wide = frames && plot.valToPos(frames.offset, "x") - plot.valToPos(frames.onset, "x") > 24;
  for (const name of ["onset", "apex", "offset"]) {
    handles[name].classList.toggle("narrow", !wide);
    if (!frames) handles[name].hidden = true;
    else {
      put(handles[name], frames[name]);
      for (const [attribute, value] of [["valuemin", 0], ["valuemax", lastFrame()], ["valuenow", frames[name]], ["valuetext", `frame ${frames[name]}, ${clockOf(frames[name])}`]]) handles[name].setAttribute(`aria-${attribute}`, value);
    }
  }
}

/** Draw every candidate in the lane above the curves, and the current one over the whole height. */
function drawLane(chart) {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  const x = (frame) => chart.valToPos(frame, "x", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  const here = model.rows.filter((row) => row.recording === model.recording.id && row.face === model.face && row.frames[2] >= range[0] && row.frames[0] <= range[1]);
  const weight = (row) => 4 * (row.state === "accept" || row.state === "unsure") + 2 * !row.rule + (row.probability ?? 1);
  here.sort((a, b) => weight(a) - weight(b));
  for (const row of here) {
    const isDecided = row.state !== "";
    ctx.globalAlpha = row.state === "reject" ? 0.35 : isDecided ? 0.95 : row.rule ? 0.15 + 0.35 * row.probability : 0.95;
    ctx.fillStyle = row.rule && !isDecided ? colour("--muted") : colour(STATE_COLOURS[row.state]);
    const [left, right] = [x(row.frames[0]), x(row.frames[2])];
    ctx.fillRect(left, 2 * ratio, Math.max(right - left, (row.rule ? 1 : 3) * ratio), LANE * ratio);
  }
  const frames = model.detail?.recording === model.recording.id ? keyFrames() : null;
  if (frames) {
    ctx.globalAlpha = 0.13;
    ctx.fillStyle = colour("--accent");
    ctx.fillRect(x(frames.onset), bbox.top, Math.max(x(frames.offset) - x(frames.onset), ratio), bbox.height);
  }
  if (model.recording.state !== "done") {
    ctx.globalAlpha = 0.1;
    ctx.fillStyle = colour("--muted");
    const left = x(model.recording.spotted);
    ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
  }
  ctx.restore();
}

function clicked(event) {
  const bounds = plot.over.getBoundingClientRect();
  const frame = plot.posToVal(event.clientX - bounds.left, "x");
  const width = (range[1] - range[0]) / plot.over.clientWidth; // frames per px
  const near = model.rows.filter((row) => row.recording === model.recording.id && frame >= row.frames[0] - 3 * width && frame <= row.frames[2] + 3 * width);
  pause();
  const best = near.sort((a, b) => Math.abs(a.frames[1] - frame) - Math.abs(b.frames[1] - frame))[0];
  if (best && event.clientY - bounds.top < LANE && best.id !== model.detail?.id) openMovement(best.id).catch((problem) => emit("problem", problem));
  else show(frame);
}

function zoomToSelection(chart) {
  const { left, width } = chart.select;
  if (width < 4) return;
  setRange(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
  chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
}

function wheeled(event) {
  event.preventDefault();
  const at = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return move((event.deltaX || event.deltaY) / 1000);
  zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
}

/** Show frames from `first` to `last`; the curves are fetched at the resolution of the screen. */
export function setRange(first, last) {
  const length = Math.min(Math.max(last - first, LEAST), Math.max(lastFrame(), LEAST));
  const start = Math.min(Math.max(first, 0), Math.max(lastFrame() - length, 0));
  range = [start, start + length];
  plot.setScale("x", { min: range[0], max: range[1] });
  place();
  clearTimeout(timer);
  timer = setTimeout(fetchCurves, 60);
}

export function zoom(factor, at = model.frame) {
  setRange(at - (at - range[0]) * factor, at + (range[1] - at) * factor);
}

export const move = (share) => setRange(range[0] + share * (range[1] - range[0]), range[1] + share * (range[1] - range[0]));
export const showAll = () => setRange(0, lastFrame());

export function showMovement() {
  const frames = keyFrames();
  const around = CONTEXT * model.times.fps;
  setRange((frames?.onset ?? model.frame) - around, (frames?.offset ?? model.frame) + around);
}

export async function fetchCurves() {
  const number = ++latest;
  const [first, last] = [Math.floor(range[0]), Math.ceil(range[1])];
  const points = Math.max(100, Math.round(byId("chart").clientWidth));
  try {
    const curves = await fetchJson(`/api/recordings/${model.recording.id}/curves?face=${model.face}&first=${first}&last=${last}&points=${points}`);
    if (number !== latest) return;
    const columns = [...model.study.regions.map((name) => curves.motion[name]), curves.head];
    plot.setData(curves.frames.length ? [curves.frames, ...columns] : [range, ...names().map(() => [null, null])], false);
    plot.redraw(false, true);
    plot.setScale("x", { min: range[0], max: range[1] });
    byId("chart").dataset.points = curves.frames.length;
    place();
  } catch (problem) {
    emit("problem", problem);
  }
}

function drawLegend() {
  const boxes = names().map((name, number) => {
    const input = element("input", { type: "checkbox", checked: !hiddenSeries.has(name) });
    input.addEventListener("change", () => {
      if (input.checked) hiddenSeries.delete(name);
      else hiddenSeries.add(name);
      plot.setSeries(number + 1, { show: input.checked });
    });
    const swatch = element("i", { "aria-hidden": "true" });
    swatch.style.background = COLOURS[number];
    return element("label", {}, input, swatch, name);
  });
  byId("legend").replaceChildren(...boxes);
}

on("recording", () => {
  range = [0, Math.max(lastFrame(), LEAST)];
  if (!plot) make();
  setRange(...range);
});
on("times", () => plot?.redraw(false, true));
on("detail", ({ moved }) => {
  if (!plot || !model.detail) return;
  if (moved) {
    const { onset, offset } = keyFrames();
    if (onset < range[0] || offset > range[1]) setRange(onset - (range[1] - range[0]) / 2, onset + (range[1] - range[0]) / 2);
    else if (range[1] - range[0] < lastFrame()) fetchCurves();
  }
  plot.redraw(false, false);
  place();
});
on("rows", () => plot?.redraw(false, false));
on("saved", () => plot?.redraw(false, false));
on("frame", place);

/** Wire the timeline to the page. */
export function setUpChart() {
  drawLegend();
  make();
  new ResizeObserver(() => (plot.setSize({ width: byId("chart").clientWidth, height: HEIGHT }), place())).observe(byId("chart"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw());
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("zoom-here").addEventListener("click", showMovement);
  byId("zoom-all").addEventListener("click", showAll);
}

