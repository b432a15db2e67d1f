// The camera: its picture, movements as they are found, and how much of the time was analysed.

import { scoreBars, warnings } from "./answer.js";
import { Problem } from "./api.js";
import { beginSession, Capture, filmOf, listDevices, openDevice } from "./capture.js";
import { byId, element, save } from "./dom.js";
import { History } from "./history.js";
import { certainty, exactClock, labelClass, score, sentence, skippedNote, title, topClass } from "./format.js";
import { timeline } from "./timeline.js";

const LOW_RATE = 50; // frames per second below which a micro-expression may be missed
const SHOWN = 20; // seconds of the curve
const AROUND = 250; // ms of a replay before the onset and after the offset
const SHOWN_PARTS = ["camera-answer", "camera-figures", "camera-curve", "camera-warnings"];
const RESTARTS = 3; // sessions that may fail in a row
const UNAVAILABLE = new Problem("the browser does not let this page use a camera", "open it as localhost, or over https");
const DISCONNECTED = new Problem("the camera was disconnected", "start it again");
const FACES = {
  "no face": "No face is visible. Look into the camera, with light from the front.",
  "face too small": "The face is too small. Come closer.",
};

/** The camera section of the page. Returns {start, stop}. */
export function openCamera() {
  const video = byId("camera-video");
  const history = new History();
  let running = null; // {controller, stream, capture, session, ...} while the camera is on
  let shown = null; // the latest of them: it stays visible until the camera is started again

  async function start() {
    stop();
    const controller = new AbortController();
    const state = (shown = running = { controller, failures: 0, covered: 0, began: null, lost: 0, rate: null, curves: new Map() });
    for (const id of ["camera-problem", ...SHOWN_PARTS]) byId(id).replaceChildren();
    byId("camera-hint").textContent = "Waiting for the camera.";
    try {
      if (!navigator.mediaDevices) throw UNAVAILABLE;
      const stream = await openDevice(byId("camera-device").value);
      if (controller.signal.aborted) return release(stream);
      state.stream = stream;
      stream.getVideoTracks()[0].addEventListener("ended", () => fail(DISCONNECTED));
      video.srcObject = stream;
      await video.play();
      setRunning(true);
      showDevices(stream);
      await beginAgain(state);
      state.capture = new Capture(video, (frame) => takeFrame(state, frame), controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) fail(cameraProblem(error));
    }
  }

  /** Begin a session with the server; also when one ended while the camera was on. */
  async function beginAgain(state) {
    byId("camera-answer").replaceChildren(line("Preparing"), element("p", { class: "certainty" }, "The server is loading the model."));
    const on = {
      status: (status) => showStatus(state, status),
      motion: (motion) => showMotion(state, motion),
      movement: (movement) => showMovement(state, movement),
      end: (end) => sessionEnded(state, end),
    };
    const options = { sensitivity: byId("camera-sensitivity").value };
    state.session = await beginSession(options, on, state.controller.signal);
    byId("camera-answer").replaceChildren(line("Watching"), element("p", { class: "certainty" }, "No movement so far."));
  }

  function takeFrame(state, frame) {
    state.began ??= frame.time;
    state.session.push(frame);
  }

  async function sessionEnded(state, { reason, problem }) {
    state.covered += state.latest?.covered_s ?? 0;
    state.latest = null;
    state.lost += state.session.lost;
    if (state.controller.signal.aborted) return;
    if (++state.failures > RESTARTS) return fail(problem ?? new Problem(reason, "start the camera again"));
    try {
      await beginAgain(state); // the time until then counts as not analysed
    } catch (error) {
      if (!state.controller.signal.aborted) fail(cameraProblem(error));
    }
  }

  function showStatus(state, status) {
    if (state !== shown) return;
    state.latest = status;
    if (status.looked_at > 300) state.failures = 0;
    const now = state.session.timeOf(status.until_s);
    const elapsed = (now - state.began) / 1000;
    const covered = state.covered + status.covered_s;
    state.coverage = status.coverage === null ? null : Math.min(1, covered / Math.max(elapsed, 1e-3));
    state.rate = status.rate ?? state.rate; // it stays when the camera stops
    const latency = (performance.now() - now) / 1000;
    const seen = state.coverage === null ? "measuring" : `${Math.floor(100 * state.coverage)} %`;
    showFigures({
      Coverage: seen,
      "Frames per second": state.rate === null ? "measuring" : String(Math.round(state.rate)),
      ...(state.controller.signal.aborted ? {} : { Latency: `${Math.max(0, latency).toFixed(1)} s` }),
    });
    showNotes(state, status);
    history.facts = () => ({ coverage: state.coverage, rate: status.rate, fps: status.fps, seconds: elapsed });
  }

  function showNotes(state, status) {
    const notes = [];
    if (FACES[status.face] && !state.controller.signal.aborted) notes.push(FACES[status.face]);
    const skipped = state.capture?.skipped ?? 0;
    const missed = status.dropped + state.lost + state.session.lost;
    const gaps = state.coverage !== null && state.coverage < 0.99;
    if (gaps) {
      notes.push(`${Math.ceil(100 * (1 - state.coverage))} % of the time was not analysed`);
    }
    const total = status.received + state.lost + state.session.lost + skipped;
    notes.push(skippedNote("the server", missed, total, gaps), skippedNote("this browser", skipped, total, gaps));
    if (status.rate !== null && status.rate < LOW_RATE) {
      notes.push(`only ${Math.round(status.rate)} frames per second are analysed: below ${LOW_RATE}, a micro-expression may be missed`);
    }
    byId("camera-warnings").replaceChildren(...(warnings(notes.filter(Boolean))?.children ?? []));
  }

  /** Add to the curve of one person; only the last seconds are shown. */
  function showMotion(state, { track, time, frames, energy, level, rejected }) {
    if (state !== shown) return;
    const shift = (state.session.origin - state.began) / 1000; // of this session, in seconds of the camera
    const curve = curveOf(state, track);
    curve.time.push(...time.map((each) => each + shift));
    curve.energy.push(...energy);
    curve.frames.push(...frames);
    curve.level = level;
    const placed = rejected.map((each) => event(each, shift, each.reason));
    curve.others.push(...placed.filter((each) => !curve.others.some((other) => other.apex === each.apex)));
    showCurves(state);
  }

  async function showMovement(state, movement) {
    const { session, capture } = state;
    const [from, to] = [session.timeOf(movement.onset_s) - AROUND, session.timeOf(movement.offset_s) + AROUND];
    const clock = new Date(performance.timeOrigin + session.timeOf(movement.apex_s));
    const frames = capture?.between(from, to) ?? [];
    const seconds = (time) => (time - session.origin) / 1000;
    const film = frames.length > 2 ? await filmOf(frames, movement.face, seconds) : null;
    history.add(movement, clock, film);
    if (state !== shown) return;
    curveOf(state, movement.track).events.push(event(movement, (session.origin - state.began) / 1000, movement.label));
    showCurves(state);
    byId("camera-answer").replaceChildren(
      element("p", { class: "which" }, `At ${exactClock(clock)}`),
      line(title(movement.label), labelClass(movement.label)),
      element("p", { class: "moved" }, movement.text),
      element("p", { class: "certainty" }, certainty(movement)),
      scoreBars(movement.scores),
    );
    byId("camera-status").textContent = `${title(movement.label)}, ${score(movement.scores[topClass(movement.scores)])} at ${exactClock(clock)}`;
  }

  function stop() {
    const state = running;
    running = null;
    if (!state) return;
    state.controller.abort();
    stopRecording(state);
    state.session?.stop();
    if (state.stream) release(state.stream);
    video.srcObject = null;
    setRunning(false);
  }

  function fail(error) {
    stop();
    const problem = element("p", { class: "problem" }, sentence(error.problem));
    const fix = element("p", { class: "fix" }, sentence(error.fix));
    byId("camera-problem").replaceChildren(element("div", { class: "card warning" }, problem, fix));
  }

  /** Record the picture, only on request; the recording is offered as a file and goes nowhere else. */
  function record() {
    const state = running;
    if (!state?.stream) return;
    if (state.recorder) return stopRecording(state);
    const parts = [];
    state.recorder = new MediaRecorder(state.stream);
    state.recorder.addEventListener("dataavailable", ({ data }) => data.size && parts.push(data));
    state.recorder.addEventListener("stop", () => save("camera.webm", "video/webm", new Blob(parts, { type: "video/webm" })));
    state.recorder.start(1000);
    showRecording(true);
  }

  function stopRecording(state) {
    if (state.recorder && state.recorder.state !== "inactive") state.recorder.stop();
    state.recorder = null;
    showRecording(false);
  }

  byId("camera-start").addEventListener("click", start);
  byId("camera-stop").addEventListener("click", () => (stop(), byId("camera-start").focus()));
  byId("camera-record").addEventListener("click", record);
  for (const id of ["camera-device", "camera-sensitivity"]) byId(id).addEventListener("change", () => running && start());
  addEventListener("pagehide", stop);
  showDevices();
  return { start, stop };
}

