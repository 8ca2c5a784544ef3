// The machine in space, vibrating in a mode: displacement Re(u exp iωt), u + φ × arm at a vertex.

const SHARE = 0.1;  // of the size of the machine: the largest displacement that is drawn
const TURN = Math.PI / 30;  // of an arrow key

class Machine {
  constructor(pane, canvas, triad, view) {
    this.pane = pane;
    this.triad = triad;
    this.view = view;
    this.amplitude = 1;
    this.phase = 0;
    this.renderer = new libraries.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.scene = new libraries.Scene();
    this.camera = new libraries.PerspectiveCamera(32, 1, view.size / 200, view.size * 200);
    const light = new libraries.DirectionalLight(0xffffff, 1.5);
    light.position.set(-0.5, 0.7, 1);
    this.camera.add(light);
    this.scene.add(this.camera, new libraries.HemisphereLight(0xffffff, 0xb8c2cc, 1.9));
    this.controls = new libraries.OrbitControls(this.camera, canvas);
    this.controls.enableZoom = false;  // the wheel scrolls the page until the pane is chosen
    this.controls.addEventListener("change", () => this.render());
    canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") this.controls.enableZoom = true;
      pane.focus({ preventScroll: true });
    }, true);
    pane.addEventListener("focus", () => { this.controls.enableZoom = true; });
    pane.addEventListener("blur", () => { this.controls.enableZoom = false; });
    this.parts = view.bodies.map((body) => this.part(body));
    this.bounds();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(pane);
    this.colour();
    this.look("home");
  }

  part(body) {
    const nodes = arrayOf(body.nodes, Uint32Array);
    const points = arrayOf(body.points, Float32Array);
    const holder = arrayOf(body.holder, Uint32Array);
    const arm = arrayOf(body.arm, Float32Array);
    const rest = arm.map((a, k) => a + points[3 * holder[Math.floor(k / 3)] + (k % 3)]);
    const position = new libraries.BufferAttribute(new Float32Array(rest), 3);
    const colour = new libraries.BufferAttribute(new Float32Array(rest.length), 3);
    const surface = new libraries.BufferGeometry();
    surface.setAttribute("position", position);
    surface.setAttribute("color", colour);
    surface.setIndex(new libraries.BufferAttribute(arrayOf(body.triangles, Uint32Array), 1));
    const lines = new libraries.BufferGeometry();
    lines.setAttribute("position", position);
    const edges = new libraries.BufferAttribute(arrayOf(body.edges, Uint32Array), 1);
    lines.setIndex(edges);
    const ghost = new libraries.BufferGeometry();
    ghost.setAttribute("position", new libraries.BufferAttribute(rest, 3));
    ghost.setIndex(edges);
    const far = new libraries.Sphere(new libraries.Vector3(), 1e3 * this.view.size);
    surface.boundingSphere = lines.boundingSphere = ghost.boundingSphere = far;
    const skin = new libraries.MeshLambertMaterial({
      vertexColors: true, side: libraries.DoubleSide, flatShading: true,
      polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
    });
    const line = new libraries.LineBasicMaterial({ transparent: true, opacity: 0.35 });
    const still = new libraries.LineBasicMaterial({ transparent: true, opacity: 0.3 });
    const objects = [
      new libraries.Mesh(surface, skin), new libraries.LineSegments(lines, line),
      new libraries.LineSegments(ghost, still),
    ];
    for (const object of objects) {
      object.matrixAutoUpdate = false;
      this.scene.add(object);
    }
    const real = new Float32Array(rest.length);
    const imaginary = new Float32Array(rest.length);
    const name = body.name;
    const count = points.length / 3;
    return { name, nodes, holder, arm, rest, position, colour, count, real, imaginary,
      objects, line, still };
  }

  // The box of all positions at rest, which the camera shows.
  bounds() {
    const box = this.box = new libraries.Box3();
    const at = new libraries.Vector3();
    const matrix = new libraries.Matrix4();
    for (const state of this.view.states) {
      const poses = arrayOf(state.poses, Float32Array);
      this.parts.forEach((part, b) => {
        const own = part.box || (part.box = new libraries.Box3().setFromArray(part.rest));
        pose(matrix, poses, b);
        for (let corner = 0; corner < 8; corner++) {
          at.set(...["x", "y", "z"].map((axis, k) => own[corner & (1 << k) ? "max" : "min"][axis]));
          box.expandByPoint(at.applyMatrix4(matrix));
        }
      });
    }
    this.centre = box.getCenter(new libraries.Vector3());
    this.isFlat = this.view.flat;
  }

  // Where the camera stands: "home" or along an axis.
  look(from) {
    const home = this.isFlat ? [0.25, -0.35, 1] : [0.9, -1.3, 0.75];
    const along = { home, x: [1, 0, 0], y: [0, -1, 0], z: [0, 0, 1] }[from];
    const up = this.isFlat || from === "z" ? [0, 1, 0] : [0, 0, 1];
    this.camera.up.set(...(this.isFlat && from === "y" ? [0, 0, 1] : up));
    const back = new libraries.Vector3(...along).normalize();
    this.camera.position.copy(back).multiplyScalar(this.distance(back)).add(this.centre);
    this.controls.target.copy(this.centre);
    this.controls.update();
    this.render();
  }

  // How far away the camera sees the whole box, with room for the displacements.
  distance(back) {
    const side = new libraries.Vector3().crossVectors(this.camera.up, back).normalize();
    const top = new libraries.Vector3().crossVectors(back, side);
    const high = Math.tan((Math.PI * this.camera.fov) / 360);
    const room = SHARE * this.view.size;
    const corner = new libraries.Vector3();
    let out = 0;
    for (let k = 0; k < 8; k++) {
      corner.set(...["x", "y", "z"].map((axis, n) => this.box[k & (1 << n) ? "max" : "min"][axis]));
      corner.sub(this.centre);
      const wide = (Math.abs(corner.dot(side)) + 0.3 * room) / (high * this.camera.aspect);
      const tall = (Math.abs(corner.dot(top)) + room) / high;
      out = Math.max(out, Math.max(wide, tall) + corner.dot(back));
    }
    return 1.06 * out;
  }

  turn(dx, dy) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    const up = this.camera.up.clone().normalize();
    const side = up.clone().cross(offset).normalize();
    offset.applyAxisAngle(up, dx * TURN);
    const steep = offset.angleTo(up) - dy * TURN;
    if (steep > 0.05 && steep < Math.PI - 0.05) offset.applyAxisAngle(side, -dy * TURN);
    this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
  }

  zoomBy(factor) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    this.camera.position.copy(this.controls.target).add(offset.multiplyScalar(1 / factor));
    this.controls.update();
    this.render();
  }

  // Put the bodies where they are in a state and take up a shape; null stands still.
  show(state, shape) {
    const poses = arrayOf(state.poses, Float32Array);
    const field = shape ? unpacked(shape, this.view.rotates) : null;
    let first = 0;
    let largest = 0;
    this.parts.forEach((part, b) => {
      for (const object of part.objects) {
        pose(object.matrix, poses, b);
        object.matrixWorldNeedsUpdate = true;
      }
      if (field) {
        atVertices(part, field.real, first, part.real);
        if (field.imaginary) atVertices(part, field.imaginary, first, part.imaginary);
      }
      if (!field) part.real.fill(0);
      if (!field || !field.imaginary) part.imaginary.fill(0);
      for (let v = 0; v < part.rest.length; v += 3) largest = Math.max(largest, size(part, v));
      first += part.count;
    });
    this.largest = largest || 1;
    for (const part of this.parts) {
      for (let v = 0; v < part.rest.length; v += 3) {
        viridis(field ? size(part, v) / this.largest : 0, part.colour.array, v);
      }
      part.colour.needsUpdate = true;
    }
    this.move();
  }

  // Displace all vertices by the shape at the present phase.
  move() {
    const scale = (SHARE * this.amplitude * this.view.size) / this.largest;
    const [c, s] = [scale * Math.cos(this.phase), scale * Math.sin(this.phase)];
    for (const { position, rest, real, imaginary } of this.parts) {
      const moved = position.array;
      for (let k = 0; k < moved.length; k++) moved[k] = rest[k] + c * real[k] - s * imaginary[k];
      position.needsUpdate = true;
    }
    this.render();
  }

  resize() {
    const [width, height] = [this.pane.clientWidth, this.pane.clientHeight];
    if (!width || !height) return;
    const isFirst = !this.sized;
    this.sized = true;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (isFirst) this.look("home");
    else this.render();
  }

  colour() {
    for (const { line, still } of this.parts) {
      line.color.set(styleColour(this.pane, "--fm-edge"));
      still.color.set(styleColour(this.pane, "--fm-ghost"));
    }
    this.render();
  }

  render() {
    if (!this.sized) return;
    this.renderer.render(this.scene, this.camera);
    const turn = this.camera.quaternion.clone().invert();
    ["x", "y", "z"].forEach((name, k) => {
      const v = new libraries.Vector3().setComponent(k, 1).applyQuaternion(turn);
      const [px, py] = [30 + 20 * v.x, 30 - 20 * v.y];
      const line = this.triad.children[2 * k];
      line.setAttribute("x2", px);
      line.setAttribute("y2", py);
      const text = this.triad.children[2 * k + 1];
      text.setAttribute("x", 30 + 26 * v.x);
      text.setAttribute("y", 30 - 26 * v.y);
    });
  }

  // The body and node under a place of the pane, with its share of the largest displacement.
  under(event) {
    const box = this.pane.getBoundingClientRect();
    const at = new libraries.Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    const ray = new libraries.Raycaster();
    ray.setFromCamera(at, this.camera);
    const [hit] = ray.intersectObjects(this.parts.map((part) => part.objects[0]));
    if (!hit) return null;
    const part = this.parts.find((one) => one.objects[0] === hit.object);
    const vertex = hit.face.a;
    const share = size(part, 3 * vertex) / this.largest;
    return { body: part.name, node: part.nodes[part.holder[vertex]], share };
  }

  dispose() {
    this.observer.disconnect();
    this.controls.dispose();
    this.renderer.dispose();
  }
}

