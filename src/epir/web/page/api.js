// The REST of this server. Whatever goes wrong comes out as a Problem with words and a fix.

export class Problem extends Error {
  constructor(problem, fix, { status = 0, retry = 0 } = {}) {
    super(problem);
    Object.assign(this, { problem, fix, status, retry });
  }
}

const SILENT = new Problem("the server does not answer", "see whether epir serve is still running, then try again");

/** JSON from the server; `null` where it answers without words. */
export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw SILENT;
  }
  const words = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw problemOf(response.status, words, response.headers.get("Retry-After"));
  return words;
}

/** Send a form; `onShare` hears the share of it that has left. `signal` stops it. */
export function send(path, form, onShare, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onShare(event.loaded / event.total);
    request.onerror = () => reject(SILENT);
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    request.onload = () => {
      if (request.status < 300 && request.response) resolve(request.response);
      else reject(problemOf(request.status, request.response, request.getResponseHeader("Retry-After")));
    };
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

function problemOf(status, words, retry) {
  const problem = words?.problem ?? `the server answered ${status}`;
  const fix = words?.fix ?? "try again; if it stays so, look at what epir serve prints";
  return new Problem(problem, fix, { status, retry: Number(retry) || 0 });
}
