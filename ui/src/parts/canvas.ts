// Prepares a canvas of a size in CSS pixels, sharp on dense screens; null while there is none.
export function prepare(
  canvas: HTMLCanvasElement | null,
  size: { width: number; height: number },
): CanvasRenderingContext2D | null {
  if (!canvas || size.width === 0) return null;
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = size.width + 'px';
    canvas.style.height = size.height + 'px';
  }
  const g = canvas.getContext('2d')!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}
