// The decision: state, key frames, kind, emotion, action units and note; the model's proposal and other coders.

import { byId, element } from "/static/dom.js";
import { kind, percent, score, unitName, where, why } from "/static/format.js";
import { STATES, clockOf, decide, keyFrames, lastFrame, model, on, secondsOf, unsaved } from "./model.js";
import { show } from "./stage.js";

const NAMES = { accept: "Accept", reject: "Reject", unsure: "Unsure" };
const KEYS = { accept: "a", reject: "r", unsure: "u", onset: "q", apex: "w", offset: "e" };
const UNIT = /^([lr]?)(\d{1,2})([a-e]?)$/i;
const WAIT = 350; // ms after the last letter of a note until it is saved

const key = (letter) => element("kbd", {}, letter.toUpperCase());

/** Set onset, apex or offset; moves the others if needed, so that they stay in order. */
export function setKey(name, frame) {
  if (!model.detail) return;
  const frames = keyFrames();
  frames[name] = Math.min(Math.max(Math.round(frame), 0), lastFrame());
  if (name === "onset") frames.apex = Math.max(frames.apex, frames.onset);
  if (name === "offset") frames.apex = Math.min(frames.apex, frames.offset);
  frames.onset = Math.min(frames.onset, frames.apex);
  frames.offset = Math.max(frames.offset, frames.apex);
  const before = keyFrames();
  if (Object.keys(frames).some((each) => frames[each] !== before[each])) decide(frames);
}

export function setState(state) {
  if (model.detail) decide({ state });
}

export function setEmotion(place) {
  const word = model.study.emotions[place];
  if (model.detail && word !== undefined) decide({ emotion: model.detail.decision?.emotion === word ? "" : word });
}

export function toggleKind() {
  if (model.detail) decide({ kind: model.detail.decision?.kind === "macro" ? "micro" : "macro" });
}

/** The units in a text such as `4+L12B`; null if it is malformed. */
export function readUnits(text) {
  const parts = text.split(/[\s,+;]+/).filter(Boolean).map((part) => UNIT.exec(part));
  if (parts.some((part) => !part || Number(part[2]) === 0)) return null;
  const units = parts.map(([, side, number, intensity]) => ({ number: Number(number), side: { l: "left", r: "right" }[side.toLowerCase()] ?? "", intensity: intensity.toUpperCase() }));
  return new Set(units.map(({ number, side }) => `${side}${number}`)).size === units.length ? units : null;
}

export const unitsText = (units) => units.map(({ number, side, intensity }) => `${side ? side[0].toUpperCase() : ""}${number}${intensity}`).join("+");

function toggleUnit(number) {
  const units = model.detail.decision?.units ?? [];
  const has = units.some((unit) => unit.number === number);
  decide({ units: has ? units.filter((unit) => unit.number !== number) : [...units, { number, side: "", intensity: "" }].sort((a, b) => a.number - b.number) });
}

let drawnFor = null; // the movement of the panel
let noteTimer = 0;

