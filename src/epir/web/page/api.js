// Calls to the REST API of this server. Every error is a Problem with a fix.

const FIRST_POLLS = 8;
const FAST = 250; // ms between the first polls
const SLOW = 1000;

export class Problem extends Error {
  constructor(problem, fix, { status = 0, retry = 0, about = "" } = {}) {
    super(problem);
    Object.assign(this, { problem, fix, status, retry, about });
  }
}

const NO_RESPONSE = new Problem("the server does not respond", "check that epir serve is still running, then try again");

/** The JSON of a response; `null` for 204. */
export async function fetchJson(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw NO_RESPONSE;
  }
  const body = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw problemOf(response.status, body, response.headers.get("Retry-After"));
  return body;
}

/** POST a form; `onProgress` gets the fraction sent so far, `signal` aborts. */
export function postForm(path, form, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => reject(NO_RESPONSE);
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    request.onload = () => {
      if (request.status < 300 && request.response) resolve(request.response);
      else reject(problemOf(request.status, request.response, request.getResponseHeader("Retry-After")));
    };
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

/** Wait for a job to end and return its status; `onStatus` gets each state before that, `signal` stops waiting. */
export async function waitForJob(id, signal, onStatus) {
  for (let poll = 0; ; poll++) {
    const status = await fetchJson(`/api/results/${encodeURIComponent(id)}`, { signal });
    if (status.state === "done" || status.state === "failed") return status;
    onStatus(status);
    await pause(poll < FIRST_POLLS ? FAST : SLOW, signal);
  }
}

function problemOf(status, body, retry) {
  const problem = body?.problem ?? `the server responded with status ${status}`;
  const fix = body?.fix ?? "try again; if it happens again, see the output of epir serve";
  return new Problem(problem, fix, { status, retry: Number(retry) || 0 });
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
