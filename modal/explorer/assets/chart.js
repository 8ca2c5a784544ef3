// What both charts share: axes, zoom, and what the pointer is at.
// A chart of a view calls `onPoint(point, mode, isClick)`; `select(point, mode)` shows the choice.

const MARGIN = { left: 64, right: 22, top: 12, bottom: 46 };
const DASHES = ["", "7 4", "9 3 2 3", "2 3"];

class Chart {
  constructor(pane, view, onPoint) {
    this.pane = pane;
    this.view = view;
    this.onPoint = onPoint;
    this.quantity = 0;
    this.choice = { point: 0, mode: 0 };
    this.svg = libraries.select(pane).append("svg").attr("aria-hidden", "true");
    const clip = `fm-clip-${Chart.count++}`;
    const defs = this.svg.append("defs");
    this.clip = defs.append("clipPath").attr("id", clip).append("rect");
    this.addPatterns(defs);
    this.frame = this.svg.append("rect").attr("class", "fm-frame");
    this.grid = this.svg.append("g").attr("class", "fm-grid");
    this.plot = this.svg.append("g").attr("clip-path", `url(#${clip})`);
    this.cursor = this.svg.append("g").attr("clip-path", `url(#${clip})`);
    this.axisX = this.svg.append("g").attr("class", "fm-axis");
    this.axisY = this.svg.append("g").attr("class", "fm-axis");
    this.labelX = this.svg.append("text").attr("class", "fm-label");
    this.labelY = this.svg.append("text").attr("class", "fm-label");
    this.transform = libraries.zoomIdentity;
    this.zoom = libraries.zoom()
      .scaleExtent([1, 400])
      .filter((event) => this.isZoom(event))
      .on("zoom", (event) => { this.transform = event.transform; this.draw(); });
    this.svg.call(this.zoom);
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(pane);
  }

  addPatterns() {}

  // The wheel scrolls the page unless the chart has been chosen; one finger scrolls too.
  isZoom(event) {
    if (event.type === "wheel") return event.ctrlKey || document.activeElement === this.pane;
    if (event.touches) return event.touches.length > 1;
    return !event.button;
  }

  listen() {
    const node = this.svg.node();
    const at = (event, isClick) => {
      const [px, py] = libraries.pointer(event, node);
      const found = this.pick(px, py);
      if (found) this.onPoint(found.point, found.mode, isClick);
    };
    node.addEventListener("pointerdown", () => this.pane.focus({ preventScroll: true }), true);
    node.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse" || !event.buttons) at(event, false);
    });
    node.addEventListener("click", (event) => at(event, true));
  }

  zoomBy(factor) { this.svg.call(this.zoom.scaleBy, factor); }

  zoomReset() { this.svg.call(this.zoom.transform, libraries.zoomIdentity); }

  resize() {
    const width = Math.max(this.pane.clientWidth, 120);
    const height = Math.max(this.pane.clientHeight, 120);
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    const [w, h] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
    this.svg.attr("width", width).attr("height", height);
    for (const box of [this.clip, this.frame]) {
      box.attr("x", MARGIN.left).attr("y", MARGIN.top).attr("width", w).attr("height", h);
    }
    const extent = [[MARGIN.left, MARGIN.top], [width - MARGIN.right, height - MARGIN.bottom]];
    this.zoom.extent(extent).translateExtent(extent);
    this.scale();
    this.zoomReset();
    this.draw();
  }

  // Scales of the whole range; `draw` zooms them.
  scale() {
    const [x, y] = this.domains();
    this.baseX = libraries.scaleLinear(x, [MARGIN.left, this.width - MARGIN.right]);
    const range = [this.height - MARGIN.bottom, MARGIN.top];
    if (y.constant) {
      this.baseY = libraries.scaleSymlog(y.domain, range).constant(y.constant);
    } else {
      this.baseY = libraries.scaleLinear(y.domain, range);
    }
  }

  choose(quantity) {
    this.quantity = quantity;
    this.scale();
    this.zoomReset();
    this.draw();
  }

  select(point, mode) {
    this.choice = { point, mode };
    if (this.width) this.draw();
  }

  drawAxes(labelX, labelY, ticksY) {
    const bottom = this.height - MARGIN.bottom;
    const across = Math.max(3, Math.round(this.width / 90));
    const axisX = libraries.axisBottom(this.x).ticks(across).tickFormat(digits).tickSizeOuter(0);
    const axisY = libraries.axisLeft(this.y).tickFormat(digits).tickSizeOuter(0);
    if (ticksY) axisY.tickValues(ticksY);
    else axisY.ticks(Math.max(3, Math.round(this.height / 55)));
    this.axisX.attr("transform", `translate(0,${bottom})`).call(axisX);
    this.axisY.attr("transform", `translate(${MARGIN.left},0)`).call(axisY);
    this.labelX.attr("x", (this.width + MARGIN.left) / 2).attr("y", this.height - 10).text(labelX);
    this.labelY.attr("transform", `translate(14,${bottom / 2 + 6}) rotate(-90)`).text(labelY);
  }
}
Chart.count = 0;

function named(axis) {
  return axis.units ? `${axis.label} (${axis.units})` : axis.label;
}

// The range of numbers with a margin; a single value gets a range too.
function padded(values, share) {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) {
    if (v !== null && v < low) low = v;
    if (v !== null && v > high) high = v;
  }
  if (!(low <= high)) return [0, 1];
  const pad = high > low ? (high - low) * share : Math.abs(high) * 0.1 || 1;
  return [low - pad, high + pad];
}
