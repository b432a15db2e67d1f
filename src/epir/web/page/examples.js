// The synthetic faces that the server offers, as buttons whose thumbnail plays on hover.

import { fetchJson } from "./api.js";
import { byId, element, prefersReducedMotion } from "./dom.js";

/** Fill the list of examples; `onChoose` gets the chosen one. */
export async function showExamples(onChoose) {
  const examples = await fetchJson("/api/examples").catch(() => []);
  const section = byId("examples");
  section.hidden = examples.length === 0;
  const tiles = examples.map((example) => tile(example, onChoose));
  section.querySelector("ul").replaceChildren(...tiles.map((each) => element("li", {}, each)));
  for (const [number, each] of tiles.entries()) await load(each.querySelector("video"), examples[number]);
}

/** Load one thumbnail after the other: the server may still be rendering them, after the user's own clip. */
function load(video, example) {
  return new Promise((resolve) => {
    video.addEventListener("loadeddata", resolve, { once: true });
    video.addEventListener("error", resolve, { once: true });
    video.src = `/api/examples/${encodeURIComponent(example.name)}/video`;
  });
}

function tile(example, onChoose) {
  const video = element("video", {
    loop: true,
    playsinline: true,
    preload: "auto",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  video.muted = true;
  const button = element(
    "button",
    { type: "button", class: "example", click: () => onChoose(example) },
    element("span", { class: "thumb" }, video),
    element("strong", {}, example.title),
    element("small", {}, `${(example.frames / example.fps).toFixed(1)} seconds`),
  );
  const play = () => prefersReducedMotion() || video.play().catch(() => {});
  const reset = () => {
    video.pause();
    video.currentTime = 0;
  };
  for (const name of ["pointerenter", "focus"]) button.addEventListener(name, play);
  for (const name of ["pointerleave", "blur"]) button.addEventListener(name, reset);
  video.addEventListener("error", () => video.classList.add("unplayable"));
  return button;
}
