// Something sent to the server because of a press: whether it is under way, and what went wrong.
import { useState } from 'preact/hooks';
import { announce } from './shell';

export function useSending(): {
  busy: boolean;
  problem: string;
  act: (what: () => Promise<unknown>, done: string) => Promise<boolean>;
} {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  // Announces `done`; false if it failed.
  const act = async (what: () => Promise<unknown>, done: string) => {
    setBusy(true);
    setProblem('');
    try {
      await what();
      announce(done);
      return true;
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, act };
}
