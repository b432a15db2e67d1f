// Rejected movements: a list whose entries open to show the replay and the reason.

import { element } from "./dom.js";
import { at, counted, kind, percent, score, title, where, why } from "./format.js";
import { replay } from "./replay.js";

const FIRST = 8; // entries listed at first

/** A section with the rejected movements, null if there are none; its method `open(event)` opens one. */
export function rejectedList(rejected) {
  if (!rejected.length) return null;
  const several = new Set(rejected.map((each) => each.track)).size > 1;
  const items = rejected.map((each) => entry(each, several));
  const more = element("button", { type: "button", class: "button quiet" }, `Show all ${rejected.length}`);
  const showAll = () => {
    for (const item of items) item.hidden = false;
    more.remove();
  };
  more.addEventListener("click", () => (showAll(), items[FIRST].querySelector("summary").focus()));
  items.slice(FIRST).forEach((item) => (item.hidden = true));
  const section = element(
    "section",
    { class: "rejected" },
    element("h2", {}, `Rejected: ${counted(rejected.length, "movement")}`),
    element("p", { class: "note" }, "These movements are not micro-expressions. Open one to see it and the reason."),
    element("div", { class: "entries" }, items),
    items.length > FIRST ? more : null,
  );
  section.open = (event, track) => {
    const isIt = (each) => each.track === track && each.onset === event.frames[0] && each.apex === event.frames[1];
    const item = items[rejected.findIndex(isIt)];
    if (!item) return;
    if (item.hidden) showAll();
    item.open = true;
    item.querySelector("summary").focus();
    item.scrollIntoView({ block: "nearest" });
  };
  return section;
}

/** A section with the candidates, the most probable first, null if there are none. */
export function candidateList(candidates) {
  if (!candidates.length) return null;
  const ranked = [...candidates].sort((a, b) => b.probability - a.probability);
  const rows = ranked.map((each) => {
    const units = each.units.filter((unit) => unit.probability >= 0.5).map((unit) => unit.number);
    const cells = [score(each.probability), kind(each.rule), at(each.apex, each.apex_s), each.class, units.join(", "), where(each), percent(each.strength), percent(each.head), each.text];
    return element("tr", {}, cells.map((cell) => element("td", {}, cell)));
  });
  const head = ["Probability", "Rule", "Apex", "Class", "AU", "Where", "How far", "Head", "What moved"].map((name) => element("th", { scope: "col" }, name));
  return element(
    "details",
    { class: "candidates" },
    element("summary", {}, ranked.length === 1 ? "Worth a look: the most probable movement that was not reported" : `Worth a look: the ${ranked.length} most probable movements that were not reported`),
    element("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Candidates" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows))),
  );
}

function entry(movement, several) {
  const { onset, apex, offset, onset_s, apex_s, offset_s } = movement;
  const body = element("div", { class: "why" });
  const item = element(
    "details",
    { class: "entry" },
    element("summary", {}, element("strong", {}, title(kind(movement.reason))), element("span", {}, at(apex, apex_s)), element("span", {}, where(movement)), element("span", {}, chance(movement))),
    body,
  );
  item.addEventListener("toggle", () => {
    if (!item.open || body.childElementCount) return;
    const names = new Map([[onset, "onset"], [apex, "apex"], [offset, "offset"]]);
    const facts = [
      ["Onset", at(onset, onset_s)],
      ["Apex", at(apex, apex_s)],
      ["Offset", at(offset, offset_s)],
      ["Where", title(where(movement))],
      ["How far", `${percent(movement.strength)} of the face’s width`],
      hasProbability(movement) && ["Probability", `${score(movement.probability)} that it is a micro-expression, by its motion alone`],
      several && ["Person", String(movement.track + 1)],
    ].filter(Boolean);
    body.append(
      movement.replay
        ? replay(movement.replay, { names, begin: apex, label: `The face during this movement: ${kind(movement.reason)}` })
        : element("p", { class: "note" }, "Only the strongest rejected movements of a clip have a replay."),
      element("div", {}, element("p", { class: "reason" }, why(movement)), definitions(facts)),
    );
  });
  return item;
}

const hasProbability = ({ probability }) => probability !== null && probability !== undefined;
const chance = (movement) => (hasProbability(movement) ? `${score(movement.probability)} by motion alone` : "");

/** Names and values, side by side. */
export function definitions(pairs) {
  return element("dl", { class: "facts" }, pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}
