// One trace: where its time went, its waterfall, the selected span's facts, and a profile (trace_flame.tsx).
import type { Span, Trace, TraceColumns } from '../core/answers';
import { useMemo } from 'preact/hooks';
import { type Account, Accounts } from '../core/accounting';
import { getFlame, getJson } from '../core/api';
import { pathOnRows } from '../core/critical';
import { pathAccount } from '../core/path_account';
import { formatMany, formatTime, formatValue } from '../core/format';
import { traceIncident } from '../core/incident';
import { go, replace, url } from '../core/location';
import { zone } from '../core/settings';
import {
  decodeTrace,
  encodeService,
  encodeSlow,
  encodeTrace,
  encodeTraces,
  newService,
  newSlow,
  newTraces,
  type TraceState,
} from '../core/state';
import { profiledServices, waterfall } from '../core/waterfall';
import { safe, shownName } from '../draw/flame';
import { AccountBar, AccountFacts, AccountLegend } from '../parts/account_bar';
import { KeepButton } from '../parts/pins';
import { QueryState, useQuery } from '../parts/query';
import { copyText, Shell } from '../parts/shell';
import { Waterfall } from '../parts/waterfall';
import { around, SpanFlame, timeOfSpan } from './trace_flame';

// The trace's spans, the details of the selected one, and the profile of the whole trace.
function useTrace({ trace, span, type }: TraceState) {
  return {
    trace: useQuery(
      JSON.stringify(['trace', trace]),
      (s) => getJson('traces/{trace}', { trace, format: 'columns' }, s) as Promise<TraceColumns>,
    ),
    facts: useQuery(
      span === '' ? null : JSON.stringify(['span', trace, span]),
      (s) => getJson('traces/{trace}', { trace, span }, s) as Promise<Trace>,
    ),
    whole: useQuery(JSON.stringify(['trace flame', trace, type]), (s) =>
      getFlame('traces/{trace}/flame', { trace, type }, s),
    ),
    accounting: useQuery(JSON.stringify(['accounting', trace]), (s) =>
      getJson('traces/{trace}/accounting', { trace }, s),
    ),
    path: useQuery(JSON.stringify(['path', trace]), (s) => getJson('traces/{trace}/critical-path', { trace }, s)),
    pathFlame: useQuery(JSON.stringify(['path flame', trace]), (s) =>
      getFlame('traces/{trace}/flame', { trace, path: 'critical' }, s),
    ),
  };
}

