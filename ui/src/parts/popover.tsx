// A button that opens a panel below it. Escape closes it and returns the focus to the button; a click elsewhere closes
// it, and so does a form in it that is sent.
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export function useMenu(): RefObject<HTMLDetailsElement> {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== 'Escape' || !menu.current?.open) return;
      e.preventDefault();
      menu.current.open = false;
      menu.current.querySelector('summary')!.focus();
    };
    const onPress = (e: Event) => {
      if (menu.current?.open && !menu.current.contains(e.target as Node)) menu.current.open = false;
    };
    addEventListener('keydown', onKey);
    addEventListener('pointerdown', onPress);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('pointerdown', onPress);
    };
  }, []);
  return menu;
}

interface PopoverProps {
  name: ComponentChildren;
  label?: string; // for screen readers, if the name is a sign
  class?: string;
  children: ComponentChildren;
}

export function Popover({ name, label, children, ...more }: PopoverProps) {
  const menu = useMenu();
  return (
    <details class={`menu ${more.class ?? ''}`} ref={menu}>
      <summary aria-label={label}>{name}</summary>
      <div
        class="panel"
        onSubmit={() => {
          menu.current!.open = false;
        }}
      >
        {children}
      </div>
    </details>
  );
}
