// The grid in windows of whole rows: a window is fetched when it comes near, and leaves the page when it is far away, so
// that the page stays small however long the list is. Heights are those of the tiles, so nothing moves while scrolling.

const NEAR = "1500px 0px", FAR = "5000px 0px";

/** Grow a grid that the server has filled with its first window. */
export function fillGrid(grid) {
  if (!grid || !("IntersectionObserver" in window) || !grid.querySelector(".tile")) return;
  const total = Number(grid.dataset.total), size = Number(grid.dataset.window), first = Number(grid.dataset.start);
  const tiles = [...grid.children];
  if (first + tiles.length >= total) return;
  const near = new IntersectionObserver((entries) => entries.filter((one) => one.isIntersecting).forEach((one) => load(one.target)), { rootMargin: NEAR });
  const far = new IntersectionObserver((entries) => entries.filter((one) => !one.isIntersecting).forEach((one) => drop(one.target)), { rootMargin: FAR });
  const pager = document.querySelector(".pager");
  if (pager) pager.hidden = true;
  let boxes = [], columns = 0;
  arrange();
  new ResizeObserver(arrange).observe(grid);

  /** Lay the windows out anew if the number of columns has changed; otherwise only their heights. */
  function arrange() {
    const style = getComputedStyle(grid), count = style.gridTemplateColumns.split(" ").length;
    const gap = parseFloat(style.rowGap) || 0, height = tiles[0].getBoundingClientRect().height;
    if (count !== columns) {
      columns = count;
      for (const box of boxes) { near.unobserve(box); far.unobserve(box); box.remove(); }
      const whole = Math.max(columns, tiles.length - (tiles.length % columns));
      grid.replaceChildren(...tiles.slice(0, whole));
      boxes = [];
      const step = Math.ceil(size / columns) * columns, page = document.createDocumentFragment();
      for (let start = first + whole; start < total; start += step) {
        const box = document.createElement("div");
        box.className = "window";
        Object.assign(box.dataset, { start, count: Math.min(step, total - start) });
        boxes.push(box);
        page.append(box);
      }
      grid.after(page);
    }
    for (const box of boxes) {
      const rows = Math.ceil(box.dataset.count / columns);
      box.style.height = `${rows * height + (rows - 1) * gap}px`;
    }
    for (const box of boxes) { near.observe(box); far.observe(box); }
  }

  async function load(box) {
    if (box.dataset.full) return;
    box.dataset.full = "1";
    const address = new URL(grid.dataset.grid, location.href);
    address.searchParams.set("start", box.dataset.start);
    address.searchParams.set("count", box.dataset.count);
    const answer = await fetch(address, { headers: { "X-Part": "1" } }).catch(() => null);
    if (!answer?.ok || !box.dataset.full) { delete box.dataset.full; return; }
    const text = await answer.text();
    if (!box.dataset.full) return; // it went far away meanwhile
    box.className = "window grid";
    box.innerHTML = text;
  }

  function drop(box) {
    delete box.dataset.full;
    box.replaceChildren();
    box.className = "window";
  }
}
