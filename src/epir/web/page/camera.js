// The camera: the last seconds of frames, sent as soon as the previous answer is back, and the answer beside the picture.

import { scoreBars, warnings } from "./answer.js";
import { fetchJson, Problem } from "./api.js";
import { byId, element } from "./dom.js";
import { labelClass, NOT_FOUND, score, sentence, title, topClass } from "./format.js";
import { timeline } from "./timeline.js";

const WINDOW = 2000; // ms of frames in one request
const MIN_WINDOW = 900; // ms before the first request
const SIDE = 480; // px: the longer side of the frames sent
const QUALITY = 0.9;
const LOW_RATE = 50; // frames per second below which a micro-expression may be missed
const CONSTRAINTS = {
  audio: false,
  video: { facingMode: "user", width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 120 } },
};
const UNAVAILABLE = new Problem("the browser does not allow this page to use a camera", "open it as localhost, or over https");
const DISCONNECTED = new Problem("the camera was disconnected", "start it again");

/** The camera section of the page; `getLimits` gives the server's limits. Returns {start, stop}. */
export function openCamera(getLimits) {
  const video = byId("camera-video");
  const canvas = document.createElement("canvas");
  let stream = null;
  let frames = [];
  let controller = new AbortController();

  async function start() {
    stop();
    controller = new AbortController();
    const { signal } = controller;
    byId("camera-problem").replaceChildren();
    byId("camera-hint").textContent = "Waiting for the camera.";
    try {
      if (!navigator.mediaDevices) throw UNAVAILABLE;
      const opened = await navigator.mediaDevices.getUserMedia(CONSTRAINTS);
      if (signal.aborted) return release(opened);
      stream = opened;
      stream.getVideoTracks()[0].addEventListener("ended", () => fail(DISCONNECTED));
      video.srcObject = stream;
      await video.play();
      setRunning(true);
      capture(signal);
      await inferLoop(signal);
    } catch (error) {
      if (!signal.aborted) fail(cameraProblem(error));
    }
  }

  function stop() {
    controller.abort();
    if (stream) release(stream);
    stream = null;
    frames = [];
    video.srcObject = null;
    setRunning(false);
  }

  function fail(error) {
    stop();
    const problem = element("p", { class: "problem" }, sentence(error.problem));
    const fix = element("p", { class: "fix" }, sentence(error.fix));
    byId("camera-problem").replaceChildren(element("div", { class: "card warning" }, problem, fix));
  }

  function setRunning(on) {
    byId("camera-start").hidden = on;
    byId("camera-stop").hidden = !on;
    byId("camera-hint").hidden = on;
    byId("camera-hint").textContent = "The camera is off.";
    byId("camera-figures").hidden = !on;
    byId("camera-tips").hidden = on;
    if (!on) clearAnswer();
  }

  /** Keep the frames of the last seconds as small JPEGs with their times. */
  function capture(signal) {
    let encoding = 0;
    const onFrame = (now, metadata) => {
      if (signal.aborted) return;
      video.requestVideoFrameCallback(onFrame);
      if (encoding > 3) return; // too slow for this frame: drop it
      const scale = Math.min(1, SIDE / Math.max(video.videoWidth, video.videoHeight));
      canvas.width = Math.round(scale * video.videoWidth);
      canvas.height = Math.round(scale * video.videoHeight);
      canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
      encoding++;
      const time = metadata.captureTime ?? now;
      canvas.toBlob(
        (blob) => {
          encoding--;
          if (signal.aborted || !blob) return;
          if (frames.some((frame) => Math.abs(frame.time - time) < 0.5)) return; // the same frame twice
          const recent = [...frames, { blob, time }].filter((frame) => frame.time > time - WINDOW);
          frames = recent.sort((a, b) => a.time - b.time).slice(-maxFrames());
        },
        "image/jpeg",
        QUALITY,
      );
    };
    video.requestVideoFrameCallback(onFrame);
  }

  const maxFrames = () => getLimits()?.live_frames ?? 120;

  /** Send the latest frames again and again, one request at a time. */
  async function inferLoop(signal) {
    let latest = 0;
    while (!signal.aborted) {
      const sent = frames.slice();
      const length = sent.length ? sent.at(-1).time - sent[0].time : 0;
      if (length < MIN_WINDOW || sent.at(-1).time === latest) {
        await pause(100);
        continue;
      }
      latest = sent.at(-1).time;
      const began = performance.now();
      try {
        const answer = await fetchJson("/api/live", { method: "POST", body: liveForm(sent), signal });
        if (!signal.aborted) showAnswer(answer, (1000 * (sent.length - 1)) / length, performance.now() - began);
      } catch (error) {
        if (signal.aborted) return;
        if (error.status === 422) showNotice("No answer", error);
        else if (error.status === 503) {
          showNotice("Waiting", error);
          await pause(1000 * (error.retry || 1));
        } else throw error;
      }
      await pause(60);
    }
  }

  byId("camera-start").addEventListener("click", start);
  byId("camera-stop").addEventListener("click", () => (stop(), byId("camera-start").focus()));
  addEventListener("pagehide", stop);
  return { start, stop };
}

