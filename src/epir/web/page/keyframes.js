// Onset and apex of one movement, and what lies over the face: each picture with its legend and its scale.

import { element } from "./dom.js";
import { at, percent } from "./format.js";

const OVERLAYS = [
  ["why", "Why", "How far the score of this class falls without each part of the face. Numbers are shares of all falls."],
  ["flow", "Flow", "How the skin moved from onset to apex. Colour and arrows give the direction. Head motion is removed."],
  ["tokens", "Tokens", "The paper’s method: patches of one colour were merged into one token. Thick outlines with numbers are the tokens that the heads selected."],
  ["rollout", "Attention", "The paper’s method: the share of attention that each patch gets through all layers, mean of the heads."],
];

/** The pictures of one movement. */
export function keyFrames(movement) {
  const { pictures } = movement;
  if (!pictures?.onset) return [element("p", { class: "note" }, "Only the strongest movements of a clip have pictures.")];
  const onset = still(pictures.onset, "Onset", at(movement.onset, movement.onset_s), "The face before it moves");
  const apex = still(pictures.apex, "Apex", at(movement.apex, movement.apex_s), "The face at its strongest");
  return [element("div", { class: "keyframes" }, onset, apex, overlay(movement))];
}

function still(source, name, place, alt) {
  return element(
    "figure",
    { class: "keyframe" },
    element("img", { src: source, alt: `${alt}, ${place}`, width: 320, height: 320 }),
    element("span", { class: "ruler", "aria-hidden": "true" }),
    element("figcaption", {}, element("strong", {}, name), element("span", {}, place), element("small", {}, "Bar: 10 % of the face’s width")),
  );
}

/** One picture with a choice of overlays. */
function overlay({ pictures, scales = {}, text: moved }) {
  const choices = OVERLAYS.filter(([key]) => pictures[key]);
  if (!choices.length) return null;
  const image = element("img", { width: 320, height: 320 });
  const scale = element("div", { class: "scale" });
  const note = element("p", { class: "note" });
  const choose = ([key, name, text]) => {
    image.src = pictures[key];
    image.alt = [`${name} on the face`, moved].filter(Boolean).join(": ");
    scale.replaceChildren(...scaleOf(key, scales[key]));
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
  return element("figure", { class: "keyframe overlay" }, switches, image, element("figcaption", {}, scale, note));
}

/** The scale of a picture: what its colours stand for. */
function scaleOf(key, most) {
  const bar = (name, low, high) => [element("span", {}, low), element("i", { class: `bar ${name}`, "aria-hidden": "true" }), element("span", {}, high)];
  if (key === "flow" && most) return [element("i", { class: "wheel", "aria-hidden": "true" }), element("span", {}, `Hue: direction. Full colour: ${percent(most)} of the face’s width.`)];
  if (key === "why" && most) return bar("falls", `rises by ${percent(most)}`, `falls by ${percent(most)}`);
  if (key === "rollout" && most) return bar("heat", "0 %", `${percent(most)} of all attention`);
  return [];
}
