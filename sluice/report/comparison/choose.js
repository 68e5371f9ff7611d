/* Shows the sets that are ticked, in the picture and in the tables, and marks the best of each
 * case among them. The boxes are the only record of what is chosen: all else follows them, the
 * picture too, as soon as it is drawn. */
const boxes = [...document.querySelectorAll(".choice input")];
const rows = [...document.querySelectorAll("tr[data-set]")];

/* Mark the least value of each column among the rows of a case. */
function mark(group) {
  for (let i = 0; i < group[0].cells.length; i++) {
    const cells = group.map((row) => row.cells[i]).filter((cell) => cell.dataset.v);
    const least = Math.min(...cells.map((cell) => Number(cell.dataset.v)));
    for (const cell of cells)
      cell.classList.toggle("best", group.length > 1 && Number(cell.dataset.v) === least);
  }
}

/* Show the rows and the bars of the ticked sets only. */
function choose() {
  const chosen = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  const groups = new Map();
  for (const row of rows) {
    row.hidden = !chosen.has(row.dataset.set);
    if (row.hidden) continue;
    if (!groups.has(row.dataset.case)) groups.set(row.dataset.case, []);
    groups.get(row.dataset.case).push(row);
  }
  for (const group of groups.values()) mark(group);
  document.getElementById("shown").textContent =
    chosen.size + " of " + boxes.length + " sets are shown";
  drawn.comparison?.then(({view}) => view.signal("chosen", [...chosen]).runAsync());
}

/* Tick the boxes that `wanted` returns true for. */
function tick(wanted) {
  for (const box of boxes) box.checked = wanted(box);
  choose();
}

for (const box of boxes) box.addEventListener("change", choose);
document.getElementById("all").addEventListener("click", () => tick(() => true));
document.getElementById("core").addEventListener("click", () => tick((box) => box.defaultChecked));
document.addEventListener("drawn", choose);
addEventListener("pageshow", choose);  // after a browser has put its own memory of boxes back
