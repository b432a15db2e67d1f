// The movements of a camera: a list with replays, and tables to save. All of it stays in this browser.

import { byId, element, save } from "./dom.js";
import { csvCell, exactClock, labelClass, score, title, topClass } from "./format.js";
import { replay } from "./replay.js";

const WITH_FILM = 40; // latest movements whose frames are kept
const COLUMNS = ["status", "file", "movement", "track", "onset", "apex", "offset", "onset_s", "apex_s", "offset_s", "fps", "class"];
const MORE = ["probability", "units", "strength", "region", "side", "head", "text", "reason", "warnings", "clock"];

/** The history below the camera. `add` takes a movement, when it happened, and its film, if there is one. */
export class History {
  constructor() {
    this.entries = [];
    byId("camera-csv").addEventListener("click", () => save("movements.csv", "text/csv", csv(this.entries)));
    byId("camera-json").addEventListener("click", () => save("movements.json", "application/json", this.json()));
    byId("camera-forget").addEventListener("click", () => this.clear());
    this.facts = () => ({});
    this.#show();
  }

  add(movement, clock, film) {
    const entry = { movement, clock, film };
    this.entries.push(entry);
    const old = this.entries[this.entries.length - 1 - WITH_FILM];
    if (old) this.#dropFilm(old);
    entry.item = this.#item(entry);
    byId("camera-history-list").prepend(entry.item);
    this.#show();
  }

  clear() {
    for (const entry of this.entries) this.#dropFilm(entry);
    this.entries = [];
    byId("camera-history-list").replaceChildren();
    byId("camera-replay").replaceChildren();
    this.#show();
    byId("camera-title").focus();
  }

  json() {
    const movements = this.entries.map(({ movement, clock }) => ({ ...movement, clock: clock.toISOString() }));
    return JSON.stringify({ ...this.facts(), movements }, null, 2);
  }

  #show() {
    byId("camera-history").hidden = !this.entries.length;
  }

  #dropFilm(entry) {
    if (entry.film) URL.revokeObjectURL(entry.film.sheet);
    entry.film = null;
    entry.item?.querySelector("button")?.remove();
  }

  #item(entry) {
    const { movement, clock } = entry;
    const top = topClass(movement.scores);
    const button = element("button", { type: "button", class: "button", click: () => this.#replay(entry) }, "Replay");
    return element(
      "li",
      {},
      element("span", { class: "when" }, exactClock(clock)),
      element("span", { class: `what ${labelClass(movement.label)}` }, title(movement.label), top ? ` ${score(movement.scores[top])}` : ""),
      element("span", { class: "note" }, movement.text),
      entry.film ? button : element("span", { class: "note" }, "no replay"),
    );
  }

  #replay({ film, movement, clock }) {
    const names = new Map(["onset", "apex", "offset"].map((name) => [movement[name], name]));
    const label = `${title(movement.label)} at ${exactClock(clock)}`;
    const heading = element("h3", { tabindex: "-1" }, label);
    byId("camera-replay").replaceChildren(heading, replay(film, { names, label }));
    heading.focus();
  }
}

/** One row for each movement, with the columns of `epir predict --out`: events.csv. */
export function csv(entries) {
  const classes = [...new Set(entries.flatMap(({ movement }) => Object.keys(movement.scores)))];
  const heads = [...COLUMNS, ...classes.map((each) => `p_${each}`), ...MORE];
  const rows = entries.map(({ movement, clock }, number) => {
    const moved = movement.moved?.[0] ?? {};
    const values = {
      ...movement,
      status: "reported",
      file: "camera",
      movement: number + 1,
      class: movement.label,
      ...Object.fromEntries(classes.map((each) => [`p_${each}`, movement.scores[each]])),
      units: unitsText(movement.units ?? []),
      region: movement.region || moved.region,
      side: movement.side || moved.side,
      warnings: movement.warnings.join("; "),
      clock: clock.toISOString(),
    };
    return heads.map((name) => csvCell(values[name])).join(",");
  });
  return `${[heads.join(","), ...rows].join("\n")}\n`;
}

function unitsText(units) {
  const letters = { both: "", left: "L", right: "R" };
  const active = units.filter((each) => each.probability >= 0.5).sort((a, b) => a.number - b.number);
  return active.map((each) => `${letters[each.side]}${each.number}`).join("+");
}