function liveForm(frames) {
  const form = new FormData();
  frames.forEach((frame, number) => form.append("frames", frame.blob, `${number}.jpg`));
  form.append("times", frames.map((frame) => (frame.time - frames[0].time).toFixed(1)).join(","));
  return form;
}

/** Show an answer, the frame rate of the camera and the latency. */
function showAnswer(answer, rate, latency) {
  const found = answer.label !== NOT_FOUND;
  const top = topClass(answer.scores);
  byId("camera-answer").replaceChildren(
    element("p", { class: `label ${labelClass(answer.label)}` }, found ? title(answer.label) : "No movement"),
    element("p", { class: "certainty" }, liveCertainty(answer, top)),
    ...(top ? [scoreBars(answer.scores)] : []),
  );
  if (found) byId("camera-status").textContent = `${title(answer.label)}${top ? `, ${score(answer.scores[top])}` : ""}`;
  const figures = [
    ["Frames per second", String(Math.round(rate))],
    ["Latency", `${(latency / 1000).toFixed(1)} s`],
  ].map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  byId("camera-figures").replaceChildren(...figures);
  const notes = (answer.warnings ?? []).filter((each) => !each.includes("frame rate"));
  if (rate < LOW_RATE) {
    notes.unshift(`the camera gives ${Math.round(rate)} frames per second: below ${LOW_RATE}, a micro-expression may be missed`);
  }
  byId("camera-warnings").replaceChildren(...(warnings(notes)?.children ?? []));
  if (answer.curve?.time?.length) byId("camera-curve").replaceChildren(timeline(answer.curve));
}

function liveCertainty(answer, top) {
  if (!top) return "No micro-expression in the last two seconds.";
  const value = score(answer.scores[top]);
  return answer.label === top ? `Score ${value}` : `Most likely ${top}, but its score is only ${value}.`;
}

/** Show a passing problem, such as no face or a busy server; the camera goes on. */
function showNotice(text, error) {
  byId("camera-answer").replaceChildren(
    element("p", { class: "label none" }, text),
    element("p", { class: "certainty" }, `${sentence(error.problem)} ${sentence(error.fix)}`),
  );
  byId("camera-warnings").replaceChildren();
}

function clearAnswer() {
  for (const id of ["camera-answer", "camera-figures", "camera-curve", "camera-warnings"]) byId(id).replaceChildren();
  byId("camera-status").textContent = "";
}

function cameraProblem(error) {
  if (error instanceof Problem) return error;
  const known = {
    NotAllowedError: ["the browser may not use the camera", "allow it for this page in the browser, then start again"],
    NotFoundError: ["there is no camera", "plug one in, or drop a video instead"],
    NotReadableError: ["the camera is in use", "close the program that uses it, then start again"],
  };
  const other = ["the camera did not start", "try another browser, or drop a video instead"];
  return new Problem(...(known[error.name] ?? other));
}

const release = (stream) => stream.getTracks().forEach((track) => track.stop());
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
