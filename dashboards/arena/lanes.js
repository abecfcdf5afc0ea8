// The race as bars over time: reading the prompt first, then a block for every pass. All lanes have one scale.
import { make, shown } from "./column.js";

export class Lanes {
  constructor(root, runs, colours) {
    this.root = root;
    root.replaceChildren();
    this.lanes = runs.map((run) => {
      const line = make("div", "", { className: "lane" });
      line.dataset.method = run.method;
      line.style.setProperty("--c", colours[run.method]);
      const track = make("div", "", { className: "track" });
      const reading = make("i", "", { className: "reading" });
      track.append(reading);
      const told = make("span", "", { className: "told" });
      line.append(make("span", run.method, { className: "name" }), track, told);
      root.append(line);
      return { run, track, reading, told, drawn: 1 };
    });
  }

  draw() {
    const span = Math.max(...this.lanes.map(({ run }) => run.clock()), 0.001);
    this.root.style.setProperty("--span", span);
    for (const lane of this.lanes) {
      const { run } = lane;
      const until = run.first ?? run.clock();
      place(lane.reading, 0, until);
      for (; lane.drawn < run.rounds.length; lane.drawn++) {
        const block = make("i", "", { className: "pass" });
        place(block, run.rounds[lane.drawn - 1].at, run.rounds[lane.drawn].at);
        lane.track.append(block);
      }
      lane.told.textContent = run.asked === null ? "" : `${run.tokens} tokens · ${shown(run.clock(), 1)} s`;
    }
  }

  // The bars as they were `seconds` after the start; null: whole.
  reveal(seconds) {
    const span = Number(this.root.style.getPropertyValue("--span"));
    for (const { track } of this.lanes) {
      track.style.clipPath = seconds === null ? "" : `inset(0 ${Math.max(0, 100 - (100 * seconds) / span)}% 0 0)`;
    }
    return span;
  }
}

function place(block, from, to) {
  block.style.setProperty("--from", from);
  block.style.setProperty("--to", to);
}
