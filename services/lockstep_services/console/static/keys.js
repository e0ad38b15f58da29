// Keys of the frame: g and a letter goes to a page, ? lists them, and the theme's button.
(() => {
  const places = { a: "/apps", w: "/write", t: "/try", d: "/watch", h: "/history", s: "/scripts", m: "/templates", e: "/errors", n: "/nodes" };
  const typing = (target) => target.closest("input, textarea, select, [contenteditable=true], .cm-editor");
  const help = () => document.getElementById("keys-help").showModal();
  let armed = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === "?") help();
    else if (event.key === "g") armed = Date.now();
    else if (Date.now() - armed < 1500 && places[event.key]) location.href = places[event.key];
  });
  document.getElementById("keys").addEventListener("click", help);
  document.getElementById("theme").addEventListener("click", () =>
    lockstepTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  // The grey shapes go when the page is there.
  const app = document.getElementById("app");
  const there = () => app.querySelector(".page") && document.body.classList.add("there");
  new MutationObserver(there).observe(app, { childList: true, subtree: true });
})();
