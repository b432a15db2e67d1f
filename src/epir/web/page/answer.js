// One result: the answer, the timeline, the evidence, rejected movements, marks by hand, and downloads.

import { element } from "./dom.js";
import { at, certainty, clock, counted, heading, inPageWords, labelClass, NOT_FOUND, percent, rangeOf, rejectedText, score, seconds, sentence, title, topClass, unitName } from "./format.js";
import { largestTrack, markPanel } from "./mark.js";
import { candidateList, definitions, rejectedList } from "./rejected.js";
import { replay } from "./replay.js";
import { lanesOf, timeline } from "./timeline.js";

const OVERLAYS = [
  ["why", "Why", "How much the score of this class falls when a part of the face is hidden. Numbers are shares of the total fall."],
  ["flow", "Flow", "How the skin moved from onset to apex. Colour and arrows give the direction. Head motion is removed."],
  ["tokens", "Tokens", "The paper’s method: patches of one colour were merged into one token. Thick, numbered outlines show the tokens that the heads selected."],
  ["rollout", "Attention", "The paper’s method: the share of attention that each patch gets through all layers, averaged over heads."],
];

/**
 * Fill `section` with a result. `truth` is known for examples; `clip` is the uploaded clip, if this page still has it;
 * `onMark(marks, files)` requests the answer for a span, `onDelete` deletes the result, `expires` is when the server does.
 */
export function showResult(section, id, result, { truth = null, clip = null, expires = null, onMark, onDelete }) {
  const { movements, rejected = [] } = result;
  const found = result.label !== NOT_FOUND;
  const curves = (result.curves ?? []).filter((each) => each.time.length);
  const eventOf = (movement) => curveOf(curves, movement)?.events.find((event) => event.frames[0] === movement.onset) ?? null;
  const strongest = Math.max(0, movements.findIndex((each) => each.onset === result.onset && each.apex === result.apex));
  const head = element("div", { class: "answer" });
  const spoken = element("p", { class: "visually-hidden", role: "status" }); // changes, for screen readers
  const faces = element("div");
  const spotted = curves.length > 0;
  const others = rejectedList(rejected);
  const likely = candidateList(result.candidates ?? []);
  const span = [0, result.seconds ?? 0];
  const onReject = (event, track) => others?.open(event, track);
  const curve = spotted ? timeline(curves, chooseEvent, { onReject, span, marked: largestTrack({ ...result, curves }) }) : null;
  const choices = movements.length > 1 ? movementChooser(movements, choose) : null;
  const marks = spotted ? markPanel({ ...result, curves }, curve, clip, onMark) : null;

  function choose(number) {
    const movement = movements[number] ?? result;
    const rank = number === strongest ? "Strongest" : `Number ${number + 1}`;
    const which = movements.length > 1 ? `${rank} of ${movements.length} movements` : null;
    head.replaceChildren(...answerHead(movement, which, truth, result));
    head.classList.toggle("alone", head.childElementCount < 2);
    spoken.textContent = [which, heading({ ...result, label: movement.label }), found && movement.text].filter(Boolean).join(". ");
    faces.replaceChildren(...(movements.length ? [evidence(movement, result)] : []));
    curve?.choose(eventOf(movement));
    choices?.querySelectorAll("input").forEach((radio, place) => (radio.checked = place === number));
  }
  function chooseEvent(event) {
    const number = movements.findIndex((movement) => eventOf(movement) === event);
    if (number >= 0) choose(number);
  }

  section.replaceChildren(
    ...[
      element("p", { class: "eyebrow" }, clipFacts(result, lanesOf(curves).length)),
      head,
      spoken,
      curve && element("h2", {}, found ? "When it moved" : "Motion over time"),
      curve,
      choices,
      !found && marks,
      found && element("h2", {}, "What moved"),
      faces,
      likely,
      others,
      found && marks,
      actions(id, result, found, onDelete),
      expires && element("p", { class: "note kept" }, keptUntil(expires)),
    ].filter(Boolean),
  );
  choose(strongest);
}

/** The curve of the person who moved. */
const curveOf = (curves, movement) => curves.find((each) => each.track === (movement?.track ?? 0)) ?? curves[0];

/** The film of the person who is visible longest. */
const longestFilm = (curves = []) => curves.reduce((a, b) => (b.time.length > (a?.time.length ?? 0) ? b : a), null)?.film ?? null;

function answerHead(movement, which, truth, { calibrated_on: calibratedOn, reliability = [], curves, rejected = [], visible = null }) {
  const film = longestFilm(curves);
  const found = movement.label !== NOT_FOUND;
  const shown = truth === "none" ? "no micro-expression" : truth;
  const text = element(
    "div",
    { class: "answer-text" },
    which && element("p", { class: "which" }, which),
    element("h1", { class: `label ${labelClass(movement.label)}`, id: "result-title", tabindex: "-1" }, heading({ label: movement.label, visible })),
    found && movement.text && element("p", { class: "moved" }, movement.text),
    element("p", { class: "certainty" }, certainty(movement, calibratedOn, reliability)),
    visible?.text && element("p", { class: "visible" }, visible.text),
    !found && rejected.length > 0 && element("p", { class: "truth" }, rejectedText(rejected)),
    truth && element("p", { class: "truth" }, `Truth: this synthetic face shows ${shown}.`),
    warnings(movement.warnings ?? []),
  );
  if (!found) return [text, film && replay(film, { label: "The face in the clip", playing: false })].filter(Boolean);
  const side = element("div", { class: "answer-side" }, scoreBars(movement.scores), units(movement.units ?? []), onRealPeople(movement, reliability));
  return [text, side];
}

