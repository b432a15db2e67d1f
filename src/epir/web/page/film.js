// A film: frames of the face in one JPEG, row by row, drawn one at a time.

import { element } from "./dom.js";

/** The index of the frame of a film that is nearest to a frame number. */
export function nearest(film, frame) {
  let best = 0;
  film.frames.forEach((each, index) => {
    if (Math.abs(each - frame) < Math.abs(film.frames[best] - frame)) best = index;
  });
  return best;
}

const sheets = new WeakMap(); // each sheet is loaded once

function sheetOf(film) {
  if (!sheets.has(film)) sheets.set(film, Object.assign(new Image(), { src: film.sheet }));
  return sheets.get(film);
}

/** A canvas that shows one frame of a film: `show(index)` draws it once loaded, then calls `onDrawn(context, index)`. */
export function filmCanvas(film, { side = 2 * film.size, label = "", onDrawn = () => {} } = {}) {
  const canvas = element("canvas", { width: side, height: side, role: "img", "aria-label": label });
  const context = canvas.getContext("2d");
  const image = sheetOf(film);
  let current = 0;
  canvas.show = (index) => {
    current = index;
    if (!image.complete || !image.naturalWidth) return;
    const { size, columns } = film;
    context.imageSmoothingQuality = "high";
    context.drawImage(image, (index % columns) * size, Math.floor(index / columns) * size, size, size, 0, 0, side, side);
    canvas.dataset.frame = film.frames[index];
    onDrawn(context, index);
  };
  image.addEventListener("load", () => canvas.show(current));
  canvas.show(0);
  return canvas;
}
