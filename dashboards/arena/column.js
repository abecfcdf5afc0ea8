// A method's column: its text as it comes, round by round, and its figures.
import { rate, told, verdict } from "./run.js";

const STATES = { waiting: "waiting for its turn", reading: "waits, sees and reads …", decoding: "decoding", done: "finished",
                 failed: "failed", stopped: "stopped" };

export const make = (name, content = "", properties = {}) =>
  Object.assign(document.createElement(name), typeof content === "string" ? { textContent: content } : {}, properties);

export const shown = (value, digits = 2) => (value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits));

export class Column {
  constructor(run, colour) {
    this.run = run;
    this.root = make("article", "", { className: "column card" });
    this.root.dataset.method = run.method;
    this.root.style.setProperty("--c", colour);
    const title = make("h2", run.method, { id: `column-${run.method}` });
    title.prepend(make("span", "", { className: "dot" }));
    this.root.setAttribute("aria-labelledby", title.id);
    this.state = make("span", "", { className: "tag" });
    title.append(this.state);
    this.figures = Object.fromEntries(["tokens/s", "A", "R"].map((name) => [name, make("dd", "–")]));
    const list = make("dl", "", { className: "figures" });
    for (const [name, value] of Object.entries(this.figures)) {
      const pair = make("div");
      pair.append(make("dt", name), value);
      list.append(pair);
    }
    this.text = make("div", "", { className: "tokens", tabIndex: 0 });
    this.text.setAttribute("role", "group");
    this.text.setAttribute("aria-label", `Answer of ${run.method}; arrow keys go from pass to pass`);
    this.about = make("p", "", { className: "readout" });
    this.problem = make("p", "", { className: "problem", hidden: true });
    this.root.append(title, list, this.text, this.about, this.problem);
    this.drawn = 0;
    this.now = -1;
    this.listen();
    this.draw(null);
  }

  draw(vanilla) {
    const { run } = this;
    this.root.dataset.state = run.state;
    this.state.textContent = STATES[run.state];
    while (this.drawn < run.rounds.length) this.text.append(this.round(this.drawn++));
    if (run.tail && run.state === "done" && !this.text.querySelector(".tail")) this.text.append(make("span", run.tail, { className: "tail" }));
    this.figures["tokens/s"].textContent = shown(run.pace, 1);
    this.figures.A.textContent = shown(run.acceptLength);
    this.figures.R.textContent = run === vanilla && run.state === "done" ? "1" : shown(rate(run, vanilla));
    this.problem.textContent = run.problem ?? "";
    this.problem.hidden = !run.problem;
  }

  round(number) {
    const round = this.run.rounds[number];
    const drawn = make("span", "", { className: "round", title: told(round, number) });
    round.pieces.forEach((piece, place) => {
      const kind = place < round.kept ? "kept" : verdict(round);
      const word = kind === "kept" && place > 0 ? piece : piece.trimStart(); // a mark on a space would be one on nothing
      drawn.append(piece.slice(0, piece.length - word.length), make("span", word, { className: kind }));
    });
    return drawn;
  }

  // What of the text had come `seconds` after it was asked.
  reveal(seconds) {
    this.text.querySelectorAll(".round").forEach((drawn, number) =>
      drawn.classList.toggle("later", this.run.rounds[number].at > seconds));
  }

  listen() {
    const rounds = () => [...this.text.querySelectorAll(".round")];
    this.text.addEventListener("keydown", (event) => {
      const last = this.drawn - 1;
      const to = { ArrowRight: Math.min(this.now + 1, last), ArrowLeft: Math.max(this.now - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.point(to);
    });
    for (const kind of ["click", "mouseover"]) {
      this.text.addEventListener(kind, (event) => this.point(rounds().indexOf(event.target.closest(".round"))));
    }
    for (const kind of ["mouseleave", "blur"]) this.text.addEventListener(kind, () => this.point(-1));
  }

  point(number) {
    const rounds = this.text.querySelectorAll(".round");
    rounds[this.now]?.classList.remove("now");
    this.now = number;
    rounds[number]?.classList.add("now");
    this.about.textContent = number < 0 ? "" : told(this.run.rounds[number], number);
  }
}
