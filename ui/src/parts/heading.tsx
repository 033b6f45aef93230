// The function a view is about, as a heading.
import { safe } from '../draw/flame';

export const functionHeading = (fn: string, mod: string | null) => (
  <h2 class="sandwich-name">
    Function{' '}
    <bdi>
      <code>{safe(fn).slice(0, 300)}</code>
    </bdi>
    {mod && <small> in {mod}</small>}
  </h2>
);
