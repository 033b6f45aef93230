// The first page: services on the left, one flame graph, one table. Plain script, no dependencies.
'use strict';

const ROW = 20;
const $ = (id) => document.getElementById(id);
const state = { service: '', services: [], tree: null, zoom: 0, hover: -1 };

async function get(path, parameters) {
  const response = await fetch(path + '?' + new URLSearchParams(parameters));
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ? body.error.message : response.statusText);
  return body;
}

// Values above 2^53 arrive as text; a picture may round them, a number shown may not be invented.
const num = (v) => Number(v);

function format(value, unit, scale) {
  const v = num(value) / (scale || 1);
  const short = (x) => (Math.abs(x) >= 100 ? x.toFixed(0) : x.toPrecision(3));
  if (unit === 'nanoseconds') {
    for (const [size, name] of [[3600e9, 'h'], [60e9, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs']]) {
      if (Math.abs(v) >= size) return short(v / size) + ' ' + name;
    }
    return v + ' ns';
  }
  if (unit === 'bytes') {
    for (const [size, name] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
      if (Math.abs(v) >= size) return short(v / size) + ' ' + name;
    }
    return v + ' B';
  }
  return v.toLocaleString('en', { maximumFractionDigits: 3 });
}

// Preorder columns to boxes: start and total of every node, and where its subtree ends.
function layout(answer) {
  const n = answer.depth.length;
  const total = answer.self.map(num);
  const end = new Array(n).fill(n);
  const parent = new Array(n).fill(0);
  const path = [];
  for (let i = 0; i < n; i++) {
    while (path.length > answer.depth[i]) end[path.pop()] = i;
    parent[i] = path.length ? path[path.length - 1] : 0;
    path.push(i);
  }
  for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
  const start = new Array(n).fill(0);
  const next = new Array(n).fill(0);
  for (let i = 1; i < n; i++) {
    const p = parent[i];
    start[i] = next[p];
    next[p] += total[i];
    next[i] = start[i];
  }
  return { answer, total, start, end, parent, depth: answer.depth, rows: Math.max(...answer.depth) + 1 };
}

const nameOf = (tree, i) => tree.answer.functions[tree.answer.function[i]][0];

// Colour by module and package, stable across pages; dark text always readable.
function colour(tree, i) {
  const f = tree.answer.functions[tree.answer.function[i]];
  if (f[4] === 5) return 'hsl(0 0% 78%)';
  let hash = 0;
  for (const c of f[1] + f[0].split(/[.:(<]/)[0]) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
  return `hsl(${20 + (hash % 200)} 62% ${68 + (hash >> 8) % 10}%)`;
}

function draw() {
  const canvas = $('flame');
  const tree = state.tree;
  const width = canvas.clientWidth;
  const height = tree ? tree.rows * ROW : 0;
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = height + 'px';
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  if (!tree) return;
  const g = canvas.getContext('2d');
  g.scale(ratio, ratio);
  g.font = '12px system-ui, sans-serif';
  g.textBaseline = 'middle';
  const x0 = tree.start[state.zoom];
  const scale = width / (tree.total[state.zoom] || 1);
  for (let i = 0; i < tree.depth.length;) {
    const x = (tree.start[i] - x0) * scale;
    const w = tree.total[i] * scale;
    if (w < 0.3 || x + w < 0 || x > width) { i = tree.end[i]; continue; }
    const left = Math.max(x, 0);
    const visible = Math.min(x + w, width) - left;
    const y = tree.depth[i] * ROW;
    g.fillStyle = colour(tree, i);
    g.fillRect(left, y, Math.max(visible - 0.5, 0.5), ROW - 1);
    if (visible > 30) {
      g.fillStyle = '#111';
      g.save();
      g.beginPath();
      g.rect(left, y, visible - 2, ROW);
      g.clip();
      g.fillText(nameOf(tree, i), left + 4, y + ROW / 2);
      g.restore();
    }
    i++;
  }
}

function nodeAt(event) {
  const tree = state.tree;
  if (!tree) return -1;
  const box = $('flame').getBoundingClientRect();
  const depth = Math.floor((event.clientY - box.top) / ROW);
  const value = tree.start[state.zoom] + (event.clientX - box.left) / box.width * tree.total[state.zoom];
  for (let i = 0; i < tree.depth.length;) {
    if (value < tree.start[i] || value >= tree.start[i] + tree.total[i]) { i = tree.end[i]; continue; }
    if (tree.depth[i] === depth) return i;
    i++;
  }
  return -1;
}

function describe(i) {
  const { tree } = state;
  const a = tree.answer;
  const f = a.functions[a.function[i]];
  const share = (100 * tree.total[i] / (tree.total[0] || 1)).toFixed(1);
  return `${f[0]}${f[1] ? ' — ' + f[1] : ''}${f[2] ? ' — ' + f[2] : ''} · ${format(tree.total[i], a.unit, a.scale)} (${share} %), `
    + `self ${format(a.self[i], a.unit, a.scale)}`;
}

function zoomTo(i) {
  state.zoom = i;
  $('reset').hidden = i === 0;
  draw();
}

function showTop(answer) {
  $('top').replaceChildren(...answer.rows.slice(0, 30).map((row) => {
    const tr = document.createElement('tr');
    for (const text of [format(row.self, answer.unit, answer.scale), format(row.total, answer.unit, answer.scale), row.name]) {
      tr.appendChild(document.createElement('td')).textContent = text;
    }
    return tr;
  }));
}

async function showFlame() {
  const selection = { query: `{service_name="${state.service.replace(/["\\]/g, '\\$&')}"}`, type: $('type').value, since: $('since').value };
  $('summary').textContent = 'Loading…';
  const [flame, top] = await Promise.all([get('/api/v1/flame', selection), get('/api/v1/top', selection)]);
  state.tree = layout(flame);
  zoomTo(0);
  showTop(top);
  $('summary').textContent = flame.hint
    || `${state.service}: ${format(flame.total, flame.unit, flame.scale)} of ${flame.type}${flame.averaged ? ' (average)' : ''}, `
     + `${num(flame.count).toLocaleString('en')} observations, ${flame.nodes.toLocaleString('en')} of ${flame.nodes_in_full.toLocaleString('en')} boxes`;
  history.replaceState(null, '', '?' + new URLSearchParams({ service: state.service, type: $('type').value, since: $('since').value }));
}

async function choose(name, type) {
  state.service = name;
  const info = state.services.find((s) => s.name === name);
  const types = info ? info.types.map((t) => t.name) : [];
  $('type').replaceChildren(...types.map((t) => new Option(t, t)));
  $('type').value = types.includes(type) ? type : types.includes('cpu') ? 'cpu' : types[0] || '';
  for (const button of $('services').querySelectorAll('button')) {
    if (button.textContent === name) button.setAttribute('aria-current', 'true'); else button.removeAttribute('aria-current');
  }
  await showFlame();
}

async function load() {
  const wanted = new URLSearchParams(location.search);
  const { services } = await get('/api/v1/services', { since: $('since').value });
  state.services = services;
  $('services').replaceChildren(...services.map((s) => {
    const li = document.createElement('li');
    const button = li.appendChild(document.createElement('button'));
    button.type = 'button';
    button.textContent = s.name;
    button.addEventListener('click', () => choose(s.name, $('type').value).catch(fail));
    return li;
  }));
  if (services.length === 0) {
    state.tree = null;
    draw();
    $('top').replaceChildren();
    $('summary').textContent = 'No profiles in this range yet. Send some: wherefore push FILE, or point an OTLP sender at port 4317 or 4318.';
    return;
  }
  const name = services.some((s) => s.name === wanted.get('service')) ? wanted.get('service') : services[0].name;
  await choose(name, wanted.get('type'));
}

function fail(error) { $('summary').textContent = 'Could not load: ' + error.message; }

const since = new URLSearchParams(location.search).get('since');
if (since && [...$('since').options].some((o) => o.value === since)) $('since').value = since;
$('since').addEventListener('change', () => load().catch(fail));
$('type').addEventListener('change', () => showFlame().catch(fail));
$('reload').addEventListener('click', () => load().catch(fail));
$('reset').addEventListener('click', () => zoomTo(0));
$('flame').addEventListener('click', (e) => { const i = nodeAt(e); if (i >= 0) zoomTo(i); });
$('flame').addEventListener('keydown', (e) => { if (e.key === 'Escape') zoomTo(0); });
$('flame').addEventListener('mouseleave', () => { $('tip').hidden = true; });
$('flame').addEventListener('mousemove', (e) => {
  const i = nodeAt(e);
  const tip = $('tip');
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.textContent = describe(i);
  tip.style.left = Math.min(e.clientX + 12, window.innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = e.clientY + 16 + 'px';
});
window.addEventListener('resize', draw);
load().catch(fail);
