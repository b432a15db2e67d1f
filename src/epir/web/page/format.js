// Values as text. Pure functions.

export const UNCERTAIN = "uncertain";
export const NOT_FOUND = "no micro-expression found";

const STAGES = {
  reading: "Reading the clip",
  spotting: "Looking for movements",
  drawing: "Drawing the pictures",
  rendering: "Rendering the example",
};

/** A message as a sentence: capitalised, unless it begins with a file name, and with a full stop. */
export function sentence(message) {
  const text = String(message ?? "").trim();
  if (!text) return "";
  const first = text.split(/\s/, 1)[0];
  const capitalised = /^[a-z][a-z'-]*[,:;]?$/.test(first) ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(capitalised) ? capitalised : `${capitalised}.`;
}

export const title = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");
export const score = (value) => value.toFixed(2);
export const seconds = (value) => `${value.toFixed(2)} s`;
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

export function bytes(count) {
  return count >= 2 ** 20 ? `${Math.round(count / 2 ** 20)} MB` : `${Math.max(1, Math.round(count / 1024))} KB`;
}

/** The class with the highest score, or null. */
export function topClass(scores) {
  const names = Object.keys(scores ?? {});
  return names.length ? names.reduce((a, b) => (scores[b] > scores[a] ? b : a)) : null;
}

/** One sentence on how certain an answer is. */
export function certainty(answer, calibratedOn = "people", reliability = []) {
  const name = topClass(answer.scores);
  if (!name) return "No movement was both short and strong enough.";
  const value = score(answer.scores[name]);
  if (answer.label === UNCERTAIN) return `Most likely ${name}, but its score is only ${value}.`;
  const known = reliability.find(({ low, high }) => low <= answer.scores[name] && (answer.scores[name] < high || high === 1));
  if (known) {
    const right = Math.round(100 * known.right);
    return `Score ${value}: on real people the model had not seen, ${right} % of ${known.clips} answers with a score from ${known.low} to ${known.high} were correct.`;
  }
  const percent = Math.round(100 * answer.scores[name]);
  const share = percent > 98 ? "nearly all" : `about ${percent} of 100`;
  const real = calibratedOn === "people";
  const caution = real ? "" : " Expect fewer on real faces.";
  return `Score ${value}: ${share} such answers were correct on ${real ? "people" : "synthetic faces"} the model had not seen.${caution}`;
}

/** The state of a job, for the line above the progress bar. */
export function stage(status) {
  if (status.state === "queued") {
    return status.place > 1 ? `Waiting: number ${status.place} in the queue` : "Waiting: next in the queue";
  }
  return STAGES[status.stage] ?? (status.stage ? title(status.stage) : STAGES.reading);
}

/** The CSS class of an answer: sure, unsure or none. */
export function labelClass(label) {
  return label === NOT_FOUND ? "none" : label === UNCERTAIN ? "unsure" : "sure";
}
