// The grid in windows: later windows are fetched when they come near, and leave the page when they are far away.

/** Grow a grid that the server has filled with its first window. */
export function fillGrid(grid) {
  if (!grid || !("IntersectionObserver" in window)) return;
  const total = Number(grid.dataset.total), size = Number(grid.dataset.window);
  const first = Number(grid.dataset.start);
  const pager = document.querySelector(".pager");
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) entry.isIntersecting ? load(entry.target) : drop(entry.target);
  }, { rootMargin: "1500px 0px" });

  for (let start = first + size; start < total; start += size) {
    const box = document.createElement("div");
    box.className = "window";
    box.dataset.start = String(start);
    box.dataset.count = String(Math.min(size, total - start));
    grid.after(box);
    place(box);
    seen.observe(box);
  }
  if (pager && total > first + size) pager.hidden = true;

  // Boxes are added right after the grid, so put them in order once.
  const boxes = [...grid.parentElement.querySelectorAll(".window")].sort((a, b) => a.dataset.start - b.dataset.start);
  let last = grid;
  for (const box of boxes) { last.after(box); last = box; }
  window.addEventListener("resize", () => boxes.forEach(place));

  function place(box) {
    if (box.dataset.full) return;
    const style = getComputedStyle(grid);
    const columns = style.gridTemplateColumns.split(" ").length;
    const tile = grid.querySelector(".tile");
    const height = tile ? tile.offsetHeight + 10 : 160;
    box.style.height = `${Math.ceil(box.dataset.count / columns) * height}px`;
  }

  async function load(box) {
    if (box.dataset.full) return;
    box.dataset.full = "1";
    const address = new URL(grid.dataset.grid, location.href);
    address.searchParams.set("start", box.dataset.start);
    const answer = await fetch(address, { headers: { "X-Part": "1" } });
    if (!answer.ok) { delete box.dataset.full; return; }
    box.className = "window grid";
    box.innerHTML = await answer.text();
    box.style.height = "";
  }

  function drop(box) {
    if (!box.dataset.full || !box.childElementCount) return;
    if (Math.abs(box.getBoundingClientRect().top) < 12000) return;
    box.style.height = `${box.offsetHeight}px`;
    box.replaceChildren();
    box.className = "window";
    delete box.dataset.full;
  }
}
