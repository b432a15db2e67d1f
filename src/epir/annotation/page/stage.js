// The picture: exact frames, fetched on demand and ahead; playback, switching between key frames, magnification.

import { byId, element } from "/static/dom.js";
import { clockOf, emit, keyFrames, lastFrame, model, on, secondsOf } from "./model.js";

const SPEEDS = [[1 / 16, "1/16"], [1 / 8, "1/8"], [1 / 4, "1/4"], [1 / 2, "1/2"], [1, "1"]];
const AROUND = 0.35; // seconds played before the onset and after the offset
const KEPT = 900; // pictures
const AT_ONCE = 4; // requests ahead
const REST = 300; // ms on the last frame of a loop

const blobs = new Map(); // address -> promise of { blob, times }
let requested = 0; // counts requests, so that an older picture is not drawn over a newer one
let running = false;
let ahead = new AbortController();

const view = () => {
  const frames = keyFrames();
  const held = byId("stabilise").checked || byId("flow").checked || byId("times").value !== "1";
  const here = frames && model.detail.recording === model.recording.id;
  const query = new URLSearchParams({ face: model.face });
  if (byId("whole").checked) query.set("whole", "true");
  else if (here && held) {
    query.set("reference", frames.onset);
    if (byId("flow").checked) query.set("flow", "true");
    if (byId("times").value !== "1") query.set("times", byId("times").value);
  }
  return query;
};
const address = (frame) => `/api/recordings/${model.recording.id}/frames/${frame}?${view()}&of=${model.recording.state === "done" ? "done" : "now"}`;

function load(frame, signal) {
  const path = address(frame);
  if (!blobs.has(path)) {
    const picture = fetch(path, { signal }).then(async (response) => {
      if (!response.ok) throw Object.assign(new Error(), await response.json().catch(() => ({ problem: "no picture", fix: "reload the page" })));
      return { blob: await response.blob(), times: Number(response.headers.get("X-Times")) };
    });
    blobs.set(path, picture);
    picture.catch(() => blobs.delete(path));
    if (blobs.size > KEPT) blobs.delete(blobs.keys().next().value);
  }
  return blobs.get(path);
}

/** Show a frame of the recording; resolves when it is drawn, or when a newer one was requested. */
export async function show(frame) {
  frame = Math.min(Math.max(Math.round(frame), 0), lastFrame());
  model.frame = frame;
  emit("frame");
  const number = ++requested;
  const canvas = byId("picture");
  try {
    const { blob, times } = await load(frame);
    const picture = await createImageBitmap(blob);
    if (number !== requested) return;
    if (canvas.width !== picture.width || canvas.height !== picture.height) Object.assign(canvas, { width: picture.width, height: picture.height });
    canvas.getContext("2d").drawImage(picture, 0, 0);
    canvas.dataset.frame = frame;
    canvas.setAttribute("aria-label", `The ${byId("whole").checked ? "whole frame" : "face"}, ${words(frame)}`);
    const asked = Number(byId("times").value);
    byId("really").textContent = view().has("times") && times < asked - 0.05 ? `limited to ${times} ×; beyond that the skin would fold` : "";
    trouble(null);
  } catch (problem) {
    if (problem.name === "AbortError" || number !== requested) return;
    trouble(problem.problem ? problem : { problem: "the server does not respond", fix: "start epir annotate again" });
  }
}

function trouble(problem) {
  byId("trouble").hidden = !problem;
  byId("trouble").textContent = problem ? `${problem.problem}: ${problem.fix}` : "";
}

/** The label of a frame: its number, its time, and onset, apex or offset. */
export function words(frame) {
  const names = Object.entries(keyFrames() ?? {}).filter(([, at]) => at === frame).map(([name]) => name);
  return [`frame ${frame}`, clockOf(frame, 3), ...names].join(" · ");
}

/** The frames to play: the movement with a margin, or about two seconds without a movement. */
function span() {
  const frames = keyFrames();
  const pad = Math.max(2, Math.round(AROUND * model.times.fps));
  const [first, last] = frames ? [frames.onset - pad, frames.offset + pad] : [model.frame - 3 * pad, model.frame + 3 * pad];
  return [Math.max(0, first), Math.min(lastFrame(), last)];
}

/** Fetch the frames to play, key frames first. */
export function fetchAhead() {
  ahead.abort();
  ahead = new AbortController();
  const { signal } = ahead;
  const [first, last] = span();
  const frames = [...keyed(), ...Array.from({ length: last - first + 1 }, (_, place) => first + place)];
  const work = async () => {
    while (frames.length && !signal.aborted) await load(frames.shift(), signal).catch(() => {});
  };
  for (let number = 0; number < AT_ONCE; number += 1) work();
}
const keyed = () => Object.values(keyFrames() ?? {});

export function pause() {
  running = false;
  byId("play").textContent = "Play";
}

export async function play() {
  if (running) return pause();
  running = true;
  byId("play").textContent = "Pause";
  let [first, last] = span();
  let frame = model.frame >= first && model.frame < last ? model.frame : first;
  while (running) {
    const began = performance.now();
    await show(frame);
    if (!running) return;
    [first, last] = span();
    const isLast = frame >= last;
    if (isLast && !byId("loop").checked) return pause();
    const step = isLast ? REST : (1000 * (secondsOf(frame + 1) - secondsOf(frame))) / Number(byId("speed").value);
    await new Promise((resolve) => setTimeout(resolve, Math.max(4, step - (performance.now() - began))));
    frame = isLast ? first : frame + 1;
  }
}

/** Move by a number of frames. */
export function stepBy(frames) {
  pause();
  return show(model.frame + frames);
}

/** Switch between onset and apex. */
export function flick() {
  const frames = keyFrames();
  if (!frames) return;
  pause();
  show(model.frame === frames.apex ? frames.onset : frames.apex);
}

/** Select the next or previous option of a list. */
export function turn(id, way) {
  const select = byId(id);
  select.selectedIndex = Math.min(Math.max(select.selectedIndex + way, 0), select.options.length - 1);
  select.dispatchEvent(new Event("change"));
}

export function toggle(id) {
  byId(id).checked = !byId(id).checked;
  byId(id).dispatchEvent(new Event("change"));
}

const repaint = () => (show(model.frame), fetchAhead());

on("detail", ({ moved }) => {
  if (!moved) return;
  pause();
  show(keyFrames().apex);
  fetchAhead();
});
on("recording", () => {
  pause();
  byId("frames").max = lastFrame();
  if (!model.detail || model.detail.recording !== model.recording.id) show(0);
});
on("frame", () => {
  const slider = byId("frames");
  slider.max = lastFrame();
  slider.value = model.frame;
  slider.setAttribute("aria-valuetext", words(model.frame));
  byId("shown").textContent = words(model.frame);
});

/** Wire the picture to the page. */
export function setUpStage() {
  byId("speed").append(...SPEEDS.map(([value, text]) => element("option", { value, selected: text === "1/4" }, text)));
  byId("times").append(...Array.from({ length: model.study.magnify }, (_, n) => element("option", { value: n + 1 }, n ? `${n + 1} ×` : "off")));
  for (const id of ["stabilise", "flow", "times", "whole"]) byId(id).addEventListener("change", repaint);
  byId("frames").addEventListener("input", () => (pause(), show(Number(byId("frames").value))));
  byId("play").addEventListener("click", play);
  byId("back").addEventListener("click", () => stepBy(-1));
  byId("forth").addEventListener("click", () => stepBy(1));
  byId("flick").addEventListener("click", flick);
}