function build() {
  const { detail } = model;
  drawnFor = detail.id;
  const press = (id, name, letter, click) => element("button", { type: "button", class: `button ${id}`, id: `set-${id}`, "aria-pressed": "false", "aria-keyshortcuts": letter, click }, name, key(letter));
  const number = (name) => element("input", { type: "number", id: `key-${name}`, min: 0, max: lastFrame(), "aria-label": `${name} (frame)`, change: ({ target }) => (target.value ? setKey(name, Number(target.value)) : (target.value = keyFrames()[name])) });
  const keyRow = (name) =>
    element(
      "div",
      { class: "key-row" },
      element("span", {}, name, key(KEYS[name])),
      number(name),
      element("span", { class: "note", id: `at-${name}` }),
      element("button", { type: "button", class: "button", click: () => setKey(name, model.frame), "aria-label": `Set the ${name} to this frame`, "aria-keyshortcuts": KEYS[name] }, "here"),
      element("button", { type: "button", class: "button", click: () => show(keyFrames()[name]), "aria-label": `Go to the ${name}`, "aria-keyshortcuts": `Shift+${KEYS[name]}` }, "go"),
    );
  const note = element("textarea", { id: "note", rows: 1, maxlength: 4000, placeholder: "Note" , "aria-label": "Note" });
  note.addEventListener("input", () => {
    const { id } = model.detail;
    clearTimeout(noteTimer);
    noteTimer = setTimeout(() => model.detail.id === id && decide({ note: note.value }), WAIT);
  });
  note.addEventListener("blur", () => note.value !== (model.detail.decision?.note ?? "") && (clearTimeout(noteTimer), decide({ note: note.value })));
  const units = element("input", { id: "units", placeholder: "for example 4+L12B", "aria-label": "Action units: number, L or R before it, A to E after it", "aria-describedby": "units-help", autocomplete: "off", spellcheck: "false" });
  const readable = () => {
    const coded = readUnits(units.value);
    units.setAttribute("aria-invalid", String(!coded));
    byId("units-help").textContent = coded ? coded.map((unit) => `${unitName(unit.number)}${unit.side ? `, ${unit.side}` : ""}`).join("; ") : "a number, with L or R before it and A to E after it";
    return coded;
  };
  units.addEventListener("input", readable);
  units.addEventListener("change", () => readable() && decide({ units: readable() }));
  byId("decision").replaceChildren(
    element("h2", { id: "decision-title" }, `${detail.source === "hand" ? "Marked" : "Movement"} at ${clockOf(detail.apex)}`),
    element("p", { class: "note about" }, about(detail)),
    element("div", { id: "others" }),
    element("div", { class: "states", role: "group", "aria-label": "Decision" }, STATES.map((state) => press(state, NAMES[state], KEYS[state], () => setState(state)))),
    element("div", { class: "keys" }, Object.keys(keyFrames()).map(keyRow)),
    element("div", { class: "line" }, element("span", { class: "note", id: "length" }), element("button", { type: "button", class: "button", id: "kind", "aria-keyshortcuts": "t", click: toggleKind })),
    element(
      "div",
      { class: "emotions", role: "group", "aria-label": "Emotion" },
      model.study.emotions.map((word, place) => element("button", { type: "button", class: "button", "data-emotion": word, "aria-pressed": "false", click: () => setEmotion(place) }, word, place < 9 ? key(String(place + 1)) : null)),
    ),
    element("div", { class: "units" }, units, element("p", { class: "note", id: "units-help" })),
    element(
      "div",
      { class: "unit-buttons", role: "group", "aria-label": "Action units" },
      model.study.units.map((unit) => element("button", { type: "button", class: "button", "data-unit": unit, title: unitName(unit), "aria-label": `${unit}, ${unitName(unit)}`, "aria-pressed": "false", click: () => toggleUnit(unit) }, String(unit))),
    ),
    note,
    element("div", { id: "proposal" }),
    element("p", { class: "note", id: "saved", role: "status" }),
  );
}

function about(detail) {
  if (detail.source === "hand") return `${detail.person} · marked by ${detail.by}`;
  const chance = `${percent(100 * detail.strength)} of the face · probability ${score(detail.probability)}`;
  const length = { reason: detail.rule, probability: 0, onset_s: secondsOf(detail.onset), offset_s: secondsOf(detail.offset) };
  return `${detail.person} · ${where(detail)} · ${chance}. ${detail.rule ? `Not reported (${kind(detail.rule)}): ${why(length)}` : "Reported by the spotter."}`;
}

