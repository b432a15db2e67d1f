// Onset and apex of one movement side by side, and what the model made of them.

import { make } from "./dom.js";
import { seconds } from "./words.js";

const OVERLAYS = [
  ["flow", "Flow", "Where the skin went from onset to apex: colour and arrows give the direction. The head's own motion is taken off."],
  ["tokens", "Tokens", "Patches of one colour were merged into one token; the thick frames are the tokens the heads chose."],
  ["rollout", "Attention", "How much attention reaches each patch through all layers, as the mean of the heads."],
];

/** The pictures of one movement; `event` has its times in seconds, null where it was not spotted. */
export function keyFrames(movement, event) {
  const { pictures } = movement;
  if (!pictures) return [];
  if (!pictures.onset) return [make("p", { class: "note" }, "Only the strongest movements of a clip have pictures.")];
  const onset = shot(pictures.onset, "Onset", event && seconds(event.onset), "The face before it moves");
  const apex = shot(pictures.apex, "Apex", event && seconds(event.apex), "The face at its strongest");
  return [make("div", { class: "keyframes" }, onset, flippable(apex, pictures), overlay(pictures))];
}

function shot(source, name, time, words) {
  return make(
    "figure",
    { class: "shot" },
    make("img", { src: source, alt: words, width: 320, height: 320 }),
    make("figcaption", {}, make("strong", {}, name), time && make("span", {}, time)),
  );
}

/** The apex with a button that turns it into the onset and back, twice a second: the eye sees what moved. */
function flippable(figure, pictures) {
  const image = figure.querySelector("img");
  const caption = figure.querySelector("figcaption strong");
  let timer = 0;
  const show = (name) => {
    image.src = pictures[name];
    caption.textContent = name === "onset" ? "Onset" : "Apex";
  };
  const button = make("button", { type: "button", class: "flip", "aria-pressed": "false" }, "Flip");
  button.title = "Show onset and apex in turn";
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    clearInterval(timer);
    show("apex");
    if (!on) return;
    let turn = 0;
    timer = setInterval(() => {
      if (!button.isConnected) return clearInterval(timer);
      show(++turn % 2 ? "onset" : "apex");
    }, 500);
  });
  figure.querySelector("figcaption").append(button);
  return figure;
}

/** One picture with a choice of what is laid over the face. */
function overlay(pictures) {
  const choices = OVERLAYS.filter(([key]) => pictures[key]);
  if (!choices.length) return null;
  const image = make("img", { width: 320, height: 320 });
  const words = make("p", { class: "note" });
  const choose = ([key, name, text]) => {
    image.src = pictures[key];
    image.alt = `${name} on the face`;
    words.textContent = text;
  };
  const group = `overlay-${Math.random().toString(36).slice(2)}`;
  const options = choices.map((choice, number) =>
    make(
      "label",
      {},
      make("input", { type: "radio", name: group, value: choice[0], checked: number === 0, change: () => choose(choice) }),
      make("span", {}, choice[1]),
    ),
  );
  choose(choices[0]);
  const switches = make("fieldset", { class: "switch" }, make("legend", { class: "unseen" }, "Laid over the face"), options);
  return make("figure", { class: "shot overlay" }, image, make("figcaption", {}, switches), words);
}
