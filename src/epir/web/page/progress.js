// A clip on its way: sending, waiting, running. Polls the job and shows its progress.

import { fetchJson } from "./api.js";
import { byId } from "./dom.js";
import { stage } from "./format.js";

const FIRST_POLLS = 8;
const FAST = 250; // ms between the first polls
const SLOW = 1000;

/** Show that a clip is being sent; `fraction` goes from 0 to 1. */
export function showSending(name, fraction = null) {
  byId("working-name").textContent = name;
  show("Sending the clip", fraction, fraction === null ? "" : `${Math.round(100 * fraction)} %`);
}

/** Show the state of a job. */
export function showStatus(status) {
  if (status.name) byId("working-name").textContent = status.name;
  const known = status.state === "running" && status.total > 1;
  show(stage(status), known ? Math.min(1, status.done / status.total) : null, known ? `Frame ${status.done} of ${status.total}` : "");
}

/** Wait for a job to end and return its status; `signal` stops waiting, `onStatus` gets its state until then. */
export async function waitForJob(id, signal, onStatus) {
  for (let poll = 0; ; poll++) {
    const status = await fetchJson(`/api/results/${encodeURIComponent(id)}`, { signal });
    if (status.state === "done" || status.state === "failed") return status;
    onStatus(status);
    await pause(poll < FIRST_POLLS ? FAST : SLOW, signal);
  }
}

function show(text, fraction, count) {
  const line = byId("working-text");
  const bar = byId("working-bar");
  if (line.textContent !== text) line.textContent = text; // screen readers announce every change
  if (fraction === null) bar.removeAttribute("value");
  else bar.value = fraction;
  byId("working-count").textContent = count;
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });
}
