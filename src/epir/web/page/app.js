// The page: which section is visible, and how one leads to the next.

import { showResult } from "./answer.js";
import { fetchJson, postForm, Problem, waitForJob } from "./api.js";
import { openBatch } from "./batch.js";
import { openCamera } from "./camera.js";
import { byId } from "./dom.js";
import { bytes, counted, duration, heading, sentence, stage } from "./format.js";
import { checkClip, clipForm, clipsOf, isPicture, listenForFiles, readOptions, resetOptions, showExamples, showPair } from "./input.js";

const SECTIONS = ["start", "pair", "batch", "working", "problem", "result", "camera"];
const EXAMPLES = "epir-examples"; // session storage: the example behind a result, by its id

let health = null;
let pictures = [];
let controller = new AbortController(); // aborts the current upload or wait
const sent = new Map(); // uploaded clips by the id of their result, for marks by hand
const camera = openCamera();
const batch = openBatch(() => health?.limits, (id, clip) => sent.set(id, clip));

/** Show one section and move the focus to its title. */
function show(name, { focus = true } = {}) {
  for (const each of SECTIONS) byId(each).hidden = each !== name;
  const input = name === "camera" ? "camera" : "clip";
  for (const link of document.querySelectorAll("nav [data-for]")) {
    if (link.dataset.for === input) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!focus) return;
  scrollTo(0, 0);
  byId(`${name}-title`)?.focus({ preventScroll: true });
}

/** Show the section that the address names: the start, a result, the table of a batch, or the camera. */
function route({ focus = true } = {}) {
  controller.abort();
  controller = new AbortController();
  camera.stop();
  pictures = [];
  clearProblem();
  const id = location.pathname.match(/^\/r\/([\w-]+)$/)?.[1];
  if (location.hash === "#camera") {
    document.title = "EPIR: camera";
    show("camera", { focus });
  } else if (location.hash === "#batch") {
    if (!batch.restore()) {
      history.replaceState(null, "", "/"); // nothing to show
      return route({ focus });
    }
    document.title = "EPIR: several clips";
    show("batch", { focus });
  } else if (id) {
    awaitResult(id);
  } else {
    document.title = "EPIR: micro-expression recognition";
    show("start", { focus });
  }
}

function go(address) {
  history.pushState(null, "", address);
  route();
}

/** Handle chosen or dropped files: send one clip, ask for the order of two pictures, or start a batch of several clips. */
function takeEntries(entries) {
  if (pictures.length === 1 && entries.length === 1 && isPicture(entries[0].file)) {
    entries = [{ file: pictures[0], folder: "" }, ...entries];
  }
  const clips = clipsOf(entries);
  if (location.pathname !== "/" || location.hash) history.pushState(null, "", "/");
  camera.stop();
  clearProblem();
  if (!clips.length) return failed(new Problem("none of these files is a video or picture", "choose a video, pictures, or a folder of pictures"), null);
  if (clips.length > 1) return startBatch(clips);
  const { files } = clips[0];
  if (files.every(isPicture) && files.length < 3) orderPictures(files);
  else submit(clips[0]);
}

function startBatch(clips) {
  history.pushState(null, "", "/#batch");
  document.title = "EPIR: several clips";
  batch.run(clips, readOptions()).then(resetOptions);
  show("batch");
}

function orderPictures(files) {
  pictures = files;
  showPair(files, orderPictures);
  if (byId("pair").hidden) show("pair");
}

/** Show that a clip is being uploaded; `fraction` goes from 0 to 1. */
function showSending(name, fraction = null) {
  byId("working-name").textContent = name;
  showWork("Uploading the clip", fraction, fraction === null ? "" : `${Math.round(100 * fraction)} %`);
}

/** Show the state of a job. */
function showStatus(status) {
  if (status.name) byId("working-name").textContent = status.name;
  const known = status.state === "running" && status.total > 1;
  showWork(stage(status), known ? Math.min(1, status.done / status.total) : null, known ? `Frame ${status.done} of ${status.total}` : "");
}

function showWork(text, fraction, count) {
  const line = byId("working-text");
  const bar = byId("working-bar");
  if (line.textContent !== text) line.textContent = text; // screen readers announce every change
  if (fraction === null) bar.removeAttribute("value");
  else bar.value = fraction;
  byId("working-count").textContent = count;
}

/** Send a clip, {name, files} or {name, example}, and wait for its answer; `marks` were set by hand on the result `from`. */
async function submit(clip, { marks = null, from = null } = {}) {
  controller.abort();
  controller = new AbortController();
  byId("working-stop").onclick = () => go(from ? `/r/${from}` : "/");
  clearProblem();
  showSending(clip.name);
  show("working");
  try {
    checkClip({ files: [], ...clip }, health?.limits);
    const form = clipForm(clip, marks ?? readOptions());
    const onProgress = (fraction) => showSending(clip.name, fraction);
    const job = await postForm("/api/predict?wait=false", form, onProgress, controller.signal);
    sent.set(job.id, clip);
    if (clip.example) storeExample(job.id, clip.example);
    history.pushState(null, "", `/r/${job.id}`);
    await awaitResult(job.id, { clip, marks, from });
  } catch (error) {
    failed(error, clip, { marks, from });
  }
}

