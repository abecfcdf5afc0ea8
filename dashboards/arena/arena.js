// The arena: reads the form, races the methods, draws what comes.
import { command, fromLink, link, withPlace } from "./again.js";
import { Column, make } from "./column.js";
import { Lanes } from "./lanes.js";
import { dataUrl, Picture } from "./picture.js";
import { Run } from "./run.js";
import { caveat, fill, outcome } from "./summary.js";

const one = (selector) => document.querySelector(selector);
const say = (text) => { one("#status").textContent = text; };
let setup, picture, race = null;

start().catch((error) => say(`The page could not be set up: ${error.message}. Load it again when the server runs.`));

async function start() {
  setup = await (await fetch("arena/setup")).json();
  one("#target").textContent = `· ${setup.target}`;
  for (const { name, colour } of setup.methods) {
    const label = make("label", "");
    label.style.setProperty("--c", colour);
    label.append(make("input", "", { type: "checkbox", name: "method", value: name, checked: true }), make("span", "", { className: "dot" }), name);
    one("#methods").append(label);
  }
  one("#tokens").max = setup.max_new_tokens;
  one("#tokens").value = Math.min(64, setup.max_new_tokens);
  picture = new Picture(setup.samples, () => {});
  prefill(fromLink());
  one("#go").disabled = false;
  one("#ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (one("#go").disabled) return; // a race is on
    one("#go").disabled = true;
    go().catch((error) => say(`Nothing was asked: ${error.message}`)).finally(() => {
      one("#go").disabled = false;
      if (document.activeElement === document.body) one("#go").focus({ preventScroll: true }); // not left with a hidden button
    });
  });
  one("#stop").addEventListener("click", () => race?.abort.abort());
  one("#replay").addEventListener("click", replay);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); one("#ask").requestSubmit(); }
    if (event.key === "Escape") race?.abort.abort();
  });
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button)));
}

function prefill(given) {
  for (const [name, id] of Object.entries({ prompt: "#prompt", tokens: "#tokens", temperature: "#temperature", seed: "#seed" })) {
    if (name in given) one(id).value = given[name];
  }
  if (given.picture) picture.pick(given.picture);
  if (given.order === "together") one("[value=together]").checked = true;
  if (given.methods) document.querySelectorAll("[name=method]").forEach((box) => { box.checked = given.methods.split(",").includes(box.value); });
}

function read() {
  const order = one("[name=order]:checked").value;
  return { prompt: one("#prompt").value, picture: picture.value, tokens: one("#tokens").value, temperature: one("#temperature").value,
           seed: one("#seed").value, order, methods: [...document.querySelectorAll("[name=method]:checked")].map((box) => box.value).join(",") };
}

async function request(form, sent) {
  const parts = [{ type: "text", text: form.prompt }];
  if (sent) {
    const kind = sent.clip ? "video_url" : "image_url";
    parts.unshift({ type: kind, [kind]: { url: await dataUrl(sent.blob) } });
  }
  return { model: form.methods.split(",").at(-1), messages: [{ role: "user", content: parts }], temperature: Number(form.temperature),
           seed: Number(form.seed), max_tokens: Number(form.tokens) };
}

async function go() {
  await picture.taken;
  const form = read();
  if (!form.methods) return say("Choose at least one method.");
  const sent = await picture.bytes();
  const body = await request(form, sent);
  if (JSON.stringify(body).length > setup.max_body_mb * 2 ** 20) return say(`The ${sent?.clip ? "clip" : "picture"} is too large: a request may have ${setup.max_body_mb} MiB.`);
  const runs = form.methods.split(",").map((method) => new Run(method));
  race = { form, sent, body, runs, vanilla: runs.find((run) => run.method === "vanilla"), abort: new AbortController() };
  lay(runs);
  const frame = () => { if (race) { race.lanes.draw(); requestAnimationFrame(frame); } };
  requestAnimationFrame(frame);
  try {
    if (form.order === "together") {
      say("All methods are answering.");
      await Promise.all(runs.map(answer));
    } else {
      for (const run of runs) {
        if (race.abort.signal.aborted) { run.state = "stopped"; draw(); continue; }
        say(`${run.method} is answering.`);
        await answer(run);
      }
    }
  } finally {
    finish();
  }
}

const answer = (run) => run.race(race.body, one("#key").value, race.abort.signal, draw);

function lay(runs) {
  const colours = Object.fromEntries(setup.methods.map(({ name, colour }) => [name, colour]));
  race.columns = runs.map((run) => new Column(run, colours[run.method]));
  one("#columns").replaceChildren(...race.columns.map((column) => column.root));
  race.lanes = new Lanes(one("#lanes"), runs, colours);
  for (const hidden of ["#after", "#replay", "#go"]) one(hidden).hidden = true;
  for (const visible of ["#race", "#stop"]) one(visible).hidden = false;
  if (document.activeElement === one("#go") || document.activeElement === document.body) one("#stop").focus();
  one("#race").scrollIntoView({ block: "nearest" });
}

function draw() {
  race.columns.forEach((column) => column.draw(race.vanilla));
  if (race.runs.some((run) => run.needsKey)) one("#key-field").hidden = false;
}

function finish() {
  const { form, sent, body, runs, vanilla } = race;
  draw();
  race.lanes.draw();
  one("#stop").hidden = true;
  one("#go").hidden = false;
  say(outcome(runs, vanilla));
  if (runs.some((run) => run.account)) {
    fill(one("#summary"), runs, vanilla);
    one("#caveat").textContent = caveat(runs, vanilla, form.order === "together", body.temperature);
    again(form, sent, body);
    one("#after").hidden = false;
    one("#replay").hidden = false;
  }
  replayed = race;
  race = null;
}

function again(form, sent, body) {
  const sample = sent !== null && form.picture !== "own";
  one("#curl").textContent = command(withPlace(body, sent?.blob.type), sent && { name: sent.name, sample });
  one("#curl-note").textContent = sent && !sample
    ? `Run this where ${sent.name} lies. Change "model" to ask another method.` : 'Change "model" to ask another method.';
  const save = one("#download");
  if (save.href) URL.revokeObjectURL(save.href);
  save.hidden = !sent?.scaled;
  if (sent) Object.assign(save, { href: URL.createObjectURL(sent.blob), download: sent.name });
  one("[data-copy=link]").dataset.link = link(form);
}

async function copy(button) {
  const text = button.dataset.copy === "curl" ? one("#curl").textContent : button.dataset.link;
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser forbids it: select and copy by hand";
    if (button.dataset.copy === "link") location.hash = new URL(text).hash;
  }
  setTimeout(() => { button.textContent = before; }, 2500);
}

// All methods from the same start, at the pace at which each of them went.
let replayed = null;
function replay() {
  const { columns, lanes } = replayed;
  const began = performance.now(), shown = replayed;
  const step = () => {
    if (race || shown !== replayed) return;
    const seconds = (performance.now() - began) / 1000;
    columns.forEach((column) => column.reveal(seconds));
    const over = seconds > lanes.reveal(seconds);
    if (over) lanes.reveal(null);
    else requestAnimationFrame(step);
  };
  step();
}
