// One result: the answer first, then the scores, the timeline, the key frames and the downloads.

import { element } from "./dom.js";
import { certainty, counted, labelClass, NOT_FOUND, score, seconds, sentence, title, topClass } from "./format.js";
import { keyFrames } from "./keyframes.js";
import { timeline } from "./timeline.js";

/** Fill `section` with a result. `truth` is known for examples; `onDelete` is called to delete the result. */
export function showResult(section, id, result, { truth = null, onDelete }) {
  const { movements } = result;
  const events = result.curve?.events ?? [];
  const eventOf = (movement) => events.find((event) => event.frames?.[0] === movement?.onset) ?? null;
  const strongest = Math.max(0, movements.findIndex((each) => each.onset === result.onset && each.apex === result.apex));
  const head = element("div", { class: "answer", "aria-live": "polite" });
  const faces = element("div");
  const spotted = Boolean(result.curve?.time?.length);
  const curve = spotted ? timeline(result.curve, chooseEvent) : null;
  const choices = movements.length > 1 ? movementChooser(movements, eventOf, choose) : null;

  function choose(number) {
    const movement = movements[number] ?? result;
    const rank = number === strongest ? "Strongest" : `Number ${number + 1}`;
    const which = movements.length > 1 ? `${rank} of ${movements.length} movements` : null;
    head.replaceChildren(...answerHead(movement, which, truth, result));
    head.classList.toggle("alone", head.childElementCount < 2);
    faces.replaceChildren(...(movements.length ? keyFrames(movement, eventOf(movement)) : []));
    curve?.choose(eventOf(movement));
    choices?.querySelectorAll("input").forEach((radio, at) => (radio.checked = at === number));
  }
  function chooseEvent(event) {
    const number = movements.findIndex((movement) => eventOf(movement) === event);
    if (number >= 0) choose(number);
  }

  section.replaceChildren(
    ...[
      element("p", { class: "eyebrow" }, clipFacts(result, spotted)),
      head,
      curve && element("h2", {}, movements.length ? "When it moved" : "Movement over time"),
      curve,
      choices,
      movements.length > 0 && element("h2", {}, "What moved"),
      faces,
      actions(id, result, onDelete),
    ].filter(Boolean),
  );
  choose(strongest);
}

function answerHead(movement, which, truth, { judged_on: calibratedOn, reliability }) {
  const found = movement.label !== NOT_FOUND;
  const shown = truth === "none" ? "no micro-expression" : truth;
  const text = element(
    "div",
    { class: "answer-text" },
    which && element("p", { class: "which" }, which),
    element("h1", { class: `label ${labelClass(movement.label)}`, id: "result-title", tabindex: "-1" }, title(movement.label)),
    found && movement.text && element("p", { class: "moved" }, movement.text),
    units(movement.units ?? []),
    element("p", { class: "certainty" }, certainty(movement, calibratedOn, reliability)),
    truth && element("p", { class: "truth" }, `Truth: this synthetic face shows ${shown}.`),
    warnings(movement.warnings ?? []),
  );
  return found ? [text, scoreBars(movement.scores)] : [text];
}

/** The action units that are more likely than not, null if the model names none. */
function units(list) {
  const named = list
    .filter((unit) => unit.probability >= 0.5)
    .map((unit) => `${unit.side === "both" ? "" : `${unit.side} `}${unit.number} (${score(unit.probability)})`);
  return named.length ? element("p", { class: "units" }, `Action units: ${named.join(", ")}`) : null;
}

/** A list with one bar per class, in the model's order, the highest highlighted. */
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
  return element("ul", { class: "warnings" }, list.map((each) => element("li", {}, sentence(each))));
}

function clipFacts(result, spotted) {
  const parts = [result.input];
  if (spotted) {
    parts.push(counted(result.frames, "frame"), seconds(result.seconds));
    parts.push(`${Number(result.fps.toPrecision(4))} frames per second`);
  }
  return parts.filter(Boolean).join(" · ");
}

/** The movements as radio buttons. */
function movementChooser(movements, eventOf, choose) {
  const options = movements.map((movement, number) => {
    const event = eventOf(movement);
    const facts = [event && seconds(event.apex), score(Math.max(...Object.values(movement.scores)))];
    return element(
      "label",
      {},
      element("input", { type: "radio", name: "movement", value: number, change: () => choose(number) }),
      element("span", {}, element("strong", {}, title(movement.label)), element("small", {}, facts.filter(Boolean).join(" · "))),
    );
  });
  return element("fieldset", { class: "movements" }, element("legend", { class: "visually-hidden" }, "Movements"), options);
}

function actions(id, result, onDelete) {
  const link = new URL(`/r/${id}`, location.href).href;
  const copy = element("button", { type: "button", class: "button" }, "Copy link");
  copy.addEventListener("click", async () => {
    copy.textContent = (await copyText(link)) ? "Link copied" : link;
    setTimeout(() => (copy.textContent = "Copy link"), 4000);
  });
  const found = result.label !== NOT_FOUND;
  const picture = found ? "why.png" : "timeline.png";
  return element(
    "p",
    { class: "actions" },
    element("a", { class: "button primary", href: "/", "data-route": true }, "Another clip"),
    element("a", { class: "button", href: `/api/results/${id}/${picture}`, download: picture }, found ? "Explanation (PNG)" : "Timeline (PNG)"),
    element("a", { class: "button", href: `/api/results/${id}` }, "JSON"),
    copy,
    element("button", { type: "button", class: "button quiet", click: onDelete }, "Delete result"),
  );
}

/** Copy text; false where there is no clipboard, as on a page without https. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
