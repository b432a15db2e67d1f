// The invented faces that the server offers, as buttons that move when looked at.

import { ask } from "./api.js";
import { calm, find, make } from "./dom.js";

/** Fill the list of examples; `onChoose` gets one of them. */
export async function showExamples(onChoose) {
  const examples = await ask("/api/examples").catch(() => []);
  const place = find("examples");
  place.hidden = examples.length === 0;
  const tiles = examples.map((example) => tile(example, onChoose));
  place.querySelector("ul").replaceChildren(...tiles.map((each) => make("li", {}, each)));
  for (const [number, each] of tiles.entries()) await load(each.querySelector("video"), examples[number]);
}

/** One thumbnail after the other: the server may still be drawing, and the clip of the user goes first. */
function load(video, example) {
  return new Promise((resolve) => {
    video.addEventListener("loadeddata", resolve, { once: true });
    video.addEventListener("error", resolve, { once: true });
    video.src = `/api/examples/${encodeURIComponent(example.name)}/video`;
  });
}

function tile(example, onChoose) {
  const video = make("video", {
    loop: true,
    playsinline: true,
    preload: "auto",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  video.muted = true;
  const button = make(
    "button",
    { type: "button", class: "example", click: () => onChoose(example) },
    make("span", { class: "thumb" }, video),
    make("strong", {}, example.title),
    make("small", {}, `${(example.frames / example.fps).toFixed(1)} seconds`),
  );
  const play = () => calm() || video.play().catch(() => {});
  const rest = () => {
    video.pause();
    video.currentTime = 0;
  };
  for (const name of ["pointerenter", "focus"]) button.addEventListener(name, play);
  for (const name of ["pointerleave", "blur"]) button.addEventListener(name, rest);
  video.addEventListener("error", () => video.classList.add("unplayable"));
  return button;
}
