// The menu of a frame: the drawer's actions where the pointer or the frame is. Arrows, Home, End and first letters walk, a printed key acts, Escape
// and Tab leave it for where one came from; anything that moves the page under it closes it.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { actionsOf, type FrameContext } from './actions';
import { nameOf } from './describe';
import { announce } from './shell';

export interface MenuPlace { node: number; x: number; y: number }

const EDGE = 4;  // pixels that stay free around it

// `onClose`: `back` when the focus belongs to where it was opened.
export function FrameMenu(p: FrameContext & { at: MenuPlace; onClose: (back: boolean) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const items = () => [...box.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
  const close = useRef(p.onClose);
  close.current = p.onClose;
  useLayoutEffect(() => {
    const b = box.current!;
    const { width, height } = b.getBoundingClientRect();
    b.style.left = Math.max(EDGE, Math.min(p.at.x, innerWidth - width - EDGE)) + 'px';
    b.style.top = Math.max(EDGE, Math.min(p.at.y, innerHeight - height - EDGE)) + 'px';
    items()[0]?.focus({ preventScroll: true });
    const outside = (e: Event) => { if (!b.contains(e.target as Node)) close.current(false); };
    const resized = () => close.current(true);
    addEventListener('pointerdown', outside, true);
    addEventListener('resize', resized);
    // What brought the frame into view is told in the next frame, before this.
    const id = requestAnimationFrame(() => addEventListener('scroll', outside, true));
    return () => {
      cancelAnimationFrame(id);
      removeEventListener('pointerdown', outside, true);
      removeEventListener('resize', resized);
      removeEventListener('scroll', outside, true);
    };
  }, [p.at]);
  const onKey = (e: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const own = all.find((i) => i.querySelector('kbd')?.textContent === e.key);
    const letter = e.key.length === 1 && e.key !== ' ' && !e.ctrlKey && !e.metaKey && !e.altKey;
    e.stopPropagation();  // the graph's keys are not the menu's
    if (e.key === 'ArrowDown') all[(at + 1) % all.length].focus();
    else if (e.key === 'ArrowUp') all[(at + all.length - 1) % all.length].focus();
    else if (e.key === 'Home') all[0].focus();
    else if (e.key === 'End') all[all.length - 1].focus();
    else if (e.key === 'Escape' || e.key === 'Tab') p.onClose(true);
    else if (e.key === 'Enter' || e.key === ' ') all[at]?.click();
    else if (letter && own) own.click();
    else if (letter) [...all.slice(at + 1), ...all.slice(0, at + 1)].find((i) => i.textContent!.toLowerCase().startsWith(e.key.toLowerCase()))?.focus();
    else return;
    e.preventDefault();
  };
  const name = nameOf(p.tree, p.node);
  return (
    <div ref={box} class="frame-menu" onKeyDown={onKey} onContextMenu={(e) => e.preventDefault()}>
      <p aria-hidden="true"><bdi>{name.slice(0, 200)}</bdi></p>
      <div role="menu" aria-label={`Actions on ${name.slice(0, 200)}`}>
        {actionsOf(p).map((a) => {
          const label = <><span>{a.text}{a.why && <small>{a.why}</small>}</span>{a.key && <kbd aria-hidden="true">{a.key}</kbd>}</>;
          // Links stay links: a middle click opens them elsewhere.
          if (a.href) return <a key={a.text} role="menuitem" tabIndex={-1} href={a.href} onClick={() => p.onClose(false)}>{label}</a>;
          return <div key={a.text} role="menuitem" tabIndex={-1} title={a.help} aria-disabled={a.why !== undefined} onClick={() => { if (a.why) announce(a.why); else { p.onClose(true); a.run!(); } }}>{label}</div>;
        })}
      </div>
    </div>
  );
}
