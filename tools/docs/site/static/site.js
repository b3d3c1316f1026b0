// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Searches the sections of all pages. The index is loaded when somebody begins to search.
const input = document.getElementById("search"), list = document.getElementById("found");
let sections;

async function load() {
  sections ??= fetch("search.json").then((response) => response.json());
  return sections;
}

function score(section, words) {
  const heading = `${section.heading} ${section.page}`.toLowerCase(), text = section.text.toLowerCase();
  let points = 0;
  for (const word of words) {
    if (heading.includes(word)) points += 10;
    else if (text.includes(word)) points += 1;
    else return 0;
  }
  return points;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
  if (!words.length) { list.hidden = true; return; }
  const found = (await load()).map((section) => [score(section, words), section])
    .filter(([points]) => points > 0).sort(([a], [b]) => b - a).slice(0, 12);
  list.replaceChildren(...found.map(([, section]) => {
    const item = document.createElement("li"), link = document.createElement("a"), page = document.createElement("small");
    link.href = section.url;
    link.textContent = section.heading;
    page.textContent = section.page;
    link.append(page);
    item.append(link);
    return item;
  }));
  if (!found.length) list.textContent = "Nothing found";
  list.hidden = false;
}

input.addEventListener("focus", load);
input.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  if (event.key === "Escape") list.hidden = true;
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) list.hidden = true; });

// A table, picture or block of code that is wider than the page fades at the side to which it scrolls.
for (const box of document.querySelectorAll(".scrolls, pre")) {
  const mark = () => {
    const left = box.scrollLeft, right = box.scrollWidth - box.clientWidth - left;
    box.classList.toggle("more-left", left > 1);
    box.classList.toggle("more-right", right > 1);
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
  for (const content of box.children) new ResizeObserver(mark).observe(content);
}

// The menu is open where there is room for it.
const menu = document.querySelector(".menu"), wide = matchMedia("(min-width: 60rem)");
const adapt = () => { menu.open = wide.matches; };
wide.addEventListener("change", adapt);
adapt();
