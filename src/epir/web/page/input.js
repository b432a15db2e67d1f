// Files from the picker or dropped on the page: one video, or two pictures in the order onset, apex.

import { Problem } from "./api.js";
import { byId, element } from "./dom.js";
import { bytes } from "./format.js";

const PICTURE = /\.(png|jpe?g|bmp)$/i;

/** Listen to the picker and to drops anywhere on the page; `onFiles` gets a list of files. */
export function listenForFiles(onFiles) {
  const picker = byId("files");
  const overlay = byId("drop-overlay");
  picker.addEventListener("change", () => {
    const files = [...picker.files];
    picker.value = "";
    if (files.length) onFiles(files);
  });
  let depth = 0;
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (hasFiles(event)) overlay.hidden = ++depth === 0;
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event)) overlay.hidden = (depth = Math.max(0, depth - 1)) === 0;
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    overlay.hidden = true;
    if (event.dataTransfer.files.length) onFiles([...event.dataTransfer.files]);
  });
}

export const isPicture = (file) => file.type.startsWith("image/") || PICTURE.test(file.name);

/** Refuse what the server would refuse, before it is sent: too many files, or too large. */
export function checkFiles(files, limits) {
  const pictures = files.filter(isPicture).length;
  if (files.length > 2 || (files.length === 2 && pictures < 2)) {
    throw new Problem(`${files.length} files were given`, "give one video, or two pictures: onset and apex");
  }
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (limits?.bytes && size > limits.bytes) {
    const fix = "cut the video around the movement, or start the server with a higher max_bytes";
    throw new Problem(`this is ${bytes(size)}; the limit is ${bytes(limits.bytes)}`, fix);
  }
}

/** Pictures sorted by the numbers in their names: the onset is the earlier frame. */
export function sortPictures(files) {
  return [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Read the frame rate and key frames from the options form, and reset it. */
export function takeOptions() {
  const form = byId("options");
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

/** Show one or two pictures as onset and apex, and ask for a missing one; `onChange` gets them in a new order. */
export function showPair(files, onChange) {
  const list = document.querySelector("ol.pair");
  for (const old of list.querySelectorAll("img")) URL.revokeObjectURL(old.src);
  const tiles = ["Onset", "Apex"].map((role, number) => {
    const file = files[number];
    const content = file
      ? [element("img", { src: URL.createObjectURL(file), alt: file.name }), element("span", { class: "file" }, file.name)]
      : [element("button", { type: "button", class: "button", click: () => byId("files").click() }, "Choose the second picture")];
    return element("li", { class: file ? "" : "missing" }, element("strong", {}, role), content);
  });
  list.replaceChildren(...tiles);
  byId("pair-go").disabled = files.length < 2;
  byId("pair-swap").disabled = files.length < 2;
  byId("pair-title").textContent = files.length < 2 ? "One more picture" : "Is this the right order?";
  byId("pair-swap").onclick = () => onChange([...files].reverse());
}
