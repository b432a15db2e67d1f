// A clip on its way: sent, waiting, looked at. What the user sees meanwhile.

import { ask } from "./api.js";
import { find } from "./dom.js";
import { stage } from "./words.js";

const SHORT = 250;
const LONG = 1000;

/** Show that a clip of this name is being sent; the share of it goes from 0 to 1. */
export function showSending(name, share = null) {
  find("working-name").textContent = name;
  show("Sending the clip", share, share === null ? "" : `${Math.round(100 * share)} %`);
}

/** Wait for a result. Gives back {result} or {error} as the server says it; `signal` stops the waiting. */
export async function follow(id, signal) {
  for (let turn = 0; ; turn++) {
    const status = await ask(`/api/results/${encodeURIComponent(id)}`, { signal });
    if (status.state === "done" || status.state === "failed") return status;
    const known = status.state === "running" && status.total > 1;
    show(stage(status), known ? status.done / status.total : null, known ? `Frame ${status.done} of ${status.total}` : "");
    await pause(turn < 8 ? SHORT : LONG, signal);
  }
}

function show(words, share, count) {
  const line = find("working-words");
  const bar = find("working-bar");
  if (line.textContent !== words) line.textContent = words;
  if (share === null) bar.removeAttribute("value");
  else bar.value = share;
  find("working-count").textContent = count;
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });
}
