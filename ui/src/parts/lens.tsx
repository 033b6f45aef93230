// The lens as chips: the same words as in `wherefore top --lens` and the API (docs/api.md). Steps apply left to right.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { LENS_HELP, lensBegun, lensProblem } from '../core/entered';
import { addStep, joinLens, lensSteps } from '../core/state';

export function LensChips({ lens, onChange }: { lens: string; onChange: (lens: string) => void }) {
  const [text, setText] = useState('');
  const steps = lensSteps(lens);
  const [tried, setTried] = useState(false);
  const why = useId();
  // A button that goes with what it did leaves the focus to the chip at this place, or to the field.
  const form = useRef<HTMLFormElement>(null);
  const next = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (next.current === null) return;
    (form.current!.querySelectorAll<HTMLElement>('.chip button')[next.current] ?? form.current!.querySelector('input')!).focus({ preventScroll: true });
    next.current = null;
  }, [lens]);
  const add = (step: string) => { next.current = steps.length; onChange(addStep(lens, step)); };
  const remove = (at: number) => { next.current = at; onChange(joinLens(steps.filter((_, j) => j !== at))); };
  // While it may still become a step nothing is held against it, until somebody presses Enter.
  const problem = text.trim() !== '' && (tried || !lensBegun(text)) ? lensProblem(text) : '';
  return (
    <form ref={form} class="chips" aria-label="Lens" onSubmit={(e) => {
      e.preventDefault();
      setTried(true);
      if (text.trim() === '' || lensProblem(text)) return;
      onChange(addStep(lens, text.trim()));
      setText('');
      setTried(false);
    }}>
      <span class="label">Lens</span>
      {steps.map((step, i) => (
        <span class="chip" key={i + step}>
          <code title={step.length > 60 ? step : undefined}>{step.length > 60 ? step.slice(0, 60) + '…' : step}</code>
          <button type="button" aria-label={`Remove ${step}`} onClick={() => remove(i)}>✕</button>
        </span>
      ))}
      {!steps.includes('my-code') && <button type="button" title="Hide the language runtime, the C library and the kernel" onClick={() => add('my-code')}>My code</button>}
      {!steps.includes('merge-templates') && <button type="button" title="Instances of one C++ template become one" onClick={() => add('merge-templates')}>Merge templates</button>}
      {!steps.includes('invert') && <button type="button" title="What did the work on top, its callers below" onClick={() => add('invert')}>Invert</button>}
      <input aria-label={`Add a step: ${LENS_HELP}`} placeholder="hide:^std::" title={LENS_HELP} value={text} aria-invalid={problem !== ''} aria-describedby={problem ? why : undefined} onInput={(e) => { setText(e.currentTarget.value); setTried(false); }} />
      <button type="submit" disabled={text.trim() === ''}>Add</button>
      <span role="status">{problem && <em class="bad" id={why}>{problem}</em>}</span>
    </form>
  );
}