/** The action units that are more likely than not, null if the model has none. */
function units(list) {
  if (!list.length) return null;
  const likely = list.filter((unit) => unit.probability >= 0.5);
  const named = likely.map(({ number, side, probability }) =>
    element(
      "li",
      {},
      element("span", {}, element("strong", {}, unitName(number)), element("small", {}, `AU ${number} · ${side === "both" ? "both sides" : `${side} side`}`)),
      element("span", {}, score(probability)),
    ),
  );
  return element(
    "div",
    { class: "units" },
    element("h2", {}, "Action units"),
    named.length ? element("ul", {}, named) : element("p", { class: "note" }, "None is more likely than not."),
  );
}

/** A table of accuracy on real people by score, with the range of this answer marked. */
function onRealPeople(movement, reliability) {
  if (!reliability.length) return null;
  const own = rangeOf(movement.scores[topClass(movement.scores)], reliability);
  const rows = reliability.map((range) =>
    element(
      "tr",
      { class: range === own ? "own" : "" },
      element("th", { scope: "row" }, `${range.low} to ${range.high}`),
      element("td", {}, `${Math.round(100 * range.right)} %`),
      element("td", {}, String(range.clips)),
    ),
  );
  const head = ["Score", "Right", "Answers"].map((name) => element("th", { scope: "col" }, name));
  return element(
    "details",
    { class: "reliability" },
    element("summary", {}, "How often is it right?"),
    element("table", {}, element("caption", {}, `On real people the model had not seen, in annotated clips${movement.probability === null ? "" : ", not spotted movements"}`), element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)),
  );
}

/** The replay of a movement beside the overlays, and below both its key frames and facts. */
function evidence(movement, result) {
  const { onset, apex, offset } = movement;
  const names = new Map([[offset, "offset"], [apex, "apex"], [onset, "onset"]]);
  const lasted = movement.offset_s !== null ? movement.offset_s - movement.onset_s : null;
  const several = new Set(result.movements.map((each) => each.track)).size > 1;
  const facts = [
    several && ["Person", String((movement.track ?? 0) + 1)],
    ["Onset", at(onset, movement.onset_s)],
    ["Apex", at(apex, movement.apex_s)],
    offset !== null && ["Offset", at(offset, movement.offset_s)],
    lasted !== null && ["Length", seconds(lasted)],
    movement.moved?.length && ["How far", `${percent(movement.strength ?? Math.max(...movement.moved.map(({ peak }) => peak)))} of the face’s width`],
    movement.probability !== null && ["Probability", `${score(movement.probability)} that it is a micro-expression`],
  ].filter(Boolean);
  const player = movement.replay && replay(movement.replay, { names, label: movement.text, begin: onset });
  const stills = keyFrames(movement);
  if (!stills) return element("div", { class: "movement" }, player, definitions(facts), element("p", { class: "note" }, "Only the strongest movements of a clip have pictures."));
  return element("div", { class: "movement" }, player, overlay(movement), stills, definitions(facts));
}

/** A list with one bar per class, in the model's order; the highest is highlighted. */
export function scoreBars(scores) {
  const top = topClass(scores);
  const rows = Object.entries(scores).map(([name, value]) => {
    const bar = element("i");
    bar.style.inlineSize = `${100 * value}%`;
    return element(
      "li",
      { class: name === top ? "top-score" : "" },
      element("span", { class: "name" }, name),
      element("span", { class: "value" }, score(value)),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
    );
  });
  return element("ul", { class: "bars", "aria-label": "Calibrated scores" }, rows);
}

/** The warnings about an answer, null if there are none. */
export function warnings(list) {
  if (!list.length) return null;
  return element("ul", { class: "warnings" }, list.map((each) => element("li", {}, sentence(inPageWords(each)))));
}

function clipFacts(result, people) {
  const parts = [result.input];
  if (people) {
    parts.push(counted(result.frames, "frame"), result.seconds && seconds(result.seconds));
    parts.push(`${Number(result.fps.toPrecision(4))} frames per second`, people > 1 && `${people} people`);
  }
  return parts.filter(Boolean).join(" · ");
}

/** The movements as radio buttons. */
function movementChooser(movements, choose) {
  const several = new Set(movements.map((each) => each.track)).size > 1;
  const options = movements.map((movement, number) => {
    const person = several ? `person ${(movement.track ?? 0) + 1}` : null;
    const facts = [person, at(movement.apex, movement.apex_s), score(Math.max(...Object.values(movement.scores)))];
    return element(
      "label",
      {},
      element("input", { type: "radio", name: "movement", value: number, change: () => choose(number) }),
      element("span", {}, element("strong", {}, title(movement.label)), element("small", {}, facts.filter(Boolean).join(" · "))),
    );
  });
  return element("fieldset", { class: "movements" }, element("legend", { class: "visually-hidden" }, "Movements"), options);
}

