// Writes what drawFlame draws as SVG: a stand-in for the few canvas calls it makes. Pure.
import { FONT } from './flame';

// Replaces characters that XML cannot represent.
const escaped = (text: string) =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '·')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
const px = (v: number) => String(Math.round(v * 100) / 100);

export class SvgContext {
  fillStyle: string | CanvasGradient | CanvasPattern = '#000';
  strokeStyle: string | CanvasGradient | CanvasPattern = '#000';
  globalAlpha = 1;
  lineWidth = 1;
  font = FONT;
  textBaseline: CanvasTextBaseline = 'middle';
  private dash: number[] = [];
  private parts: string[] = [];

  setLineDash(segments: Iterable<number>): void {
    this.dash = [...segments];
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(
      `<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" fill="${String(this.fillStyle)}"/>`,
    );
  }
  strokeRect(x: number, y: number, w: number, h: number): void {
    const place = `x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}"`;
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(' ')}"` : '';
    const stroke = `stroke="${String(this.strokeStyle)}" stroke-width="${this.lineWidth}"${dash}`;
    this.parts.push(`<rect ${place} fill="none" ${stroke}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    const faint = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : '';
    this.parts.push(`<text x="${px(x)}" y="${px(y)}" fill="${String(this.fillStyle)}"${faint}>${escaped(text)}</text>`);
  }
  text(width: number, height: number, title: string): string {
    const [w, h] = [px(width), px(height)];
    const size = `width="${w}" height="${h}" viewBox="0 0 ${w} ${h}"`;
    const font = `font-family="${escaped(FONT.replace(/^\S+ /, ''))}" font-size="12" dominant-baseline="central"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font} xml:space="preserve">`,
      `<title>${escaped(title)}</title>`,
      this.parts.join('\n'),
      '</svg>\n',
    ].join('\n');
  }
}
