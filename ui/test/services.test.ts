import { expect, test } from 'vitest';
import type { Overview, ServiceOverview } from '../src/core/answers';
import { rowsOf, sorted } from '../src/core/services';

const service = (name: string, more: Partial<ServiceOverview> = {}): ServiceOverview => ({
  name,
  profiles: 1,
  types: ['cpu'],
  top: [],
  own_top: [],
  top_type: 'cpu',
  top_total: 0,
  versions: [],
  senders: [],
  instances: 1,
  ...more,
});
const latency = (requests: number, p99: number) => ({ requests, errors: 0, median_ns: 1, p99_ns: p99 });
const answer = (services: ServiceOverview[]): Overview => ({
  start_ms: 0,
  step_ms: 1000,
  observed_from_ms: 0,
  observed_to_ms: 8000,
  observed_ms: 8000,
  step_observed_ms: Array(8).fill(1000),
  services,
  total: services.length,
  cores: 1,
});

test('CPU per request is all CPU time by all requests', () => {
  const [shop, batch, idle] = rowsOf(
    answer([
      service('shop', { cpu: [0, '300', 100, 0, 0, 0, 0, 0], cores: 2, latency: latency(8, 9) }),
      service('batch', { cpu: [1, 1, 1, 1, 1, 1, 1, 1], cores: 1 }),
      service('idle', { cpu: [0, 0, 0, 0, 0, 0, 0, 0], latency: latency(0, 0) }),
    ]),
  );
  expect([shop.cost, batch.cost, idle.cost]).toEqual([50, null, null]);
});

test('trends begin and end where any service has data', () => {
  const rows = rowsOf(
    answer([
      service('a', {
        cpu: [0, 0, 1e9, 1e9, 1e9, 1e9, 0, 0],
        cpu_gaps: [
          [0, 2],
          [6, 2],
        ],
      }),
      service('b', {
        cpu: [0, 0, 0, 2e9, 2e9, 2e9, 0, 0],
        cpu_gaps: [
          [0, 3],
          [6, 2],
        ],
      }),
      service('c'),
    ]),
  );
  expect(rows[0].trend).toEqual([1, 1, 1, 1]);
  expect(rows[1].trend).toEqual([null, 2, 2, 2]);
  expect(rows[0].trendFrom).toBe(2000);
  expect(rows[2].trend).toBeNull();
});

test('largest first, what has no value last, among equals by name', () => {
  const rows = rowsOf(
    answer([
      service('c', { cpu: [1], cores: 3, latency: latency(1, 5) }),
      service('b', { cpu: [1], cores: 3 }),
      service('a', { cpu: [1], cores: 1, latency: latency(1, 50) }),
    ]),
  );
  const names = (by: Parameters<typeof sorted>[1]) => sorted(rows, by).map((r) => r.name);
  expect(names('cores')).toEqual(['b', 'c', 'a']);
  expect(names('p99')).toEqual(['a', 'c', 'b']);
  expect(names('name')).toEqual(['a', 'b', 'c']);
});
