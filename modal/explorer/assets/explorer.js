// The page's section: views, read-out, controls, keys.

const CYCLE = 1.6;  // s of one vibration as it is shown
const STEP = 0.11;  // s a point stays while the points run
const NO_WEBGL = "This browser shows no 3-D graphics (WebGL is switched off or missing). "
  + "The values and the chart work all the same.";
const NO_MODE = "The shape of this mode was not found at this point.";
const NO_INTERVAL = ": the modes of this instant do not stand for the motion";
const GROWS = "▲ grows";
const ROUND_OFF = 1e-6;  // of the largest growth rate of an unstable point: what is called zero
const THEMES = { "": "theme: as the system", dark: "theme: dark", light: "theme: light" };

class Explorer {
  constructor(root, views) {
    this.root = root;
    this.views = views;
    this.part = (name) => root.querySelector(`.fm-${name}`);
    this.playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.running = false;
    this.pinned = false;
    this.amplitude = 1;
    this.buildTabs();
    this.buildControls();
    this.listen();
    this.openAddress();
    window.addEventListener("hashchange", () => this.openAddress());
    this.seen = true;
    new IntersectionObserver(([entry]) => { this.seen = entry.isIntersecting; }).observe(root);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  buildTabs() {
    const tabs = this.part("tabs");
    this.tabs = this.views.map((view, k) => button(view.title, view.title, () => this.open(k),
      { role: "tab", "aria-label": null }));
    if (this.views.length > 1) tabs.append(...this.tabs);
    this.theme = button("◐", THEMES[""], () => this.nextTheme());
    this.part("theme").append(this.theme);
  }

  buildControls() {
    this.play = button("", "", () => this.setPlaying(!this.playing));
    this.run = button("", "", () => this.setRunning(!this.running));
    const slider = make("input", {
      type: "range", min: 0, max: 3, step: 0.05, value: 1, "aria-label": "amplitude",
      oninput: (event) => this.setAmplitude(Number(event.target.value)),
    });
    this.part("controls").append(
      this.play, this.run,
      button("◀", "previous point (←)", () => this.step(-1, 0)),
      button("▶", "next point (→)", () => this.step(1, 0)),
      make("label", {}, "amplitude ", slider),
    );
    this.part("chart-tools").append(
      button("+", "zoom in (+)", () => this.chart.zoomBy(1.6)),
      button("−", "zoom out (-)", () => this.chart.zoomBy(1 / 1.6)),
      button("⤢", "whole range (0)", () => this.chart.zoomReset()),
    );
    const views = { home: "⌂", x: "x", y: "y", z: "z" };
    for (const [from, label] of Object.entries(views)) {
      const title = from === "home" ? "whole machine (0)" : `look along ${from}`;
      this.part("machine-tools").append(button(label, title, () => this.machine?.look(from)));
    }
    this.setPlaying(this.playing);
    this.setRunning(false);
  }

  listen() {
    this.part("quantity").addEventListener("change", (event) => {
      this.chart.choose(Number(event.target.value));
      this.legend();
    });
    this.part("chart").addEventListener("keydown", (event) => this.chartKey(event));
    this.part("machine").addEventListener("keydown", (event) => this.machineKey(event));
    const hint = this.part("hint");
    this.part("machine").addEventListener("pointermove", (event) => {
      const found = this.machine && !event.buttons ? this.machine.under(event) : null;
      hint.hidden = !found;
      if (found) {
        hint.textContent = `${found.body}, node ${found.node}: ${digits(Number(found.share.toPrecision(3)))}`
          + " of the largest displacement";
      }
    });
    this.part("machine").addEventListener("pointerleave", () => { hint.hidden = true; });
  }

  // Views.

  // The view, point and mode of the page's address; the first view where it names none.
  openAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const [view, point, mode] = ["view", "point", "mode"].map((name) => Number(asked.get(name)) - 1);
    this.open(this.views[view] ? view : 0);
    const points = this.sizes().reduce((product, size) => product * size, 1);
    if (!this.views[view] || !(point >= 0 && point < points)) return;
    const count = this.isMap ? this.nearest(point)?.state.modes.length : this.view.modes.length;
    this.pinned = true;
    this.choose(point, mode >= 0 && mode < count ? mode : (this.isMap ? null : 0));
  }

