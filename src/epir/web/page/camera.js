// The camera: the last seconds of frames, sent to this server as soon as the answer before is back.

import { ask, Problem } from "./api.js";
import { find, make } from "./dom.js";
import { clear, tell, tellNothing } from "./live.js";
import { sentence } from "./words.js";

const WINDOW = 2000; // ms of the past that are looked at
const LEAST = 900; // ms before the first look
const SIDE = 480; // px: the longer side of what is sent
const QUALITY = 0.9;
const WISHES = {
  audio: false,
  video: { facingMode: "user", width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 120 } },
};
const HIDDEN = new Problem("the browser gives no camera to this page", "open it as localhost, or over https");
const TAKEN = new Problem("the camera was unplugged or taken away", "start it again");

/** The camera's part of the page; `limitsOf` says what the server takes. Gives back {start, stop}. */
export function openCamera(limitsOf) {
  const video = find("camera-video");
  const canvas = document.createElement("canvas");
  let stream = null;
  let frames = [];
  let halt = new AbortController();

  async function start() {
    stop();
    halt = new AbortController();
    const { signal } = halt;
    find("camera-problem").replaceChildren();
    find("camera-hint").textContent = "Waiting for the camera.";
    try {
      if (!navigator.mediaDevices) throw HIDDEN;
      const opened = await navigator.mediaDevices.getUserMedia(WISHES);
      if (signal.aborted) return release(opened);
      stream = opened;
      stream.getVideoTracks()[0].addEventListener("ended", () => fail(TAKEN));
      video.srcObject = stream;
      await video.play();
      running(true);
      capture(signal);
      await look(signal);
    } catch (error) {
      if (!signal.aborted) fail(worded(error));
    }
  }

  function stop() {
    halt.abort();
    if (stream) release(stream);
    stream = null;
    frames = [];
    video.srcObject = null;
    running(false);
  }

  function fail(error) {
    stop();
    const problem = make("p", { class: "problem" }, sentence(error.problem));
    const fix = make("p", { class: "fix" }, sentence(error.fix));
    find("camera-problem").replaceChildren(make("div", { class: "card warning" }, problem, fix));
  }

  function running(on) {
    find("camera-start").hidden = on;
    find("camera-stop").hidden = !on;
    find("camera-hint").hidden = on;
    find("camera-hint").textContent = "The camera is off.";
    find("camera-figures").hidden = !on;
    find("camera-tips").hidden = on;
    if (!on) clear();
  }

  /** Keep the frames of the last seconds as small JPEGs with their times. */
  function capture(signal) {
    let encoding = 0;
    const each = (now, meta) => {
      if (signal.aborted) return;
      video.requestVideoFrameCallback(each);
      if (encoding > 3) return; // the machine is behind: leave this frame out
      const share = Math.min(1, SIDE / Math.max(video.videoWidth, video.videoHeight));
      canvas.width = Math.round(share * video.videoWidth);
      canvas.height = Math.round(share * video.videoHeight);
      canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
      encoding++;
      const time = meta.captureTime ?? now;
      canvas.toBlob(
        (blob) => {
          encoding--;
          if (signal.aborted || !blob) return;
          if (frames.some((frame) => Math.abs(frame.time - time) < 0.5)) return; // the same frame twice
          const recent = [...frames, { blob, time }].filter((frame) => frame.time > time - WINDOW);
          frames = recent.sort((a, b) => a.time - b.time).slice(-most());
        },
        "image/jpeg",
        QUALITY,
      );
    };
    video.requestVideoFrameCallback(each);
  }

  const most = () => limitsOf()?.live_frames ?? 120;

  /** Ask again and again, one question at a time. */
  async function look(signal) {
    let seen = 0;
    while (!signal.aborted) {
      const shots = frames.slice();
      const length = shots.length ? shots.at(-1).time - shots[0].time : 0;
      if (length < LEAST || shots.at(-1).time === seen) {
        await pause(100);
        continue;
      }
      seen = shots.at(-1).time;
      const begun = performance.now();
      try {
        const answer = await ask("/api/live", { method: "POST", body: liveForm(shots), signal });
        if (!signal.aborted) tell(answer, (1000 * (shots.length - 1)) / length, performance.now() - begun);
      } catch (error) {
        if (signal.aborted) return;
        if (error.status === 503) await busy(error);
        else if (error.status === 422) tellNothing("Nothing to see", error);
        else throw error;
      }
      await pause(60);
    }
  }

  async function busy(error) {
    tellNothing("Waiting", error);
    await pause(1000 * (error.retry || 1));
  }

  find("camera-start").addEventListener("click", start);
  find("camera-stop").addEventListener("click", () => (stop(), find("camera-start").focus()));
  addEventListener("pagehide", stop);
  return { start, stop };
}

function liveForm(shots) {
  const form = new FormData();
  shots.forEach((shot, number) => form.append("frames", shot.blob, `${number}.jpg`));
  form.append("times", shots.map((shot) => (shot.time - shots[0].time).toFixed(1)).join(","));
  return form;
}

function worded(error) {
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
