// A box that scrolls sideways if its table is too wide, so that the page does not. It takes the focus only while it can
// scroll.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function TableBox({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWide(box.current!.scrollWidth > box.current!.clientWidth));
    observer.observe(box.current!);
    for (const child of box.current!.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={box}
      class="table-box"
      role={wide ? 'region' : undefined}
      aria-label={wide ? label : undefined}
      tabIndex={wide ? 0 : undefined}
    >
      {children}
    </div>
  );
}
