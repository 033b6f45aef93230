// Every page with data on it, for axe and for screenshots.
import { ALL, api, PAGE } from './browser.mjs';

async function addresses() {
  const { traces } = await api('traces', { ...ALL, service: 'checkout', limit: 200 });
  const slowest = traces.sort((a, b) => Number(b.duration_ns) - Number(a.duration_ns))[0].trace;
  const spans = Object.entries((await api(`traces/${slowest}/flame`)).by_span).sort((a, b) => b[1] - a[1]);
  const version = (v) => encodeURIComponent(`checkout{service.version="${v}"}`);
  return {
    overview: '/',
    service: '/s/checkout',
    split: '/s/checkout?by=service.version&lens=hide:malloc',
    table: '/s/checkout?view=table',
    search: '/s/checkout?search=json&flip=1',
    tree: '/s/checkout?view=tree',
    heat: '/s/ticker?view=heat',
    functionTraces: '/s/checkout?view=traces&fn=' + encodeURIComponent('json::parse_object'),
    source: '/s/checkout?view=source&fn=' + encodeURIComponent('json::parse_object'),
    sandwich: '/s/checkout?view=sandwich&fn=' + encodeURIComponent('json::parse(Value&, std::string_view)'),
    diff: `/diff?query=${version('v2')}&base_query=${version('v1')}&mode=share`,
    own: '/s/checkout?lens=own',
    traces: '/traces',
    spans: '/traces?service=search&name=find',
    trace: `/traces/${slowest}?span=${spans[0][0]}`,
    path: `/traces/${slowest}?scope=critical`,
    slow: '/slow?service=search&name=find&slow=p80&typical=p30-p75',
    insights: '/insights',
    regressions: '/regressions',
    alerts: '/alerts',
    dryRun: '/alerts?test=&silence=alertname%3DHot',
    adhoc: '/adhoc',
    status: '/status',
    empty: '/s/nothing',
    choose: '/diff',
  };
}

export async function everyPage(page, visit, themes = ['light', 'dark']) {
  const pages = await addresses();
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(PAGE + path);
      await page.waitForLoadState('networkidle');
      await page.locator('h1').waitFor();
      await visit(name, theme);
    }
  }
}
