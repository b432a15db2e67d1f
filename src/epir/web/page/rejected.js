// Movements that were rejected: a list in which each can be opened, with its replay and the reason.

import { element } from "./dom.js";
import { at, counted, kind, percent, title, where, why } from "./format.js";
import { replay } from "./replay.js";

const FIRST = 8; // that are listed at once

/** A section with the rejected movements, null if there are none; its method `open(event)` opens one. */
export function rejectedList(rejected) {
  if (!rejected.length) return null;
  const items = rejected.map(entry);
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
    element("p", { class: "note" }, "What moved, but is no micro-expression. Open one to see it and why."),
    element("div", {}, items),
    items.length > FIRST ? more : null,
  );
  section.open = (event) => {
    const item = items[rejected.findIndex((each) => each.onset === event.frames[0] && each.apex === event.frames[1])];
    if (!item) return;
    if (item.hidden) showAll();
    item.open = true;
    item.querySelector("summary").focus();
    item.scrollIntoView({ block: "nearest" });
  };
  return section;
}

function entry(movement) {
  const { onset, apex, offset, onset_s, apex_s, offset_s } = movement;
  const body = element("div", { class: "why" });
  const item = element(
    "details",
    { class: "entry" },
    element("summary", {}, element("strong", {}, title(kind(movement.reason))), element("span", {}, at(apex, apex_s)), element("span", {}, where(movement))),
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
      ["How far", `${percent(100 * movement.strength)} of the face’s width`],
    ];
    body.append(
      movement.replay
        ? replay(movement.replay, { names, begin: apex, label: `The face during this movement: ${kind(movement.reason)}` })
        : element("p", { class: "note" }, "Only the strongest rejected movements of a clip have a replay."),
      element("div", {}, element("p", { class: "reason" }, why(movement)), definitions(facts)),
    );
  });
  return item;
}

/** Names and values, side by side. */
export function definitions(pairs) {
  return element("dl", { class: "facts" }, pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}
