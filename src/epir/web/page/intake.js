// Files from the picker or dropped on the page -> one clip: a video, or two pictures in the order onset, apex.

import { Problem } from "./api.js";
import { find, make } from "./dom.js";
import { bytes } from "./words.js";

const PICTURE = /\.(png|jpe?g|bmp)$/i;

/** Listen to the picker and to drops anywhere on the page; `onFiles` gets a list of files. */
export function listen(onFiles) {
  const picker = find("files");
  const veil = find("veil");
  picker.addEventListener("change", () => {
    const files = [...picker.files];
    picker.value = "";
    if (files.length) onFiles(files);
  });
  let depth = 0;
  const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (holdsFiles(event)) veil.hidden = ++depth === 0;
  });
  addEventListener("dragleave", (event) => {
    if (holdsFiles(event)) veil.hidden = (depth = Math.max(0, depth - 1)) === 0;
  });
  addEventListener("dragover", (event) => holdsFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    if (event.dataTransfer.files.length) onFiles([...event.dataTransfer.files]);
  });
}

export const isPicture = (file) => file.type.startsWith("image/") || PICTURE.test(file.name);

/** Say at once what the server would refuse: too many files, or too large. */
export function refuse(files, limits) {
  const pictures = files.filter(isPicture).length;
  if (files.length > 2 || (files.length === 2 && pictures < 2)) {
    throw new Problem(`${files.length} files were given at once`, "give one video, or two pictures: onset and apex");
  }
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (limits?.bytes && size > limits.bytes) {
    const fix = "cut it to the seconds that matter, or start the server with a higher limit";
    throw new Problem(`the files hold ${bytes(size)}, and ${bytes(limits.bytes)} are taken`, fix);
  }
}

/** Pictures in the order of the numbers in their names: the onset is the earlier frame. */
export function inOrder(files) {
  return [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** What the user said about rate and key frames, and forget it. */
export function takeOptions() {
  const form = find("options");
  const given = [...new FormData(form)].filter(([, value]) => value !== "");
  form.reset();
  return given;
}

/** The form for POST /api/predict. */
export function clipForm(files, options) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  for (const [name, value] of options) form.append(name, value);
  return form;
}

/** Show one or two pictures with their roles; a missing one is asked for. `onChange` gets them in a new order. */
export function showPair(files, onChange) {
  const list = document.querySelector("ol.pair");
  for (const old of list.querySelectorAll("img")) URL.revokeObjectURL(old.src);
  const tiles = ["Onset", "Apex"].map((role, number) => {
    const file = files[number];
    const inside = file
      ? [make("img", { src: URL.createObjectURL(file), alt: file.name }), make("span", { class: "file" }, file.name)]
      : [make("button", { type: "button", class: "button", click: () => find("files").click() }, "Choose the second picture")];
    return make("li", { class: file ? "" : "missing" }, make("strong", {}, role), inside);
  });
  list.replaceChildren(...tiles);
  find("pair-go").disabled = files.length < 2;
  find("pair-swap").disabled = files.length < 2;
  find("pair-title").textContent = files.length < 2 ? "One more picture" : "Is this the right order?";
  find("pair-swap").onclick = () => onChange([...files].reverse());
}
