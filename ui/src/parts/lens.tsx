// The lens: own code or everything, and its other steps as chips, in the syntax of `wherefore top --lens` and the API
// (docs/api.md). Steps apply from left to right.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { LENS_HELP, lensBegun, lensProblem, ownProblem } from '../core/entered';
import { addStep, isOwnStep, joinLens, lensSteps, OWN, ownRules } from '../core/state';
import { Popover } from './popover';

const SHORTCUTS = [
  ['merge-templates', 'Merge templates', 'Instances of one C++ template become one'],
  ['invert', 'Invert', 'What did the work on top, its callers below'],
];

const OWN_HELP =
  'What libraries, the runtime, the C library, the kernel and profilers did is charged to the nearest own function, ' +
  'and chains of their frames become one. No total changes.';

// Own code or everything, and what is own.
export function OwnCode({ lens, onChange }: LensProps) {
  const rules = ownRules(lens);
  const [text, setText] = useState(rules ?? '');
  const problem = ownProblem(text);
  return (
    <span class="switch">
      <button
        type="button"
        aria-pressed={rules !== null}
        title={`${OWN_HELP} Key e.`}
        onClick={() => onChange(addStep(lens, OWN))}
      >
        Own code{rules ? '*' : ''}
      </button>
      <Popover name="" label="What is own code">
        <p class="narrow">{OWN_HELP}</p>
        <form
          class="fields"
          onSubmit={(e) => {
            e.preventDefault();
            if (problem === '') onChange(addStep(lens, text.trim() === '' ? 'own:default' : `own:${text.trim()}`));
          }}
        >
          <label>
            Rules before the defaults: +regex is own, -regex is not
            <input
              value={text}
              placeholder="+^acme:: -/third_party/"
              size={36}
              spellcheck={false}
              aria-invalid={problem !== ''}
              onInput={(e) => setText(e.currentTarget.value)}
            />
          </label>
          <button type="submit" disabled={problem !== ''}>
            Use
          </button>
        </form>
        {problem && <em class="bad">{problem}</em>}
      </Popover>
    </span>
  );
}

interface LensProps {
  lens: string;
  onChange: (lens: string) => void;
}

// `own`: own code has its own control beside it.
export function LensChips({ lens, onChange, own = false }: LensProps & { own?: boolean }) {
  const [text, setText] = useState('');
  const steps = lensSteps(lens);
  const chips = own ? steps.filter((s) => !isOwnStep(s)) : steps;
  const [tried, setTried] = useState(false);
  const why = useId();
  const { form, next } = useNextFocus(lens);
  const add = (step: string) => {
    next.current = chips.length;
    onChange(addStep(lens, step));
  };
  const remove = (at: number) => {
    next.current = at;
    onChange(joinLens(steps.filter((_, j) => j !== steps.indexOf(chips[at]))));
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
      {chips.map((step, i) => (
        <span class="chip" key={i + step}>
          <code title={step.length > 60 ? step : undefined}>{step.length > 60 ? step.slice(0, 60) + '…' : step}</code>
          <button type="button" aria-label={`Remove ${step}`} onClick={() => remove(i)}>
            ✕
          </button>
        </span>
      ))}
      {!own && !steps.some(isOwnStep) && (
        <button type="button" title={OWN_HELP} onClick={() => add(OWN)}>
          Own code
        </button>
      )}
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
