// The export menu. Data formats come from the server, complete and with the lens applied. PNG, SVG and HTML show what
// is on the page, with title, numbers and legend, so they are offered only where there is one flame graph.
import { headingOf, type About } from '../core/about';
import type { Tree } from '../core/tree';
import { shownPicture, shownSvg } from './picture';
import { useMenu } from './popover';
import { save, saveHtml } from './save';
import { announce } from './shell';

export type Format = 'pprof' | 'folded' | 'speedscope' | 'otlp' | 'svg' | 'csv';

const FORMATS: Record<Format, { text: string; file: string }> = {
  pprof: { text: 'pprof', file: 'profile.pb.gz' },
  folded: { text: 'folded stacks', file: 'stacks.txt' },
  speedscope: { text: 'speedscope', file: 'profile.speedscope.json' },
  otlp: { text: 'OTLP', file: 'profiles.otlp' },
  svg: { text: 'SVG', file: 'flame.svg' },
  csv: { text: 'CSV of all functions', file: 'functions.csv' },
};

// Formats for a single profile and for a difference. Of a difference, SVG is a picture of what is shown.
export const OF_ONE: Format[] = ['pprof', 'folded', 'speedscope', 'svg', 'csv'];
export const OF_TWO: Format[] = ['folded', 'csv'];

export interface ExportProps {
  formats: Format[];
  texts?: Partial<Record<Format, string>>; // labels for formats that need an explanation
  address?: (format: Format) => string; // where to download it, or
  load?: (format: Format) => Promise<Blob>; // how to load it
  tree?: Tree; // the flame graph on the page; without one there are no pictures
  about: About;
}

// A picture of the graph with its title, numbers, legend and address.
function picture(about: About): Promise<Blob> | null {
  const canvas = shownPicture(about);
  if (!canvas) announce('There is no flame graph to take a picture of.');
  return (
    canvas &&
    new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('The picture is too large.')))),
    )
  );
}

async function png(about: About): Promise<void> {
  const blob = await picture(about);
  if (blob) save(blob, 'flame.png');
}

async function copyImage(about: About): Promise<void> {
  // Only pages from this machine or over HTTPS may write images to the clipboard.
  if (!navigator.clipboard?.write) {
    announce('This browser does not let the page copy images: save the PNG instead.');
    return;
  }
  const blob = picture(about);
  if (!blob) return;
  try {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
    announce('Copied.');
  } catch {
    announce('The browser did not let the page copy an image: save the PNG instead.');
  }
}

function svg(title: string): void {
  const text = shownSvg(title);
  if (text === null) announce('There is no flame graph to take a picture of.');
  else save(new Blob([text], { type: 'image/svg+xml' }), 'flame.svg');
}

export function Export(p: ExportProps) {
  const menu = useMenu();
  const load = async (format: Format) => {
    try {
      save(await p.load!(format), FORMATS[format].file);
    } catch (e) {
      announce(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <details class="menu" ref={menu}>
      <summary>Export</summary>
      <ul
        onClick={(e) => {
          e.currentTarget.closest('details')!.open = false;
        }}
      >
        {p.formats.map((f) => {
          const text = p.texts?.[f] ?? FORMATS[f].text;
          return (
            <li key={f}>
              {p.address ? (
                <a href={p.address(f)} download={FORMATS[f].file}>
                  {text}
                </a>
              ) : (
                <button type="button" class="link" onClick={() => void load(f)}>
                  {text}
                </button>
              )}
            </li>
          );
        })}
        {p.tree && (
          <li>
            <button type="button" class="link" onClick={() => void copyImage(p.about)}>
              Copy as image
            </button>
          </li>
        )}
        {p.tree && (
          <li>
            <button type="button" class="link" onClick={() => void png(p.about)}>
              PNG of what is shown
            </button>
          </li>
        )}
        {p.tree && !p.formats.includes('svg') && (
          <li>
            <button type="button" class="link" onClick={() => svg(headingOf(p.about))}>
              SVG of what is shown
            </button>
          </li>
        )}
        {p.tree && (
          <li>
            <button type="button" class="link" onClick={() => void saveHtml(p.tree!, p.about)}>
              HTML of what is shown, opens offline
            </button>
          </li>
        )}
      </ul>
    </details>
  );
}
