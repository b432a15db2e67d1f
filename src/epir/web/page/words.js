// Values as words. Pure functions.

export const UNCERTAIN = "uncertain";
export const NOT_FOUND = "no micro-expression found";

const STAGES = {
  reading: "Reading the clip",
  spotting: "Looking for movements",
  drawing: "Drawing the pictures",
  rendering: "Drawing the example",
};

/** A message as a sentence: a capital first, unless it begins with a file's name, and a stop at the end. */
export function sentence(words) {
  const text = String(words ?? "").trim();
  if (!text) return "";
  const first = text.split(/\s/, 1)[0];
  const begun = /^[a-z][a-z'-]*[,:;]?$/.test(first) ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export const title = (words) => (words ? words[0].toUpperCase() + words.slice(1) : "");
export const score = (value) => value.toFixed(2);
export const seconds = (value) => `${value.toFixed(2)} s`;
export const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

export function bytes(count) {
  return count >= 2 ** 20 ? `${Math.round(count / 2 ** 20)} MB` : `${Math.max(1, Math.round(count / 1024))} KB`;
}

/** The class with the highest score, or null. */
export function best(scores) {
  const names = Object.keys(scores ?? {});
  return names.length ? names.reduce((a, b) => (scores[b] > scores[a] ? b : a)) : null;
}

/** What stands under the answer: how sure it is, in words. */
export function certainty(answer, judgedOn = "people") {
  const name = best(answer.scores);
  if (!name) return "Nothing moved that was short enough and strong enough. That is an answer too.";
  const value = score(answer.scores[name]);
  if (answer.label === UNCERTAIN) return `Most likely ${name}, but its score is only ${value}.`;
  const hundred = Math.round(100 * answer.scores[name]);
  const share = hundred > 98 ? "nearly all" : `about ${hundred} of 100`;
  const real = judgedOn === "people" ? "" : " On real ones expect fewer.";
  return `Score ${value}: ${share} such answers were right on ${judgedOn} the model had not seen.${real}`;
}

/** Where a clip stands, for the line above the progress bar. */
export function stage(status) {
  if (status.state === "queued") {
    return status.place > 1 ? `Waiting: number ${status.place} in the queue` : "Waiting: next in the queue";
  }
  return STAGES[status.stage] ?? (status.stage ? title(status.stage) : "Reading the clip");
}

/** How an answer is shown: sure, unsure, or none. */
export function kind(label) {
  return label === NOT_FOUND ? "none" : label === UNCERTAIN ? "unsure" : "sure";
}
