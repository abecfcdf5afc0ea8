// One method's answer to one request: what came when, and what follows from it. It draws nothing.
import { chunks, Failure } from "./stream.js";

const ADDRESS = new URL("../v1/chat/completions", import.meta.url);
const DECODE = ["draft", "verify", "other"];

export class Run {
  constructor(method) {
    this.method = method;
    this.state = "waiting";      // waiting, reading, decoding, done, failed, stopped
    this.asked = null;           // when it was asked, in the browser's milliseconds
    this.rounds = [];            // { at, drafted, kept, pieces }: `at` in seconds since it was asked
    this.tail = "";              // characters that became certain with the end alone
    this.account = null;         // the server's own: usage and `speculative`
    this.problem = null;
    this.needsKey = false;
    this.ended = null;           // seconds since it was asked
  }

  async race(body, key, signal, changed) {
    this.asked = performance.now();
    this.state = "reading";
    changed();
    const request = { ...body, model: this.method, stream: true,
                      stream_options: { include_usage: true, include_rounds: true } };
    try {
      for await (const chunk of chunks(ADDRESS, request, key, signal)) {
        this.take(chunk);
        changed();
      }
      this.state = "done";
    } catch (error) {
      this.state = error.name === "AbortError" ? "stopped" : "failed";
      if (this.state === "failed") this.problem = error instanceof Failure ? error.message : `The page failed: ${error.message}`;
      this.needsKey = error.needsKey === true;
    }
    this.ended = this.clock();
    changed();
  }

  clock() {
    return this.ended ?? (this.asked === null ? 0 : (performance.now() - this.asked) / 1000);
  }

  take(chunk) {
    if (chunk.usage) this.account = { usage: chunk.usage, ...chunk.speculative };
    const content = chunk.choices[0]?.delta.content;
    if (chunk.speculative && chunk.choices.length) {
      this.state = "decoding";
      const { drafted, kept, pieces } = chunk.speculative;
      this.rounds.push({ at: this.clock(), drafted, kept, pieces });
    } else if (content) {
      this.tail += content;
    }
  }

  get text() { return this.rounds.flatMap((round) => round.pieces).join("") + this.tail; }
  get tokens() { return this.rounds.reduce((sum, round) => sum + round.pieces.length, 0); }
  get passes() { return Math.max(this.rounds.length - 1, 0); }
  get first() { return this.rounds[0]?.at ?? null; }

  // Tokens of a verification pass; null before the first one.
  get acceptLength() { return this.passes ? (this.tokens - this.rounds[0].pieces.length) / this.passes : null; }

  // Tokens a second behind the first one: as they arrive here, and by the server's own clock once it has told.
  get pace() {
    if (this.secondsPerToken) return 1 / this.secondsPerToken;
    const last = this.rounds.at(-1);
    return last && last.at > this.first ? (this.tokens - 1) / (last.at - this.first) : null;
  }

  // Seconds that the server spent on a token behind the first one; null until it has told them.
  get secondsPerToken() {
    if (!this.account || this.account.usage.completion_tokens < 2) return null;
    return DECODE.reduce((sum, phase) => sum + this.account.seconds[phase], 0) / (this.account.usage.completion_tokens - 1);
  }

  get secondsInAll() {
    return this.account && Object.values(this.account.seconds).reduce((sum, spent) => sum + spent, 0);
  }
}

// How many times as fast as `vanilla` it decoded; null unless both have finished.
export function rate(run, vanilla) {
  if (!vanilla || run.state !== "done" || vanilla.state !== "done") return null;
  return run.secondsPerToken && vanilla.secondsPerToken && vanilla.secondsPerToken / run.secondsPerToken;
}

// What became of the last token of a round: the target's word on what was drafted.
export function verdict(round) {
  if (round.drafted === 0) return "own";
  return round.kept < round.drafted ? "corrected" : "bonus";
}

export function told(round, number) {
  if (number === 0) return "the first token, from reading the prompt";
  if (round.drafted === 0) return `pass ${number}: the target’s own token`;
  return `pass ${number}: ${round.kept} of ${round.drafted} drafted tokens kept` +
    (round.pieces.length > round.kept ? `, then one ${verdict(round) === "bonus" ? "as a bonus" : "corrected"}` : "");
}
