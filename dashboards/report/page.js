// Replays the shown answers at the measured pace: every token fades in when its pass was done.
document.querySelectorAll("[data-replay]").forEach((button) => {
  button.addEventListener("click", () => {
    const example = button.closest(".example");
    example.classList.remove("replay");
    void example.offsetWidth; // restarts the animation
    example.classList.add("replay");
  });
});