  // A fixed choice is in the page's address, which opens the page at it.
  putInAddress() {
    const { point, mode } = this.now;
    const place = `#view=${this.views.indexOf(this.view) + 1}&point=${point + 1}&mode=${mode + 1}`;
    const hash = this.pinned ? place : "";
    if (hash === location.hash || !(hash || location.hash.startsWith("#view="))) return;
    history.replaceState(null, "", hash || location.pathname + location.search);
  }

  open(k) {
    this.tabs.forEach((tab, n) => tab.setAttribute("aria-selected", n === k));
    this.view = this.views[k];
    this.isMap = this.view.kind === "map";
    this.shapes = this.placedStates();
    this.part("chart").querySelector("svg")?.remove();
    this.chart?.observer.disconnect();
    const Kind = this.isMap ? MapChart : TracksChart;
    this.chart = new Kind(this.part("chart"), this.view, (point, mode, isClick) => this.point(
      point, mode, isClick));
    const names = this.view.quantities.map((quantity) => quantity.label);
    const options = this.isMap ? ["verdict", ...names] : names;
    this.part("quantity").replaceChildren(
      ...options.map((name, n) => make("option", { value: n }, name)));
    this.pinned = false;
    this.setRunning(false);
    this.openMachine();
    this.chart.resize();
    this.choose(...this.start());
    this.legend();
  }

  // The first point, or the one of a map that grows most.
  start() {
    if (!this.isMap) return [0, this.view.modes.findIndex((mode) => !mode.label.includes("(rigid)")) || 0]
      .map((v) => Math.max(v, 0));
    const growth = this.view.quantities.find((quantity) => quantity.name === "growth_rate").values;
    return [growth.reduce((best, v, k) => ((v ?? -Infinity) > (growth[best] ?? -Infinity) ? k : best), 0), null];
  }

  openMachine() {
    this.machine?.dispose();
    this.machine = null;
    const pane = this.part("machine");
    pane.querySelector("canvas")?.remove();
    let message = this.view.missing;
    if (!message) {
      const canvas = make("canvas", { "aria-label": "mode shape moving on the machine" });
      pane.prepend(canvas);
      try {
        this.machine = new Machine(pane, canvas, this.part("triad"), this.view);
        this.machine.amplitude = this.amplitude;
      } catch (fault) {
        canvas.remove();
        message = NO_WEBGL;
      }
    }
    this.fixedMessage = message;
    this.say(message);
    this.part("machine-tools").hidden = this.part("triad").toggleAttribute("hidden", !this.machine);
  }

  say(message) {
    this.part("message").textContent = message;
    this.part("message").hidden = !message;
  }

  legend() {
    const box = this.part("legend");
    box.replaceChildren();
    if (!this.isMap) {
      const events = this.view.words.event;
      const used = events ? Object.keys(MARKERS).filter((word) => events.words.includes(word)) : [];
      box.append(...used.map((word) => make("span", {}, `${MARKERS[word]} ${word}`)));
    } else if (this.chart.quantity === 0) {
      for (const key of CLASSES) {
        if (!this.view.classes.includes(Number(key))) continue;
        const undecided = key === "-1" ? "fm-undecided" : "";
        const swatch = make("i", { class: `fm-swatch ${undecided}` });
        if (Number(key) > 0) swatch.style.background = this.view.colours[key];
        box.append(make("span", {}, swatch, ` ${this.view.names[key]}`));
      }
    } else {
      const less = make("i", { class: "fm-swatch fm-less" });
      const more = make("i", { class: "fm-swatch fm-more" });
      box.append(make("span", {}, less, " negative"), make("span", {}, more, " positive"));
    }
  }

  // Choosing a point and a mode.

  point(point, mode, isClick) {
    if (isClick) this.pinned = !(this.pinned && point === this.now.point
      && (mode === null || mode === this.now.mode));
    else if (this.pinned || this.running) return;
    this.choose(point, mode);
  }

  sizes() { return this.view.axes.map((axis) => axis.values.length); }

  // Neighbour of the point: `along` the first axis, `across` the other mode or the second axis.
  step(along, across) {
    const [n, m] = this.sizes();
    const { point, mode } = this.now;
    this.pinned = true;
    if (!this.isMap) {
      const count = this.view.modes.length;
      this.choose(clamp(point + along, 0, n - 1), (mode + across + count) % count);
      return;
    }
    const [i, j] = [Math.floor(point / m), point % m];
    this.choose(clamp(i + along, 0, n - 1) * m + clamp(j + across, 0, m - 1), null);
  }

