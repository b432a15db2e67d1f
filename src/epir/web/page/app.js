// The page: which part of it is seen, and what leads from one to the next.

import { showResult } from "./answer.js";
import { ask, Problem, send } from "./api.js";
import { openCamera } from "./camera.js";
import { find } from "./dom.js";
import { showExamples } from "./examples.js";
import { follow, showSending } from "./following.js";
import { clipForm, inOrder, isPicture, listen, refuse, showPair, takeOptions } from "./intake.js";
import { bytes, counted, NOT_FOUND, sentence, title } from "./words.js";

const VIEWS = ["start", "pair", "working", "problem", "result", "camera"];
const TRUTHS = "epir-truths"; // what the examples of this tab were drawn to show, by the result's id

let health = null;
let pictures = [];
let work = new AbortController();
const camera = openCamera(() => health?.limits);

/** Show one part of the page and put the reading point there. */
function show(view, { focus = true } = {}) {
  for (const name of VIEWS) find(name).hidden = name !== view;
  const mode = view === "camera" ? "camera" : "clip";
  for (const link of document.querySelectorAll("nav [data-for]")) {
    if (link.dataset.for === mode) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!focus) return;
  scrollTo(0, 0);
  find(`${view}-title`)?.focus({ preventScroll: true });
}

function showProblem(error, again = null) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Problem)) {
    console.error(error);
    error = new Problem("the page made a mistake", "load it again");
  }
  find("problem-words").textContent = sentence(error.problem);
  find("problem-fix").textContent = sentence(error.fix);
  const button = find("problem-again");
  button.hidden = !again || ![0, 503, 504].includes(error.status);
  button.onclick = again;
  document.title = "EPIR: no answer";
  show("problem");
}

/** Whatever the address says: the start, a result, or the camera. */
function route({ focus = true } = {}) {
  work.abort();
  work = new AbortController();
  camera.stop();
  pictures = [];
  const id = location.pathname.match(/^\/r\/([\w-]+)$/)?.[1];
  if (location.hash === "#camera") {
    document.title = "EPIR: camera";
    show("camera", { focus });
  } else if (id) {
    wait(id, "");
  } else {
    document.title = "EPIR: what did the face do?";
    show("start", { focus });
  }
}

function go(address) {
  history.pushState(null, "", address);
  route();
}

/** Files from anywhere: a video leaves at once, pictures are first put in order. */
function take(files) {
  try {
    if (pictures.length === 1 && files.length === 1 && isPicture(files[0])) files = [...pictures, ...files];
    refuse(files, health?.limits);
  } catch (error) {
    showProblem(error);
    return;
  }
  if (location.pathname !== "/" || location.hash) history.pushState(null, "", "/");
  camera.stop();
  if (files.every(isPicture)) orderPictures(inOrder(files));
  else submit(files, takeOptions());
}

function orderPictures(files) {
  pictures = files;
  showPair(files, orderPictures);
  if (find("pair").hidden) show("pair");
}

/** Send a clip (or the name of an example) and wait for its answer. */
async function submit(files, options, truth = null) {
  const name = options.find(([key]) => key === "example") ? truth.title : files.map((file) => file.name).join(", ");
  const again = () => submit(files, options, truth);
  work.abort();
  work = new AbortController();
  find("working-stop").onclick = () => go("/");
  showSending(name);
  show("working");
  try {
    const form = clipForm(files, options);
    const ticket = await send("/api/predict?wait=false", form, (share) => showSending(name, share), work.signal);
    if (truth) remember(ticket.id, truth.truth);
    history.pushState(null, "", `/r/${ticket.id}`);
    await wait(ticket.id, name, again);
  } catch (error) {
    showProblem(error, again);
  }
}

async function wait(id, name, again = null) {
  const { signal } = work;
  if (find("working").hidden) {
    showSending(name);
    show("working", { focus: false });
  }
  find("working-stop").onclick = () => forget(id);
  try {
    const status = await follow(id, signal);
    if (status.error) throw new Problem(status.error.problem, status.error.fix, { status: 422 });
    const label = status.result.label;
    document.title = `EPIR: ${label === NOT_FOUND ? label : title(label)}`;
    showResult(find("result"), id, status.result, { truth: remembered(id), onForget: () => forget(id) });
    show("result");
  } catch (error) {
    showProblem(error, again);
  }
}

function forget(id) {
  ask(`/api/results/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => {}); // gone already is as good
  go("/");
}

function remember(id, truth) {
  sessionStorage.setItem(TRUTHS, JSON.stringify({ ...JSON.parse(sessionStorage.getItem(TRUTHS) ?? "{}"), [id]: truth }));
}

function remembered(id) {
  return JSON.parse(sessionStorage.getItem(TRUTHS) ?? "{}")[id] ?? null;
}

function describe() {
  const { limits, model, version } = health;
  const words = [limits.bytes && bytes(limits.bytes), limits.seconds && counted(limits.seconds, "second")];
  find("limits").textContent = `Up to ${words.filter(Boolean).join(" or ")}. Best at 50 frames a second or more.`;
  find("about").textContent = `EPIR ${version}, model ${model.name}: ${model.classes.join(", ")}.`;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-route]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
addEventListener("popstate", () => route());
find("pair-go").addEventListener("click", () => submit(pictures, takeOptions()));
find("options").addEventListener("submit", (event) => event.preventDefault());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address stays: it says what is seen
  find("main").focus();
});
listen(take);
route({ focus: false });
ask("/api/health").then((words) => ((health = words), describe()), () => {});
showExamples((example) => submit([], [["example", example.name]], example));
