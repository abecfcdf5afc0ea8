// The table of a finished race, and what may be said about it.
import { make, shown } from "./column.js";
import { rate } from "./run.js";

const PHASES = [["vision", "seeing"], ["prefill", "reading"], ["draft_prefill", "draft reads"], ["draft", "drafting"],
                ["verify", "verifying"], ["other", "other"]];

export function fill(table, runs, vanilla) {
  const finished = runs.filter((run) => run.account);
  const head = ["method", "tokens", "passes", "A", "R decode", "first token, s", "tokens/s", "in all, s",
                ...PHASES.map(([, title]) => `${title}, s`), "same text"];
  const line = make("tr");
  head.forEach((title) => line.append(make("th", title, { scope: "col" })));
  const headed = make("thead");
  headed.append(line);
  const body = make("tbody");
  finished.forEach((run) => body.append(row(run, vanilla, finished)));
  table.replaceChildren(make("caption", "One prompt, not for quoting. Seconds of the phases are the server’s own.", { className: "soft" }), headed, body);
}

function row(run, vanilla, finished) {
  const reference = vanilla?.account ? vanilla : finished[0];
  const cells = [run.account.usage.completion_tokens, run.account.rounds, shown(run.account.accept_length),
                 run === vanilla ? "1" : shown(rate(run, vanilla)), shown(run.first), shown(run.pace, 1), shown(run.secondsInAll),
                 ...PHASES.map(([phase]) => shown(run.account.seconds[phase])),
                 run === reference ? "–" : run.text === reference.text ? "yes" : "no"];
  const line = make("tr");
  line.dataset.method = run.method;
  line.append(make("th", run.method, { scope: "row" }));
  cells.forEach((value) => line.append(make("td", String(value))));
  return line;
}

// What the numbers of this race are worth, in a sentence or two.
export function caveat(runs, vanilla, together, temperature) {
  const said = ["R is how many times as fast as vanilla a method decoded, behind the first token. One prompt has no interval; specflash bench measures many."];
  if (!vanilla) said[0] = "Without vanilla in the race there is no R.";
  if (together) said.push("Side by side the methods took the machine’s cores from each other: compare their passes, not their seconds.");
  if (temperature > 0) said.push("Above temperature 0 texts may differ: each method draws from the same law, with draws of its own.");
  else if (new Set(runs.filter((run) => run.state === "done").map((run) => run.text)).size > 1) {
    said.push("At temperature 0 every text should be the same. Where two words were nearly as likely, rounding can decide differently when several tokens are checked at once.");
  }
  return said.join(" ");
}

// The outcome in one sentence, for the status line.
export function outcome(runs, vanilla) {
  const failed = runs.filter((run) => run.state === "failed").length;
  if (failed) return `${failed} of ${runs.length} methods failed; each says why.`;
  if (runs.some((run) => run.state === "stopped")) return "Stopped.";
  const best = runs.filter((run) => run !== vanilla && rate(run, vanilla)).sort((a, b) => rate(b, vanilla) - rate(a, vanilla))[0];
  return best ? `${best.method} decoded ${shown(rate(best, vanilla))} times as fast as vanilla on this one prompt.` : "Finished.";
}
