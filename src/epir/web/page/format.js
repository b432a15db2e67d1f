// Values as text. Pure functions.

export const UNCERTAIN = "uncertain";
export const NOT_FOUND = "no micro-expression found";
export const MACRO = "macro"; // a longer expression
const SLOW = 0.02; // share of skipped frames above which the server or the browser is too slow
const LONGEST = 0.5; // seconds from onset to offset of a micro-expression

const STAGES = {
  reading: "Reading the clip",
  spotting: "Looking for movements",
  filming: "Cutting out the face",
  drawing: "Drawing the pictures",
  rendering: "Rendering the example",
};

const KINDS = { [MACRO]: "long expression", head: "head movement", unclear: "not clear enough" }; // others read well

const REASONS = {
  blink: () => "The eyes closed, or the skin around them moved with a blink.",
  head: () => "The head moved too much: with its motion removed, the motion of the face is uncertain.",
  light: () => "The light on the face changed, which looks like motion.",
  occlusion: () => "Something covered part of the face.",
  "too large": () => "It is too large for a micro-expression.",
  "too long": (length) => `It lasted ${seconds(length)}. A micro-expression takes at most ${LONGEST} s.`,
  "too short": (length) => `It lasted ${seconds(length)}, which is too short to tell from noise.`,
  speech: () => "The mouth kept moving before or after it, as in speaking or chewing.",
  gaze: () => "The eyelids only followed the eyes as the gaze shifted.",
  "inside a macro-expression": () => "It is part of a longer expression.",
  "return of an expression": () => "The face did not return to where it started: an expression began or ended.",
  [MACRO]: (length) => `It lasted ${seconds(length)}: an expression, but longer than the ${LONGEST} s of a micro-expression.`,
};

// The names of the Facial Action Coding System.
const UNITS = {
  1: "inner brow raiser", 2: "outer brow raiser", 4: "brow lowerer", 5: "upper lid raiser", 6: "cheek raiser", 7: "lid tightener",
  9: "nose wrinkler", 10: "upper lip raiser", 12: "lip corner puller", 14: "dimpler", 15: "lip corner depressor", 17: "chin raiser",
  20: "lip stretcher", 23: "lip tightener", 24: "lip pressor", 25: "lips part", 26: "jaw drop",
};

// Advice in brackets that names an option of the command line, and the same for this page.
const OPTIONS = [
  [/\([^()]*--fps[^()]*\)/, "(give it under Settings)"],
  [/\([^()]*--faces[^()]*\)/, "(choose all faces under Settings)"],
];

/** A message of the recognizer in the words of this page. */
export const inPageWords = (message) => OPTIONS.reduce((text, [option, words]) => text.replace(option, words), String(message));

/** The name of an action unit. */
export const unitName = (number) => title(UNITS[number] ?? `action unit ${number}`);

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
export const percent = (value) => `${Number(value.toPrecision(2))} %`;

/** A value as a CSV cell, with an apostrophe before text that a spreadsheet would run as a formula. */
export function csvCell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A note about camera frames that `who` skipped, null if none; a few are always lost. */
export function skippedNote(who, count, total, gaps) {
  if (!count) return null;
  const frames = `${counted(count, "frame")} of ${total} skipped${gaps ? "" : "; no gap"}`;
  return count > SLOW * total ? `${who} is too slow for this camera (${frames})` : frames;
}

/** A place in a clip: its frame, and its time if known. */
export const at = (frame, time) => (time === null || time === undefined ? `frame ${frame}` : `frame ${frame} · ${seconds(time)}`);

export function bytes(count) {
  return count >= 2 ** 20 ? `${Math.round(count / 2 ** 20)} MB` : `${Math.max(1, Math.round(count / 1024))} KB`;
}

/** A duration in words: 30 minutes, 1 hour. */
export function duration(count) {
  const minutes = Math.round(count / 60);
  if (minutes < 1) return counted(Math.round(count), "second");
  return minutes % 60 ? counted(minutes, "minute") : counted(minutes / 60, "hour");
}

/** A time of day, on this machine's clock. */
export const clock = (date, more = {}) => new Date(date).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...more });

/** The same to the second. */
export const exactClock = (date) => clock(date, { second: "2-digit" });

/** The class with the highest score, or null. */
export function topClass(scores) {
  const names = Object.keys(scores ?? {});
  return names.length ? names.reduce((a, b) => (scores[b] > scores[a] ? b : a)) : null;
}

/** The entry of `reliability` whose range of scores contains a score; undefined if none. */
export function rangeOf(value, reliability) {
  return reliability.find(({ low, high }) => low <= value && (value < high || high === 1));
}

/** The title of an answer. If nothing could be judged, "no micro-expression found" would claim too much. */
export function heading({ label, visible = null }) {
  return label === NOT_FOUND && visible?.judged_s === 0 ? "Could not be judged" : title(label);
}

/** How certain an answer is, in words: the accuracy on real people if it is known for annotated key frames, and the score. */
export function certainty(answer, calibratedOn = "people", reliability = []) {
  const name = topClass(answer.scores);
  if (!name) return "No movement was both short and clear enough to be reported.";
  const value = score(answer.scores[name]);
  const spotted = answer.probability !== null && answer.probability !== undefined;
  if (spotted) {
    const chance = `A micro-expression with a probability of ${score(answer.probability)}`;
    if (answer.label !== UNCERTAIN) return `${chance}; if it is one, ${name} with a score of ${value}.`;
    const doubt = answer.probability < 0.5 ? "" : `, but its score is only ${value}`;
    return `${chance}; if it is one, most likely ${name}${doubt}.`;
  }
  const known = rangeOf(answer.scores[name], reliability);
  const real = known && `On real people the model had not seen, ${Math.round(100 * known.right)} of 100 annotated clips with such a score were classified correctly.`;
  if (answer.label === UNCERTAIN) return [real, `Most likely ${name}, but its score is only ${value}.`].filter(Boolean).join(" ");
  if (real) return `${real} Score ${value}.`;
  const share = Math.round(100 * answer.scores[name]);
  const right = share > 98 ? "nearly all" : `about ${share} of 100`;
  const people = calibratedOn === "people";
  const caution = people ? "" : " Expect fewer on real faces.";
  return `Score ${value}: ${right} such answers were correct on ${people ? "people" : "synthetic faces"} the model had not seen.${caution}`;
}

/** The name of a reason for rejection. */
export const kind = (reason) => KINDS[reason] ?? reason;

/** Why a movement was rejected, as a sentence. */
export function why(rejected) {
  const length = rejected.offset_s - rejected.onset_s;
  if (REASONS[rejected.reason]) return REASONS[rejected.reason](length);
  const likely = rejected.probability > 0 ? ` It is a micro-expression with a probability of ${score(rejected.probability)}.` : "";
  return `It did not stand out enough from the usual motion of this face.${likely}`;
}

/** How many movements were rejected, and why. */
export function rejectedText(rejected) {
  const counts = new Map();
  for (const { reason } of rejected) counts.set(kind(reason), (counts.get(kind(reason)) ?? 0) + 1);
  const kinds = [...counts].map(([name, count]) => (count > 1 ? `${name} (${count})` : name));
  return `${counted(rejected.length, "movement")} ${rejected.length === 1 ? "was" : "were"} rejected: ${kinds.join(", ")}.`;
}

/** Where a movement was: the region and the person's side. */
export function where({ region, side }) {
  return side === "left" || side === "right" ? `${side} ${region}` : region;
}

/** The state of a job, as text above the progress bar. */
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
