// The list of candidates: sorted and filtered; only visible rows are drawn.

import { byId, element } from "/static/dom.js";
import { kind, percent, where } from "/static/format.js";
import { STATES, clockOf, emit, model, on, openMovement } from "./model.js";

const HEIGHT = 46; // px of a row
const MARKS = { accept: "✓", reject: "✕", unsure: "?", draft: "…", "": "" };
const WORDS = { accept: "accepted", reject: "rejected", unsure: "unsure", draft: "started", "": "not decided" };
const box = () => byId("rows");
let visible = [];

const choice = (id) => byId(id).value;
export const isDecided = (row) => STATES.includes(row.state);

/** Reported candidates first, unless this study has a learnt ranking; then by probability. */
function byProbability(a, b) {
  const rank = (row) => (row.source === "hand" ? -1 : model.study.learnt || !row.rule ? 0 : 1);
  return rank(a) - rank(b) || (b.probability ?? 0) - (a.probability ?? 0) || a.id - b.id;
}

const ORDERS = {
  probability: byProbability,
  time: (a, b) => a.recording - b.recording || a.frames[1] - b.frames[1],
  strength: (a, b) => b.strength - a.strength,
  region: (a, b) => a.region.localeCompare(b.region) || byProbability(a, b),
};

/** The rows to review: the most probable per minute of each recording, reported and decided ones, and marks by hand. */
export function reviewed() {
  const depth = Number(choice("depth"));
  if (!depth) return model.rows;
  const chosen = new Set();
  for (const recording of model.study.recordings) {
    const rows = model.rows.filter((row) => row.recording === recording.id && row.source !== "hand").sort(byProbability);
    const done = recording.state === "done" ? recording.seconds : recording.spotted / recording.fps;
    for (const row of rows.slice(0, Math.max(1, Math.round((depth * done) / 60)))) chosen.add(row);
  }
  return model.rows.filter((row) => chosen.has(row) || !row.rule || isDecided(row));
}

function passes(row) {
  const [state, rule, region] = ["state", "rule", "region"].map(choice);
  const right = { open: !isDecided(row), hand: row.source === "hand", differs: model.cases.has(row.id) && row.state === "" }[state];
  return (
    (!state || (right ?? row.state === state)) &&
    (!rule || (rule === "none" ? !row.rule : row.rule === rule)) &&
    (!region || row.region === region) &&
    row.strength >= (row.source === "hand" ? 0 : Number(choice("strength")))
  );
}

/** Rebuild the list; `keep` keeps rows that no longer pass the filter, so that nothing jumps while a coder decides. */
export function refresh({ keep = false } = {}) {
  if (!keep) visible = reviewed().filter(passes).sort(ORDERS[choice("sort")]);
  fillChoices();
  byId("list-count").textContent = `${visible.length} of ${model.rows.length}`;
  box().firstElementChild.style.height = `${visible.length * HEIGHT}px`;
  draw();
}

function fillChoices() {
  const fill = (id, values, word) => {
    const select = byId(id);
    const known = new Set([...select.options].map(({ value }) => value));
    for (const value of values) if (value && !known.has(value)) select.append(element("option", { value }, word(value)));
  };
  fill("rule", [...new Set(model.rows.map(({ rule }) => rule))].sort(), kind);
  fill("region", [...new Set(model.rows.map(({ region }) => region))].sort(), (name) => name);
}

function draw() {
  const list = box();
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
  const count = Math.ceil(list.clientHeight / HEIGHT) + 8;
  const rows = visible.slice(first, first + count).map((row, place) => drawRow(row, first + place));
  list.replaceChildren(list.firstElementChild, ...rows);
  const current = model.detail && visible.some(({ id }) => id === model.detail.id) ? `row-${model.detail.id}` : "";
  if (current) list.setAttribute("aria-activedescendant", current);
  else list.removeAttribute("aria-activedescendant");
}

function drawRow(row, place) {
  const isMark = row.source === "hand";
  const about = isMark ? "marked by hand" : row.rule ? kind(row.rule) : "reported";
  const recording = choice("recording") ? "" : `${model.study.recordings.find(({ id }) => id === row.recording)?.person} · `;
  const time = row.recording === model.recording?.id ? clockOf(row.frames[1]) : `frame ${row.frames[1]}`;
  const differs = model.cases.has(row.id) ? `differ: ${model.cases.get(row.id).differs.join(", ")}` : "";
  const open = (event) => {
    event.preventDefault();
    box().focus(); // a field that is left saves its value
    openMovement(row.id).catch((problem) => emit("problem", problem));
  };
  const node = element(
    "div",
    {
      id: `row-${row.id}`, role: "option", class: `row ${row.state || "open"}${row.rule ? " ruled" : ""}`, "aria-posinset": place + 1, "aria-setsize": visible.length,
      "aria-selected": String(row.id === model.detail?.id),
      mousedown: (event) => event.button === 0 && open(event), // saving draws the list anew, and then no click would come
      click: (event) => event.detail === 0 && open(event), // without a mouse, by a screen reader
    },
    element("span", { class: "sign", "aria-hidden": "true" }, MARKS[row.state]),
    element("span", { class: "visually-hidden" }, `${WORDS[row.state]}, `),
    element("strong", {}, `${recording}${time}`),
    element("span", { class: "what" }, [where(row), row.emotion].filter(Boolean).join(" · ") || "—"),
    element("span", { class: "chance" }, isMark ? "" : row.probability.toFixed(2)),
    element("small", {}, differs || about),
    element("small", { class: "far" }, isMark ? "" : percent(100 * row.strength)),
  );
  node.style.top = `${place * HEIGHT}px`;
  return node;
}

function scrollTo(place) {
  const list = box();
  const top = place * HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
}

/** Go to the next row of the list (1), the previous row (-1), or the next undecided row. */
export async function go(way, { open = false } = {}) {
  const at = visible.findIndex(({ id }) => id === model.detail?.id);
  const rows = way > 0 ? visible.slice(at + 1) : visible.slice(0, Math.max(at, 0)).reverse();
  const next = open ? (rows.find((row) => !isDecided(row)) ?? visible.find((row) => !isDecided(row))) : rows[0];
  if (next) await openMovement(next.id);
  else emit("message", open ? "Everything in this list is decided." : "This is the end of the list.");
}

export const firstRow = () => visible.find((row) => !isDecided(row)) ?? visible[0];

/** The progress of the review, in words. */
export function reviewText() {
  if (model.study.adjudicates) {
    const cases = model.rows.filter(({ id }) => model.cases.has(id));
    return `Settled ${cases.filter(isDecided).length} of ${cases.length} differences`;
  }
  const rows = reviewed().filter((row) => row.source !== "hand");
  const done = rows.filter(isDecided).length;
  const left = model.pace && rows.length > done ? Math.max(1, Math.round((model.pace * (rows.length - done)) / 60)) : 0;
  const time = left ? `, about ${left >= 100 ? `${Math.round(left / 60)} hours` : `${left} minute${left === 1 ? "" : "s"}`} left` : "";
  return `Reviewed ${done} of ${rows.length}${time}`;
}

on("detail", () => {
  const place = visible.findIndex(({ id }) => id === model.detail?.id);
  if (place >= 0) scrollTo(place);
  draw();
});

/** Wire the list to the page. */
export function setUpList() {
  box().addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(box());
  for (const id of ["sort", "depth", "state", "rule", "region", "strength"]) byId(id).addEventListener("change", () => (refresh(), emit("review")));
}
