// The state of the desk: the study, the list and the current movement; and saving, one change after the other.

import { fetchJson } from "/static/api.js";

export const STATES = ["accept", "reject", "unsure"];
const AGAIN = 2000; // ms until a failed change is sent again

export const model = {
  study: null,
  recording: null, // the current one
  face: 0,
  times: { fps: 30, seconds: null },
  rows: [], // of the list: of one recording or of all
  latest: 0, // latest action that this page knows
  detail: null, // the current movement
  frame: 0,
  pace: null,
  cases: new Map(), // of adjudication, by movement
};

const listeners = new Map();

/** Call `listener` on each `event`: recording, rows, detail, frame, saved, problem, times, ... */
export function on(event, listener) {
  listeners.set(event, [...(listeners.get(event) ?? []), listener]);
}

export function emit(event, value) {
  for (const listener of listeners.get(event) ?? []) listener(value);
}

const send = (path, body) => fetchJson(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** The key frames of the movement, as set by the coder or proposed. */
export function keyFrames(detail = model.detail) {
  const place = detail?.decision ?? detail;
  return place ? { onset: place.onset, apex: place.apex, offset: place.offset } : null;
}

/** The seconds of a frame. */
export function secondsOf(frame) {
  const { fps, seconds } = model.times;
  return seconds ? (seconds[Math.min(Math.max(Math.round(frame), 0), seconds.length - 1)] ?? 0) : frame / fps;
}

/** The frame at a time, interpolated. */
export function frameAt(time) {
  const { fps, seconds } = model.times;
  if (!seconds) return time * fps;
  const place = seconds.findIndex((each) => each >= time);
  if (place <= 0) return place < 0 ? seconds.length - 1 : 0;
  return place - (seconds[place] - time) / (seconds[place] - seconds[place - 1]);
}

/** A time as minutes and seconds. */
export function clockOf(frame, digits = 2) {
  const all = Math.max(0, secondsOf(frame));
  const minutes = Math.floor(all / 60);
  return `${minutes}:${(all - 60 * minutes).toFixed(digits).padStart(digits ? 3 + digits : 2, "0")}`;
}

export const lastFrame = () => Math.max(0, (model.recording?.frames ?? 1) - 1);

export async function loadStudy() {
  model.study = await fetchJson("/api/study");
}

/** Switch to another recording. */
export async function openRecording(id, { face = 0 } = {}) {
  model.recording = model.study.recordings.find((each) => each.id === id) ?? model.study.recordings[0];
  model.face = face;
  model.times = { fps: model.recording.fps, seconds: null };
  emit("recording");
  try {
    model.times = await fetchJson(`/api/recordings/${model.recording.id}/times`);
    emit("times");
  } catch (problem) {
    emit("problem", problem);
  }
}

export async function loadRows(scope) {
  const { rows, latest } = await fetchJson(scope ? `/api/movements?recording=${scope}` : "/api/movements");
  Object.assign(model, { rows, latest });
  if (model.study.adjudicates) {
    const cases = await fetchJson("/api/disagreements");
    model.cases = new Map(cases.map((each) => [each.movement, each]));
  }
  emit("rows");
}

let opening = Promise.resolve();

/** Resolves when the movement requested last has loaded: keys pressed meanwhile are meant for it. */
export const opened = () => opening;

export const openMovement = (id) => whileOpening(open(id));

/** Make key presses wait for a promise; returns it. */
export function whileOpening(done) {
  opening = done.catch(() => {});
  return done;
}

async function open(id) {
  await idle();
  const detail = await fetchJson(`/api/movements/${id}`);
  if (detail.recording !== model.recording?.id) await openRecording(detail.recording, { face: detail.face });
  model.face = detail.face;
  model.detail = detail;
  emit("detail", { moved: true });
}

/** Update the row of a movement. */
function fillRow(detail) {
  const row = model.rows.find((each) => each.id === detail.id);
  if (!row) return;
  row.state = detail.decision?.state ?? "";
  row.emotion = detail.decision?.emotion ?? "";
  row.frames = Object.values(keyFrames(detail));
}

const changes = new Set(); // not on the disk yet, in order: { id, fields }

/** A movement with its decision changed. */
const changed = (detail, fields) => ({ ...detail, decision: { ...(detail.decision ?? { ...detail, ...EMPTY, action: 0 }), ...fields } });

/** Show what the server holds, with the changes that it does not have yet. */
function take(held) {
  const detail = [...changes].filter(({ id }) => id === held.id).reduce((now, { fields }) => changed(now, fields), held);
  fillRow(detail);
  if (model.detail?.id === detail.id) {
    model.detail = detail;
    emit("detail", { moved: false });
  }
  model.latest = Math.max(model.latest, held.decision?.action ?? 0);
  emit("saved", detail);
}

let queue = Promise.resolve();
let waiting = 0;

/** Changes that are not on the disk yet. */
export const unsaved = () => waiting;
const idle = () => queue;

function enqueue(work) {
  waiting += 1;
  const done = queue.then(() => insistently(work)).finally(() => ((waiting -= 1), emit("idle")));
  queue = done.catch(() => {});
  return done;
}

/** Retry while the server does not respond or its disk is full. */
async function insistently(work) {
  for (;;) {
    try {
      return await work();
    } catch (problem) {
      emit("problem", problem);
      if (problem.status !== 0 && problem.status !== 507) throw problem;
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }
}

/** Change the decision on the current movement. */
export function decide(fields) {
  const { id } = model.detail;
  const change = { id, fields };
  changes.add(change);
  model.detail = changed(model.detail, fields);
  fillRow(model.detail);
  const done = enqueue(async () => {
    try {
      const detail = await send(`/api/movements/${id}?after=${seen(id)}`, fields);
      changes.delete(change);
      actions.set(id, detail.decision.action);
      take(detail);
    } catch (problem) {
      if (problem.status === 0 || problem.status === 507) throw problem;
      changes.delete(change);
      const detail = await fetchJson(`/api/movements/${id}`);
      actions.set(id, detail.decision?.action ?? 0);
      take(detail);
      throw problem;
    }
  }).catch(() => {}); // already reported
  emit("detail", { moved: false });
  return done;
}

const EMPTY = { state: "draft", kind: "micro", emotion: "", units: [], note: "" };
const actions = new Map(); // the latest action that this page has seen, by movement
const seen = (id) => actions.get(id) ?? 0;
on("detail", ({ moved }) => moved && actions.set(model.detail.id, model.detail.decision?.action ?? 0));

/** Mark a movement by hand. */
export function mark(frames) {
  return enqueue(async () => {
    const detail = await send(`/api/recordings/${model.recording.id}/mark?face=${model.face}`, frames);
    model.rows.push({
      id: detail.id, recording: detail.recording, face: detail.face, frames: [detail.onset, detail.apex, detail.offset], probability: null,
      rule: "", region: "", side: "", strength: 0, source: "hand", state: detail.decision.state, emotion: "",
    });
    model.detail = detail;
    model.latest = Math.max(model.latest, detail.decision.action);
    emit("rows");
    emit("detail", { moved: true });
    emit("saved", detail);
  }).catch(() => {});
}

/** Undo or redo, and show the movement. */
export function step(kind) {
  return enqueue(async () => {
    const { movement } = await send(`/api/${kind}`, {});
    if (!movement) return emit("message", `Nothing to ${kind}.`);
    actions.set(movement.id, movement.decision?.action ?? 0);
    if (movement.recording !== model.recording.id) await openRecording(movement.recording, { face: movement.face });
    model.detail = movement;
    if (movement.source === "hand") emit("stale");
    take(movement);
    emit("detail", { moved: true });
  }).catch(() => {});
}
