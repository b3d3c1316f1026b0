// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Loads pages of the site into frames of several widths, and posts what is wrong with each page. The URL of this script's page has the pages
// (page=index.html) and the widths (width=390).

const minText = 12; // px, of text on pages
const minPictureText = 9; // px, of text in pictures
const minFirstColumn = 96; // px, unless the text is narrower
const maxLinks = 16; // visible links of the navigation
const narrow = 600; // px: below, the navigation is closed

const visible = (element) => element.checkVisibility() && element.getClientRects().length > 0;
const words = (element) => element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);

// scrolling returns the problem of an element that is wider than the page.
function scrolling(box, style) {
  if (box.scrollWidth <= box.clientWidth + 1) return [];
  if (style.overflowX !== "auto") return [`${box.tagName} "${words(box)}" is cut off`];
  return style.maskImage === "none" ? [`${box.tagName} "${words(box)}" does not show that it scrolls`] : [];
}

function tables(page) {
  return [...page.document.querySelectorAll("table")].flatMap((table) => {
    const box = table.closest(".scrolls");
    if (!box) return [`table "${words(table)}" is in no scroll container`];
    const first = table.rows[table.rows.length - 1].cells[0], range = page.document.createRange();
    range.selectNodeContents(first);
    const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.bottom))).size;
    const problems = [];
    if (lines > 1 && first.clientWidth < minFirstColumn) problems.push(`table "${words(table)}": the first column is ${first.clientWidth} px wide`);
    if (box.scrollWidth > box.clientWidth + 1 && first.clientWidth > box.clientWidth * 0.6) problems.push(`table "${words(table)}": the first column fills the screen`);
    return problems;
  });
}

function texts(page) {
  const small = new Map(), walker = page.document.createTreeWalker(page.document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !visible(parent)) continue;
    const size = parseFloat(page.getComputedStyle(parent).fontSize);
    if (size < minText) small.set(size, walker.currentNode.data.trim().slice(0, 40));
  }
  return [...small].map(([size, text]) => `the text "${text}" has ${size} px`);
}

async function pictures(page) {
  const problems = [];
  for (const picture of page.document.querySelectorAll("main img")) {
    picture.loading = "eager";
    await picture.decode();
    const source = await (await fetch(picture.src)).text();
    const sizes = [...source.matchAll(/font-size[:=]\s*"?([\d.]+)|font:\s*(?:\w+\s+)*([\d.]+)px/g)].map(([, size, font]) => parseFloat(size ?? font));
    const size = Math.min(...sizes) * picture.clientWidth / parseFloat(/viewBox="0 0 ([\d.]+)/.exec(source)[1]);
    if (size < minPictureText) problems.push(`the text of the picture ${picture.getAttribute("src")} has ${size.toFixed(1)} px`);
  }
  return problems;
}

function navigation(page, width) {
  const links = [...page.document.querySelectorAll(".menu a")], shown = links.filter(visible).length;
  const open = [...page.document.querySelectorAll(".menu details[open]")], current = page.document.querySelector(".menu [aria-current]");
  const problems = [];
  if (links.length === 0) problems.push("there is no navigation");
  if (width < narrow ? shown > 0 : shown === 0 || shown > maxLinks) problems.push(`the navigation shows ${shown} of ${links.length} links`);
  if (open.length !== 1 || !open[0].contains(current)) problems.push("the navigation does not have exactly the section of this page open");
  return problems;
}

async function check(name, width) {
  const frame = document.createElement("iframe");
  frame.width = width;
  frame.height = 1400;
  frame.src = `/${name}`;
  document.body.replaceChildren(frame);
  await new Promise((loaded) => { frame.onload = loaded; });
  const page = frame.contentWindow;
  const pictured = await pictures(page);
  // Observers of sizes run after the next layout.
  for (let i = 0; i < 2; i++) await new Promise((drawn) => { page.requestAnimationFrame(drawn); });
  const wide = page.document.documentElement.scrollWidth;
  return [
    ...wide > width ? [`the page is ${wide} px wide`] : [],
    ...[...page.document.querySelectorAll("main pre, main .scrolls, .menu a, aside a")].flatMap((box) => scrolling(box, page.getComputedStyle(box))),
    ...tables(page), ...texts(page), ...pictured, ...navigation(page, width),
  ].map((problem) => `${name} at ${width} px: ${problem}`);
}

const parameters = new URLSearchParams(location.search);
const result = { checked: 0, problems: [] };
try {
  for (const width of parameters.getAll("width").map(Number)) {
    for (const name of parameters.getAll("page")) {
      result.problems.push(...await check(name, width));
      result.checked++;
    }
  }
} catch (error) {
  result.problems.push(`the check failed: ${error.stack}`);
}
await fetch("/result", { method: "POST", body: JSON.stringify(result) });
