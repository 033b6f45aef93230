// The lens as chips, in the syntax of `wherefore top --lens` and the API (docs/api.md). Steps apply from left to right.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { LENS_HELP, lensBegun, lensProblem } from '../core/entered';
import { addStep, joinLens, lensSteps } from '../core/state';

const SHORTCUTS = [
  ['my-code', 'My code', 'Hide the language runtime, the C library and the kernel'],
  ['merge-templates', 'Merge templates', 'Instances of one C++ template become one'],
  ['invert', 'Invert', 'What did the work on top, its callers below'],
];

export function LensChips({ lens, onChange }: { lens: string; onChange: (lens: string) => void }) {
  const [text, setText] = useState('');
  const steps = lensSteps(lens);
  const [tried, setTried] = useState(false);
  const why = useId();
  const { form, next } = useNextFocus(lens);
  const add = (step: string) => {
    next.current = steps.length;
    onChange(addStep(lens, step));
  };
  const remove = (at: number) => {
    next.current = at;
    onChange(joinLens(steps.filter((_, j) => j !== at)));
  };
  // No error while the text may still become a step, until Enter is pressed.
  const problem = text.trim() !== '' && (tried || !lensBegun(text)) ? lensProblem(text) : '';
  return (
    <form
      ref={form}
      class="chips"
      aria-label="Lens"
      onSubmit={(e) => {
        e.preventDefault();
        setTried(true);
        if (text.trim() === '' || lensProblem(text)) return;
        onChange(addStep(lens, text.trim()));
        setText('');
        setTried(false);
      }}
    >
      <span class="label">Lens</span>
      {steps.map((step, i) => (
        <span class="chip" key={i + step}>
          <code title={step.length > 60 ? step : undefined}>{step.length > 60 ? step.slice(0, 60) + '…' : step}</code>
          <button type="button" aria-label={`Remove ${step}`} onClick={() => remove(i)}>
            ✕
          </button>
        </span>
      ))}
      {SHORTCUTS.filter(([step]) => !steps.includes(step)).map(([step, text, title]) => (
        <button key={step} type="button" title={title} onClick={() => add(step)}>
          {text}
        </button>
      ))}
      <input
        aria-label={`Add a step: ${LENS_HELP}`}
        placeholder="hide:^std::"
        title={LENS_HELP}
        value={text}
        aria-invalid={problem !== ''}
        aria-describedby={problem ? why : undefined}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setTried(false);
        }}
      />
      <button type="submit" disabled={text.trim() === ''}>
        Add
      </button>
      <span role="status">
        {problem && (
          <em class="bad" id={why}>
            {problem}
          </em>
        )}
      </span>
    </form>
  );
}

// A chip that removes itself passes the focus to the chip at place `next`, or to the field.
function useNextFocus(lens: string) {
  const form = useRef<HTMLFormElement>(null);
  const next = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (next.current === null) return;
    const chip = form.current!.querySelectorAll<HTMLElement>('.chip button')[next.current];
    (chip ?? form.current!.querySelector('input')!).focus({ preventScroll: true });
    next.current = null;
  }, [lens]);
  return { form, next };
}