function setRunning(on) {
  byId("camera-start").hidden = on;
  byId("camera-stop").hidden = !on;
  byId("camera-record").hidden = !on || !("MediaRecorder" in window);
  byId("camera-hint").hidden = on;
  byId("camera-hint").textContent = "The camera is off.";
  byId("camera-tips").hidden = on || byId("camera-answer").childElementCount > 0;
  byId("camera-figures").hidden = false;
  if (on) return;
  byId("camera-status").textContent = "";
}

function showRecording(on) {
  byId("camera-record").textContent = on ? "Stop recording" : "Record";
  byId("camera-record").setAttribute("aria-pressed", String(on));
}

/** List the cameras. */
async function showDevices(stream = null) {
  const devices = await listDevices();
  const chosen = stream?.getVideoTracks()[0].getSettings().deviceId ?? byId("camera-device").value;
  const options = devices.filter((each) => each.deviceId).map((each, number) =>
    element("option", { value: each.deviceId, selected: each.deviceId === chosen }, each.label || `Camera ${number + 1}`));
  byId("camera-device").replaceChildren(...(options.length ? options : [element("option", { value: "" }, "Default")]));
}

function showFigures(figures) {
  const shown = Object.entries(figures).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  byId("camera-figures").replaceChildren(...shown);
}

