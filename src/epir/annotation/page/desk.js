// The coder's desk: connects the parts, and follows spotting and other windows.

import { fetchJson } from "/static/api.js";
import { byId, element } from "/static/dom.js";
import { sentence } from "/static/format.js";
import { fetchCurves, setUpChart } from "./chart.js";
import { setUpKeys } from "./keys.js";
import { firstRow, refresh, reviewText, setUpList } from "./list.js";
import { lastFrame, loadRows, loadStudy, mark, model, on, openMovement, openRecording, step, unsaved, whileOpening } from "./model.js";
import "./panel.js";
import { setUpStage, show } from "./stage.js";

const POLL = 2500; // ms
const RELOAD = 8000; // ms between two reloads of the list while a recording is spotted
const MICRO = 0.12; // seconds from onset to apex, and from apex to offset, of a mark

let reloaded = 0;
let quiet = 0;

const scope = () => Number(byId("recording").value) || null;
const tell = (text, lasting = false) => {
  const alarm = byId("alarm");
  alarm.textContent = text;
  alarm.hidden = !text;
  clearTimeout(quiet);
  if (text && !lasting) quiet = setTimeout(() => (alarm.hidden = true), 6000);
};

on("problem", (problem) => tell(sentence(problem.problem ?? problem.message) + (problem.fix ? ` ${sentence(problem.fix)}` : ""), problem.status === 0 || problem.status === 507));
on("message", (text) => tell(text));
on("saved", () => {
  if (byId("alarm").textContent.includes("does not respond") || byId("alarm").textContent.includes("disk is full")) tell("");
  refresh({ keep: true });
  review();
});
on("stale", () => loadRows(scope()));
on("rows", () => (refresh(), review()));
on("review", review);
on("recording", () => {
  const { faces } = model.recording;
  byId("face-choice").hidden = faces.length < 2;
  byId("face").replaceChildren(...faces.map((face) => element("option", { value: face, selected: face === model.face }, String(face + 1))));
  byId("recording").title = model.recording.path; // as study.toml names it
  if (scope() && scope() !== model.recording.id) byId("recording").value = model.recording.id;
});

function review() {
  byId("review").textContent = reviewText();
}

function fillRecordings() {
  const words = { waiting: "waiting", spotting: "being spotted", failed: "failed" };
  const option = ({ id, name, path, state }) => element("option", { value: id, title: path }, `${name}${words[state] ? ` (${words[state]})` : ""}`);
  const select = byId("recording");
  const { value } = select;
  select.replaceChildren(...model.study.recordings.map(option), model.study.recordings.length > 1 ? element("option", { value: "" }, "all recordings") : "");
  if (value || select.dataset.all) select.value = value;
  const open = model.study.recordings.filter(({ state }) => state !== "done");
  const share = (each) => Math.min(1, each.spotted / Math.max(each.frames, 1));
  const failed = open.filter(({ state }) => state === "failed");
  const busy = open.filter(({ state }) => state === "spotting");
  const done = model.study.recordings.length - open.length;
  byId("spotting").textContent = [
    busy.length || open.length > failed.length ? `Spotting: ${done} of ${model.study.recordings.length} done${busy.length ? `, now ${busy.map((each) => `${Math.round(100 * share(each))} %`).join(" and ")}` : ""}` : "",
    failed.length ? `${failed.length} failed: ${failed[0].message}` : "",
  ].filter(Boolean).join(" · ");
}

async function poll() {
  try {
    const status = await fetchJson("/api/status");
    const before = new Map(model.study.recordings.map((each) => [each.id, each]));
    model.study.recordings = status.recordings;
    model.pace = status.pace;
    const shown = status.recordings.find(({ id }) => id === model.recording?.id);
    const old = before.get(shown?.id);
    if (shown) model.recording = shown;
    fillRecordings();
    const grown = status.recordings.some((each) => each.spotted !== before.get(each.id)?.spotted || each.state !== before.get(each.id)?.state);
    const finished = status.recordings.some((each) => each.state !== before.get(each.id)?.state);
    if (status.latest > model.latest && !unsaved()) await otherWindow(status.latest);
    else if (finished || (grown && Date.now() - reloaded > RELOAD)) {
      reloaded = Date.now();
      await loadRows(scope());
      if (shown && old && shown.spotted !== old.spotted) fetchCurves();
      if (!model.detail && firstRow()) await openMovement(firstRow().id);
    }
    review();
    if (byId("alarm").textContent.includes("does not respond")) tell("");
  } catch (problem) {
    if (problem.status === 401) tell("The address of this page is no longer valid. Open the one that epir annotate prints now.", true);
    else tell(sentence(problem.problem ?? String(problem)) + " Saved decisions are kept; start epir annotate again.", true);
  }
  setTimeout(poll, POLL);
}

/** Reload after another window, or another coder, has done something. */
async function otherWindow() {
  await loadRows(scope());
  const id = model.detail?.id;
  if (!id) return;
  const now = await fetchJson(`/api/movements/${id}`);
  if ((now.decision?.action ?? 0) === (model.detail.decision?.action ?? 0) || unsaved()) return;
  const { frame } = model;
  await openMovement(id);
  show(frame);
  tell("Another window has changed this movement. This is the new decision.");
}

/** Mark a movement around the current frame. */
function markHere() {
  const reach = Math.max(1, Math.round(MICRO * model.times.fps));
  const apex = Math.min(Math.max(model.frame, 1), Math.max(lastFrame() - 1, 0));
  mark({ onset: Math.max(0, apex - reach), apex, offset: Math.min(lastFrame(), apex + reach) });
}

async function chooseRecording() {
  const id = scope();
  byId("recording").dataset.all = id ? "" : "yes";
  model.detail = null;
  await openRecording(id ?? model.recording.id);
  await loadRows(id);
  if (firstRow()) await openMovement(firstRow().id);
  byId("picture").focus();
}

async function begin() {
  await loadStudy();
  const { name, coder, blind, adjudicates } = model.study;
  document.title = `${name}: EPIR`;
  byId("name").textContent = name;
  byId("coder").textContent = `${coder}${blind ? " · blind" : ""}${adjudicates ? " · adjudication" : ""}`;
  byId("state").querySelector("[value=differs]").hidden = !adjudicates;
  if (adjudicates) byId("state").value = "differs";
  if (adjudicates) byId("depth").value = "";
  fillRecordings();
  setUpStage();
  setUpList();
  setUpChart();
  setUpKeys();
  byId("undo").addEventListener("click", () => step("undo"));
  byId("redo").addEventListener("click", () => step("redo"));
  byId("help").addEventListener("click", () => byId("card").showModal());
  byId("mark").addEventListener("click", markHere);
  byId("recording").addEventListener("change", () => whileOpening(chooseRecording()).catch((problem) => tell(sentence(problem.problem), true)));
  byId("face").addEventListener("change", () => openRecording(model.recording.id, { face: Number(byId("face").value) }));
  window.addEventListener("beforeunload", (event) => unsaved() && event.preventDefault());
  if (!model.study.recordings.length) return tell("This study has no recording. Add some: epir annotate RECORDINGS --out STUDY", true);
  const first = model.study.recordings.find(({ state }) => state === "done") ?? model.study.recordings[0];
  byId("recording").value = first.id;
  await openRecording(first.id);
  await loadRows(first.id);
  reloaded = Date.now();
  if (firstRow()) await openMovement(firstRow().id);
  document.body.dataset.ready = "true";
  setTimeout(poll, POLL);
}

begin().catch((problem) => tell(`${sentence(problem.problem ?? String(problem))} ${sentence(problem.fix ?? "")}`, true));
