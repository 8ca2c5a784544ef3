// What the page to explore uses of its libraries; see build.
export {
  Box3, BufferAttribute, BufferGeometry, Color, DirectionalLight, DoubleSide, HemisphereLight,
  LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshLambertMaterial, PerspectiveCamera, Raycaster,
  Scene, Sphere, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { axisBottom, axisLeft } from "d3-axis";
export { scaleLinear, scaleSymlog } from "d3-scale";
export { pointer, select } from "d3-selection";
export { line } from "d3-shape";
export { zoom, zoomIdentity } from "d3-zoom";
