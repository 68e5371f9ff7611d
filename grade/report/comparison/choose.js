/* Shows the sets that are ticked, in the picture and in the tables, and marks the best of each
 * case among them. */
const boxes = [...document.querySelectorAll(".choice input")];
const rows = [...document.querySelectorAll("tr[data-set]")];

function mark(group) {
  for (let i = 0; i < group[0].cells.length; i++) {
    const cells = group.map((row) => row.cells[i]).filter((cell) => cell.dataset.v);
    const least = Math.min(...cells.map((cell) => Number(cell.dataset.v)));
    for (const cell of cells)
      cell.classList.toggle("best", group.length > 1 && Number(cell.dataset.v) === least);
  }
}

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
  drawn.comparison?.then(({view}) => view.signal("chosen", [...chosen]).runAsync());
}

function chooseAll() {
  for (const box of boxes) box.checked = true;
  choose();
}

for (const box of boxes) box.addEventListener("change", choose);
document.querySelector("button").addEventListener("click", chooseAll);
choose();
