// One result: the answer in words first, then the scores, the timeline, the frames, and what can be taken away.

import { bars } from "./bars.js";
import { make } from "./dom.js";
import { keyFrames } from "./keyframes.js";
import { timeline } from "./timeline.js";
import { certainty, counted, kind, NOT_FOUND, score, seconds, sentence, title } from "./words.js";

/** Fill `place` with the result of `id`. `truth` is known for examples; `onForget` is called to drop the result. */
export function showResult(place, id, result, { truth = null, onForget }) {
  const { movements } = result;
  const events = result.curve?.events ?? [];
  const eventOf = (movement) => events.find((event) => event.frames?.[0] === movement?.onset) ?? null;
  const strongest = Math.max(0, movements.findIndex((each) => each.onset === result.onset && each.apex === result.apex));
  const head = make("div", { class: "answer", "aria-live": "polite" });
  const faces = make("div");
  const spotted = Boolean(result.curve?.time?.length);
  const curve = spotted ? timeline(result.curve, chooseEvent) : null;
  const choices = movements.length > 1 ? chooser(movements, eventOf, choose) : null;

  function choose(number) {
    const movement = movements[number] ?? result;
    const rank = number === strongest ? "Strongest" : `Number ${number + 1}`;
    const which = movements.length > 1 ? `${rank} of ${movements.length} movements` : null;
    head.replaceChildren(...answerWords(movement, which, truth, result.judged_on));
    head.classList.toggle("alone", head.childElementCount < 2);
    faces.replaceChildren(...keyFrames(movement, eventOf(movement)));
    curve?.choose(eventOf(movement));
    choices?.querySelectorAll("input").forEach((radio, at) => (radio.checked = at === number));
  }
  function chooseEvent(event) {
    const number = movements.findIndex((movement) => eventOf(movement) === event);
    if (number >= 0) choose(number);
  }

  place.replaceChildren(
    ...[
      make("p", { class: "eyebrow" }, described(result, spotted)),
      head,
      curve && make("h2", {}, movements.length ? "When it moved" : "How it moved"),
      curve,
      choices,
      movements.length > 0 && make("h2", {}, "What moved"),
      faces,
      takeAway(id, result, onForget),
    ].filter(Boolean),
  );
  choose(strongest);
}

function answerWords(movement, which, truth, judgedOn) {
  const found = movement.label !== NOT_FOUND;
  const drawn = truth === "none" ? "no micro-expression" : truth;
  const words = make(
    "div",
    { class: "answer-words" },
    which && make("p", { class: "which" }, which),
    make("h1", { class: `label ${kind(movement.label)}`, id: "result-title", tabindex: "-1" }, title(movement.label)),
    make("p", { class: "certainty" }, certainty(movement, judgedOn)),
    truth && make("p", { class: "truth" }, `This invented face was drawn to show: ${drawn}.`),
    warnings(movement.warnings ?? []),
  );
  return found ? [words, bars(movement.scores)] : [words];
}

/** What weakens an answer, null where nothing does. */
export function warnings(list) {
  if (!list.length) return null;
  return make("ul", { class: "warnings" }, list.map((each) => make("li", {}, sentence(each))));
}

function described(result, spotted) {
  const parts = [result.input];
  if (spotted) {
    parts.push(counted(result.frames, "frame"), seconds(result.seconds));
    parts.push(`${Number(result.fps.toPrecision(4))} frames a second`);
  }
  return parts.filter(Boolean).join(" · ");
}

/** The movements as a list of choices: arrow keys move through it. */
function chooser(movements, eventOf, choose) {
  const options = movements.map((movement, number) => {
    const event = eventOf(movement);
    const facts = [event && seconds(event.apex), score(Math.max(...Object.values(movement.scores)))];
    return make(
      "label",
      {},
      make("input", { type: "radio", name: "movement", value: number, change: () => choose(number) }),
      make("span", {}, make("strong", {}, title(movement.label)), make("small", {}, facts.filter(Boolean).join(" · "))),
    );
  });
  return make("fieldset", { class: "movements" }, make("legend", { class: "unseen" }, "Movements"), options);
}

function takeAway(id, result, onForget) {
  const link = new URL(`/r/${id}`, location.href).href;
  const copy = make("button", { type: "button", class: "button" }, "Copy the link");
  copy.addEventListener("click", async () => {
    copy.textContent = (await copied(link)) ? "Link copied" : link;
    setTimeout(() => (copy.textContent = "Copy the link"), 4000);
  });
  const found = result.label !== NOT_FOUND;
  const picture = found ? "why.png" : "timeline.png";
  const words = found ? "Picture of why" : "Picture of the timeline";
  return make(
    "p",
    { class: "actions" },
    make("a", { class: "button primary", href: "/", "data-route": true }, "Another clip"),
    make("a", { class: "button", href: `/api/results/${id}/${picture}`, download: picture }, words),
    make("a", { class: "button", href: `/api/results/${id}` }, "JSON"),
    copy,
    make("button", { type: "button", class: "button quiet", click: onForget }, "Forget it"),
  );
}

/** Put text on the clipboard; a page that is not secure has none, and shows the text instead. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
