// The page: which section is visible, and what leads from one to the next.

import { showResult } from "./answer.js";
import { fetchJson, postForm, Problem } from "./api.js";
import { openCamera } from "./camera.js";
import { byId } from "./dom.js";
import { showExamples } from "./examples.js";
import { bytes, counted, NOT_FOUND, sentence, title } from "./format.js";
import { checkFiles, clipForm, isPicture, listenForFiles, showPair, sortPictures, takeOptions } from "./input.js";
import { showSending, waitForJob } from "./progress.js";

const SECTIONS = ["start", "pair", "working", "problem", "result", "camera"];
const TRUTHS = "epir-truths"; // session storage: what each example shows, by the id of its result
const CAN_RETRY = [0, 503, 504]; // no response, busy, timed out

let health = null;
let pictures = [];
let controller = new AbortController(); // aborts the current upload or wait
const camera = openCamera(() => health?.limits);

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

function showProblem(error, retry = null) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Problem)) {
    console.error(error);
    error = new Problem("something went wrong on this page", "reload it");
  }
  byId("problem-text").textContent = sentence(error.problem);
  byId("problem-fix").textContent = sentence(error.fix);
  const button = byId("problem-retry");
  button.hidden = !retry || !CAN_RETRY.includes(error.status);
  button.onclick = retry;
  document.title = "EPIR: no answer";
  show("problem");
}

/** Show what the address asks for: the start, a result, or the camera. */
function route({ focus = true } = {}) {
  controller.abort();
  controller = new AbortController();
  camera.stop();
  pictures = [];
  const id = location.pathname.match(/^\/r\/([\w-]+)$/)?.[1];
  if (location.hash === "#camera") {
    document.title = "EPIR: camera";
    show("camera", { focus });
  } else if (id) {
    awaitResult(id, "");
  } else {
    document.title = "EPIR: micro-expression recognition";
    show("start", { focus });
  }
}

function go(address) {
  history.pushState(null, "", address);
  route();
}

/** Take chosen or dropped files: a video is sent at once, pictures are first put in order. */
function takeFiles(files) {
  try {
    if (pictures.length === 1 && files.length === 1 && isPicture(files[0])) files = [...pictures, ...files];
    checkFiles(files, health?.limits);
  } catch (error) {
    showProblem(error);
    return;
  }
  if (location.pathname !== "/" || location.hash) history.pushState(null, "", "/");
  camera.stop();
  if (files.every(isPicture)) orderPictures(sortPictures(files));
  else submit(files, takeOptions());
}

function orderPictures(files) {
  pictures = files;
  showPair(files, orderPictures);
  if (byId("pair").hidden) show("pair");
}

/** Send a clip, or the name of an example, and wait for its answer. */
async function submit(files, options, example = null) {
  const name = example ? example.title : files.map((file) => file.name).join(", ");
  const retry = () => submit(files, options, example);
  controller.abort();
  controller = new AbortController();
  byId("working-stop").onclick = () => go("/");
  showSending(name);
  show("working");
  try {
    const form = clipForm(files, options);
    const onProgress = (fraction) => showSending(name, fraction);
    const job = await postForm("/api/predict?wait=false", form, onProgress, controller.signal);
    if (example) storeTruth(job.id, example.truth);
    history.pushState(null, "", `/r/${job.id}`);
    await awaitResult(job.id, name, retry);
  } catch (error) {
    showProblem(error, retry);
  }
}

async function awaitResult(id, name, retry = null) {
  const { signal } = controller;
  if (byId("working").hidden) {
    showSending(name);
    show("working", { focus: false });
  }
  byId("working-stop").onclick = () => deleteResult(id);
  try {
    const status = await waitForJob(id, signal);
    if (status.error) throw new Problem(status.error.problem, status.error.fix, { status: 422 });
    const label = status.result.label;
    document.title = `EPIR: ${label === NOT_FOUND ? label : title(label)}`;
    showResult(byId("result"), id, status.result, { truth: truthOf(id), onDelete: () => deleteResult(id) });
    show("result");
  } catch (error) {
    showProblem(error, retry);
  }
}

function deleteResult(id) {
  fetchJson(`/api/results/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => {}); // it may have expired
  go("/");
}

const truths = () => JSON.parse(sessionStorage.getItem(TRUTHS) ?? "{}");
const truthOf = (id) => truths()[id] ?? null;

function storeTruth(id, truth) {
  sessionStorage.setItem(TRUTHS, JSON.stringify({ ...truths(), [id]: truth }));
}

function showLimits() {
  const { limits, model, version } = health;
  const parts = [limits.bytes && bytes(limits.bytes), limits.seconds && counted(limits.seconds, "second")];
  byId("limits").textContent = `Up to ${parts.filter(Boolean).join(" or ")}. Best at 50 frames per second or more.`;
  byId("about").textContent = `EPIR ${version}, model ${model.name}: ${model.classes.join(", ")}.`;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-route]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
addEventListener("popstate", () => route());
byId("pair-go").addEventListener("click", () => submit(pictures, takeOptions()));
byId("options").addEventListener("submit", (event) => event.preventDefault());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // keep the address: it decides which section is visible
  byId("main").focus();
});
listenForFiles(takeFiles);
route({ focus: false });
fetchJson("/api/health").then((body) => ((health = body), showLimits()), () => {});
showExamples((example) => submit([], [["example", example.name]], example));