  // The states with their place in the range of the axes, from 0 to 1.
  placedStates() {
    const sizes = this.sizes();
    return this.view.states.map((state) => {
      const at = state.index.map((i, k) => i / Math.max(sizes[k] - 1, 1));
      const point = this.isMap ? state.index[0] * sizes[1] + state.index[1] : state.index[0];
      return { state, at, point };
    });
  }

  // The state nearest to a point; on a map one of the same verdict where there is one.
  nearest(point) {
    const sizes = this.sizes();
    const index = this.isMap ? [Math.floor(point / sizes[1]), point % sizes[1]] : [point];
    const at = index.map((i, k) => i / Math.max(sizes[k] - 1, 1));
    const { classes } = this.view;
    const far = (one) => Math.hypot(...one.at.map((v, k) => v - at[k]))
      + (this.isMap && classes[one.point] !== classes[point] ? 10 : 0);
    return this.shapes.reduce((best, one) => (best === null || far(one) < far(best) ? one : best), null);
  }

  // mode null: of a map, the mode that grows most.
  choose(point, mode) {
    const state = this.nearest(point);
    if (mode === null) {
      const growth = (state?.state.modes || []).map((one) => one?.growth ?? -Infinity);
      mode = Math.max(growth.indexOf(Math.max(...growth)), 0);
    }
    this.now = { point, mode, state };
    this.chart.select(point, mode);
    const shape = state?.state.modes[mode] || null;
    if (this.machine && state) {
      this.machine.show(state.state, shape);
      this.say(shape ? "" : NO_MODE);
    }
    this.readOut();
  }

  readOut() {
    const { point, mode, state } = this.now;
    const rows = this.isMap ? this.mapRows(point) : this.trackRows(point, mode);
    this.part("values").replaceChildren(...rows.map(([name, value]) => make(
      "div", {}, make("dt", {}, name), make("dd", {}, value))));
    this.part("modes").replaceChildren(...this.modeButtons(point, mode, state));
    this.putInAddress();
    const pin = this.pinned ? "fixed: the page's address leads here; choose it again, or Esc, to let go"
      : "follows the pointer";
    const where = state && state.point !== point ? `; shape from ${this.place(state.point)}, `
      + "the nearest point that has one" : "";
    this.part("status").textContent = pin + (this.view.missing ? "" : where);
    const spoken = rows.slice(0, 5).map(([name, value]) => `${name} ${value}`).join(", ");
    this.part("chart").setAttribute("aria-label", `${this.view.title}: ${spoken}`);
    if (document.activeElement === this.part("chart")) this.part("live").textContent = spoken;
  }

  place(point) {
    const sizes = this.sizes();
    const index = this.isMap ? [Math.floor(point / sizes[1]), point % sizes[1]] : [point];
    return this.view.axes.map((axis, k) => `${axis.name} = ${withUnits(axis.values[index[k]], axis.units)}`)
      .join(", ");
  }

  trackRows(point, mode) {
    const { axes, quantities, words, modes } = this.view;
    const k = point * modes.length + mode;
    const rows = [[axes[0].label, withUnits(axes[0].values[point], axes[0].units)], ["mode", modes[mode].label]];
    for (const { name, label, units, values } of quantities) {
      const none = name === "frozen_interval" && values[k] === 0;
      rows.push([label, withUnits(values[k], units) + (none ? NO_INTERVAL : "")]);
    }
    for (const [name, { words: known, codes }] of Object.entries(words)) {
      const word = known[codes[k]];
      if (word && word !== "none") rows.push([name, word]);
    }
    return rows;
  }

  mapRows(point) {
    const { axes, quantities, classes, names, proof } = this.view;
    const sizes = this.sizes();
    const index = [Math.floor(point / sizes[1]), point % sizes[1]];
    const rows = axes.map((axis, k) => [axis.label, withUnits(axis.values[index[k]], axis.units)]);
    rows.push(["verdict", names[classes[point]]]);
    if (proof) rows.push(["proof", proof.words[proof.codes[point]] || "none"]);
    for (const { label, units, values } of quantities) rows.push([label, withUnits(values[point], units)]);
    return rows;
  }

