// A map: cells of two parameters, by verdict or by a number.

const CLASSES = ["0", "-1", "1", "2"];  // verdicts: stable, undecided, divergence, flutter
const BINS = 12;  // colours of each sign
const SLOW = 300;  // how much smaller than the largest a growth rate is shown in proportion

class MapChart extends Chart {
  addPatterns(defs) {
    const pattern = defs.append("pattern").attr("id", "fm-hatch").attr("width", 6).attr("height", 6)
      .attr("patternUnits", "userSpaceOnUse").attr("patternTransform", "rotate(45)");
    pattern.append("rect").attr("width", 6).attr("height", 6).attr("class", "fm-stable");
    pattern.append("line").attr("y2", 6).attr("class", "fm-hatch");
  }

  get columns() { return this.view.axes[0].values.length; }

  get rows() { return this.view.axes[1].values.length; }

  // Edges of the cells, halfway between the points.
  edges(values) {
    const n = values.length;
    if (n < 2) return [values[0] - 0.5, values[0] + 0.5];
    const middle = values.slice(1).map((v, i) => 0.5 * (v + values[i]));
    return [2 * values[0] - middle[0], ...middle, 2 * values[n - 1] - middle[n - 2]];
  }

  domains() {
    [this.edgesX, this.edgesY] = this.view.axes.map((axis) => this.edges(axis.values));
    return [padded(this.edgesX, 0), { domain: padded(this.edgesY, 0) }];
  }

  draw() {
    this.x = this.transform.rescaleX(this.baseX);
    this.y = this.transform.rescaleY(this.baseY);
    this.drawAxes(named(this.view.axes[0]), named(this.view.axes[1]), null);
    const layers = this.quantity === 0 ? this.verdicts() : this.shades();
    const paths = new Map(layers.map((layer) => [layer.key, []]));
    const of = this.layerOf();
    for (let k = 0; k < this.view.classes.length; k++) paths.get(of(k))?.push(this.cell(k));
    this.plot.selectAll("path").data(layers).join("path")
      .attr("class", (d) => d.style || "").attr("fill", (d) => d.fill || null)
      .attr("d", (d) => paths.get(d.key).join(""));
    const [left, right, low, high] = this.box(this.choice.point);
    this.cursor.selectAll("rect").data([0]).join("rect").attr("class", "fm-cell")
      .attr("x", left).attr("width", right - left).attr("y", high).attr("height", low - high);
  }

  verdicts() {
    return CLASSES.map((key) => {
      if (key === "0") return { key, style: "fm-stable" };
      return { key, fill: key === "-1" ? "url(#fm-hatch)" : this.view.colours[key] };
    });
  }

  shades() {
    const zero = styleColour(this.pane, "--fm-zero");
    const layers = [];
    for (let b = -BINS; b <= BINS; b++) {
      const end = styleColour(this.pane, b < 0 ? "--fm-less" : "--fm-more");
      const share = Math.round((100 * Math.abs(b)) / BINS);
      layers.push({ key: String(b), fill: `color-mix(in srgb, ${end} ${share}%, ${zero})` });
    }
    return layers;
  }

  layerOf() {
    if (this.quantity === 0) return (k) => String(this.view.classes[k]);
    const values = this.view.quantities[this.quantity - 1].values;
    const largest = Math.max(...values.map((v) => Math.abs(v ?? 0))) || 1;
    const bent = (v) => Math.sign(v) * Math.log1p((SLOW * Math.abs(v)) / largest) / Math.log1p(SLOW);
    return (k) => {
      if (values[k] === null) return "none";
      const bin = Math.round(BINS * bent(values[k]));
      return String(bin === 0 && values[k] > 0 ? 1 : bin);
    };
  }

  box(point) {
    const [i, j] = [Math.floor(point / this.rows), point % this.rows];
    const [left, right] = [this.x(this.edgesX[i]), this.x(this.edgesX[i + 1])];
    const [low, high] = [this.y(this.edgesY[j]), this.y(this.edgesY[j + 1])];
    return [Math.min(left, right), Math.max(left, right), Math.max(low, high), Math.min(low, high)];
  }

  cell(point) {
    const [left, right, low, high] = this.box(point);
    return `M${left.toFixed(1)},${low.toFixed(1)}H${right.toFixed(1)}V${high.toFixed(1)}`
      + `H${left.toFixed(1)}Z`;
  }

  pick(px, py) {
    const inside = px >= MARGIN.left && px <= this.width - MARGIN.right
      && py >= MARGIN.top && py <= this.height - MARGIN.bottom;
    if (!inside) return null;
    const nearest = (values, at) => values.reduce(
      (best, v, k) => (Math.abs(v - at) < Math.abs(values[best] - at) ? k : best), 0);
    const i = nearest(this.view.axes[0].values, this.x.invert(px));
    const j = nearest(this.view.axes[1].values, this.y.invert(py));
    return { point: i * this.rows + j, mode: null };
  }
}