export function TracePage() {
  const state = decodeTrace(url.value);
  const set = (change: Partial<TraceState>, how = go) => how(encodeTrace({ ...decodeTrace(url.value), ...change }));
  const { trace, facts, whole, accounting, path, pathFlame } = useTrace(state);
  const { rows, duration, startNs, services, errors, rootless } = useMemo(() => waterfall(trace.data), [trace.data]);
  const began = Number(startNs / 1_000_000n);
  const profiled = useMemo(() => profiledServices(rows, whole.data?.meta.by_span ?? {}), [rows, whole.data]);
  const accounts = useMemo(() => new Accounts(accounting.data), [accounting.data]);
  const onRows = useMemo(() => pathOnRows(path.data, startNs), [path.data, startNs]);
  const whereAll = useMemo(() => pathFlame.data && pathAccount(pathFlame.data), [pathFlame.data]);
  const root = rows[0];
  const took = formatValue(duration * 1e6, 'nanoseconds');
  const row = rows.find((r) => r.id === state.span);
  const span = facts.data?.spans.find((s) => s.span === state.span);
  return (
    <Shell title={root ? root.name.slice(0, 80) : 'Trace'}>
      <div class="toolbar">
        <h1>{root ? <bdi>{shownName(root.name, 120)}</bdi> : 'Trace'}</h1>
        {root && (
          <p>
            {root.service} · {formatTime(began, zone.value === 'utc')} · {took}
            {' · '}
            {formatMany(rows.length, 'span')} · {formatMany(services, 'service')}
            {errors > 0 && <em class="bad"> · {formatMany(errors, 'error')}</em>}
            {whole.data && Number(whole.data.meta.count) > 0 && (
              <>
                {' '}
                · <span data-testid="samples">{formatMany(Number(whole.data.meta.count), 'sample')}</span>
              </>
            )}
          </p>
        )}
        <span class="grow" />
        {root && whereAll && (
          <button
            type="button"
            onClick={() =>
              copyText(
                traceIncident({
                  rows,
                  began,
                  trace: state.trace,
                  whole: whereAll,
                  onPath: onRows?.total,
                  account: row && accounts.get(row.id),
                  row,
                  address: location.href,
                }),
              )
            }
          >
            Copy for incident
          </button>
        )}
        {root && (
          <KeepButton
            wanted={() => {
              const { from, to } = around([began, began + duration]);
              return { service: root.service, from, to, why: `trace ${state.trace}` };
            }}
          />
        )}
        <button type="button" onClick={() => copyText(state.trace)}>
          Copy trace id
        </button>
      </div>
      <QueryState query={trace} what="the trace" />
      <QueryState query={accounting} what="where its time went" shown={false} />
      {whereAll && whereAll.duration > 0 && (
        <section class="account whole" aria-label="Where the trace's time went">
          <AccountBar label="Along the critical path" account={whereAll} />
          <AccountLegend account={whereAll} />
        </section>
      )}
      {rootless && (
        <p class="note" data-testid="rootless">
          The root span of this trace has not arrived: the earliest span here names a parent that is not stored. What is
          shown begins there; the trace may be longer.
        </p>
      )}
      {rows.length > 0 && (
        <Waterfall
          rows={rows}
          duration={duration}
          selected={state.span}
          values={whole.data?.meta.by_span ?? {}}
          looks={whole.data?.meta.looks?.by_span}
          accounts={accounts}
          path={onRows}
          onSelect={(id, walked) =>
            set({ span: id, scope: 'samples', zoom: '', frame: '' }, walked && state.span !== '' ? replace : go)
          }
          onRange={(r, [from, to]) =>
            go(
              encodeService(
                newService(r.service, { since: '1h', from: Math.floor(began + from), to: Math.ceil(began + to) }),
              ),
            )
          }
        />
      )}
      <QueryState query={facts} what="the span" />
      {span && (
        <SpanFacts
          span={span}
          account={accounts.get(span.span)}
          onShow={(id) => set({ span: id, scope: 'samples', zoom: '', frame: '' })}
        />
      )}
      {rows.length > 0 && (
        <SpanFlame
          state={state}
          whole={whole}
          span={span}
          root={root}
          below={row?.descendants ?? 0}
          services={profiled}
          range={[began, began + duration]}
          set={set}
        />
      )}
    </Shell>
  );
}

interface SpanFactsProps {
  span: Span;
  account?: Account;
  onShow: (span: string) => void;
}

function SpanFacts({ span, account, onShow }: SpanFactsProps) {
  const then = around(timeOfSpan(span));
  const attributes = Object.entries(span.attributes);
  return (
    <section class="span-facts" aria-label="Selected span">
      <div class="inspector-head">
        <h2>
          <bdi>{shownName(span.name, 300)}</bdi>
        </h2>
      </div>
      <p class="where">
        {span.service} · {span.kind} · {formatValue(Number(span.duration_ns), 'nanoseconds')}
        {span.status === 'error' && (
          <em class="bad"> · error{span.status_message ? `: ${span.status_message.slice(0, 300)}` : ''}</em>
        )}
      </p>
      {account && <AccountFacts account={account} onShow={onShow} />}
      {attributes.length > 0 && (
        <dl>
          {attributes.slice(0, 60).map(([k, v]) => (
            <div key={k}>
              <dt>{k}</dt>
              <dd>
                <bdi>{v.slice(0, 500)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {span.events?.map((e, i) => (
        <p key={i}>
          {formatValue(Number(BigInt(e.time_ns) - BigInt(span.start_ns)), 'nanoseconds')} in: <b>{e.name}</b>{' '}
          {Object.entries(e.attributes)
            .map(([k, v]) => `${k}=${v}`)
            .join(', ')
            .slice(0, 500)}
        </p>
      ))}
      <p class="actions">
        <a class="button" href={encodeService(newService(span.service, then))}>
          {span.service} at that time
        </a>
        <a
          class="button"
          href={encodeTraces({ ...newTraces(span.service, { ...then, from: then.from - 3600e3 }), name: span.name })}
        >
          Other “{safe(span.name).slice(0, 40)}” traces
        </a>
        <a
          class="button"
          href={encodeSlow({
            ...newSlow({ ...then, from: then.from - 3600e3 }),
            service: span.service,
            name: span.name,
          })}
        >
          Slow versus typical
        </a>
        <button type="button" onClick={() => copyText(span.span)}>
          Copy span id
        </button>
      </p>
    </section>
  );
}