// Rotation and origin of body b, as a matrix.
function pose(matrix, poses, b) {
  const p = poses.subarray(12 * b, 12 * b + 12);
  matrix.set(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], 0, 0, 0, 1);
}

// Displacements and rotations of all nodes from 16-bit numbers.
function unpacked(shape, rotates) {
  const values = arrayOf(shape.values, Int16Array);
  const kinds = shape.real ? 1 : 2;
  const n = values.length / (kinds * (rotates ? 2 : 1));
  const part = (block, scale) => Float32Array.from(
    values.subarray(block * n, (block + 1) * n), (v) => v * scale);
  const out = (k) => ({
    moved: part(k, shape.scale[0]),
    turned: rotates ? part(kinds + k, shape.scale[1]) : null,
  });
  return { real: out(0), imaginary: shape.real ? null : out(1) };
}

// u + φ × arm at the vertices of a part whose first node is number `first` of the field.
function atVertices(part, { moved, turned }, first, out) {
  const { holder, arm } = part;
  for (let v = 0; v < holder.length; v++) {
    const n = 3 * (first + holder[v]);
    const k = 3 * v;
    for (let i = 0; i < 3; i++) out[k + i] = moved[n + i];
    if (!turned) continue;
    const [a, b, c] = [turned[n], turned[n + 1], turned[n + 2]];
    out[k] += b * arm[k + 2] - c * arm[k + 1];
    out[k + 1] += c * arm[k] - a * arm[k + 2];
    out[k + 2] += a * arm[k + 1] - b * arm[k];
  }
}

// Largest displacement of a vertex over a cycle, from above: |u| of the complex vector.
function size({ real, imaginary }, v) {
  return Math.hypot(
    real[v], real[v + 1], real[v + 2], imaginary[v], imaginary[v + 1], imaginary[v + 2]);
}

// The viridis colours (Smith & van der Walt, 2015) by interpolation, in the renderer's space.
const VIRIDIS = ["#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58",
  "#b5de2b", "#fde725"];
let viridisStops = null;

function viridis(share, out, at) {
  viridisStops = viridisStops || VIRIDIS.map((text) => new libraries.Color(text));
  const place = clamp(share, 0, 1) * (VIRIDIS.length - 1);
  const k = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const [a, b, f] = [viridisStops[k], viridisStops[k + 1], place - k];
  out[at] = a.r + f * (b.r - a.r);
  out[at + 1] = a.g + f * (b.g - a.g);
  out[at + 2] = a.b + f * (b.b - a.b);
}