  // One button a mode, with its values at the point.
  modeButtons(point, mode, state) {
    const pick = (j) => () => { this.pinned = true; this.choose(point, j); };
    const chosen = (j) => ({ "aria-pressed": String(j === mode) });
    if (this.isMap) {
      const modes = state?.state.modes || [];
      const growth = modes.map((one) => one?.growth ?? 0);
      const least = state && this.view.classes[state.point] > 0 ? ROUND_OFF * Math.max(...growth) : Infinity;
      return modes.map((one, j) => button(
        one ? `${digits(one.frequency)} Hz, Re λ ${digits(one.growth)} 1/s${growth[j] > least ? ` ${GROWS}` : ""}` : "–",
        `mode ${j + 1} of the point with the shape`, pick(j), chosen(j)));
    }
    const [first] = this.view.quantities;
    return this.view.modes.map((one, j) => {
      const swatch = make("i", { class: "fm-line" });
      swatch.style.borderTop = `3px ${["solid", "dashed", "dashed", "dotted"][one.dash]} ${inked(one.colour)}`;
      const k = point * this.view.modes.length + j;
      const value = withUnits(first.values[k], first.units) + (this.view.grows[k] ? ` ${GROWS}` : "");
      const made = button("", `${one.label}, ${value}`, pick(j), chosen(j));
      made.append(swatch, ` ${one.label}: ${value}`);
      return made;
    });
  }

  // Motion.

  setPlaying(playing) {
    this.playing = playing;
    this.play.textContent = playing ? "❚❚ vibration" : "► vibration";
    this.play.title = playing ? "stop the vibration (space)" : "vibrate (space)";
    this.play.setAttribute("aria-label", this.play.title);
  }

  setRunning(running) {
    this.running = running;
    this.waited = 0;
    this.run.textContent = running ? "❚❚ points" : "► points";
    this.run.title = running ? "stay at this point" : "run through the points that have shapes";
    this.run.setAttribute("aria-label", this.run.title);
    this.run.hidden = this.isMap || !this.shapes?.length;
  }

  setAmplitude(amplitude) {
    this.amplitude = amplitude;
    if (this.machine) {
      this.machine.amplitude = amplitude;
      this.machine.move();
    }
  }

  tick(now) {
    const passed = Math.min((now - this.last) / 1000, 0.1);
    this.last = now;
    if (this.seen && this.running) {
      this.waited += passed;
      if (this.waited > STEP) {
        this.waited = 0;
        const k = this.shapes.findIndex((one) => one.point > this.now.point);
        this.choose(this.shapes[Math.max(k, 0)].point, this.now.mode);
      }
    }
    if (this.seen && this.playing && this.machine) {
      this.machine.phase = (this.machine.phase + (2 * Math.PI * passed) / CYCLE) % (2 * Math.PI);
      this.machine.move();
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  nextTheme() {
    const page = document.documentElement;
    const themes = Object.keys(THEMES);
    const next = themes[(themes.indexOf(page.dataset.theme || "") + 1) % themes.length];
    if (next) page.dataset.theme = next;
    else delete page.dataset.theme;
    this.theme.title = THEMES[next];
    this.theme.setAttribute("aria-label", THEMES[next]);
    this.repaint();
  }

  repaint() {
    this.machine?.colour();
    this.chart.draw();
  }

  // Keys.

  chartKey(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (moves[event.key]) this.step(...moves[event.key]);
    else if (event.key === "PageUp" || event.key === "PageDown") this.nextMode(event.key === "PageUp" ? 1 : -1);
    else if (event.key === "Home" || event.key === "End") this.step(event.key === "Home" ? -1e9 : 1e9, 0);
    else if (event.key === "+" || event.key === "=") this.chart.zoomBy(1.6);
    else if (event.key === "-") this.chart.zoomBy(1 / 1.6);
    else if (event.key === "0") this.chart.zoomReset();
    else if (event.key === " ") this.setPlaying(!this.playing);
    else if (event.key === "Escape") { this.pinned = false; this.readOut(); } else return;
    event.preventDefault();
  }

  nextMode(by) {
    const count = this.isMap ? this.now.state?.state.modes.length || 1 : this.view.modes.length;
    this.pinned = true;
    this.choose(this.now.point, (this.now.mode + by + count) % count);
  }

  machineKey(event) {
    const turns = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === " ") this.setPlaying(!this.playing);
    else if (!this.machine) return;
    else if (turns[event.key]) this.machine.turn(...turns[event.key]);
    else if (event.key === "+" || event.key === "=") this.machine.zoomBy(1.25);
    else if (event.key === "-") this.machine.zoomBy(0.8);
    else if (event.key === "0") this.machine.look("home");
    else return;
    event.preventDefault();
  }
}
