// Onset and apex set by hand on the timeline, with the face at both, and a button to analyse that span.

import { element } from "./dom.js";
import { filmCanvas, nearest } from "./film.js";
import { at, counted, seconds } from "./format.js";
import { joinCurves, lanesOf, timeOf } from "./timeline.js";

const RISE = 0.12; // initial seconds from onset to apex
const LONGEST = 0.5; // seconds

/** The track of the largest face: answers to marks are about that person. */
export function largestTrack({ curves, people = [] }) {
  const size = ({ track }) => people.find((each) => each.track === track)?.face_px ?? 0;
  return curves.reduce((a, b) => (size(b) > size(a) ? b : a)).track;
}

/**
 * A panel for `curve`, the timeline of the result. `clip` is the uploaded clip, null if this page no longer has it;
 * `onMark(marks, files)` requests the answer.
 */
export function markPanel(result, curve, clip, onMark) {
  const largest = largestTrack(result);
  const lanes = lanesOf(result.curves);
  const curves = lanes.find((lane) => lane.some(({ track }) => track === largest));
  const whole = joinCurves(curves);
  const { frames, energy } = whole;
  const [first, last] = [frames[0], frames.at(-1)];
  const peak = frames[energy.indexOf(Math.max(...energy))];
  const rise = Math.max(1, Math.round(RISE * (result.fps || 100)));
  const apex = Math.min(Math.max(peak, first + 1), last);
  const marks = { onset: Math.max(first, apex - rise), apex };
  const note = element("p", { class: "note", role: "status" });
  const parts = ["onset", "apex"].map((name) => part(name, whole, curves, move));

  function move(name, frame) {
    const other = name === "onset" ? "apex" : "onset";
    marks[name] = Math.min(Math.max(frame, name === "onset" ? first : first + 1), name === "onset" ? last - 1 : last);
    if (marks.onset >= marks.apex) marks[other] = name === "onset" ? marks.onset + 1 : marks.apex - 1;
    show();
  }
  function show() {
    for (const each of parts) each.show(marks[each.name]);
    const length = timeOf(whole, marks.apex) - timeOf(whole, marks.onset);
    const long = length > LONGEST ? " That is longer than a whole micro-expression." : "";
    note.textContent = `${seconds(length)}, ${counted(marks.apex - marks.onset, "frame")} from onset to apex.${long}`;
    curve.mark(marks, move);
  }
  const panel = element(
    "details",
    { class: "mark" },
    element("summary", {}, "Mark onset and apex by hand"),
    element("p", { class: "note" }, "Drag the two lines on the timeline, or use the sliders. The answer is for the motion between these frames, whatever was spotted.", lanes.length > 1 && ` It is about person ${largest + 1}, the largest face.`),
    element("div", { class: "marks" }, parts),
    note,
    element("p", { class: "actions" }, analyse(result, clip, (files) => onMark({ ...marks }, files))),
  );
  panel.addEventListener("toggle", () => (panel.open ? show() : curve.mark(null)));
  return panel;
}

function part(name, whole, curves, move) {
  const [first, last] = [whole.frames[0], whole.frames.at(-1)];
  const films = curves.map(({ film }) => film).filter(Boolean);
  const faces = new Map(films.map((film) => [film, filmCanvas(film, { label: `The face at the ${name}` })]));
  const face = element("div", { class: "face" });
  const place = element("span");
  const slider = element("input", { type: "range", min: first, max: last, class: "frames", "aria-label": `${name === "onset" ? "Onset" : "Apex"} (frame)` });
  slider.addEventListener("input", () => move(name, Number(slider.value)));
  const figure = element(
    "figure",
    { class: "keyframe" },
    face,
    element("figcaption", {}, element("strong", {}, name === "onset" ? "Onset" : "Apex"), place),
    slider,
  );
  return Object.assign(figure, {
    name,
    show(frame) {
      const text = at(frame, timeOf(whole, frame));
      slider.value = frame;
      slider.setAttribute("aria-valuetext", text);
      place.textContent = text;
      const away = (film) => Math.abs(film.frames[nearest(film, frame)] - frame);
      const film = films.reduce((a, b) => (a && away(a) <= away(b) ? a : b), null);
      if (!film) return;
      face.replaceChildren(faces.get(film));
      faces.get(film).show(nearest(film, frame));
    },
  });
}

/** The button that requests the answer; the user chooses the clip again if this page no longer has it. */
function analyse(result, clip, onFiles) {
  if (clip) return element("button", { type: "button", class: "button primary", click: () => onFiles(null) }, "Analyse this span");
  const picker = element("input", { type: "file", multiple: true, class: "visually-hidden", id: "mark-files" });
  picker.addEventListener("change", () => picker.files.length && onFiles([...picker.files]));
  return [
    picker,
    element("label", { class: "button primary", for: "mark-files" }, "Choose the clip again"),
    element("span", { class: "note" }, `The server has deleted ${result.input}: choose it again to analyse this span.`),
  ];
}
