// Onset and apex of one movement side by side, and the flow, tokens or attention over the face.

import { element } from "./dom.js";
import { seconds } from "./format.js";

const OVERLAYS = [
  ["why", "Why", "Where the score would fall most if that part of the face were hidden. Numbers are shares of all falls."],
  ["flow", "Flow", "How the skin moved from onset to apex: colour and arrows give the direction. Head motion is removed."],
  ["tokens", "Tokens", "What the paper's method looked at: patches of one colour were merged into one token. Thick outlines mark the tokens the model selected."],
  ["rollout", "Attention", "What the paper's method looked at: how much attention each patch gets through all layers, averaged over the heads."],
];

/** The pictures of one movement; `event` has its times in seconds, null if they are not known. */
export function keyFrames(movement, event) {
  const { pictures } = movement;
  if (!pictures) return [];
  if (!pictures.onset) return [element("p", { class: "note" }, "Only the strongest movements of a clip have pictures.")];
  const onset = keyFrame(pictures.onset, "Onset", event && seconds(event.onset), "The face before it moves");
  const apex = keyFrame(pictures.apex, "Apex", event && seconds(event.apex), "The face at its strongest");
  return [element("div", { class: "keyframes" }, onset, flippable(apex, pictures), overlay(pictures, movement.text))];
}

function keyFrame(source, name, time, alt) {
  return element(
    "figure",
    { class: "keyframe" },
    element("img", { src: source, alt, width: 320, height: 320 }),
    element("figcaption", {}, element("strong", {}, name), time && element("span", {}, time)),
  );
}

/** The apex with a button that alternates it with the onset twice a second, so that the movement is visible. */
function flippable(figure, pictures) {
  const image = figure.querySelector("img");
  const caption = figure.querySelector("figcaption strong");
  let timer = 0;
  const show = (name) => {
    image.src = pictures[name];
    caption.textContent = name === "onset" ? "Onset" : "Apex";
  };
  const button = element("button", { type: "button", class: "flip", "aria-pressed": "false" }, "Flip");
  button.title = "Alternate between onset and apex";
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

/** One picture with a choice of overlays; `moved` says in words what moved. */
function overlay(pictures, moved) {
  const choices = OVERLAYS.filter(([key]) => pictures[key]);
  if (!choices.length) return null;
  const image = element("img", { width: 320, height: 320 });
  const note = element("p", { class: "note" });
  const choose = ([key, name, text]) => {
    image.src = pictures[key];
    image.alt = [`${name} on the face`, moved].filter(Boolean).join(": ");
    note.textContent = text;
  };
  const group = `overlay-${Math.random().toString(36).slice(2)}`;
  const options = choices.map((choice, number) =>
    element(
      "label",
      {},
      element("input", { type: "radio", name: group, value: choice[0], checked: number === 0, change: () => choose(choice) }),
      element("span", {}, choice[1]),
    ),
  );
  choose(choices[0]);
  const switches = element("fieldset", { class: "switch" }, element("legend", { class: "visually-hidden" }, "Overlay"), options);
  return element("figure", { class: "keyframe overlay" }, image, element("figcaption", {}, switches), note);
}
