// Input: files and folders from the pickers or dropped on the page, the order of two pictures, and examples.

import { fetchJson, Problem } from "./api.js";
import { byId, element, prefersReducedMotion } from "./dom.js";
import { bytes, counted } from "./format.js";

const PICTURE = /\.(jpe?g|png|bmp|webp|avif|heic|heif)$/i;
const VIDEO = /\.(mp4|mov|m4v|mkv|webm|avi|wmv|mpe?g|gif|3gp|ts|mts|m2ts|flv|ogv|asf|mxf|y4m)$/i;
const LAST_INTEGER = /(\d+)\D*$/;

export const isPicture = (file) => PICTURE.test(file.name) || (file.type.startsWith("image/") && !VIDEO.test(file.name));

/** Listen to the pickers and to drops anywhere on the page; `onEntries` gets a list of {file, folder}. */
export function listenForFiles(onEntries) {
  for (const picker of [byId("files"), byId("folder")]) {
    picker.addEventListener("change", () => {
      const entries = [...picker.files].map((file) => ({ file, folder: folderOf(file.webkitRelativePath) }));
      picker.value = "";
      if (entries.length) onEntries(entries);
    });
  }
  const overlay = byId("drop-overlay");
  let depth = 0;
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (hasFiles(event)) overlay.hidden = ++depth === 0;
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event)) overlay.hidden = (depth = Math.max(0, depth - 1)) === 0;
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    overlay.hidden = true;
    const entries = await droppedEntries(event.dataTransfer);
    if (entries.length) onEntries(entries);
  });
}

const folderOf = (path) => (path ?? "").split("/").slice(0, -1).join("/");

/** The files of a drop, and those of its folders. */
async function droppedEntries(transfer) {
  const roots = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean); // they vanish after the first await
  if (!roots.some((root) => root.isDirectory)) return [...transfer.files].map((file) => ({ file, folder: "" }));
  return (await Promise.all(roots.map((root) => filesBelow(root, "")))).flat();
}

async function filesBelow(entry, folder) {
  if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), folder }];
  const reader = entry.createReader();
  const inside = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // at most 100 at a time
    if (!some.length) break;
    inside.push(...some);
  }
  const below = folder ? `${folder}/${entry.name}` : entry.name;
  return (await Promise.all(inside.map((each) => filesBelow(each, below)))).flat();
}

/** The clips among files, each {name, files}: every video is a clip, and so are the pictures of each folder. */
export function clipsOf(entries) {
  const clips = [];
  const folders = new Map();
  for (const { file, folder } of entries) {
    if (file.name.startsWith(".")) continue;
    if (isPicture(file)) folders.set(folder, [...(folders.get(folder) ?? []), file]);
    else if (!folder || VIDEO.test(file.name) || file.type.startsWith("video/")) {
      clips.push({ name: folder ? `${folder}/${file.name}` : file.name, files: [file] });
    }
  }
  for (const [folder, pictures] of folders) {
    const files = sortPictures(pictures);
    clips.push({ name: folder || pictureNames(files), files });
  }
  return clips.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

function pictureNames(files) {
  return files.length > 2 ? `${files[0].name} to ${files.at(-1).name}` : files.map((file) => file.name).join(", ");
}

/** Throw for a clip that the server would reject, before it is sent: too many pictures, or too large. */
export function checkClip({ name, files }, limits) {
  if (limits?.pictures && files.length > limits.pictures) {
    throw new Problem(`${name}: ${counted(files.length, "picture")} exceed the limit of ${limits.pictures}`, "choose those around the movement, or make a video of them");
  }
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (limits?.bytes && size > limits.bytes) {
    const fix = `cut the clip around the movement, analyse it with epir predict, or start epir serve --set max_bytes=${2 * limits.bytes}`;
    throw new Problem(`${name} is ${bytes(size)}; the limit is ${bytes(limits.bytes)}`, fix);
  }
}

/** Pictures in order of time: by the last number in their names, the frame number; onset before apex if equal. */
export function sortPictures(files) {
  const number = (file) => Number(file.name.replace(/\.[^.]*$/, "").match(LAST_INTEGER)?.[1] ?? -1);
  const isApex = (file) => /apex/i.test(file.name) - /onset/i.test(file.name);
  return [...files].sort((a, b) => number(a) - number(b) || isApex(a) - isApex(b) || a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** The settings in the form below the drop zone. */
export const readOptions = () => [...new FormData(byId("options"))].filter(([, value]) => value !== "");

/** Clear the settings, which were for the last clip. */
export const resetOptions = () => byId("options").reset();

/** The form for POST /api/predict. */
export function clipForm({ name, files = [], example = null }, options) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  if (example) form.append("example", example.name);
  else if (files.length > 2) form.append("name", name.split("/").at(-1));
  for (const [field, value] of options) form.append(field, value);
  return form;
}

/** Show one or two pictures, and ask for a missing one; `onChange` gets them in a new order. */
export function showPair(files, onChange) {
  const list = document.querySelector("ol.pair");
  for (const old of list.querySelectorAll("img")) URL.revokeObjectURL(old.src);
  list.replaceChildren(...["Onset", "Apex"].map((role, number) => pictureTile(role, files[number])));
  const complete = files.length > 1;
  byId("pair-go").disabled = !complete;
  byId("pair-swap").disabled = !complete;
  byId("pair-title").textContent = complete ? "Is this the right order?" : "One more picture";
  byId("pair-swap").onclick = () => onChange([...files].reverse());
}

function pictureTile(role, file) {
  if (!file) {
    const choose = element("button", { type: "button", class: "button", click: () => byId("files").click() }, "Choose the second picture");
    return element("li", { class: "missing" }, element("strong", {}, role), choose);
  }
  const picture = element("img", { src: URL.createObjectURL(file), alt: `${role}: ${file.name}` });
  const name = element("span", { class: "file" }, file.name);
  picture.addEventListener("error", () => picture.replaceWith(element("span", { class: "unseen" }, "This browser cannot show it, but the server can read it.")));
  return element("li", {}, element("strong", {}, role), picture, name);
}

/** Fill the list of examples; `onChoose` gets the chosen one. */
export async function showExamples(onChoose) {
  const examples = await fetchJson("/api/examples").catch(() => []);
  const section = byId("examples");
  section.hidden = examples.length === 0;
  const tiles = examples.map((example) => exampleTile(example, onChoose));
  section.querySelector("ul").replaceChildren(...tiles.map((each) => element("li", {}, each)));
  for (const [number, each] of tiles.entries()) await loadVideo(each.querySelector("video"), examples[number]);
}

/** Load a thumbnail; one at a time, because the server may still be rendering them. */
function loadVideo(video, example) {
  return new Promise((resolve) => {
    video.addEventListener("loadeddata", resolve, { once: true });
    video.addEventListener("error", resolve, { once: true });
    video.src = `/api/examples/${encodeURIComponent(example.name)}/video`;
  });
}

function exampleTile(example, onChoose) {
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
