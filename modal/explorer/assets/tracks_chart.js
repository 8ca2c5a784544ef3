// Tracks: one curve a mode over time or a parameter; events are marked.

const MARKERS = {
  crossing: "✕", veering: "◇", "flutter onset": "△", "divergence onset": "▽",
  split: "□", "critical damping": "+", unresolved: "?",
};
const PROPORTIONAL = 100;  // how much smaller than the largest a rate is drawn in proportion

class TracksChart extends Chart {
  get values() { return this.view.quantities[this.quantity].values; }

  get count() { return this.view.modes.length; }

  at(point, mode) { return this.values[point * this.count + mode]; }

  domains() {
    const { scale, name } = this.view.quantities[this.quantity];
    const x = padded(this.view.axes[0].values, 0);
    const domain = padded(this.values, 0.06);
    if (name === "frequency") domain[0] = 0;
    const largest = Math.max(Math.abs(domain[0]), Math.abs(domain[1]));
    if (scale !== "symlog") return [x, { domain }];
    return [x, { domain, constant: largest / PROPORTIONAL }];
  }

  // Zero and powers of ten of a symlog axis, as far as they are apart.
  ticks() {
    const { scale } = this.view.quantities[this.quantity];
    if (scale !== "symlog") return null;
    const [low, high] = this.y.domain();
    const constant = this.baseY.constant();
    if (high - low < constant) return this.y.copy().ticks(6);
    const out = [0];
    const top = Math.max(Math.abs(low), Math.abs(high));
    for (let p = 10 ** Math.ceil(Math.log10(constant)); p <= top; p *= 10) out.push(p, -p);
    return out.filter((v) => v >= low && v <= high).sort((a, b) => a - b);
  }

  draw() {
    this.x = this.transform.rescaleX(this.baseX);
    this.y = this.transform.rescaleY(this.baseY);
    const { label, units, scale } = this.view.quantities[this.quantity];
    const words = named({ label, units }) + (scale === "symlog" ? ", symlog scale" : "");
    this.drawAxes(named(this.view.axes[0]), words, this.ticks());
    this.grid.selectAll("line").data(this.y.domain()[0] < 0 ? [0] : []).join("line")
      .attr("x1", MARGIN.left).attr("x2", this.width - MARGIN.right)
      .attr("y1", (v) => this.y(v)).attr("y2", (v) => this.y(v));
    this.drawCurves();
    this.drawEvents();
    this.drawCursor();
  }

  drawCurves() {
    const at = this.view.axes[0].values;
    const curve = libraries.line()
      .defined((v) => v[1] !== null).x((v) => this.x(v[0])).y((v) => this.y(v[1]));
    const rows = this.view.modes.map((mode, j) => ({ mode, j }));
    this.plot.selectAll("path").data(rows).join("path")
      .attr("class", (d) => (d.j === this.choice.mode ? "fm-curve fm-chosen" : "fm-curve"))
      .style("stroke", (d) => inked(d.mode.colour))
      .attr("stroke-dasharray", (d) => DASHES[d.mode.dash])
      .attr("d", (d) => curve(at.map((v, i) => [v, this.at(i, d.j)])));
  }

  drawEvents() {
    const events = this.view.words.event;
    const marks = [];
    for (let k = 0; events && k < events.codes.length; k++) {
      const word = events.words[events.codes[k]];
      if (word !== "none" && word !== "" && this.values[k] !== null) {
        marks.push({ word, point: Math.floor(k / this.count), mode: k % this.count });
      }
    }
    this.plot.selectAll("text").data(marks).join("text")
      .attr("class", "fm-event").text((d) => MARKERS[d.word] || "•")
      .style("fill", (d) => inked(this.view.modes[d.mode].colour))
      .attr("x", (d) => this.x(this.view.axes[0].values[d.point]))
      .attr("y", (d) => this.y(this.at(d.point, d.mode)));
  }

  drawCursor() {
    const { point, mode } = this.choice;
    const px = this.x(this.view.axes[0].values[point]);
    const value = this.at(point, mode);
    this.cursor.selectAll("line").data([px]).join("line").attr("class", "fm-cursor")
      .attr("x1", px).attr("x2", px).attr("y1", MARGIN.top).attr("y2", this.height - MARGIN.bottom);
    this.cursor.selectAll("circle").data(value === null ? [] : [value]).join("circle")
      .attr("r", 6).attr("cx", px).attr("cy", (v) => this.y(v))
      .style("fill", inked(this.view.modes[mode].colour));
  }

  // The point of a curve nearest to a place of the picture.
  pick(px, py) {
    let [best, found] = [Infinity, null];
    this.view.axes[0].values.forEach((at, i) => {
      const dx = this.x(at) - px;
      for (let j = 0; j < this.count; j++) {
        const value = this.at(i, j);
        if (value === null) continue;
        const distance = Math.hypot(dx, this.y(value) - py);
        if (distance < best) [best, found] = [distance, { point: i, mode: j }];
      }
    });
    return found;
  }
}
