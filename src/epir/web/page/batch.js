// Several clips: sent to the server one after the other, and a table with a row for each.

import { fetchJson, postForm, waitForJob } from "./api.js";
import { byId, element, save } from "./dom.js";
import { at, counted, csvCell, heading, NOT_FOUND, score, sentence, stage } from "./format.js";
import { checkClip, clipForm } from "./input.js";

const AT_ONCE = 2; // clips at the server: the next one is ready when one is done
const STORED = "epir-batch"; // session storage, so that the table survives a reload
const BUSY = [429, 503];
const LEAVING = 1000; // ms

/** The batch of this page. `onSent(id, clip)` reports the clip of a result. Returns {run, restore, show, stop}. */
export function openBatch(getLimits, onSent) {
  let rows = [];
  let controller = new AbortController();
  let leaving = false; // a reload cancels requests: not a failure, the next page continues

  addEventListener("beforeunload", () => {
    leaving = true;
    setTimeout(() => (leaving = false), LEAVING); // the user stayed
  });

  async function run(clips, options) {
    stop();
    controller = new AbortController();
    const { signal } = controller;
    rows = clips.map((clip) => ({ name: clip.name, clip, state: "waiting", text: "Waiting" }));
    show();
    const left = [...rows];
    const next = async () => {
      for (let row = left.shift(); row && !signal.aborted; row = left.shift()) await answer(row, options, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }

  async function answer(row, options, signal) {
    try {
      checkClip(row.clip, getLimits());
      row.text = "Uploading";
      show();
      const job = await send(clipForm(row.clip, options), signal);
      row.id = job.id;
      onSent(job.id, row.clip);
      await follow(row, signal);
    } catch (error) {
      fail(row, error, signal);
    }
    show();
  }

  async function follow(row, signal) {
    const status = await waitForJob(row.id, signal, (current) => {
      row.text = stage(current);
      show();
    });
    if (status.error) throw status.error;
    const table = await text(status.result.table, signal);
    Object.assign(row, { state: "done", ended: Date.now(), answer: summary(status.result), table });
  }

  function fail(row, error, signal) {
    if (signal.aborted || leaving) return;
    Object.assign(row, { state: "failed", text: [error.problem ?? "something went wrong on this page", error.fix].filter(Boolean).map(sentence).join(" ") });
    if (!error.problem) console.error(error);
  }

  /** Show the table from before a reload; false if there is none. Clips not yet sent are lost. */
  function restore() {
    if (rows.length) return show();
    rows = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    controller = new AbortController();
    const { signal } = controller;
    for (const row of rows.filter((each) => each.state === "waiting")) {
      if (row.id) follow(row, signal).catch((error) => fail(row, error, signal)).then(show);
      else Object.assign(row, { state: "failed", text: "Not sent: the page was reloaded. Choose it again." });
    }
    return show();
  }

  /** Stop sending and waiting; what the server has not finished is deleted there. */
  function stop() {
    controller.abort();
    for (const row of rows.filter((each) => each.state === "waiting")) {
      if (row.id) fetchJson(`/api/results/${encodeURIComponent(row.id)}`, { method: "DELETE" }).catch(() => {}); // it may have expired
      Object.assign(row, { state: "failed", text: "Stopped.", id: null });
    }
    show();
  }

  function show() {
    if (!rows.length) return false;
    const stored = rows.map(({ clip, ...row }) => row);
    sessionStorage.setItem(STORED, JSON.stringify(stored));
    const kept = keptRows(rows, getLimits()?.results ?? Infinity);
    byId("batch-rows").replaceChildren(...rows.map((row) => tableRow(row, kept.has(row))));
    byId("batch-kept").hidden = rows.every((row) => row.state !== "done" || kept.has(row));
    const done = rows.filter((row) => row.state !== "waiting").length;
    byId("batch-title").textContent = done < rows.length ? `Analysing ${counted(rows.length, "clip")}` : counted(rows.length, "clip");
    const failed = rows.filter((row) => row.state === "failed").length;
    const progress = `${done} of ${rows.length} done${failed ? `, ${failed} without an answer` : ""}`;
    if (byId("batch-status").textContent !== progress) byId("batch-status").textContent = progress;
    byId("batch-bar").value = rows.length ? done / rows.length : 0;
    byId("batch-bar").hidden = done === rows.length;
    byId("batch-csv").disabled = !rows.some((row) => row.table);
    byId("batch-stop").hidden = done === rows.length;
    return true;
  }

  byId("batch-csv").addEventListener("click", () => save("epir.csv", "text/csv", joined(rows)));
  return { run, restore, show, stop };
}

/** Send a form; while the server is busy, retry after the time it names. */
async function send(form, signal) {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await postForm("/api/predict?wait=false", form, () => {}, signal);
    } catch (error) {
      if (!BUSY.includes(error.status) || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retry || 2)));
    }
  }
}

async function text(address, signal) {
  const response = await fetch(address, { signal });
  return response.ok ? response.text() : "";
}

function summary({ label, text, confidence, apex, apex_s, movements, visible }) {
  const found = label !== NOT_FOUND;
  return { found, label: heading({ label, visible }), text: found ? text : visible?.text ?? "", confidence, apex, apex_s, count: movements.length };
}

/** The answered rows whose result the server still has: the latest `most`. */
export function keptRows(rows, most) {
  const done = rows.filter((row) => row.state === "done").sort((a, b) => b.ended - a.ended);
  return new Set(done.slice(0, most));
}

function tableRow(row, kept) {
  const name = row.id && kept ? element("a", { href: `/r/${row.id}`, "data-route": true }, row.name) : row.name;
  const cells = row.state === "done" ? answerCells(row.answer) : [element("td", { colspan: 4, class: row.state }, row.text)];
  return element("tr", {}, element("th", { scope: "row" }, name), cells);
}

function answerCells({ found, label, text, confidence, apex, apex_s, count }) {
  const more = count > 1 ? element("small", {}, ` and ${counted(count - 1, "other")}`) : null;
  return [
    element("td", {}, element("strong", { class: found ? "" : "nothing" }, label), more),
    element("td", { class: "number" }, confidence === null ? "" : score(confidence)),
    element("td", {}, found ? at(apex, apex_s) : ""),
    element("td", {}, text),
  ];
}

/** The tables of all answers as one, with a column for errors. */
export function joined(rows) {
  const tables = rows.filter((row) => row.table).map((row) => row.table.trimEnd().split("\n"));
  const head = tables[0]?.[0] ?? "file";
  const names = [...head.split(","), "error"];
  const lines = tables.flatMap(([, ...body]) => body.map((line) => `${line},`));
  const failed = rows.filter((row) => row.state === "failed").map((row) => {
    const cells = { status: "error", file: csvCell(row.name), error: csvCell(row.text) };
    return names.map((name) => cells[name] ?? "").join(",");
  });
  return `${[`${head},error`, ...lines, ...failed].join("\n")}\n`;
}