function actions(id, result, found, onDelete) {
  const link = new URL(`/r/${id}`, location.href).href;
  const copy = element("button", { type: "button", class: "button" }, "Copy link");
  copy.addEventListener("click", async () => {
    copy.textContent = (await copyText(link)) ? "Link copied" : link;
    setTimeout(() => (copy.textContent = "Copy link"), 4000);
  });
  const picture = found ? "why.png" : "timeline.png";
  const drawn = result.pictures?.[found ? "why" : "timeline"];
  return element(
    "p",
    { class: "actions" },
    element("a", { class: "button primary", href: "/", "data-route": true }, "Another clip"),
    drawn && element("a", { class: "button", href: drawn, download: picture }, found ? "Explanation (PNG)" : "Timeline (PNG)"),
    result.table && element("a", { class: "button", href: result.table, download: "events.csv" }, "Table (CSV)"),
    element("a", { class: "button", href: `/api/results/${id}` }, "JSON"),
    copy,
    element("button", { type: "button", class: "button quiet", click: onDelete }, "Delete result"),
  );
}

function keptUntil(expires) {
  return `The clip has been deleted. This result and its pictures will be deleted at ${clock(expires)}, or when you delete them. Until then, anyone who has the link and can reach this server can see them.`;
}

/** Copy text; false without a clipboard, as on a page without https. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Onset and apex of one movement; null if it has no pictures. */
function keyFrames(movement) {
  const { pictures } = movement;
  if (!pictures?.onset) return null;
  const onset = still(pictures.onset, "Onset", at(movement.onset, movement.onset_s), "The face before it moves");
  const apex = still(pictures.apex, "Apex", at(movement.apex, movement.apex_s), "The face at its strongest");
  return element("div", { class: "keyframes" }, onset, apex);
}

function still(source, name, place, alt) {
  return element(
    "figure",
    { class: "keyframe" },
    element("img", { src: source, alt: `${alt}, ${place}`, width: 320, height: 320 }),
    element("span", { class: "ruler", "aria-hidden": "true" }),
    element("figcaption", {}, element("strong", {}, name), element("span", {}, place), element("small", {}, "Bar: 10 % of the face’s width")),
  );
}

/** The Why map in words: the regions whose hiding lowers the score most. */
function whyText({ label, regions }) {
  const falls = Object.entries(regions).filter(([, fall]) => fall > 0).sort((a, b) => b[1] - a[1]);
  if (!falls.length) return `hiding a single region does not lower the score of ${label}`;
  const [[first, most], ...others] = falls.slice(0, 3).map(([name, fall]) => [name, percent(100 * fall)]);
  const then = others.length ? `, then ${others.map(([name, fall]) => `${name} (${fall})`).join(" and ")}` : "";
  return `the score of ${label} falls most without the ${first} (by ${most})${then}`;
}

/** One picture with a choice of overlays. */
function overlay({ pictures, scales = {}, text: moved, attribution = null }) {
  const choices = OVERLAYS.filter(([key]) => pictures[key]);
  if (!choices.length) return null;
  const image = element("img", { width: 320, height: 320 });
  const scale = element("div", { class: "scale" });
  const note = element("p", { class: "note" });
  const choose = ([key, name, text]) => {
    image.src = pictures[key];
    image.alt = [`${name} on the face`, key === "why" && attribution ? whyText(attribution) : moved].filter(Boolean).join(": ");
    scale.replaceChildren(...scaleOf(key, scales[key]));
    note.textContent = text;
  };
  const group = `overlay-${Math.random().toString(36).slice(2)}`;
  const options = choices.map((choice, number) =>
    element(
      "label",
      {},
      element("input", { type: "radio", name: group, value: choice[0], checked: number === 0, change: () => choose(choice) }),
      element("span", {}, choice[1]),
    ),
  );
  choose(choices[0]);
  const switches = element("fieldset", { class: "switch" }, element("legend", { class: "visually-hidden" }, "Overlay"), options);
  return element("figure", { class: "keyframe overlay" }, switches, image, element("figcaption", {}, scale, note));
}

/** The colour scale of a picture. */
function scaleOf(key, most) {
  const bar = (name, low, high) => [element("span", {}, low), element("i", { class: `bar ${name}`, "aria-hidden": "true" }), element("span", {}, high)];
  if (key === "flow" && most) return [element("i", { class: "wheel", "aria-hidden": "true" }), element("span", {}, `Hue: direction. Full colour: ${percent(most)} of the face’s width.`)];
  if (key === "why" && most) return bar("falls", `rises by ${percent(most)}`, `falls by ${percent(most)}`);
  if (key === "rollout" && most) return bar("heat", "0 %", `${percent(most)} of all attention`);
  return [];
}
