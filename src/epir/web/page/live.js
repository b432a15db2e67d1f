// What the camera's part of the page says about the last seconds.

import { warnings } from "./answer.js";
import { bars } from "./bars.js";
import { find, make } from "./dom.js";
import { timeline } from "./timeline.js";
import { best, kind, NOT_FOUND, score, sentence, title } from "./words.js";

const SLOW = 50; // frames a second under which a micro-expression may be missed

/** Show the answer of the server, the rate of the camera and how long the answer took. */
export function tell(answer, rate, latency) {
  const found = answer.label !== NOT_FOUND;
  const top = best(answer.scores);
  find("camera-answer").replaceChildren(
    make("p", { class: `label ${kind(answer.label)}` }, found ? title(answer.label) : "Still"),
    make("p", { class: "certainty" }, liveWords(answer, top)),
    ...(top ? [bars(answer.scores)] : []),
  );
  if (found) find("camera-status").textContent = `${title(answer.label)}${top ? `, ${score(answer.scores[top])}` : ""}`;
  figures(rate, latency);
  const words = (answer.warnings ?? []).filter((each) => !each.includes("frame rate"));
  if (rate < SLOW) {
    words.unshift(`the camera gives ${Math.round(rate)} frames a second: under ${SLOW}, a micro-expression may be missed`);
  }
  find("camera-warnings").replaceChildren(...(warnings(words)?.children ?? []));
  if (answer.curve?.time?.length) find("camera-curve").replaceChildren(timeline(answer.curve));
}

function liveWords(answer, top) {
  if (!top) return "No micro-expression in the last two seconds.";
  const value = score(answer.scores[top]);
  return answer.label === top ? `Score ${value}` : `Most likely ${top}, but its score is only ${value}.`;
}

/** Frames without a face, or a server that is busy, are no reason to stop. */
export function tellNothing(words, error) {
  find("camera-answer").replaceChildren(
    make("p", { class: "label none" }, words),
    make("p", { class: "certainty" }, `${sentence(error.problem)} ${sentence(error.fix)}`),
  );
  find("camera-warnings").replaceChildren();
}

function figures(rate, latency) {
  const rows = [
    ["Frames a second", String(Math.round(rate))],
    ["Answer after", `${(latency / 1000).toFixed(1)} s`],
  ];
  const pairs = rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  find("camera-figures").replaceChildren(...pairs);
}

/** Leave nothing of the last answer. */
export function clear() {
  for (const id of ["camera-answer", "camera-figures", "camera-curve", "camera-warnings"]) find(id).replaceChildren();
  find("camera-status").textContent = "";
}
