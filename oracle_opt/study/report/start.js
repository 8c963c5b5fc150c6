// Put the sections on the page, and draw them.

const gaps = gapSection();
const sections = [overview(), gaps, profileSection(), dataProfileSection(), targetSection(), costSection(), meanSection(), areaSection(), rankSection(),
  ...DATA.extra.map(extraSection), failureSection(), runSection()];

function showInstance(name) {
  gaps.choose(name);
  gaps.element.scrollIntoView();
}

function start() {
  const main = document.getElementById("main"), dialog = document.getElementById("run");
  const links = sections.map(({ element }) => make("li", {}, make("a", { href: `#${element.id}` }, element.querySelector("h2").textContent)));
  document.getElementById("top").append(make("nav", { "aria-label": "Sections" }, make("ul", {}, links)));
  main.append(controls(), ...sections.map(({ element }) => element), make("footer", {},
    `Written by oracle_opt ${DATA.version} on ${DATA.written}. Everything is in this file; it fetches nothing.`));
  sections.forEach((part) => part.start());
  refresh();
  window.addEventListener("hashchange", followAddress);
  dialog.addEventListener("close", () => {
    if (location.hash.startsWith("#run-")) history.replaceState(null, "", location.pathname + location.search);
  });
  for (const [event, whole] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => document.querySelectorAll(".table").forEach((box) => box.whole(whole)));
  }
  followAddress();
}

start();
