// The lens as chips: the same words as in `wherefore top --lens` and the API (docs/api.md). Steps apply left to right.
import { useState } from 'preact/hooks';
import { joinLens, lensSteps } from '../core/state';

const HELP = 'focus:RE, hide:RE, merge:RE, collapse:RE, drop:RE, my-code or merge-templates';

const WORDS = ['my-code', 'merge-templates'];

export function LensChips({ lens, onChange }: { lens: string; onChange: (lens: string) => void }) {
  const [text, setText] = useState('');
  const steps = lensSteps(lens);
  const valid = /^(focus|hide|merge|collapse|drop):./.test(text.trim()) || WORDS.includes(text.trim());
  return (
    <form class="chips" aria-label="Lens" onSubmit={(e) => {
      e.preventDefault();
      if (!valid) return;
      onChange(joinLens([...steps, text.trim()]));
      setText('');
    }}>
      <span class="label">Lens</span>
      {steps.map((step, i) => (
        <span class="chip" key={i + step}>
          <code>{step.length > 60 ? step.slice(0, 60) + '…' : step}</code>
          <button type="button" aria-label={`Remove ${step}`} onClick={() => onChange(joinLens(steps.filter((_, j) => j !== i)))}>✕</button>
        </span>
      ))}
      {!steps.includes('my-code') && <button type="button" title="Hide the language runtime, the C library and the kernel" onClick={() => onChange(joinLens([...steps, 'my-code']))}>My code</button>}
      {!steps.includes('merge-templates') && <button type="button" title="Instances of one C++ template become one" onClick={() => onChange(joinLens([...steps, 'merge-templates']))}>Merge templates</button>}
      <input aria-label={`Add a step: ${HELP}`} placeholder="hide:^std::" title={HELP} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <button type="submit" disabled={!valid}>Add</button>
    </form>
  );
}
