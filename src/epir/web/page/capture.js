// A camera: frames as JPEGs with their times, the last seconds kept for replays, and the session with the server, to
// which frames go in order and from which events come back. Every dropped frame is counted.

import { fetchJson, Problem } from "./api.js";

const SIDE = 640; // px: the longer side of the frames
const QUALITY = 0.85;
const KEPT = 15000; // ms
const AT_ONCE = 4; // frames that may be encoded at the same time
const EVENTS = ["status", "motion", "movement", "end"];
const LONGEST = 4000; // ms of frames that may wait to be sent; beyond that, the older half is dropped
const MOST = 30; // frames in one request
const PAUSE = 30; // ms between two requests, so that several frames share one

const LOST = new Problem("the connection to the server was lost", "check that epir serve is still running");

/** Open a camera; `deviceId` is empty for the default one. */
export function openDevice(deviceId) {
  const which = deviceId ? { deviceId: { exact: deviceId } } : { facingMode: "user" };
  const video = { ...which, width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 120 } };
  return navigator.mediaDevices.getUserMedia({ audio: false, video });
}

/** The cameras of this machine; they have names once the user has allowed one. */
export async function listDevices() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  return devices.filter((each) => each.kind === "videoinput");
}

/** Encodes every frame of a playing video element; `onFrame({time, blob})` gets them in order. */
export class Capture {
  constructor(video, onFrame, signal) {
    Object.assign(this, { video, onFrame, signal });
    this.canvas = document.createElement("canvas");
    this.kept = []; // {time, blob}
    this.skipped = 0; // frames that this browser was too slow to encode
    this.latest = -Infinity;
    this.encoding = [];
    this.#await();
  }

  /** The kept frames between two times that were sent. */
  between(from, to) {
    return this.kept.filter(({ time, number }) => number !== undefined && from <= time && time <= to);
  }

  #await() {
    this.video.requestVideoFrameCallback((now, metadata) => {
      if (this.signal.aborted) return;
      this.#await();
      this.#take(metadata.captureTime ?? now);
    });
  }

  #take(time) {
    if (time <= this.latest) return; // the same frame twice
    if (this.encoding.length >= AT_ONCE) {
      this.skipped++;
      return;
    }
    this.latest = time;
    const { video, canvas } = this;
    const scale = Math.min(1, SIDE / Math.max(video.videoWidth, video.videoHeight));
    const [width, height] = [Math.round(scale * video.videoWidth), Math.round(scale * video.videoHeight)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    canvas.getContext("2d", { alpha: false }).drawImage(video, 0, 0, width, height);
    const frame = { time, blob: null, done: false };
    this.encoding.push(frame);
    canvas.toBlob((blob) => this.#encoded(Object.assign(frame, { blob, done: true })), "image/jpeg", QUALITY);
  }

  /** Pass on encoded frames, in order. */
  #encoded() {
    while (this.encoding[0]?.done) {
      const frame = this.encoding.shift();
      if (this.signal.aborted || !frame.blob) continue;
      this.kept.push(frame);
      while (this.kept[0].time < frame.time - KEPT) this.kept.shift();
      this.onFrame(frame);
    }
  }
}

/** A film of frames for the player, cropped to the face ({x, y, side}); it stays in this browser. */
export async function filmOf(frames, face, timeOf) {
  const size = 256;
  const columns = 8;
  const sheet = Object.assign(document.createElement("canvas"), { width: columns * size, height: Math.ceil(frames.length / columns) * size });
  const context = sheet.getContext("2d", { alpha: false });
  const side = 1.35 * face.side;
  for (const [index, frame] of frames.entries()) {
    const picture = await createImageBitmap(frame.blob);
    const [x, y] = [(index % columns) * size, Math.floor(index / columns) * size];
    context.drawImage(picture, face.x - side / 2, face.y - side / 2, side, side, x, y, size, size);
    picture.close();
  }
  const blob = await new Promise((resolve) => sheet.toBlob(resolve, "image/jpeg", 0.88));
  const seconds = frames.map((frame) => timeOf(frame.time));
  return { sheet: URL.createObjectURL(blob), size, columns, frames: frames.map((frame) => frame.number), seconds };
}

/** Begin a session. `on` has a function for each of status, motion, movement and end({reason, problem}). */
export async function beginSession(options, on, signal) {
  const query = new URLSearchParams(options);
  const ticket = await fetchJson(`/api/live?${query}`, { method: "POST", signal });
  return new Session(ticket, on);
}

class Session {
  constructor(ticket, on) {
    this.ticket = ticket;
    this.on = on;
    this.waiting = []; // {time, blob}, time in ms of this page
    this.origin = null; // time of the first frame
    this.sent = 0;
    this.lost = 0; // frames that were never sent
    this.over = false;
    this.events = new EventSource(ticket.events);
    for (const name of EVENTS) {
      this.events.addEventListener(name, (event) => this.#receive(name, JSON.parse(event.data)));
    }
    this.events.addEventListener("error", () => {
      if (this.events.readyState === EventSource.CLOSED) this.#end({ reason: "", problem: LOST });
    });
    this.#sendAll();
  }

  /** Queue a frame: a JPEG and its time. */
  push(frame) {
    if (this.over) return;
    this.origin ??= frame.time;
    this.waiting.push(frame);
    if (frame.time - this.waiting[0].time <= LONGEST) return;
    const kept = this.waiting.filter((each) => each.time > frame.time - LONGEST / 2);
    this.lost += this.waiting.length - kept.length;
    this.waiting = kept;
  }

  /** The time of this page, in ms, at `seconds` of the session. */
  timeOf(seconds) {
    return this.origin + 1000 * seconds;
  }

  /** End the session; the server still sends the last movements. */
  stop() {
    if (this.stopped) return;
    this.stopped = true;
    const options = { method: "DELETE", keepalive: true };
    fetchJson(`/api/live/${this.ticket.id}`, options).catch(() => this.#end({ reason: "stopped", problem: null }));
  }

  /** Send waiting frames, one request at a time, so that they arrive in order. */
  async #sendAll() {
    while (!this.over && !this.stopped) {
      const frames = this.waiting.splice(0, MOST);
      if (!frames.length) {
        await pause(PAUSE);
        continue;
      }
      for (const frame of frames) frame.number = this.sent++; // as the server counts them
      const form = new FormData();
      frames.forEach((frame, number) => form.append("frames", frame.blob, `${number}.jpg`));
      form.append("times", frames.map((frame) => (frame.time - this.origin).toFixed(2)).join(","));
      try {
        await fetchJson(this.ticket.frames, { method: "POST", body: form });
      } catch (error) {
        if (!this.stopped) this.#end({ reason: "", problem: error instanceof Problem ? error : LOST });
        return;
      }
      await pause(PAUSE);
    }
  }

  #receive(name, data) {
    if (name === "end") this.#end(data);
    else if (!this.over) this.on[name](data);
  }

  #end(data) {
    if (this.over) return;
    this.over = true;
    this.events.close();
    this.on.end(data);
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
