// Keyboard control: one table of keys, which also fills the card of shortcuts.

import { byId, element } from "/static/dom.js";
import { move, showAll, showMovement, zoom } from "./chart.js";
import { go } from "./list.js";
import { keyFrames, model, opened, step } from "./model.js";
import { setEmotion, setKey, setState, takeFrom, toggleKind } from "./panel.js";
import { flick, pause, play, show, stepBy, toggle, turn } from "./stage.js";

const focus = (id) => () => byId(id)?.focus();
const to = (name) => () => keyFrames() && (pause(), show(keyFrames()[name]));
const pan = (share) => () => move(share);

/** [keys, description, function]. */
export const GROUPS = [
  ["The list", [
    [["j", "ArrowDown"], "Next candidate", () => go(1)],
    [["k", "ArrowUp"], "Previous candidate", () => go(-1)],
    [["n", "Enter"], "Next undecided candidate", () => go(1, { open: true })],
    [["/"], "Sort and filter", focus("sort")],
  ]],
  ["The decision", [
    [["a"], "Accept", () => setState("accept")],
    [["r"], "Reject", () => setState("reject")],
    [["u"], "Unsure", () => setState("unsure")],
    [["q"], "Onset is this frame", () => setKey("onset", model.frame)],
    [["w"], "Apex is this frame", () => setKey("apex", model.frame)],
    [["e"], "Offset is this frame", () => setKey("offset", model.frame)],
    [["1", "2", "3", "4", "5", "6", "7", "8", "9"], "Emotion, as numbered (again: none)", (key) => setEmotion(Number(key) - 1)],
    [["t"], "Micro- or macro-expression", toggleKind],
    [["g"], "Action units, such as 4+L12B", focus("units")],
    [["d"], "Note", focus("note")],
    [["m"], "Mark a movement at this frame", () => byId("mark").click()],
    [["z", "Control+z"], "Undo", () => step("undo")],
    [["Shift+Z", "Control+y"], "Redo", () => step("redo")],
    [["Shift+1", "Shift+2", "Shift+3", "Shift+4"], "Adjudication: adopt a coder’s decision", (key) => takeFrom(Number(key.at(-1)) - 1)],
  ]],
  ["The picture", [
    [["ArrowLeft"], "One frame back", () => stepBy(-1)],
    [["ArrowRight"], "One frame forward", () => stepBy(1)],
    [["Shift+ArrowLeft"], "Ten frames back", () => stepBy(-10)],
    [["Shift+ArrowRight"], "Ten frames forward", () => stepBy(10)],
    [["Shift+Q", "Shift+W", "Shift+E"], "Go to onset, apex, offset", (key) => to({ Q: "onset", W: "apex", E: "offset" }[key.at(-1)])()],
    [["f"], "Switch between onset and apex", flick],
    [["Space"], "Play or pause", play],
    [[",", "."], "Slower, faster", (key) => turn("speed", key === "," ? -1 : 1)],
    [["l"], "Loop", () => toggle("loop")],
    [["o"], "Flow", () => toggle("flow")],
    [["x", "Shift+X"], "Magnify more, less", (key) => turn("times", key === "x" ? 1 : -1)],
    [["b"], "Stabilise the face", () => toggle("stabilise")],
    [["h"], "Whole frame", () => toggle("whole")],
  ]],
  ["The timeline", [
    [["+", "-"], "Zoom in, out", (key) => zoom(key === "+" ? 0.5 : 2)],
    [["c"], "This movement", showMovement],
    [["v"], "The whole recording", showAll],
    [["[", "]"], "Earlier, later", (key) => pan(key === "[" ? -0.5 : 0.5)()],
    [["?"], "This card", () => (byId("card").open ? byId("card").close() : byId("card").showModal())],
    [["Escape"], "Leave a field", () => document.activeElement.blur()],
  ]],
];

const table = new Map(GROUPS.flatMap(([, rows]) => rows.flatMap(([keys, , run]) => keys.map((key) => [key, run]))));
const AT_ONCE = new Set(["/", "?", "Escape"]); // run even while a movement is loading
let line = Promise.resolve(); // other keys run one after the other, each once its movement has loaded
const SHOWN = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Shift: "⇧", Control: "Ctrl" };
const shown = (key) => key.split("+").filter(Boolean).map((part) => SHOWN[part] ?? part.toUpperCase()).join(" ") || "+";

/** A key press as written in the table: with Shift for letters, digits and arrows only. */
function pressed(event) {
  if (event.metaKey || event.altKey) return "";
  if (event.ctrlKey) return `Control+${event.key.toLowerCase()}`;
  if (event.key === " ") return "Space";
  if (event.shiftKey && /^Digit\d$/.test(event.code)) return `Shift+${event.code.at(-1)}`;
  if (event.shiftKey && (/^[a-z]$/i.test(event.key) || event.key.startsWith("Arrow"))) return `Shift+${event.key.length === 1 ? event.key.toUpperCase() : event.key}`;
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

const writes = (node) => node.matches?.("textarea, input:not([type=checkbox]):not([type=range]), select");

function onKey(event) {
  const key = pressed(event);
  const { target } = event;
  if (event.defaultPrevented || (byId("card").open && key !== "?") || !table.has(key)) return;
  if (writes(target) && key !== "Escape" && !(key === "Enter" && target.id === "units")) return;
  if (!byId("single-keys").checked && !["Escape", "?", "Control+z", "Control+y"].includes(key)) return;
  if ((key === "Space" || key === "Enter") && target.matches?.("button, a, input, summary") && target.id !== "units") return; // it presses the button
  if (target.matches?.("input[type=range]") && key.startsWith("Arrow")) return;
  event.preventDefault();
  if (key === "Enter" && target.id === "units") return target.blur();
  if (AT_ONCE.has(key)) table.get(key)(key);
  else line = line.then(opened).then(() => void Promise.resolve(table.get(key)(key)).catch(() => {})); // already reported
}

/** Listen to keys, and fill the card. */
export function setUpKeys() {
  document.addEventListener("keydown", onKey);
  byId("single-keys").checked = localStorage.getItem("keys") !== "off";
  byId("single-keys").addEventListener("change", () => localStorage.setItem("keys", byId("single-keys").checked ? "on" : "off"));
  byId("card-keys").append(
    ...GROUPS.map(([name, rows]) =>
      element(
        "section",
        {},
        element("h3", {}, name),
        element("dl", {}, rows.map(([keys, words]) => element("div", {}, element("dt", {}, (keys.length > 4 ? [keys[0], "…", keys.at(-1)] : keys).map((key) => (key === "…" ? "…" : element("kbd", {}, shown(key))))), element("dd", {}, words)))),
      ),
    ),
  );
}
