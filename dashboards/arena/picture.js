// The picture of the request, or the clip: one of the samples, one's own, or none. It knows no method.
import { make } from "./column.js";

const LONGEST = 2048, LARGEST = 4 * 2 ** 20; // beyond either a picture is made smaller before it is sent

export class Picture {
  constructor(samples, changed) {
    this.own = null;             // { name, blob, scaled, clip } of a file, a drop or a paste
    this.taken = Promise.resolve(); // once what was given last is read; ask for nothing before
    this.changed = changed;
    this.root = document.querySelector("#samples");
    this.chosen = document.querySelector("#chosen");
    this.problem = document.querySelector("#picture-problem");
    samples.forEach(({ file, label }) => this.root.append(choice(file, label, `arena/samples/${file}`)));
    this.mine = choice("own", "your own", null);
    this.mine.append(make("span", "clip", { hidden: true }));
    this.mine.hidden = true;
    this.root.append(this.mine, choice("none", "no picture", null));
    this.pick(samples[0]?.file ?? "none");
    this.root.addEventListener("change", () => this.show());
    this.listen();
  }

  get value() { return this.root.querySelector("input:checked").value; }

  pick(value) {
    const input = [...this.root.querySelectorAll("input")].find((one) => one.value === value);
    if (!input || (value === "own" && !this.own)) return;
    input.checked = true;
    this.show();
  }

  // The bytes as they will be sent: { blob, name, scaled, clip }, or null.
  async bytes() {
    if (this.value === "none") return null;
    if (this.value === "own") return this.own;
    const response = await fetch(`arena/samples/${this.value}`).catch(() => ({ ok: false }));
    if (!response.ok) throw new Error("the server does not give its sample picture. Is it still running?");
    return { blob: await response.blob(), name: this.value, scaled: false, clip: false };
  }

  show() {
    this.chosen.replaceChildren(this.shown());
    if (this.value === "own" && this.own.scaled) this.chosen.append(make("p", "made smaller before it is sent", { className: "soft note" }));
    this.changed();
  }

  shown() {
    const image = this.root.querySelector("input:checked").parentElement.querySelector("img");
    if (!image) return make("p", "no picture", { className: "soft" });
    if (this.value !== "own") return make("img", "", { src: image.src, alt: image.alt });
    if (!this.own.clip) return make("img", "", { src: this.source, alt: "your own picture" });
    const video = make("video", "", { src: this.source, controls: true, muted: true, loop: true });
    video.setAttribute("aria-label", "your own clip");
    return video;
  }

  // One after the other, so that the last one given is the one shown.
  take(file) { this.taken = this.taken.then(() => this.receive(file)); }

  async receive(file) {
    try {
      this.own = await prepared(file);
      this.complain(null);
    } catch {
      this.complain(`${file.name || "What was pasted"} is neither a clip nor a picture that this browser can read (JPEG, PNG, WEBP, GIF, BMP).`);
      return;
    }
    if (this.source) URL.revokeObjectURL(this.source);
    this.source = URL.createObjectURL(this.own.blob);
    const image = this.mine.querySelector("img");
    if (!this.own.clip) image.src = this.source;
    image.hidden = this.own.clip;
    this.mine.querySelector("span").hidden = !this.own.clip;
    this.mine.hidden = false;
    this.pick("own");
  }

  complain(message) {
    this.problem.textContent = message ?? "";
    this.problem.hidden = message === null;
  }

  listen() {
    const file = document.querySelector("#file");
    file.addEventListener("change", () => { if (file.files[0]) this.take(file.files[0]); file.value = ""; });
    document.addEventListener("paste", (event) => {
      const pasted = [...event.clipboardData.files][0];
      if (pasted) { event.preventDefault(); this.take(pasted); }
    });
    document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
    document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
    });
  }
}

function choice(value, label, source) {
  const root = make("label", "", { className: "sample", title: label });
  const input = make("input", "", { type: "radio", name: "picture", value });
  input.setAttribute("aria-label", label);
  root.append(input, value === "none" ? make("span", "none") : make("img", "", source ? { src: source, alt: label } : { alt: label }));
  return root;
}

// Any picture that the browser can read. A very large one is drawn anew, smaller, as JPEG. A clip goes as it is: what the
// server can decode, the server knows.
async function prepared(file) {
  if (file.type.startsWith("video/")) return { blob: file, name: file.name || "pasted.mp4", scaled: false, clip: true };
  const bitmap = await createImageBitmap(file);
  const shrink = Math.min(1, LONGEST / Math.max(bitmap.width, bitmap.height));
  if (shrink === 1 && file.size <= LARGEST) return { blob: file, name: file.name || "pasted.png", scaled: false, clip: false };
  const canvas = make("canvas", "", { width: Math.round(bitmap.width * shrink), height: Math.round(bitmap.height * shrink) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.9));
  return { blob, name: `${file.name.replace(/\.\w+$/, "") || "picture"}-as-sent.jpg`, scaled: true, clip: false };
}

export function dataUrl(blob) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}
