// The timeline of a run: calls and computing of ranks over simulated time, on a canvas to zoom and to move.
"use strict";

(() => {
  const LEFT = 78, TOP = 6, BOTTOM = 26, ROW_MIN = 4, ROW_MOST = 28, ARROWS_MOST = 400;
  const COLOURS = ["transfer", "waiting", "line-4", "line-5", "line-6", "line-7", "line-8", "late_receiver"];
  const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"], [1e-12, "ps"]];

  function unpack(text, Kind) {
    const raw = atob(text || "");
    const bytes = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
    return new Kind(bytes.buffer);
  }

  function inTime(value, digits = 4) {
    const [scale, unit] = UNITS.find(([one]) => Math.abs(value) >= one) || UNITS[UNITS.length - 1];
    return value === 0 ? "0 s" : `${Number((value / scale).toPrecision(digits))} ${unit}`;
  }

  function inBytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
    return `${Number((value / 1024 ** power).toPrecision(4))} ${units[power]}`;
  }

  function roundStep(step) {
    const power = 10 ** Math.floor(Math.log10(step));
    return power * [1, 2, 5, 10].find((mantissa) => mantissa * power >= step * (1 - 1e-9));
  }

  class Timeline {
    constructor(root, given) {
      this.root = root;
      this.names = given.names;
      this.rank = unpack(given.rank, Uint32Array);
      this.name = unpack(given.name, Uint32Array);
      this.begin = unpack(given.begin, Float64Array);
      this.end = unpack(given.end, Float64Array);
      this.bytes = unpack(given.bytes, Float64Array);
      const sent = given.messages;
      this.messages = {
        from: unpack(sent.source, Uint32Array), to: unpack(sent.destination, Uint32Array),
        sent: unpack(sent.sent, Float64Array), received: unpack(sent.received, Float64Array),
      };
      // Calls lie by rank and then by time; `rows` has the ranks that have any, `first` where each begins.
      this.rows = []; this.first = []; this.rowOf = new Map();
      for (let at = 0; at < this.rank.length; at += 1) {
        if (at && this.rank[at] === this.rank[at - 1]) continue;
        this.rowOf.set(this.rank[at], this.rows.length);
        this.rows.push(this.rank[at]); this.first.push(at);
      }
      this.first.push(this.rank.length);
      this.last = this.end.reduce((most, one) => Math.max(most, one), 0) || 1e-12;
      this.chosen = -1;
      this.canvas = root.querySelector("canvas");
      this.plot = root.querySelector(".plot");
      this.prepare();
      this.all();
      this.listen();
      root.timeline = this;
    }

    prepare() {
      const style = getComputedStyle(this.root);
      const colour = (name) => style.getPropertyValue(`--${name}`).trim();
      let next = 0;
      this.colours = this.names.map((name) => colour(name === "compute" ? "compute" : COLOURS[next++ % COLOURS.length]));
      this.ink = colour("ink"); this.soft = colour("soft"); this.grid = colour("hair");
      const legend = this.root.querySelector("[data-legend]");
      legend.replaceChildren(...this.names.map((name, number) => {
        const entry = document.createElement("span");
        const key = Object.assign(document.createElement("i"), { className: "key" });
        key.style.background = this.colours[number];
        entry.append(key, name);
        return entry;
      }));
      const find = this.root.querySelector("[data-find]");
      if (find.options.length === 1) this.names.forEach((name, number) => find.add(new Option(name, number)));
    }

    // View: from `from` to `to` in time, rows from `top` on, each `height` high.
    all() {
      this.from = 0; this.to = this.last; this.top = 0;
      this.height = Math.min(ROW_MOST, Math.max(ROW_MIN, 460 / this.rows.length));
      this.draw();
    }

    get width() { return this.canvas.clientWidth - LEFT - 8; }
    get shown() { return Math.max(1, Math.floor(this.room / this.height)); }
    get room() { return this.canvas.clientHeight - TOP - BOTTOM; }
    x(time) { return LEFT + (time - this.from) / (this.to - this.from) * this.width; }
    time(x) { return this.from + (x - LEFT) / this.width * (this.to - this.from); }

    hold() {
      const span = Math.min(this.last, Math.max(this.to - this.from, this.last * 1e-9));
      this.from = Math.min(Math.max(0, this.from), this.last - span);
      this.to = this.from + span;
      this.top = Math.min(Math.max(0, this.top), Math.max(0, this.rows.length - this.shown));
      this.draw();
    }

    zoom(factor, at = (this.from + this.to) / 2) {
      this.from = at - (at - this.from) * factor;
      this.to = at + (this.to - at) * factor;
      this.hold();
    }

    move(times, rows) {
      const by = (this.to - this.from) * times;
      this.from += by; this.to += by; this.top += rows;
      this.hold();
    }

    stretch(factor) {
      this.height = Math.min(ROW_MOST, Math.max(1, this.height * factor));
      this.hold();
    }

    // First call of a row that ends after `time`.
    after(row, time) {
      let low = this.first[row], high = this.first[row + 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.end[middle] <= time) low = middle + 1; else high = middle;
      }
      return low;
    }

    draw() {
      const scale = window.devicePixelRatio || 1;
      const wanted = Math.min(460, Math.max(60, this.rows.length * this.height)) + TOP + BOTTOM;
      if (this.canvas.style.height !== `${wanted}px`) this.canvas.style.height = `${wanted}px`;
      const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
      if (!width) return;
      this.canvas.width = Math.round(width * scale); this.canvas.height = Math.round(height * scale);
      const pen = this.canvas.getContext("2d");
      pen.scale(scale, scale);
      pen.font = "12px system-ui, sans-serif";
      this.axis(pen, height);
      pen.save();
      pen.beginPath(); pen.rect(LEFT, TOP, this.width, this.room); pen.clip();
      const end = Math.min(this.rows.length, Math.ceil(this.top + this.shown + 1));
      for (let row = Math.floor(this.top); row < end; row += 1) this.drawRow(pen, row);
      this.arrows(pen);
      pen.restore();
      this.labels(pen, end);
    }

    y(row) { return TOP + (row - this.top) * this.height; }

    drawRow(pen, row) {
      const y = this.y(row), high = this.height > 6 ? this.height - 2 : this.height;
      let done = LEFT - 1;
      for (let at = this.after(row, this.from); at < this.first[row + 1] && this.begin[at] < this.to; at += 1) {
        const left = Math.max(this.x(this.begin[at]), LEFT), right = Math.min(this.x(this.end[at]), LEFT + this.width);
        if (right <= done && at !== this.chosen) continue; // not a pixel of its own
        pen.fillStyle = this.colours[this.name[at]];
        const wide = Math.max(right - left, 1);
        pen.fillRect(left, y, wide, high);
        done = Math.floor(left + wide);
        if (wide > 3 && this.height > 6) { pen.fillStyle = this.grid; pen.fillRect(left + wide - 1, y, 1, high); }
        if (at === this.chosen) { pen.strokeStyle = this.ink; pen.lineWidth = 2; pen.strokeRect(left + 1, y + 1, Math.max(1, wide - 2), Math.max(1, high - 2)); }
      }
    }

    // Arrows are drawn where few messages are in view, or for the chosen call.
    arrows(pen) {
      const found = [];
      const { from, to, sent, received } = this.messages;
      for (let at = 0; at < sent.length; at += 1) {
        if (sent[at] > this.to) break;
        const rows = [this.rowOf.get(from[at]), this.rowOf.get(to[at])];
        if (received[at] < this.from || rows.some((row) => row === undefined)) continue;
        if (Math.max(...rows) < this.top || Math.min(...rows) > this.top + this.shown) continue;
        found.push([at, ...rows]);
        if (found.length > ARROWS_MOST) return;
      }
      pen.strokeStyle = this.ink; pen.lineWidth = 1; pen.globalAlpha = 0.55;
      pen.beginPath();
      for (const [at, source, destination] of found) {
        pen.moveTo(this.x(sent[at]), this.y(source) + this.height / 2);
        pen.lineTo(this.x(received[at]), this.y(destination) + this.height / 2);
      }
      pen.stroke();
      pen.globalAlpha = 1;
    }

    axis(pen, height) {
      const step = roundStep((this.to - this.from) / Math.max(2, this.width / 120));
      const digits = Math.max(3, Math.ceil(Math.log10(this.to / step)) + 1);
      pen.textAlign = "center"; pen.lineWidth = 1;
      for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) {
        const x = this.x(tick);
        pen.strokeStyle = this.grid;
        pen.beginPath(); pen.moveTo(x, TOP); pen.lineTo(x, height - BOTTOM + 4); pen.stroke();
        pen.fillStyle = this.soft;
        if (x < LEFT + this.width - 24) pen.fillText(inTime(tick, digits), x, height - 8);
      }
    }

    labels(pen, end) {
      pen.fillStyle = this.soft; pen.textAlign = "right";
      const each = Math.max(1, Math.ceil(16 / this.height));
      for (let row = Math.ceil(this.top / each) * each; row < end; row += each) {
        const y = this.y(row) + Math.min(this.height, 16) / 2 + 4;
        if (y < TOP + this.room + 4) pen.fillText(`rank ${this.rows[row]}`, LEFT - 8, y);
      }
    }

    choose(at) {
      this.chosen = at;
      const text = this.root.querySelector("[data-chosen]");
      if (at < 0) { text.textContent = "No call is chosen."; this.draw(); return; }
      const size = this.bytes[at] ? `, ${inBytes(this.bytes[at])}` : "";
      text.textContent = `Rank ${this.rank[at]}: ${this.names[this.name[at]]}, from ${inTime(this.begin[at], 7)} to `
        + `${inTime(this.end[at], 7)} (${inTime(this.end[at] - this.begin[at])})${size}`;
      const span = this.to - this.from, middle = (this.begin[at] + this.end[at]) / 2;
      if (this.end[at] < this.from || this.begin[at] > this.to) { this.from = middle - span / 2; this.to = middle + span / 2; }
      const row = this.rowOf.get(this.rank[at]);
      if (row < this.top || row >= this.top + this.shown) this.top = row - this.shown / 2;
      this.hold();
    }

    at(x, y) {
      const row = Math.floor((y - TOP) / this.height + this.top);
      if (x < LEFT || row < 0 || row >= this.rows.length) return -1;
      const at = this.after(row, this.time(x - 1));
      return at < this.first[row + 1] && this.begin[at] <= this.time(x + 1) ? at : -1;
    }

    step(by) {
      if (this.chosen < 0) { this.choose(this.after(Math.ceil(this.top), this.from)); return; }
      const next = this.chosen + by;
      if (this.rank[next] === this.rank[this.chosen]) this.choose(next);
    }

    otherRank(by) {
      const row = this.chosen < 0 ? Math.ceil(this.top) - by : this.rowOf.get(this.rank[this.chosen]);
      if (row + by < 0 || row + by >= this.rows.length) return;
      const time = this.chosen < 0 ? this.from : this.begin[this.chosen];
      this.choose(Math.min(this.after(row + by, time), this.first[row + by + 1] - 1));
    }

    // Next call of the wanted name in time, after the chosen one.
    find() {
      const wanted = this.root.querySelector("[data-find]").value;
      const now = this.chosen < 0 ? [-1, -1] : [this.begin[this.chosen], this.chosen];
      let best = -1;
      for (let at = 0; at < this.name.length; at += 1) {
        if (wanted !== "" && this.name[at] !== Number(wanted)) continue;
        const is_later = this.begin[at] > now[0] || (this.begin[at] === now[0] && at > now[1]);
        if (is_later && (best < 0 || this.begin[at] < this.begin[best])) best = at;
      }
      if (best >= 0) this.choose(best);
    }

    do(what) {
      const acts = {
        in: () => this.zoom(0.5), out: () => this.zoom(2), left: () => this.move(-0.25, 0), right: () => this.move(0.25, 0),
        up: () => this.move(0, -this.shown / 4), down: () => this.move(0, this.shown / 4), all: () => this.all(),
        taller: () => this.stretch(1.5), lower: () => this.stretch(1 / 1.5), next: () => this.step(1),
        previous: () => this.step(-1), rankUp: () => this.otherRank(-1), rankDown: () => this.otherRank(1),
        find: () => this.find(),
      };
      acts[what]();
    }

    listen() {
      const keys = {
        "+": "in", "=": "in", "-": "out", "−": "out", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
        Home: "all", t: "taller", T: "taller", l: "lower", L: "lower", n: "next", N: "next", p: "previous", P: "previous", PageUp: "rankUp", PageDown: "rankDown",
      };
      this.plot.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const what = keys[event.key];
        if (!what) return;
        event.preventDefault();
        this.do(what);
      });
      this.root.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-do]");
        if (button) this.do(button.dataset.do);
      });
      this.canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
        event.preventDefault();
        const by = event.deltaY || event.deltaX;
        if (event.ctrlKey) this.zoom(by > 0 ? 1.25 : 0.8, this.time(event.offsetX)); else this.move(by / 1000, 0);
      }, { passive: false });
      this.drag();
      new ResizeObserver(() => this.hold()).observe(this.canvas);
      window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.prepare(); this.draw(); });
    }

    drag() {
      let start = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        start = { x: event.offsetX, y: event.offsetY, from: this.from, to: this.to, top: this.top, moved: false };
        this.canvas.setPointerCapture(event.pointerId);
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!start) return;
        const [dx, dy] = [event.offsetX - start.x, event.offsetY - start.y];
        if (Math.abs(dx) + Math.abs(dy) < 4 && !start.moved) return;
        start.moved = true;
        const by = dx / this.width * (start.to - start.from);
        this.from = start.from - by; this.to = start.to - by; this.top = start.top - dy / this.height;
        this.hold();
      });
      this.canvas.addEventListener("pointerup", (event) => {
        if (start && !start.moved) this.choose(this.at(event.offsetX, event.offsetY));
        start = null;
      });
      this.canvas.addEventListener("pointercancel", () => { start = null; });
    }
  }

  async function begin(root) {
    const inPage = document.getElementById("timeline-data");
    try {
      const given = root.dataset.address ? await (await fetch(root.dataset.address)).json() : JSON.parse(inPage.textContent);
      new Timeline(root, given);
    } catch (error) {
      root.querySelector("[data-chosen]").textContent = `The timeline cannot be shown: ${error.message}`;
    }
  }

  const start = () => document.querySelectorAll("[data-timeline]").forEach(begin);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
