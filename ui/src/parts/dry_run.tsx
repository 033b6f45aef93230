// When rules would have fired over what is stored. Nobody is told.
import { useRef, useState } from 'preact/hooks';
import type { Stretch } from '../core/alerts';
import type { AlertDryRun } from '../core/answers';
import { ApiError, send } from '../core/api';
import { formatCount, formatMany } from '../core/format';
import { said } from '../core/settings';
import { timeOf, type TimeState } from '../core/state';
import { safe } from '../draw/flame';
import { Strips, Times } from './alert_times';

interface DryRunProps {
  rules: string; // what the field begins with
  time: TimeState;
  onClose: () => void;
}

export function DryRun({ rules, time, onClose }: DryRunProps) {
  const [text, setText] = useState(rules);
  const { answer, problem, busy, run, stop } = useDryRun();
  return (
    <section aria-label="Dry run">
      <h2>Dry run</h2>
      <p>When these rules would have fired in the time above. Nobody is told, nothing is kept.</p>
      <form
        class="dry-run"
        onSubmit={(e) => {
          e.preventDefault();
          void run(text, time);
        }}
      >
        <label class="hidden" for="dry-run-rules">
          Rules, as a file has them
        </label>
        <textarea
          id="dry-run-rules"
          rows={12}
          value={text}
          spellcheck={false}
          onInput={(e) => setText(e.currentTarget.value)}
        />
        <p class="actions">
          <button type="submit" disabled={busy || text.trim() === ''}>
            {busy ? 'Trying…' : 'Try'}
          </button>
          {busy && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
          <button type="button" onClick={onClose}>
            Close
          </button>
        </p>
      </form>
      {problem && (
        <p class="note error rule-problem" role="alert">
          {said(problem)}
        </p>
      )}
      {answer && <Outcome answer={answer} />}
    </section>
  );
}

function useDryRun() {
  const [state, setState] = useState<{ answer?: AlertDryRun; problem: string; busy: boolean }>({
    problem: '',
    busy: false,
  });
  const request = useRef<AbortController | null>(null);
  const run = async (rules: string, time: TimeState) => {
    const own = new AbortController();
    request.current = own;
    setState({ problem: '', busy: true });
    try {
      const answer = await send<AlertDryRun>('POST', 'alerts/test', timeOf(time), rules, own.signal);
      setState({ answer, problem: '', busy: false });
    } catch (e) {
      const problem = own.signal.aborted ? 'Stopped.' : e instanceof ApiError ? e.message : String(e);
      setState({ problem, busy: false });
    }
  };
  return { ...state, run, stop: () => request.current?.abort() };
}

function Outcome({ answer }: { answer: AlertDryRun }) {
  const range: [number, number] = [Date.parse(answer.from), Date.parse(answer.to)];
  const stretches = answer.times
    .map(
      (t): Stretch => ({
        ...{ alert: t.alert, service: t.service, state: t.state, text: t.most.text },
        from: Date.parse(t.from),
        to: t.to ? Date.parse(t.to) : null,
      }),
    )
    .sort((a, b) => b.from - a.from);
  const fired = answer.times.filter((t) => t.state === 'firing').length;
  return (
    <>
      <p role="status" data-testid="dry-run">
        {fired === 0 ? 'Nothing would have fired' : `Would have fired ${formatMany(fired, 'time')}`}.{' '}
        {answer.rules.map((r) => (
          <span key={r.group + r.alert}>
            {safe(r.alert)}: judged {formatMany(r.moments, 'time')} for {formatMany(r.services, 'service')}
            {r.unknown > 0 && `, at ${formatCount(r.unknown)} of them too little was known`}
            {r.note && ` (${said(r.note)})`}.{' '}
          </span>
        ))}
      </p>
      {stretches.length > 0 && <Strips label="When they would have fired" stretches={stretches} range={range} />}
      {stretches.length > 0 && <Times label="Times they would have fired" stretches={stretches} end={range[1]} />}
    </>
  );
}
