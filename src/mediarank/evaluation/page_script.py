"""The script of the report: sort and filter tables, enlarge pictures, play clips.

It is part of the page, and the page's policy names its hash: no other script can run, whatever a label contains.
Without it everything can still be read. An enlarged picture is the original if that can be loaded: from beside the
page (`../raw/media`), or from the explorer if that serves the page; otherwise the small one that is in the page.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

SCRIPT: Final = r"""
"use strict";
(() => {
  const make = (tag, given = {}, ...inside) => {
    const made = Object.assign(document.createElement(tag), given);
    made.append(...inside);
    return made;
  };
  const text = (cell) =>
    [...cell.childNodes].filter((n) => !n.classList || !/small|whisker/.test(n.className))
      .map((n) => n.textContent).join("").trim();
  const number = (shown) => parseFloat(shown.replace("\u2212", "-").replace(/,/g, ""));

  const sortBy = (table, head, place) => {
    const up = head.getAttribute("aria-sort") === "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row, k) => [text(row.cells[place]), k, row]);
    const numeric = head.classList.contains("number");
    rows.sort((a, b) => {
      let order;
      if (numeric) {
        const [x, y] = [number(a[0]), number(b[0])];
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y) || a[1] - b[1];
        order = x - y;
      } else order = b[0].localeCompare(a[0]);
      return (up ? order : -order) || a[1] - b[1];
    });
    table.tBodies[0].append(...rows.map((row) => row[2]));
  };

  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = make("button", {type: "button", className: "sort"}, ...head.childNodes);
      button.addEventListener("click", () => sortBy(table, head, place));
      head.append(button);
    });
    if (rows.length > 8) {
      const field = make("input", {type: "search", className: "filter", placeholder: `Filter ${rows.length} rows`});
      field.setAttribute("aria-label", `Filter the rows of ${table.getAttribute("aria-label") || "this table"}`);
      field.addEventListener("input", () => {
        const wanted = field.value.trim().toLowerCase();
        for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      });
      table.parentElement.before(field);
    }
  }

  const strips = {};
  for (const tile of document.querySelectorAll("[data-strip]")) strips[tile.dataset.item] = tile.dataset;
  const file = location.protocol === "file:";
  const address = (item, clip) =>
    file ? "../raw/media/" + item.split("/").map(encodeURIComponent).join("/")
      : (clip ? "play" : "picture") + "?item=" + encodeURIComponent(item);

  const dialog = make("dialog", {className: "enlarged"});
  const stage = make("div", {className: "stage"});
  const words = make("p");
  const close = make("button", {type: "button", className: "close"}, "Close");
  close.addEventListener("click", () => dialog.close());
  dialog.append(close, stage, words);
  document.body.append(dialog);
  let timer = 0, shown = [], at = 0;
  dialog.addEventListener("close", () => { clearInterval(timer); stage.replaceChildren(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  const flip = (strip) => {
    const count = Number(strip.frames), book = make("div", {className: "book"});
    book.style.backgroundImage = `url("${strip.strip}")`;
    book.style.backgroundSize = `${count * 100}% 100%`;
    book.style.aspectRatio = strip.shape;
    let k = 0;
    timer = setInterval(() => {
      k = (k + 1) % count;
      book.style.backgroundPosition = `${(100 * k) / (count - 1)}% 0`;
    }, 500);
    stage.replaceChildren(book);
    words.textContent = `${words.dataset.name}: ${count} frames; the clip itself is not beside this page`;
  };
  const open = (place) => {
    const tile = shown[(at = (place + shown.length) % shown.length)];
    const item = tile.dataset.item, strip = strips[item], small = tile.querySelector("img");
    clearInterval(timer);
    words.dataset.name = words.textContent = item;
    if (strip) {
      const clip = make("video", {src: address(item, true), controls: true, muted: true, loop: true, autoplay: true});
      clip.addEventListener("error", () => flip(strip));
      stage.replaceChildren(clip);
    } else {
      const large = make("img", {src: address(item, false), alt: small.alt});
      large.addEventListener("error", () => { large.src = small.src; }, {once: true});
      stage.replaceChildren(large);
    }
    if (!dialog.open) dialog.showModal();
  };
  dialog.addEventListener("keydown", (event) => {
    if (event.target.tagName === "VIDEO") return;
    if (event.key === "ArrowRight") open(at + 1);
    if (event.key === "ArrowLeft") open(at - 1);
  });
  for (const tile of document.querySelectorAll(".tile[data-item]")) {
    const picture = tile.querySelector(".picture");
    if (!picture.querySelector("img")) continue;
    picture.tabIndex = 0;
    picture.setAttribute("role", "button");
    const begin = () => {
      shown = [...tile.parentElement.querySelectorAll(":scope > .tile[data-item]")]
        .filter((other) => other.querySelector("img"));
      open(shown.indexOf(tile));
    };
    picture.addEventListener("click", begin);
    picture.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      begin();
    });
  }

  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
"""

SCRIPT_HASH: Final = "sha256-" + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
