// Where a span's time went: a bar whose segments add up to its duration, and below it the same as numbers with errors
// and reasons, so that neither colour nor pointer is needed.
import { accountText, knownFrom, PART_NAMES, partText, shownParts, type Account, type Part } from '../core/accounting';
import { formatValue } from '../core/format';
import { said } from '../core/settings';

const ns = (v: number) => formatValue(v, 'nanoseconds');

// The segments alone, as shares of the width: also the fill of a waterfall's row.
export function PartFill({ parts, duration }: { parts: Part[]; duration: number }) {
  return (
    <>
      {shownParts(parts).map((p) => (
        <i
          key={p.name}
          class={`part part-${p.name}`}
          data-part={p.name}
          style={{ width: `${(100 * p.value) / duration}%` }}
          title={`${PART_NAMES[p.name]} ${partText(p, duration)}`}
        />
      ))}
    </>
  );
}

interface AccountBarProps {
  label: string; // what it is about, for screen readers
  account: Pick<Account, 'duration' | 'parts'>;
}

export function AccountBar({ label, account: { parts, duration } }: AccountBarProps) {
  if (!(duration > 0)) return null;
  return (
    <div class="account-bar" role="img" aria-label={`${label}: ${accountText({ parts, duration })}`}>
      <PartFill parts={parts} duration={duration} />
    </div>
  );
}

export function AccountLegend({ account: { parts, duration } }: { account: Pick<Account, 'duration' | 'parts'> }) {
  return (
    <ul class="account-parts">
      {shownParts(parts).map((p) => (
        <li key={p.name} data-part={p.name}>
          <i class={`part part-${p.name}`} aria-hidden="true" /> <b>{PART_NAMES[p.name]}</b>{' '}
          <span class="figures">{partText(p, duration)}</span> <small>{knownFrom(p)}</small>
        </li>
      ))}
    </ul>
  );
}

// One span's account with all that is known of it.
export function AccountFacts({ account, onShow }: { account: Account; onShow: (span: string) => void }) {
  return (
    <section class="account" aria-label="Where its time went">
      <h3>Where its {ns(account.duration)} went</h3>
      <AccountBar label="Where its time went" account={account} />
      <AccountLegend account={account} />
      {account.why && (
        <p class="small" data-testid="why">
          Not observed: {said(account.why)}
        </p>
      )}
      {account.parallel > 1 && (
        <p class="small">{account.parallel.toFixed(1)} threads at once: its own parts are divided by that.</p>
      )}
      {account.waitingForChildren > 0 && (
        <p class="small">It also waited {ns(account.waitingForChildren)} while children ran.</p>
      )}
      {account.madeOthersWait > 0 && <p class="small">Locks it held made others wait {ns(account.madeOthersWait)}.</p>}
      {account.filedUnder && (
        <p class="small">
          Its profiler files a request's samples under its first span in this service: this is that span's account.{' '}
          <button type="button" onClick={() => onShow(account.filedUnder)}>
            Show that span
          </button>
        </p>
      )}
    </section>
  );
}