function fill() {
  const { detail } = model;
  const held = detail.decision;
  const pressed = (node, is) => node.setAttribute("aria-pressed", String(Boolean(is)));
  for (const state of STATES) pressed(byId(`set-${state}`), held?.state === state);
  for (const [name, frame] of Object.entries(keyFrames())) {
    const input = byId(`key-${name}`);
    if (document.activeElement !== input) input.value = frame;
    byId(`at-${name}`).textContent = clockOf(frame, 2);
  }
  const { onset, offset } = keyFrames();
  byId("length").textContent = `${(secondsOf(offset) - secondsOf(onset)).toFixed(2)} s, ${offset - onset + 1} frames`;
  byId("kind").replaceChildren(held?.kind === "macro" ? "macro-expression" : "micro-expression", key("t"));
  for (const button of document.querySelectorAll("[data-emotion]")) pressed(button, held?.emotion === button.dataset.emotion);
  const units = held?.units ?? [];
  for (const button of document.querySelectorAll("[data-unit]")) pressed(button, units.some(({ number }) => number === Number(button.dataset.unit)));
  if (document.activeElement !== byId("units")) byId("units").value = unitsText(units);
  if (document.activeElement !== byId("note")) byId("note").value = held?.note ?? "";
  fillProposal(detail);
  fillOthers(detail);
  byId("saved").textContent = unsaved() ? "Saving …" : held ? "Saved" : "";
}

function fillProposal({ proposal, hidden, source }) {
  const box = byId("proposal");
  box.className = "proposal";
  if (hidden) return box.replaceChildren(element("p", { class: "note" }, "Blind: the model’s proposal is shown after you decide and, if you accept, name the emotion."));
  if (!proposal?.class) return box.replaceChildren(source === "hand" ? "" : element("p", { class: "note" }, "The model has no proposal."));
  const scores = Object.entries(proposal.scores).map(([name, value]) => `${name} ${score(value)}`).join(", ");
  const units = proposal.units.map((unit) => `${unit.number}${unit.side === "both" ? "" : ` ${unit.side}`} (${score(unit.probability)})`).join(", ");
  box.replaceChildren(
    element("h3", {}, "The model’s proposal"),
    element("p", {}, element("strong", {}, proposal.class), ` (${scores})`),
    element("p", {}, proposal.words),
    element("p", { class: "note" }, units ? `Units: ${units}` : "No unit above 0.3."),
  );
}

/** The decisions of the other coders, for adjudication. */
function fillOthers({ id, others }) {
  const disagreement = model.cases.get(id);
  const decisions = disagreement ? Object.entries(disagreement.decisions) : others.map((each) => [each.coder, each]);
  if (!model.study.adjudicates) return;
  const rows = decisions.map(([coder, each], place) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, coder),
      element("td", {}, each ? `${each.state}, ${each.kind}` : "no decision"),
      element("td", {}, each ? [each.emotion, unitsText(each.units), `${each.onset}–${each.apex}–${each.offset}`].filter(Boolean).join(" · ") : ""),
      element("td", {}, element("button", { type: "button", class: "button", click: () => takeFrom(place), "aria-keyshortcuts": `Shift+${place + 1}` }, "adopt", element("kbd", {}, `⇧${place + 1}`))),
    ),
  );
  byId("others").replaceChildren(element("h3", {}, disagreement ? `Coders differ in ${disagreement.differs.join(", ")}` : "Decisions of the coders"), element("table", { class: "coders" }, element("tbody", {}, rows)));
}

/** Decide as another coder did. */
export function takeFrom(place) {
  const { detail } = model;
  if (!model.study.adjudicates || !detail) return;
  const disagreement = model.cases.get(detail.id);
  const decisions = disagreement ? Object.values(disagreement.decisions) : detail.others;
  if (place >= decisions.length) return;
  const chosen = decisions[place];
  if (!chosen) return decide({ state: "reject" });
  const { state, onset, apex, offset, kind: what, emotion, units, note } = chosen;
  decide({ state, onset, apex, offset, kind: what, emotion, units, note });
}

on("detail", () => {
  if (!model.detail) return;
  if (drawnFor !== model.detail.id) build();
  fill();
});
on("times", () => model.detail && (build(), fill()));
on("idle", () => model.detail && fill());
on("problem", () => model.detail && byId("saved") && (byId("saved").textContent = unsaved() ? "Not saved yet" : ""));