/** Wait for a result and show it; after a failure, a clip of this page can be sent again. */
async function awaitResult(id, { clip = null, marks = null, from = null } = {}) {
  const { signal } = controller;
  if (byId("working").hidden) {
    showSending(clip?.name ?? "");
    show("working", { focus: false });
  }
  byId("working-stop").onclick = () => deleteResult(id);
  try {
    const status = await waitForJob(id, signal, showStatus);
    if (status.error) throw new Problem(status.error.problem, status.error.fix, { status: 422, about: status.name });
    if (clip) resetOptions();
    document.title = `EPIR: ${heading(status.result)}`;
    const example = exampleOf(id);
    showResult(byId("result"), id, status.result, {
      truth: marks ? null : example?.truth,
      clip: sent.get(id) ?? (example && { name: example.title, example }),
      expires: status.expires,
      onDelete: () => deleteResult(id),
      onMark: (chosen, files) => mark(id, status.result, chosen, files),
    });
    show("result");
  } catch (error) {
    failed(error, clip, { marks, from });
  }
}

/** Request the answer between two frames of a result's clip. */
function mark(id, result, { onset, apex }, files) {
  const example = exampleOf(id);
  const known = files ? clipsOf(files.map((file) => ({ file, folder: "" })))[0] : sent.get(id) ?? { name: example?.title, example };
  submit(known, { marks: [["onset", onset], ["apex", apex], ...(result.fps ? [["fps", result.fps]] : [])], from: id });
}

/** Show an error. A clip of this page stays chosen, with all its settings, so that it can be sent again. */
function failed(error, clip, { marks = null, from = null } = {}) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Problem)) {
    console.error(error);
    error = new Problem("something went wrong on this page", "reload it");
  }
  document.title = "EPIR: no answer";
  const again = clip && (() => submit(clip, { marks, from }));
  if (location.pathname !== "/" && !clip) {
    describe("problem", error, error.about ?? "", null);
    byId("problem-back").hidden = true;
    return show("problem");
  }
  if (from) {
    history.replaceState(null, "", `/r/${from}`);
    describe("problem", error, clip?.name ?? "", again);
    byId("problem-back").hidden = false;
    byId("problem-back").href = `/r/${from}`;
    return show("problem");
  }
  if (location.pathname !== "/") history.replaceState(null, "", "/");
  describe("start-problem", error, clip?.name ?? "", again);
  byId("start-problem").hidden = false;
  show("start", { focus: false });
  scrollTo(0, 0);
  byId("start-problem-retry").hidden ? byId("start-problem").focus() : byId("start-problem-retry").focus();
}

function describe(prefix, error, name, again) {
  byId(`${prefix}-name`).textContent = name;
  byId(`${prefix}-text`).textContent = sentence(error.problem);
  byId(`${prefix}-fix`).textContent = sentence(error.fix);
  byId(`${prefix}-retry`).hidden = !again;
  byId(`${prefix}-retry`).onclick = again;
}

function clearProblem() {
  byId("start-problem").hidden = true;
}

function deleteResult(id) {
  fetchJson(`/api/results/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => {}); // it may have expired
  sent.delete(id);
  go("/");
}

const examples = () => JSON.parse(sessionStorage.getItem(EXAMPLES) ?? "{}");
const exampleOf = (id) => examples()[id] ?? null;

function storeExample(id, example) {
  sessionStorage.setItem(EXAMPLES, JSON.stringify({ ...examples(), [id]: example }));
}

function showLimits() {
  const { limits, model, version } = health;
  const size = [limits.bytes && bytes(limits.bytes), limits.seconds && counted(limits.seconds, "second")].filter(Boolean).join(" or ");
  byId("limits").textContent = `Up to ${size}, or ${limits.pictures} pictures. Best at 50 frames per second or more.`;
  byId("kept").textContent = `Its result, with pictures of the face, stays in the server’s memory for ${duration(limits.results_s)}, or until you delete it.`;
  byId("server").textContent = location.host;
  byId("about").textContent = `EPIR ${version}, model ${model.name}: ${model.classes.join(", ")}.`;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-route]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
addEventListener("popstate", () => route());
byId("pair-go").addEventListener("click", () => submit({ name: pictures.map((file) => file.name).join(", "), files: pictures }));
byId("batch-stop").addEventListener("click", () => (batch.stop(), go("/")));
byId("options").addEventListener("submit", (event) => event.preventDefault());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // keep the address: it decides which section is visible
  byId("main").focus();
});
listenForFiles(takeEntries);
route({ focus: false });
fetchJson("/api/health").then((body) => ((health = body), showLimits(), batch.show()), () => {});
showExamples((example) => submit({ name: example.title, example }));