/** The curve of one person, empty at first. */
function curveOf(state, track) {
  const key = track ?? 0;
  if (!state.curves.has(key)) state.curves.set(key, { track: key, time: [], frames: [], energy: [], level: null, events: [], others: [] });
  return state.curves.get(key);
}

/** Draw the last seconds of every person. */
function showCurves({ curves }) {
  const latest = Math.max(...[...curves.values()].map(({ time }) => time.at(-1) ?? -Infinity));
  for (const [track, curve] of curves) {
    const drop = curve.time.findIndex((each) => each >= latest - SHOWN);
    for (const name of ["time", "frames", "energy"]) curve[name].splice(0, drop < 0 ? Infinity : drop);
    for (const name of ["events", "others"]) curve[name] = curve[name].filter((each) => each.onset >= latest - SHOWN);
    if (drop < 0 && !curve.events.length) curves.delete(track);
  }
  const drawn = [...curves.values()].filter(({ time }) => time.length);
  if (drawn.length) byId("camera-curve").replaceChildren(timeline(structuredClone(drawn)));
}
const line = (text, kind = "none") => element("p", { class: `label ${kind}` }, text);

function event({ onset_s, apex_s, offset_s }, shift, label) {
  const [onset, apex, offset] = [onset_s, apex_s, offset_s].map((each) => each + shift);
  return { onset, apex, offset, frames: [0, 0, 0], label };
}

function cameraProblem(error) {
  if (error instanceof Problem) return error;
  const known = {
    NotAllowedError: ["the browser blocked the camera", "allow it for this page in the browser, then start again"],
    NotFoundError: ["there is no camera", "plug one in, or drop a video instead"],
    NotReadableError: ["the camera is in use", "close the program that uses it, then start again"],
    OverconstrainedError: ["this camera is no longer available", "choose another one, then start again"],
  };
  const other = ["the camera did not start", "try another browser, or drop a video instead"];
  if (!known[error.name]) console.error(error);
  return new Problem(...(known[error.name] ?? other));
}

const release = (stream) => stream.getTracks().forEach((track) => track.stop());
