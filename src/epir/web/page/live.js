// One camera session with the server: frames go up in order, events come back. Nothing is dropped without being counted.

import { fetchJson, Problem } from "./api.js";

const EVENTS = ["status", "motion", "movement", "end"];
const LONGEST = 4000; // ms of frames that may wait to be sent; beyond, the older half is dropped
const MOST = 30; // frames in one request
const PAUSE = 30; // ms between two requests, so that several frames go together

const LOST = new Problem("the connection to the server was lost", "check that epir serve is still running");

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
    this.lost = 0; // frames that never went up
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

  /** Take a frame: a JPEG and its time. */
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

  /** Let the server finish with what it has; its last movements still come. */
  stop() {
    if (this.stopped) return;
    this.stopped = true;
    const options = { method: "DELETE", keepalive: true };
    fetchJson(`/api/live/${this.ticket.id}`, options).catch(() => this.#end({ reason: "stopped", problem: null }));
  }

  /** Send what waits, one request at a time, so that frames cannot overtake each other. */
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
