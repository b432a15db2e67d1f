// The frames of a camera: each as a JPEG with its time, and the last seconds kept for replays, in this browser only.

const SIDE = 640; // px: the longer side of the frames
const QUALITY = 0.85;
const KEPT = 15000; // ms
const AT_ONCE = 4; // frames that may be encoded at the same time

/** Open a camera; `deviceId` is empty for the usual one. */
export function openDevice(deviceId) {
  const which = deviceId ? { deviceId: { exact: deviceId } } : { facingMode: "user" };
  const video = { ...which, width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 120 } };
  return navigator.mediaDevices.getUserMedia({ audio: false, video });
}

/** The cameras of this machine; they have names once one of them was allowed. */
export async function listDevices() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  return devices.filter((each) => each.kind === "videoinput");
}

/** Encodes every frame of a video element that plays; `onFrame({time, blob})` gets them in order. */
export class Capture {
  constructor(video, onFrame, signal) {
    Object.assign(this, { video, onFrame, signal });
    this.canvas = document.createElement("canvas");
    this.kept = []; // {time, blob}
    this.skipped = 0; // frames that this browser was too slow to encode
    this.latest = -Infinity;
    this.encoding = [];
    this.#await();
  }

  /** The frames between two times that went up and are still kept. */
  between(from, to) {
    return this.kept.filter(({ time, number }) => number !== undefined && from <= time && time <= to);
  }

  #await() {
    this.video.requestVideoFrameCallback((now, metadata) => {
      if (this.signal.aborted) return;
      this.#await();
      this.#take(metadata.captureTime ?? now);
    });
  }

  #take(time) {
    if (time <= this.latest) return; // the same frame twice
    if (this.encoding.length >= AT_ONCE) {
      this.skipped++;
      return;
    }
    this.latest = time;
    const { video, canvas } = this;
    const scale = Math.min(1, SIDE / Math.max(video.videoWidth, video.videoHeight));
    const [width, height] = [Math.round(scale * video.videoWidth), Math.round(scale * video.videoHeight)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    canvas.getContext("2d", { alpha: false }).drawImage(video, 0, 0, width, height);
    const frame = { time, blob: null, done: false };
    this.encoding.push(frame);
    canvas.toBlob((blob) => this.#encoded(Object.assign(frame, { blob, done: true })), "image/jpeg", QUALITY);
  }

  /** Pass on what is ready, in order. */
  #encoded() {
    while (this.encoding[0]?.done) {
      const frame = this.encoding.shift();
      if (this.signal.aborted || !frame.blob) continue;
      this.kept.push(frame);
      while (this.kept[0].time < frame.time - KEPT) this.kept.shift();
      this.onFrame(frame);
    }
  }
}

/** A film of frames for the player, cut to the face ({x, y, side}); made and kept in this browser. */
export async function filmOf(frames, face, timeOf) {
  const size = 256;
  const columns = 8;
  const sheet = Object.assign(document.createElement("canvas"), { width: columns * size, height: Math.ceil(frames.length / columns) * size });
  const context = sheet.getContext("2d", { alpha: false });
  const side = 1.35 * face.side;
  for (const [index, frame] of frames.entries()) {
    const picture = await createImageBitmap(frame.blob);
    const [x, y] = [(index % columns) * size, Math.floor(index / columns) * size];
    context.drawImage(picture, face.x - side / 2, face.y - side / 2, side, side, x, y, size, size);
    picture.close();
  }
  const blob = await new Promise((resolve) => sheet.toBlob(resolve, "image/jpeg", 0.88));
  const seconds = frames.map((frame) => timeOf(frame.time));
  return { sheet: URL.createObjectURL(blob), size, columns, frames: frames.map((frame) => frame.number), seconds };
}
