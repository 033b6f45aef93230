// The menu of a frame: the inspector's actions at the pointer or the frame. Arrows, Home, End and first letters move, a
// printed key acts, Escape and Tab close it and return the focus. Scrolling or resizing closes it too.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { actionsOf, type Action, type FrameContext } from './actions';
import { nameOf } from './describe';
import { announce } from './shell';

export interface MenuPlace {
  node: number;
  x: number;
  y: number;
}

const EDGE = 4; // pixels to the edge of the window

interface MenuProps extends FrameContext {
  at: MenuPlace;
  onClose: (back: boolean) => void; // `back`: the focus returns to where the menu was opened
}

const itemsIn = (box: HTMLElement) => [...box.querySelectorAll<HTMLElement>('[role=menuitem]')];

export function FrameMenu(p: MenuProps) {
  const box = useRef<HTMLDivElement>(null);
  usePlaced(box, p);
  const name = nameOf(p.tree, p.node);
  return (
    <div
      ref={box}
      class="frame-menu"
      onKeyDown={(e) => onMenuKey(e, itemsIn(box.current!), p.onClose)}
      onContextMenu={(e) => e.preventDefault()}
    >
      <p aria-hidden="true">
        <bdi>{name.slice(0, 200)}</bdi>
      </p>
      <div role="menu" aria-label={`Actions on ${name.slice(0, 200)}`}>
        {actionsOf(p).map((a) => (
          <Item key={a.text} action={a} onClose={p.onClose} />
        ))}
      </div>
    </div>
  );
}

// Puts the menu inside the window, focuses its first item, and closes it when something else is used.
function usePlaced(box: { current: HTMLElement | null }, p: MenuProps): void {
  const close = useRef(p.onClose);
  close.current = p.onClose;
  useLayoutEffect(() => {
    const b = box.current!;
    const { width, height } = b.getBoundingClientRect();
    b.style.left = Math.max(EDGE, Math.min(p.at.x, innerWidth - width - EDGE)) + 'px';
    b.style.top = Math.max(EDGE, Math.min(p.at.y, innerHeight - height - EDGE)) + 'px';
    itemsIn(b)[0]?.focus({ preventScroll: true });
    const outside = (e: Event) => {
      if (!b.contains(e.target as Node)) close.current(false);
    };
    const resized = () => close.current(true);
    addEventListener('pointerdown', outside, true);
    addEventListener('resize', resized);
    // The scroll event for bringing the frame into view arrives one animation frame later; start listening after it.
    const id = requestAnimationFrame(() => addEventListener('scroll', outside, true));
    return () => {
      cancelAnimationFrame(id);
      removeEventListener('pointerdown', outside, true);
      removeEventListener('resize', resized);
      removeEventListener('scroll', outside, true);
    };
  }, [p.at]);
}

function onMenuKey(e: KeyboardEvent, all: HTMLElement[], onClose: MenuProps['onClose']): void {
  const at = all.indexOf(document.activeElement as HTMLElement);
  const own = all.find((i) => i.querySelector('kbd')?.textContent === e.key);
  const letter = e.key.length === 1 && e.key !== ' ' && !e.ctrlKey && !e.metaKey && !e.altKey;
  e.stopPropagation(); // keep the key from the graph
  if (e.key === 'ArrowDown') all[(at + 1) % all.length].focus();
  else if (e.key === 'ArrowUp') all[(at + all.length - 1) % all.length].focus();
  else if (e.key === 'Home') all[0].focus();
  else if (e.key === 'End') all[all.length - 1].focus();
  else if (e.key === 'Escape' || e.key === 'Tab') onClose(true);
  else if (e.key === 'Enter' || e.key === ' ') all[at]?.click();
  else if (letter && own) own.click();
  else if (letter)
    [...all.slice(at + 1), ...all.slice(0, at + 1)]
      .find((i) => i.textContent!.toLowerCase().startsWith(e.key.toLowerCase()))
      ?.focus();
  else return;
  e.preventDefault();
}

function Item({ action: a, onClose }: { action: Action; onClose: MenuProps['onClose'] }) {
  const label = (
    <>
      <span>
        {a.text}
        {a.why && <small>{a.why}</small>}
      </span>
      {a.key && <kbd aria-hidden="true">{a.key}</kbd>}
    </>
  );
  // Links stay links, so that a middle click opens a new tab.
  if (a.href)
    return (
      <a role="menuitem" tabIndex={-1} href={a.href} onClick={() => onClose(false)}>
        {label}
      </a>
    );
  const run = () => {
    if (a.why) announce(a.why);
    else {
      onClose(true);
      a.run!();
    }
  };
  return (
    <div role="menuitem" tabIndex={-1} title={a.help} aria-disabled={a.why !== undefined} onClick={run}>
      {label}
    </div>
  );
}
