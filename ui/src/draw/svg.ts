// What drawFlame draws, as SVG: the few calls of a canvas it makes, written down. Pure.
import { FONT } from './flame';

// Characters that XML has no way to write.
const escape = (text: string) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '·').replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
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

  setLineDash(segments: Iterable<number>): void { this.dash = [...segments]; }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(`<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" fill="${String(this.fillStyle)}"/>`);
  }
  strokeRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(`<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" fill="none" stroke="${String(this.strokeStyle)}" stroke-width="${this.lineWidth}"${this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(' ')}"` : ''}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    const faint = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : '';
    this.parts.push(`<text x="${px(x)}" y="${px(y)}" fill="${String(this.fillStyle)}"${faint}>${escape(text)}</text>`);
  }
  text(width: number, height: number, title: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${px(width)}" height="${px(height)}" viewBox="0 0 ${px(width)} ${px(height)}" font-family="${escape(FONT.replace(/^\S+ /, ''))}" font-size="12" dominant-baseline="central" xml:space="preserve">\n<title>${escape(title)}</title>\n${this.parts.join('\n')}\n</svg>\n`;
  }
}
