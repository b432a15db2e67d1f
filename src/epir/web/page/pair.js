// Two pictures as onset and apex, large enough to tell them apart, with one click to swap them.

import { byId, element } from "./dom.js";

/** Show one or two pictures, and ask for a missing one; `onChange` gets them in a new order. */
export function showPair(files, onChange) {
  const list = document.querySelector("ol.pair");
  for (const old of list.querySelectorAll("img")) URL.revokeObjectURL(old.src);
  list.replaceChildren(...["Onset", "Apex"].map((role, number) => tile(role, files[number])));
  const complete = files.length > 1;
  byId("pair-go").disabled = !complete;
  byId("pair-swap").disabled = !complete;
  byId("pair-title").textContent = complete ? "Is this the right order?" : "One more picture";
  byId("pair-swap").onclick = () => onChange([...files].reverse());
}

function tile(role, file) {
  if (!file) {
    const choose = element("button", { type: "button", class: "button", click: () => byId("files").click() }, "Choose the second picture");
    return element("li", { class: "missing" }, element("strong", {}, role), choose);
  }
  const picture = element("img", { src: URL.createObjectURL(file), alt: `${role}: ${file.name}` });
  const name = element("span", { class: "file" }, file.name);
  picture.addEventListener("error", () => picture.replaceWith(element("span", { class: "unseen" }, "This browser cannot show it; the server can read it.")));
  return element("li", {}, element("strong", {}, role), picture, name);
}
