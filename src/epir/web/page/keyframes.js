// Onset and apex of one movement, and what lies over the face: each picture with its legend and its scale.

import { element } from "./dom.js";
import { at, percent } from "./format.js";

const OVERLAYS = [
  ["why", "Why", "How far the score of this class falls without each part of the face. Numbers are shares of all falls."],
  ["flow", "Flow", "How the skin moved from onset to apex. Colour and arrows give the direction. Head motion is removed."],
  ["tokens", "Tokens", "The paper’s method: patches of one colour were merged into one token. Thick outlines with numbers are the tokens that the heads selected."],
  ["rollout", "Attention", "The paper’s method: the share of attention that each patch gets through all layers, mean of the heads."],
];

/** Onset and apex of one movement; null if it has no pictures. */
export function keyFrames(movement) {
  const { pictures } = movement;
  if (!pictures?.onset) return null;
  const onset = still(pictures.onset, "Onset", at(movement.onset, movement.onset_s), "The face before it moves");
  const apex = still(pictures.apex, "Apex", at(movement.apex, movement.apex_s), "The face at its strongest");
  return element("div", { class: "keyframes" }, onset, apex);
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

/** What the Why map shows, in words: the regions without which the score falls most. */
export function whyText({ label, regions }) {
  const falls = Object.entries(regions).filter(([, fall]) => fall > 0).sort((a, b) => b[1] - a[1]);
  if (!falls.length) return `without any one region, the score of ${label} does not fall`;
  const [[first, most], ...others] = falls.slice(0, 3).map(([name, fall]) => [name, percent(100 * fall)]);
  const then = others.length ? `, then ${others.map(([name, fall]) => `${name} (${fall})`).join(" and ")}` : "";
  return `the score of ${label} falls most without the ${first} (by ${most})${then}`;
}

/** One picture with a choice of overlays. */
export function overlay({ pictures, scales = {}, text: moved, attribution = null }) {
  const choices = OVERLAYS.filter(([key]) => pictures[key]);
  if (!choices.length) return null;
  const image = element("img", { width: 320, height: 320 });
  const scale = element("div", { class: "scale" });
  const note = element("p", { class: "note" });
  const choose = ([key, name, text]) => {
    image.src = pictures[key];
    image.alt = [`${name} on the face`, key === "why" && attribution ? whyText(attribution) : moved].filter(Boolean).join(": ");
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
