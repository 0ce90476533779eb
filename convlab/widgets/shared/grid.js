// A grid of cells: a pointer and the arrow keys choose one; frames glide over it.

import { clamp, OWN_KEYS, svg } from "./page.js";
import { scrollBox } from "./scroll.js";

const SMALLEST = 9; // pixels: no text is smaller, however narrow the page
const AXIS = 10; // pixels of the names along the edges, as in widgets.css

const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A picture of numbers in rows and columns; `box` is what to put on the page. `look(cell)` is called with { row, column } under the pointer or the
 * keyboard's cursor and with null when it leaves; `choose(cell)` on a click, Enter or Space.
 */
export class Grid {
  constructor(page, { look = () => {}, choose = () => {}, role = "pixel grid" }) {
    const hatch = `${page.root.id}-hatch-${Math.random().toString(36).slice(2, 8)}`;
    this.hatch = `url(#${hatch})`;
    this.names = svg("g", { class: "cl-axis" });
    this.cells = svg("g");
    this.frames = svg("g");
    this.drawn = [];
    this.framed = new Map();
    this.cursor = null;
    this.looked = false; // whether a cell is looked at
    this.finger = false; // whether a finger pointed last: it leaves with every tap, and what it pointed at stays
    this.shape = "";
    page.onReshape(() => this.looked && this.leave(look));
    const lines = { width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    const pattern = svg("pattern", { id: hatch, ...lines },
      svg("rect", { width: 5, height: 5, class: "cl-hatch-paper" }),
      svg("rect", { width: 1.3, height: 5, class: "cl-hatch-line" }));
    this.node = svg("svg", {
      class: "cl-grid", role: "application", "aria-roledescription": role, tabindex: 0, ...OWN_KEYS,
      onpointerdown: page.guard((event) => {
        this.finger = event.pointerType === "touch";
        this.before = this.looked ? this.seen : null;
      }),
      onpointermove: page.guard((event) => this.point(event, look)),
      onpointerleave: page.guard(() => this.finger || this.leave(look)),
      onpointercancel: page.guard(() => this.tell(this.before, look)), // it was the beginning of scrolling
      onclick: page.guard((event) => {
        if (this.finger) this.point(event, look);
        this.point(event, choose);
      }),
      onkeydown: page.guard((event) => this.key(event, look, choose)),
      onblur: page.guard(() => this.leave(look)),
    }, svg("defs", {}, pattern), this.names, this.cells, this.frames);
    this.box = scrollBox(page, this.node, () => this.edges());
    const elsewhere = page.guard(({ target }) => this.looked && this.finger && !this.node.contains(target) && this.leave(look));
    document.addEventListener("click", elsewhere);
    page.onEnd(() => document.removeEventListener("click", elsewhere));
  }

  /**
   * Draw `rows` by `columns` cells of `width` by `height`.
   * `cell(row, column)` gives { kind, text, corner, heat }: a CSS class, the number, a small one below it, and
   * 0 to 1 for the strength of the colour. `frames` are { name, row, column, rows, columns }. `rowNames` and
   * `columnNames` go along the edges, those of rows
   * in a margin `names` wide; a wider gap follows every `group`-th column; `start` is the cell that the
   * keyboard's cursor starts from; `digits` the length of the longest number.
   */
  draw({ rows, columns, width, height = width, cell, frames = [], rowNames, columnNames, group = 0, label, start, names = 20, digits: letters = 2 }) {
    Object.assign(this, { rows, columns, width, height, group, start, letters });
    this.left = rowNames ? names : 2;
    this.top = columnNames ? 18 : 2;
    const shape = [rows, columns, width, height, group, this.left, this.top, letters].join();
    if (shape !== this.shape) this.lay(shape);
    this.drawn.forEach((tile, i) => this.paint(tile, cell(Math.floor(i / columns), i % columns)));
    this.edge(rowNames, columnNames);
    const all = this.cursor ? [...frames, { name: "cursor", ...this.cursor }] : frames;
    this.frame(all);
    this.node.setAttribute("aria-label", label);
    // It shrinks with the page until its smallest text is as small as can be read, then it scrolls.
    const fonts = [this.font, this.cornered ? this.small : this.font, rowNames || columnNames ? AXIS : this.font];
    this.least = Math.ceil((this.wide * SMALLEST) / Math.min(...fonts)) + 1;
    this.node.style.minWidth = `${this.least}px`;
  }

  x(column) {
    return this.left + column * this.width + (this.group ? Math.floor(column / this.group) * 5 : 0);
  }

  y(row) {
    return this.top + row * this.height;
  }

  /** Where columns and rows begin and end on the page now. */
  edges() {
    const scale = this.node.getBoundingClientRect().width / this.wide;
    const all = (count, at, size) => Array.from({ length: count }, (_, i) => [at(i) * scale, (at(i) + size) * scale]);
    return { columns: all(this.columns, (i) => this.x(i), this.width), rows: all(this.rows, (i) => this.y(i), this.height) };
  }

  lay(shape) {
    const { rows, columns, width, height } = this;
    const size = Math.min(width, height);
    this.font = clamp(Math.min(width * 0.43, height * 0.72, (1.5 * width) / this.letters), SMALLEST, 14);
    this.small = Math.max(size * 0.3, SMALLEST);
    this.cornered = false;
    const [wide, high] = [this.x(columns - 1) + width + 2, this.y(rows) + 2];
    Object.assign(this, { wide, high });
    this.node.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    this.node.setAttribute("width", wide);
    this.node.setAttribute("height", high);
    this.drawn = Array.from({ length: rows * columns }, (_, i) => {
      const [x, y] = [this.x(i % columns), this.y(Math.floor(i / columns))];
      const box = (inset, from, rx) =>
        svg("rect", { x: x + inset, y: y + from, width: width - 2 * inset, height: height - from - inset, rx });
      const words = (down, font) => svg("text", { x: x + width / 2, y: y + height * down, "font-size": font });
      const [tile, strip] = [box(0.75, 0.75, Math.min(3, size / 8)), box(1.1, height * 0.65, 2)];
      const [text, corner] = [words(0.5, this.font), words(0.82, this.small)];
      strip.setAttribute("class", "cl-strip");
      corner.setAttribute("class", "cl-corner");
      return { tile, text, strip, corner, key: null };
    });
    this.cells.replaceChildren(...this.drawn.flatMap(({ tile, text, strip, corner }) => [tile, strip, text, corner]));
    this.framed.forEach((frame) => frame.remove());
    this.framed.clear();
    this.cursor = null;
    this.shape = shape;
  }

  paint(drawn, { kind = "", text = "", corner = "", heat = null }) {
    const key = `${kind}|${text}|${corner}|${heat}`;
    if (drawn.key === key) return;
    drawn.key = key;
    drawn.tile.setAttribute("class", `cl-cell ${kind}`);
    drawn.tile.style.fill = kind.includes("cl-padding") ? this.hatch : "";
    if (heat !== null) drawn.tile.style.setProperty("--heat", heat);
    drawn.text.textContent = text;
    drawn.text.setAttribute("class", `cl-value ${kind}`);
    drawn.text.setAttribute("dy", corner === "" ? 0 : -this.height * 0.16);
    drawn.strip.style.display = corner === "" ? "none" : "";
    drawn.corner.textContent = corner;
    this.cornered ||= corner !== "";
  }

  edge(rowNames, columnNames) {
    const name = (x, y, text, anchor) => svg("text", { x, y, "text-anchor": anchor }, text);
    const row = (_, i) => name(this.left - 4, this.y(i) + this.height / 2, rowNames(i), "end");
    const column = (_, i) => name(this.x(i) + this.width / 2, this.top - 8, columnNames(i), "middle");
    this.names.replaceChildren(
      ...(rowNames ? Array.from({ length: this.rows }, row) : []),
      ...(columnNames ? Array.from({ length: this.columns }, column) : []),
    );
  }

  frame(frames) {
    const names = new Set(frames.map((frame) => frame.name));
    for (const [name, rect] of this.framed) rect.style.display = names.has(name) ? "" : "none";
    for (const { name, row, column, rows = 1, columns = 1 } of frames) {
      const rect = this.framed.get(name) ?? this.frames.appendChild(svg("rect", { class: `cl-frame cl-frame-${name}`, rx: 4 }));
      this.framed.set(name, rect);
      const [x, y] = [this.x(column), this.y(row)];
      rect.setAttribute("width", this.x(column + columns - 1) + this.width - x);
      rect.setAttribute("height", rows * this.height);
      rect.style.transform = `translate(${x}px, ${y}px)`;
    }
  }

  point(event, tell) {
    const box = this.node.getBoundingClientRect();
    const scale = this.node.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const row = Math.floor((y - this.top) / this.height);
    const starts = Array.from({ length: this.columns }, (_, i) => this.x(i));
    const column = starts.findIndex((start) => x >= start && x < start + this.width);
    this.tell(row >= 0 && row < this.rows && column >= 0 ? { row, column } : null, tell);
  }

  tell(cell, tell) {
    this.cursor = null;
    this.looked = true;
    this.seen = cell;
    tell(cell);
  }

  leave(look) {
    this.cursor = null;
    this.looked = false;
    look(null);
  }

  key(event, look, choose) {
    const step = KEYS[event.key];
    if (step) {
      const from = this.cursor ?? this.start; // the first key press moves away from what is shown
      this.cursor = from
        ? { row: clamp(from.row + step[0], 0, this.rows - 1), column: clamp(from.column + step[1], 0, this.columns - 1) }
        : { row: 0, column: 0 };
      this.looked = true;
      look(this.cursor);
    } else if (event.key === "Escape") this.leave(look);
    else if ((event.key === "Enter" || event.key === " ") && this.cursor) choose(this.cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
