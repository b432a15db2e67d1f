// The scores of all classes as bars, the highest marked.

import { make } from "./dom.js";
import { best, score } from "./words.js";

/** A list with one bar per class, in the model's order. */
export function bars(scores) {
  const top = best(scores);
  const rows = Object.entries(scores).map(([name, value]) => {
    const bar = make("i");
    bar.style.inlineSize = `${100 * value}%`;
    return make(
      "li",
      { class: name === top ? "top-score" : "" },
      make("span", { class: "name" }, name),
      make("span", { class: "value" }, score(value)),
      make("span", { class: "track", "aria-hidden": "true" }, bar),
    );
  });
  return make("ul", { class: "bars", "aria-label": "Calibrated scores" }, rows);
}
