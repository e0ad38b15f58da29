// Line charts as plain SVG: one polyline per series, a light grid, the range at the left.
const NS = "http://www.w3.org/2000/svg";
const WIDTH = 300, HEIGHT = 84, LEFT = 4, RIGHT = 4, TOP = 8, BOTTOM = 8;
export const MAX_SERIES = 6;

export function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return (value / 1e9).toFixed(2) + "G";
  if (size >= 1e6) return (value / 1e6).toFixed(2) + "M";
  if (size >= 1e4) return (value / 1e3).toFixed(1) + "k";
  if (Number.isInteger(value)) return String(value);
  return size >= 100 ? value.toFixed(1) : value.toFixed(2);
}

function element(name, attributes, parent) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.appendChild(made);
  return made;
}

function bounds(series) {
  let low = Infinity, high = -Infinity, first = Infinity, last = -Infinity;
  for (const { points } of series) for (const [x, y] of points) {
    if (y < low) low = y;
    if (y > high) high = y;
    if (x < first) first = x;
    if (x > last) last = x;
  }
  if (low > high) return null;
  if (low === high) { low -= 1; high += 1; }
  if (first === last) last = first + 1;
  return { low, high, first, last };
}

// series: [{ name, points: [[x, y], …] }, …] with x ascending.
export function draw(svg, series) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  const range = bounds(series);
  for (const part of [0, 0.5, 1]) {
    const y = TOP + part * (HEIGHT - TOP - BOTTOM);
    element("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y }, svg);
  }
  if (!range) return null;
  const across = (WIDTH - LEFT - RIGHT) / (range.last - range.first);
  const up = (HEIGHT - TOP - BOTTOM) / (range.high - range.low);
  series.slice(0, MAX_SERIES).forEach(({ points }, index) => {
    const path = points
      .map(([x, y]) => `${(LEFT + (x - range.first) * across).toFixed(1)},${(HEIGHT - BOTTOM - (y - range.low) * up).toFixed(1)}`)
      .join(" ");
    if (points.length > 1) element("polyline", { class: `line s${index}`, points: path }, svg);
    else element("polyline", { class: `line s${index}`, points: `${path} ${LEFT + 6},${path.split(",")[1]}` }, svg);
  });
  return range;
}
