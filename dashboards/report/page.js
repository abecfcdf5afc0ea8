// The page is whole without this: it adds a picker of answers, a replay, steps through passes, and a method in focus.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// One method to the fore: everything that belongs to another one fades, in tables, figures and answers.
const chips = all("[data-focus]");
chips.forEach((chip) => chip.addEventListener("click", () => {
  const method = chip.getAttribute("aria-pressed") === "true" ? null : chip.dataset.focus;
  chips.forEach((other) => other.setAttribute("aria-pressed", String(other.dataset.focus === method)));
  all("main [data-method]").forEach((part) => part.classList.toggle("faded", method !== null && part.dataset.method !== method));
}));
if (chips.length > 1) document.querySelector(".chips").hidden = false;

// Replay: every pass fades in when it was done, at the measured pace.
all("[data-replay]").forEach((button) => button.addEventListener("click", () => {
  const example = button.closest(".example");
  example.classList.remove("replay");
  void example.offsetWidth; // restarts the animation
  example.classList.add("replay");
}));

// Pass by pass: pointing, touching or the arrow keys tell what a pass kept.
all(".tokens").forEach((tokens) => {
  const passes = all(".pass", tokens);
  const readout = tokens.parentElement.querySelector(".readout");
  let now = -1;
  const show = (place) => {
    if (now >= 0) passes[now].classList.remove("now");
    now = place;
    if (now >= 0) passes[now].classList.add("now");
    readout.textContent = now >= 0 ? passes[now].dataset.about : "";
  };
  tokens.addEventListener("keydown", (event) => {
    const last = passes.length - 1;
    const to = { ArrowRight: Math.min(now + 1, last), ArrowLeft: Math.max(now - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
  tokens.addEventListener("click", (event) => show(passes.indexOf(event.target.closest(".pass"))));
  tokens.addEventListener("mouseover", (event) => show(passes.indexOf(event.target.closest(".pass"))));
  tokens.addEventListener("mouseleave", () => show(-1));
  tokens.addEventListener("blur", () => show(-1));
});

// One answer at a time, picked by its picture: tabs that arrow keys walk through.
const examples = all(".example");
if (examples.length > 1) {
  const picker = document.createElement("div");
  picker.className = "picker";
  picker.setAttribute("role", "tablist");
  picker.setAttribute("aria-label", "Questions");
  const tabs = examples.map((example) => {
    const tab = document.createElement("button");
    const picture = example.querySelector("img");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", example.id);
    tab.setAttribute("aria-label", `${example.dataset.label}: ${example.querySelector(".question").textContent}`);
    example.setAttribute("role", "tabpanel");
    if (picture) tab.append(Object.assign(new Image(), { src: picture.src, alt: "" }));
    tab.append(example.dataset.label);
    return tab;
  });
  const pick = (place) => tabs.forEach((tab, other) => {
    tab.setAttribute("aria-selected", String(other === place));
    tab.tabIndex = other === place ? 0 : -1;
    examples[other].hidden = other !== place;
  });
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => pick(place));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: (place + 1) % tabs.length, ArrowLeft: (place + tabs.length - 1) % tabs.length, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      pick(to);
      tabs[to].focus();
    });
  });
  picker.append(...tabs);
  examples[0].parentElement.before(picker);
  pick(0);
}
