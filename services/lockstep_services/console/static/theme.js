// Dark or light before the first paint: what was chosen, else what the system wants.
(() => {
  const chosen = () => (document.cookie.match(/(?:^|; )lockstep_theme=(dark|light)/) || [])[1];
  const wanted = () => chosen() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const root = document.documentElement;
  root.lang = "en";
  root.dataset.theme = wanted();
  window.lockstepTheme = (theme) => {
    document.cookie = `lockstep_theme=${theme}; path=/; max-age=31536000; samesite=strict`;
    root.dataset.theme = theme;
    if (window.Quasar) Quasar.Dark.set(theme === "dark");
    if (window.emitEvent) emitEvent("lockstep-theme", theme === "dark");
  };
})();
